package gapi_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// strict is a kind that has another opinion of its metaparameters.
type strict struct {
	thing
	own *engine.MetaParams
}

func (s *strict) Default() engine.Res { return &strict{} }

func (s *strict) MetaParams() *engine.MetaParams {
	if s.own == nil {
		s.own = &engine.MetaParams{Dollar: true}
	}
	return s.own
}

func (s *strict) SetMetaParams(m *engine.MetaParams) { s.own = m }

// TestMetaIsLent: resources of a graph have equal metaparameters in common, and keep them so until somebody alters them. A kind with
// a MetaParams of its own keeps what that gives.
func TestMetaIsLent(t *testing.T) {
	reg, err := registry(t, nil).With("strict", func() engine.Res { return &strict{} })
	if err != nil {
		t.Fatal(err)
	}
	retry := func(n string) *schema.Node {
		return &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "retry", Value: &schema.Node{Kind: schema.NodeInt, Text: n}}}}
	}
	d := &gapi.Declared{}
	for name, meta := range map[string]*schema.Node{"a": retry("3"), "b": retry("3"), "c": retry("4"), "d": nil} {
		d.Resources = append(d.Resources, gapi.Declaration{Kind: "plain", Name: name, Meta: meta})
	}
	d.Resources = append(d.Resources, gapi.Declaration{Kind: "strict", Name: "$s", Meta: retry("3")})
	draft := gapi.NewDraft(reg, d)
	g, ds := draft.Check(func(int) bool { return false })
	if g == nil {
		t.Fatal(ds)
	}
	res := func(id string) engine.Res {
		i, ok := g.Index(id)
		if !ok {
			t.Fatal(id)
		}
		return g.Value(i).Res
	}
	lent := func(id string) *engine.MetaParams { return res(id).(engine.MetaLender).LentMetaParams() }
	if a := lent("plain[a]"); a == nil || a != lent("plain[b]") || a == lent("plain[c]") || a.Retry != 3 {
		t.Errorf("%p, %p, %p", a, lent("plain[b]"), lent("plain[c]"))
	}
	if lent("plain[d]") == nil || engine.MetaOf(res("plain[d]")).Retry != 0 {
		t.Error("the defaults are not lent")
	}
	res("plain[a]").MetaParams().Retry = 9
	if a, b := engine.MetaOf(res("plain[a]")).Retry, engine.MetaOf(res("plain[b]")).Retry; a != 9 || b != 3 {
		t.Errorf("%d, %d", a, b)
	}
	if m := engine.MetaOf(res("strict[$s]")); lent("strict[$s]") != nil || m.Retry != 3 || !m.Dollar {
		t.Errorf("%+v", m)
	}
}
