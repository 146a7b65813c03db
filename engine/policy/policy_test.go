package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/policy"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// thing is a kind with a parameter of each sort.
type thing struct {
	traits.Base
	Text string            `yaml:"text"`
	Mode schema.Mode       `yaml:"mode"`
	Size schema.Size       `yaml:"size"`
	Wait time.Duration     `yaml:"wait"`
	On   *bool             `yaml:"on"`
	Key  schema.Secret     `yaml:"key"`
	Env  map[string]string `yaml:"env"`
}

func (*thing) Default() engine.Res                            { return &thing{} }
func (*thing) Validate() error                                { return nil }
func (*thing) Init(*engine.Init) error                        { return nil }
func (*thing) Cleanup() error                                 { return nil }
func (*thing) Watch(context.Context) error                    { return nil }
func (*thing) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*thing) Cmp(engine.Res) error                           { return nil }

func newThing(name string) *thing {
	t := &thing{Text: "a", Mode: "0644", Size: 1 << 20, Wait: 90 * time.Second, Key: schema.NewSecret("hunter2"), Env: map[string]string{"A": "b"}}
	t.SetKind("thing")
	t.SetName(name)
	t.SetMetaParams(&engine.MetaParams{Module: "web.site", Labels: map[string]string{"tier": "db"}})
	return t
}

func load(t testing.TB, rules string) (*policy.Policy, schema.Diagnostics) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return policy.Load(t.Context(), []string{file}, gapi.Source{}, nil)
}

func rule(match string) string {
	return "- {name: r, effect: deny, message: m, match: '" + strings.ReplaceAll(match, "'", "''") + "'}\n"
}

func mustLoad(t testing.TB, rules string) *policy.Policy {
	t.Helper()
	p, ds := load(t, rules)
	if p == nil {
		t.Fatal(ds)
	}
	return p
}

// TestMatch: what rules may read of a resource, and that no rule reads a secret: a rule that tries matches.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		match string
		want  string // "" for no match, "m" for one; else a part of why it can't be decided
	}{
		{`kind == "thing" && name == "x" && resource == "thing[x]"`, "m"},
		{`name == "y"`, ""},
		{`module.startsWith("web") && labels.tier == "db"`, "m"},
		{`labels.none == "db"`, `no key "none"`},
		{`has(labels.none) && labels.none == "db"`, ""},
		{`params.text == "a" && params.mode == "0644" && params.size == 1048576 && params.wait == "1m30s" && params.env.A == "b"`, "m"},
		{`params.on == null`, "m"},
		{`params.on == true`, ""},
		{`params.key == "hunter2"`, `no key "key"`},
		{`has(params.key)`, ""},
		{`params.hidden == "x"`, `no key "hidden"`},
		{`params.text`, "neither true nor false"},
		{`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a+b+c+d+e > 0)))))`, "stopped at its limit"},
	} {
		p, ds := load(t, rule(c.match))
		if p == nil {
			if c.want == "" || !strings.Contains(ds.Error(), c.want) && !strings.Contains(ds.Error(), "true or false") {
				t.Errorf("%s: %v", c.match, ds)
			}
			continue
		}
		g := graph.New[*resgraph.Vertex]("g")
		if _, err := g.Add("thing[x]", &resgraph.Vertex{Res: newThing("x"), Pos: schema.Pos{File: "g.yaml", Line: 3, Col: 5}}); err != nil {
			t.Fatal(err)
		}
		of := p.Graph(g, nil)
		if got := len(of) == 1; got != (c.want != "") || got && !strings.Contains(of[0].Message, c.want) {
			t.Errorf("%s: %v, want %q", c.match, of, c.want)
		}
		if len(of) == 1 && (of[0].Pos.Line != 3 || of[0].Related[0].Pos.Line != 1 || strings.Contains(of.Error(), "hunter2")) {
			t.Errorf("%s: %v", c.match, of)
		}
	}
}

// TestMarkedSecret: a parameter that the graph marks as secret is not there either, so a rule that reads it matches.
func TestMarkedSecret(t *testing.T) {
	v := &resgraph.Vertex{Res: newThing("x")}
	v.Alter(func(s *resgraph.Special) { s.Secret = []string{"text"} })
	g := graph.New[*resgraph.Vertex]("g")
	if _, err := g.Add("thing[x]", v); err != nil {
		t.Fatal(err)
	}
	for match, want := range map[string]int{`has(params.text)`: 0, `params.text == "b"`: 1} {
		if ds := mustLoad(t, rule(match)).Graph(g, nil); len(ds) != want {
			t.Errorf("%s: %v", match, ds)
		}
	}
}

