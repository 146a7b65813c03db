package transform_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// Each metaparameter has one rule, in the order in which they are declared.
func TestMetaRulesAreComplete(t *testing.T) {
	var keys, declared []string
	for _, r := range transform.MetaRules() {
		keys = append(keys, r.Key)
		if r.Why == "" {
			t.Errorf("%s: nobody knows why", r.Key)
		}
	}
	for f := range reflect.TypeFor[engine.MetaParams]().Fields() {
		declared = append(declared, f.Tag.Get("yaml"))
	}
	same(t, "rules", keys, declared...)
}

// For each metaparameter, what becomes of two resources of which one, or both, set
// it: whether they are grouped, and what the group then has.
func TestMetaRules(t *testing.T) {
	yes, no := true, false
	type meta = engine.MetaParams
	for _, c := range []struct {
		key, rule string
		a, b      meta // differ
		want      meta // of the group of a and b
	}{
		{"noop", transform.RuleEqual, meta{Noop: &yes}, meta{}, meta{}},
		{"noop", transform.RuleEqual, meta{Noop: &yes}, meta{Noop: &no}, meta{}},
		{"noop", transform.RuleEqual, meta{}, meta{Noop: &no}, meta{}},
		{"retry", transform.RuleLarger, meta{Retry: 2}, meta{Retry: 3}, meta{Retry: 3}},
		{"retry", transform.RuleLarger, meta{Retry: 3}, meta{Retry: 2}, meta{Retry: 3}},
		{"retry", transform.RuleLarger, meta{Retry: 3}, meta{Retry: -1}, meta{Retry: -1}},
		{"retry", transform.RuleLarger, meta{Retry: -1}, meta{Retry: 5}, meta{Retry: -1}},
		{"retryreset", transform.RuleEither, meta{}, meta{RetryReset: true}, meta{RetryReset: true}},
		{"delay", transform.RuleEqual, meta{Delay: time.Second}, meta{}, meta{}},
		{"delaymax", transform.RuleEqual, meta{DelayMax: time.Second}, meta{}, meta{}},
		{"timeout", transform.RuleAlone, meta{Timeout: time.Second}, meta{}, meta{}},
		{"poll", transform.RuleEqual, meta{Poll: time.Second}, meta{}, meta{}},
		{"settle", transform.RuleEqual, meta{Settle: time.Second}, meta{}, meta{}},
		{"limit", transform.RuleEqual, meta{Limit: 2}, meta{}, meta{}},
		{"burst", transform.RuleEqual, meta{Burst: 2}, meta{}, meta{}},
		{"reset", transform.RuleEqual, meta{Reset: true}, meta{}, meta{}},
		{"sema", transform.RuleUnion, meta{Sema: append(make([]string, 0, 8), "x:2", "a")}, meta{Sema: []string{"b", "a"}}, meta{Sema: []string{"a", "b", "x:2"}}},
		{"sema", transform.RuleUnion, meta{}, meta{Sema: []string{"b"}}, meta{Sema: []string{"b"}}},
		{"rewatch", transform.RuleEither, meta{Rewatch: true}, meta{}, meta{Rewatch: true}},
		{"realize", transform.RuleAlone, meta{Realize: true}, meta{}, meta{}},
		{"reverse", transform.RuleAlone, meta{Reverse: true}, meta{}, meta{}},
		{"autoedge", transform.RuleOwner, meta{AutoEdge: &no}, meta{}, meta{AutoEdge: &no}},
		{"backend", transform.RuleEqual, meta{Backend: "a"}, meta{}, meta{}},
		{"autogroup", transform.RuleAlone, meta{AutoGroup: &no}, meta{}, meta{}},
		{"drift", transform.RuleEqual, meta{Drift: engine.DriftReport}, meta{}, meta{}},
		{"export", transform.RuleAlone, meta{Export: []string{"*"}}, meta{}, meta{}},
		{"exportfor", transform.RuleAlone, meta{ExportFor: time.Minute}, meta{}, meta{}},
		{"labels", transform.RuleOwner, meta{Labels: map[string]string{"tier": "db"}}, meta{}, meta{Labels: map[string]string{"tier": "db"}}},
		{"-", transform.RuleAlone, meta{Unread: "the secret a"}, meta{}, meta{}},
		{"-", transform.RuleAlone, meta{Rests: true}, meta{}, meta{}},
		{"hidden", transform.RuleAlone, meta{Hidden: true}, meta{}, meta{}},
		{"dollar", transform.RuleOwner, meta{}, meta{Dollar: true}, meta{}},
	} {
		rules := transform.MetaRules()
		at := slices.IndexFunc(rules, func(r transform.MetaRule) bool { return r.Key == c.key })
		if rules[at].Rule != c.rule {
			t.Errorf("%s: the rule is %s", c.key, rules[at].Rule)
		}
		mixed, grouped := pairOf(t, c.a, c.b)
		apart := c.rule == transform.RuleEqual || c.rule == transform.RuleAlone
		if grouped == apart || grouped && !reflect.DeepEqual(*mixed, c.want) {
			t.Errorf("%s: grouped %t, with %+v", c.key, grouped, mixed)
		}
		if both, grouped := pairOf(t, c.a, c.a); grouped == (c.rule == transform.RuleAlone) || grouped && c.rule == transform.RuleEqual && !reflect.DeepEqual(*both, c.a) {
			t.Errorf("%s, twice the same: grouped %t, with %+v", c.key, grouped, both)
		}
	}
	if _, grouped := pairOf(t, meta{Drift: engine.DriftAsk}, meta{Drift: engine.DriftAsk}); grouped {
		t.Error("resources that a person decides on are grouped")
	}
	if _, grouped := pairOf(t, meta{Drift: engine.DriftFix, AutoGroup: &yes, AutoEdge: &yes}, meta{}); !grouped {
		t.Error("what is said differs from what is meant when nothing is said")
	}
}

// pairOf returns what the metaparameters of a group of two are, and whether they
// are grouped. What was given must be left as it was.
func pairOf(t *testing.T, a, b engine.MetaParams) (*engine.MetaParams, bool) {
	t.Helper()
	oldA, oldB := a, b
	oldA.Sema, oldB.Sema = slices.Clone(a.Sema), slices.Clone(b.Sema)
	things := keyed("a b")
	things["a"].SetMetaParams(&a)
	things["b"].SetMetaParams(&b)
	out, _ := run(t, transform.AutoGroup(), build(t, things, "a b"))
	if !reflect.DeepEqual(a, oldA) || !reflect.DeepEqual(b, oldB) {
		t.Errorf("altered: %+v %+v", a, b)
	}
	return out.Value(0).Res.MetaParams(), out.Len() == 1
}
