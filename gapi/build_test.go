package gapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// build builds a graph in which nothing is wrong.
func build(t *testing.T, reg *engine.Registry, d *gapi.Declared) *resgraph.Graph {
	t.Helper()
	g, ds := gapi.Build(reg, d)
	if len(ds) > 0 || g == nil {
		t.Fatalf("%v", ds)
	}
	return g
}

// findings checks everything that is said of a graph.
func findings(t *testing.T, reg *engine.Registry, d *gapi.Declared, want ...string) {
	t.Helper()
	g, ds := gapi.Build(reg, d)
	if (g == nil) != (ds.Err() != nil) {
		t.Errorf("graph %v with %v", g, ds)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), ds.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestBuildFromGo(t *testing.T) {
	reg := registry(t, nil)
	a := &thing{Text: "a"}
	a.SetKind("Strange") // not registered
	a.SetName("one")
	a.MetaParams().Retry = 3
	b := &thing{}
	d := &gapi.Declared{
		Name: "go",
		Resources: []gapi.Declaration{
			{Res: a, Notify: []gapi.RefDecl{{Ref: ref("Thing", "two")}}},
			{Kind: "thing", Name: "two", Res: b, Value: object(0, pair("text", text(0, "b"))),
				Recv: []gapi.RecvDecl{{Field: "Parts.x", From: schema.Ref{Kind: "strange", Name: "one", Key: "Text"}}}},
			{Kind: "plain", Name: "three", Res: &plain{}},
		},
		Edges: []gapi.EdgeDecl{{Name: "e", From: gapi.EdgeEnd{Kind: "thing", Name: "two"}, To: gapi.EdgeEnd{Kind: "plain", Name: "three"}}},
	}
	g := build(t, reg, d)
	if g.Name != "go" || g.Len() != 3 || g.EdgeCount() != 2 {
		t.Fatalf("%s has %d vertices and %d edges", g.Name, g.Len(), g.EdgeCount())
	}
	if v := g.Value(0); v.Res != engine.Res(a) || a.Kind() != "strange" || g.ID(0) != "strange[one]" || a.MetaParams().Retry != 3 {
		t.Errorf("%v", v.Res)
	}
	if b.Text != "b" || b.Kind() != "thing" || b.Name() != "two" {
		t.Errorf("%+v", b)
	}
	want := []resgraph.Wire{{Field: "parts.x", From: schema.Ref{Kind: "strange", Name: "one", Key: "text"}}}
	if diff := cmp.Diff(want, g.Value(1).Recv); diff != "" {
		t.Error(diff)
	}
	if e, ok := g.Link(0, 1); !ok || !e.Notify || e.Implied {
		t.Errorf("%+v", e)
	}
}

// Without positions, a finding names its resource.
func TestBuildFromGoErrors(t *testing.T) {
	bad := &thing{validate: func(*thing) error { return errors.New("the text is missing") }}
	findings(t, registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{
		{Kind: "thing", Name: "bad", Res: bad},
		{Kind: "thing", Res: &thing{}},
		{Name: "x", Res: &thing{}},
		{Kind: "thing", Name: "nil", Res: (*thing)(nil)},
		{Kind: "thing", Name: "bad", Res: &thing{}},
		{Kind: "thing", Name: "short"},
		{Kind: "thign", Name: "x"},
		{Kind: "wrong", Name: "x", Res: &wrong{}},
		{Kind: "plain", Name: "p", Before: []gapi.RefDecl{{Ref: ref("plain", "q")}, {Ref: ref("plain", "p")}}},
	}},
		"resource number 2 of the graph, a thing, has no name",
		`resource number 3 of the graph, "x", has no kind`,
		"resource number 4 of the graph, a thing, can't say what it is: Kind or Name panicked: runtime error: invalid memory address or nil pointer dereference",
		"thing[bad] is declared twice\n    first declared here",
		`thign[x]: unknown resource kind "thign" (did you mean "thing"?)`,
		`wrong[x]: gapi_test.wrong: field Meta: the key "meta" is reserved for the declaration of a resource`,
		"thing[short]: size is required: a whole number",
		`plain[p]: before: plain[q] is not in the graph (did you mean "plain[p]"?)`,
		"thing[bad]: the text is missing",
		"before: plain[p] can't come before itself",
	)
}

// astray is a thing that can't say its target.
type astray struct {
	thing `yaml:",inline"`
}

func (*astray) Targeted() bool { return true }
func (*astray) Target() string { panic("no map") }