// TestMatchChange: what rules may read of a change and of the history.
func TestMatchChange(t *testing.T) {
	now := time.Unix(1e9, 0)
	q := &reactor.Proposed{
		ID: "thing[x]", Res: newThing("x"), Now: now,
		Changes: []engine.Change{{Field: "text", From: "b", To: "a"}, {Verb: engine.Deleted}, {Field: "key", From: schema.NewSecret("hunter1"), To: "my (secret)"}},
		Past:    func() reactor.Past { return reactor.Past{Changed: now.Add(-time.Minute), Changes: 4} },
	}
	for match, want := range map[string]bool{
		`changes.exists(c, c.action == "deleted")`:                                                      true,
		`changes.exists(c, c.action == "created")`:                                                      false,
		`changes.exists(c, c.field == "text" && c.action == "updated" && c.from == "b" && c.to == "a")`: true,
		`changes.exists(c, has(c.to) && c.to != null && string(c.to).contains("secret"))`:               false,
		`changes[2].from == "hunter1"`:                                                                  true, // it can't be decided
		`history.changed_ago == 60 && history.changes == 4 && history.failures == 0`:                    true,
		`history.failed_ago < 3600 * 24 * 365`:                                                          false,
		`size(changes) == 3 && kind == "thing"`:                                                         true,
	} {
		p := mustLoad(t, rule(match))
		if got := p.Change(q); (len(got) == 1) != want {
			t.Errorf("%s: %v", match, got)
		}
		if ds := p.Graph(graph.New[*resgraph.Vertex](""), nil); len(ds) > 0 {
			t.Error(ds)
		}
	}
}

// TestLoadFaults: each fault of a policy has its place, and all are told at once.
func TestLoadFaults(t *testing.T) {
	_, ds := load(t, `- {name: a, match: "kimd == 'x'", effect: deny, message: m}
- {name: a, match: "kind", effect: deny, message: m}
- {name: c, match: "changes.exists(c, c.verb == 'x')", effect: shout, message: m}
- {name: d, match: "true", effect: warn, approvals: 2, message: m}
- {match: "true", effect: warn}
- {name: e, match: "history.changd_ago > 1", effect: deny, message: m}
`)
	text := ds.Error()
	for _, want := range []string{
		`policy.yaml:1:21: match: there is no "kimd" here (did you mean "kind"?)`, "policy.yaml:2:10: another rule is called a", "policy.yaml:2:21: match: it has to be true or false",
		`policy.yaml:3:`, `"verb"`, "shout", "policy.yaml:4:53: approvals belong to", "policy.yaml:5:", "name", "message", "policy.yaml:6:", "changd_ago",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, ds := policy.Load(t.Context(), []string{"/nowhere/policy.yaml"}, gapi.Source{}, nil); !strings.Contains(ds.Error(), "no such file") {
		t.Error(ds)
	}
	if _, ds := load(t, "rules: []\n"); !strings.Contains(ds.Error(), "a policy is a list of rules") {
		t.Error(ds)
	}
}

// TestUndecided: a rule that can't be decided is not asked about each of many resources.
func TestUndecided(t *testing.T) {
	g := graph.New[*resgraph.Vertex]("g")
	for i := range 100 {
		x := newThing(strings.Repeat("x", i+1))
		if _, err := g.Add(x.String(), &resgraph.Vertex{Res: x}); err != nil {
			t.Fatal(err)
		}
	}
	if ds := mustLoad(t, rule(`labels.none == "a"`)).Graph(g, nil); len(ds) != 20 {
		t.Errorf("%d findings", len(ds))
	}
	if ds := mustLoad(t, rule(`name != "x"`)).Graph(g, func(i int) bool { return i < 90 }); len(ds) != 10 {
		t.Errorf("%d findings", len(ds))
	}
}

// TestLoadAgain: the policy is the same one as long as its files are.
func TestLoadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	var p *policy.Policy
	for i, text := range []string{rule("true"), rule("true"), rule("false")} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		next, ds := policy.Load(t.Context(), []string{file}, gapi.Source{}, p)
		if ds.Err() != nil || (next == p) != (i == 1) || !slices.Equal(next.Rules(), []string{"r"}) {
			t.Error(i, ds)
		}
		p = next
	}
}

// BenchmarkGraph judges 10,000 resources by ten rules.
func BenchmarkGraph(b *testing.B) {
	var rules strings.Builder
	for i := range 10 {
		rules.WriteString(strings.Replace(rule(`kind == "thing" && params.mode == "0777" || labels.tier == "web"`), "name: r", "name: r"+string(rune('a'+i)), 1))
	}
	p := mustLoad(b, rules.String())
	g := graph.New[*resgraph.Vertex]("g")
	for i := range 10_000 {
		x := newThing("x" + strings.Repeat("y", i%50) + string(rune(0x4e00+i)))
		if _, err := g.Add(x.String(), &resgraph.Vertex{Res: x}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if ds := p.Graph(g, nil); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
}