// A resource that panics over its target is a finding, and ends nothing.
func TestBuildOfATargetThatPanics(t *testing.T) {
	findings(t, registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{{Kind: "thing", Name: "lost", Res: &astray{}}}},
		"resource number 1 of the graph, a thing, can't say what it is: Target panicked: no map")
}

// A frontend that has neither a graph nor an error ends nothing.
func TestBuildOfNothing(t *testing.T) {
	findings(t, registry(t, nil), nil, "there is no graph: the frontend has given neither one nor an error")
}

// An edge that is declared needs none implied by what is received.
func TestBuildImpliesWhatIsAbsent(t *testing.T) {
	d := &gapi.Declared{Resources: []gapi.Declaration{declare(2, "thing", "a"), declare(4, "thing", "b"), declare(6, "thing", "c")}}
	for i := range 2 {
		r := &d.Resources[i+1]
		r.Recv = []gapi.RecvDecl{{Field: "text", From: schema.Ref{Kind: "thing", Name: "a", Key: "text"}, Pos: at(9, 1)}}
	}
	d.Resources[1].Depend = refs(5, ref("thing", "a"))
	g := build(t, registry(t, nil), d)
	for to, implied := range map[int]bool{1: false, 2: true} {
		n := 0
		for e := range g.Declarations(0, to) {
			if n++; e.Implied != implied {
				t.Errorf("%+v", e)
			}
		}
		if n != 1 {
			t.Errorf("the edge to %s is declared %d times", g.ID(to), n)
		}
	}
}

// A resource may replace itself as a whole while it is decoded.
func TestBuildOwnUnmarshal(t *testing.T) {
	reg, err := registry(t, nil).With("own", func() engine.Res { return &own{} })
	if err != nil {
		t.Fatal(err)
	}
	r := declare(2, "own", "a", pair("answer", number(3, "42")))
	r.Meta = object(4, pair("retry", number(5, "7")))
	res := build(t, reg, &gapi.Declared{Resources: []gapi.Declaration{r}}).Value(0).Res
	if o := res.(*own); o.Answer != 42 || o.Other != "default" || o.String() != "own[a]" || o.MetaParams().Retry != 7 {
		t.Errorf("%+v", res)
	}
}

// A second Build makes new resources and leaves the declaration as it was.
func TestBuildAgain(t *testing.T) {
	reg := registry(t, nil)
	d := &gapi.Declared{Noop: true, Resources: []gapi.Declaration{
		declare(2, "thing", "a", pair("text", text(3, "x")), pair("comment", text(4, "why"))),
		declare(5, "plain", "b"),
	}}
	before := fmt.Sprintf("%+v", d)
	one, two := build(t, reg, d), build(t, reg, d)
	if one.Value(0).Res == two.Value(0).Res {
		t.Error("the same resource is in two graphs")
	}
	if err := engine.CmpFields(one.Value(0).Res, two.Value(0).Res); err != nil {
		t.Error(err)
	}
	if after := fmt.Sprintf("%+v", d); after != before {
		t.Errorf("it became %s", after)
	}
	for _, v := range one.All() {
		if noop := v.Res.MetaParams().Noop; noop == nil || !*noop {
			t.Errorf("%s is not noop", v.Res)
		}
	}
	if pos := one.Value(0).Pos; pos != at(2, 1) {
		t.Error(pos)
	}
}

func TestBuildPlacesErrorsOfValidate(t *testing.T) {
	reg := registry(t, func(r *thing) error {
		return errors.Join(
			errors.New("text is too plain"),
			fmt.Errorf("parts: %w", errors.Join(errors.New("a"), errors.New("b"))),
			errors.New(`"Text" is named by its Go name`),
			errors.New("link is not declared"),
			errors.New("something else"),
			schema.Diagnostics{
				{Path: "parts.x", Message: "x is no part"},
				{Pos: at(9, 9), Message: "it knows best"},
				{Severity: schema.Warning, Path: "text", Message: "text is long"},
			},
		)
	})
	d := &gapi.Declared{Resources: []gapi.Declaration{
		declare(2, "thing", "a", pair("text", text(3, "x")), pair("parts", object(4))),
	}}
	findings(t, reg, d,
		"g:2:1: link is not declared",
		"g:2:1: something else",
		"g:3:9: text is too plain",
		`g:3:9: "Text" is named by its Go name`,
		"g:3:9: warning: text is long",
		"g:4:1: parts: a\nb",
		"g:4:1: x is no part",
		"g:9:9: it knows best",
	)
}

// A resource is told what it will receive before it is validated, and what it says
// about such a parameter waits for the value.
func TestBuildReceivedIsNotJudged(t *testing.T) {
	var told strings.Builder
	reg := registry(t, func(r *thing) error {
		if r.Name() != "to" {
			return nil
		}
		for key, s := range r.Recv() {
			fmt.Fprintf(&told, "%s from %s.%s;", key, s.Res, s.Key)
		}
		return errors.New("text must not be empty")
	})
	to := declare(4, "thing", "to")
	to.Value = nil // size is required, and received
	to.Recv = []gapi.RecvDecl{
		{Field: "text", From: schema.Ref{Kind: "thing", Name: "from", Key: "key"}, Pos: at(5, 5)},
		{Field: "size", From: schema.Ref{Kind: "thing", Name: "from", Key: "any"}, Pos: at(6, 5)},
	}
	d := &gapi.Declared{Resources: []gapi.Declaration{declare(2, "thing", "from"), to}}
	build(t, reg, d)
	if !strings.Contains(told.String(), "text from thing[from].key") {
		t.Errorf("it was told %q", told.String())
	}
	d.Resources[1].Recv = d.Resources[1].Recv[1:]
	findings(t, reg, d, "g:4:1: text must not be empty")
}

func TestBuildPanics(t *testing.T) {
	reg := registry(t, func(*thing) error { panic("oh") })
	findings(t, reg, &gapi.Declared{Resources: []gapi.Declaration{
		declare(2, "thing", "a"),
		declare(4, "rotten", "b"),
		declare(6, "rotten", "c"),
		declare(8, "wrong", "d"),
		declare(10, "plain", "e"),
	}},
		"g:2:1: Validate panicked: oh",
		"g:3:1: kind \"rotten\": Default panicked: no default",
		"g:5:1: kind \"rotten\": Default panicked: no default",
		`g:7:1: kind "wrong": gapi_test.wrong: field Meta: the key "meta" is reserved for the declaration of a resource`,
	)
}

func TestBuildFieldReferences(t *testing.T) {
	list := &schema.Node{Kind: schema.NodeList, Pos: at(4, 9), Items: []*schema.Node{text(5, "plain[p]"), text(6, "plain[q]")}}
	findings(t, registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{
		declare(2, "thing", "a", pair("link", text(3, "Plain[o]")), pair("links", list)),
		declare(8, "plain", "p"),
	}},
		`g:3:9: reference: plain[o] is not in the graph (did you mean "plain[p]"?)`,
		`g:6:9: reference: plain[q] is not in the graph (did you mean "plain[p]"?)`,
	)
}

// What the frontend has said is told with the rest, and not doubled.
func TestBuildProblems(t *testing.T) {
	d := &gapi.Declared{Resources: []gapi.Declaration{
		declare(2, "thing", "a", pair("text", &schema.Node{Kind: schema.NodeList, Pos: at(3, 9)})),
		declare(4, "plain", "b", pair("x", text(5, ""))),
	}}
	d.Resources[1].Depend = refs(6, ref("plain", "c"))
	d.Problems.Errorf(at(3, 9), "it has a strange tag")
	d.Problems.Errorf(at(1, 1), "a comment is missing")
	want := []string{"g:1:1: a comment is missing", "g:3:9: it has a strange tag", `g:5:3: unknown key "x"`}
	findings(t, registry(t, nil), d, append(want, `g:6:20: depend: plain[c] is not in the graph (did you mean "plain[b]"?)`)...)
	if len(d.Problems) != 2 || d.Problems[0].Pos != at(3, 9) {
		t.Errorf("it sorted the problems of the declaration: %v", d.Problems)
	}
	d.Partial = true
	findings(t, registry(t, nil), d, want...)
}

// Where only lines are known, findings name their resources, and what a frontend has
// said of one resource hides nothing of another one on the same line.
func TestBuildLines(t *testing.T) {
	line := schema.Pos{File: "site.pp", Line: 3}
	var d gapi.Declared
	for _, name := range []string{"a", "b"} {
		v := &schema.Node{Kind: schema.NodeMap, Pos: line, Pairs: []schema.Pair{{Key: "x", Pos: line, Value: &schema.Node{Pos: line}}}}
		d.Resources = append(d.Resources, gapi.Declaration{Kind: "plain", Name: name, Pos: line, Value: v})
	}
	d.Problems = schema.Diagnostics{{Pos: line, Resource: "Plain[a]", Message: "Plain[a]: y: it is bad"}}
	findings(t, registry(t, nil), &d,
		"site.pp:3: Plain[a]: y: it is bad", `site.pp:3: plain[a]: unknown key "x"`, `site.pp:3: plain[b]: unknown key "x"`)
}

// A graph is built exactly when its edges have no cycle, whatever their order, and
// has all of them.
func TestBuildEdges(t *testing.T) {
	reg := registry(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		d := &gapi.Declared{}
		for i := range n {
			d.Resources = append(d.Resources, declare(int32(2*i+2), "thing", fmt.Sprint(i)))
		}
		node := rapid.IntRange(0, n-1)
		want := map[[2]int]bool{} // whether it notifies
		for range rapid.IntRange(0, 10).Draw(t, "edges") {
			from, to := node.Draw(t, "from"), node.Draw(t, "to")
			if from != to {
				want[[2]int{from, to}] = addEdge(t, d, from, to) || want[[2]int{from, to}]
			}
		}
		g, ds := gapi.Build(reg, d)
		if cyclic(n, want) {
			if g != nil || !strings.Contains(ds.Error(), "cycle: ") {
				t.Fatalf("a cycle is not found: %v", ds)
			}
			return
		}
		if g == nil || len(ds) > 0 || g.EdgeCount() != len(want) {
			t.Fatalf("%v, want edges %v", ds, want)
		}
		for ends, notify := range want {
			if e, ok := g.Link(ends[0], ends[1]); !ok || e.Notify != notify {
				t.Fatalf("%v: %+v", ends, e)
			}
		}
	})
}

// addEdge declares an edge in one of the five ways, and reports whether it
// notifies.
func addEdge(t *rapid.T, d *gapi.Declared, from, to int) bool {
	a, b := &d.Resources[from], &d.Resources[to]
	there, back := refs(1, ref(b.Kind, b.Name)), refs(1, ref(a.Kind, a.Name))
	switch way := rapid.IntRange(0, 5).Draw(t, "way"); way {
	case 0:
		a.Before = append(a.Before, there...)
	case 1:
		a.Notify = append(a.Notify, there...)
		return true
	case 2:
		b.Depend = append(b.Depend, back...)
	case 3:
		b.Listen = append(b.Listen, back...)
		return true
	default:
		d.Edges = append(d.Edges, gapi.EdgeDecl{From: gapi.EndOf(back[0].Ref, schema.Pos{}), To: gapi.EndOf(there[0].Ref, schema.Pos{}), Notify: way == 5})
		return way == 5
	}
	return false
}

// cyclic takes away vertices that nothing leads to until none is left.
func cyclic(n int, edges map[[2]int]bool) bool {
	gone := make([]bool, n)
	for range n {
		for v := range n {
			held := false
			for e := range edges {
				held = held || e[1] == v && !gone[e[0]]
			}
			gone[v] = gone[v] || !held
		}
	}
	for _, g := range gone {
		if !g {
			return true
		}
	}
	return false
}

// Cycles that share no edge are all reported, up to a bound.
func TestBuildCycles(t *testing.T) {
	d := &gapi.Declared{}
	for i := range 30 {
		r := declare(int32(2*i+2), "plain", fmt.Sprint(i))
		r.Before = refs(int32(2*i+2), ref("plain", fmt.Sprint(i^1))) // 0 and 1, 2 and 3, ...
		d.Resources = append(d.Resources, r)
	}
	_, ds := gapi.Build(registry(t, nil), d)
	if len(ds) != 10 {
		t.Errorf("%d findings", len(ds))
	}
	d.Resources = d.Resources[:4]
	d.Resources = append(d.Resources, declare(90, "plain", "new\nline"), declare(91, "plain", "x"))
	d.Resources[4].Before, d.Resources[5].Before = refs(90, ref("plain", "x")), refs(91, ref("plain", "new\nline"))
	findings(t, registry(t, nil), d,
		"g:2:20: cycle: plain[0] -> plain[1] -> plain[0]\n    g:2:20: plain[0] -> plain[1] (before)\n    g:4:20: plain[1] -> plain[0] (before)",
		"g:6:20: cycle: plain[2] -> plain[3] -> plain[2]\n    g:6:20: plain[2] -> plain[3] (before)\n    g:8:20: plain[3] -> plain[2] (before)",
		"g:90:20: cycle: \"plain[new\\nline]\" -> plain[x] -> \"plain[new\\nline]\"\n    g:90:20: \"plain[new\\nline]\" -> plain[x] (before)\n    g:91:20: plain[x] -> \"plain[new\\nline]\" (before)",
	)
}

// Many mistakes in a big graph are found in time that grows with both, not with
// their product.
func TestBuildManyMistakes(t *testing.T) {
	d := &gapi.Declared{}
	for i := range 5000 {
		r := declare(int32(2*i+2), "plain", fmt.Sprintf("%s%d", strings.Repeat("x", 6), i))
		r.Depend = refs(int32(2*i+2), ref("plain", fmt.Sprintf("%sy%d", strings.Repeat("x", 6), i)))
		d.Resources = append(d.Resources, r)
	}
	start := enginetest.Computed(t)
	_, ds := gapi.Build(registry(t, nil), d)
	last := ds[len(ds)-1]
	if len(ds) != schema.MaxFindings+1 || last.More != 5000-schema.MaxFindings || ds[0].Suggestion == "" {
		t.Errorf("%d findings, %v, %v", len(ds), ds[0], last)
	}
	if took := enginetest.Computed(t) - start; took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// However many warnings there are, an error is said and refuses the graph; what
// the frontend found counts as well.
func TestBuildManyWarnings(t *testing.T) {
	d := &gapi.Declared{}
	for i := range 1500 {
		d.Problems = append(d.Problems, schema.Diagnostic{Severity: schema.Warning, Pos: at(int32(i+10), 1), Message: "careful"})
		r := declare(int32(i+10), "plain", fmt.Sprint(i))
		if i > 0 {
			r.Listen = refs(int32(i+10), ref("plain", "0")) // plain can't refresh
		}
		d.Resources = append(d.Resources, r)
	}
	g, ds := gapi.Build(registry(t, nil), d)
	if g == nil || len(ds) != schema.MaxFindings+1 || ds[len(ds)-1].String() != "warning: and 1999 more warnings" {
		t.Fatalf("%v: %d findings, the last is %v", g, len(ds), ds[len(ds)-1])
	}
	d.Edges = []gapi.EdgeDecl{{From: gapi.EdgeEnd{Kind: "plain", Name: "0"}, To: gapi.EdgeEnd{Kind: "plain", Name: "nobody"}, Pos: at(9000, 1)}}
	g, ds = gapi.Build(registry(t, nil), d)
	if g != nil || ds.Err() == nil || !strings.Contains(ds.Error(), "g:9000:1: to: plain[nobody] is not in the graph") {
		t.Errorf("%v: the error is not among %d findings", g, len(ds))
	}
}

// Of a long cycle its head and its tail are shown, at once.
func TestBuildLongCycle(t *testing.T) {
	const n = 20_000
	d := &gapi.Declared{}
	for i := range n {
		r := declare(int32(i+1), "plain", fmt.Sprint(i))
		r.Before = refs(int32(i+1), ref("plain", fmt.Sprint((i+1)%n)))
		d.Resources = append(d.Resources, r)
	}
	start := enginetest.Computed(t)
	_, ds := gapi.Build(registry(t, nil), d)
	if took := enginetest.Computed(t) - start; took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(ds) != 1 || len(ds[0].Related) != 21 {
		t.Fatalf("%d findings with %d notes", len(ds), len(ds[0].Related))
	}
	notes := ds[0].Related
	for i, want := range map[int]string{
		0:  "plain[0] -> plain[1] (before)",
		9:  "plain[9] -> plain[10] (before)",
		10: "... and 19980 more edges ...",
		11: "plain[19990] -> plain[19991] (before)",
		20: "plain[19999] -> plain[0] (before)",
	} {
		if notes[i].Message != want {
			t.Errorf("note %d is %q, want %q", i, notes[i].Message, want)
		}
	}
	if n := len(ds[0].String()); n > 4096 {
		t.Errorf("it has %d bytes", n)
	}
}

// BenchmarkBuildReady10000 builds a chain of resources that are made already.
func BenchmarkBuildReady10000(b *testing.B) {
	d := &gapi.Declared{}
	for i := range 10_000 {
		r := gapi.Declaration{Kind: "plain", Name: fmt.Sprint(i), Res: &plain{}}
		if i > 0 {
			r.Depend = refs(0, ref("plain", fmt.Sprint(i-1)))
		}
		d.Resources = append(d.Resources, r)
	}
	reg := registry(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := gapi.Build(reg, d); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
}
