package transform_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/traits"
)

// What is wanted comes first, or after, as the UID says; what is declared already
// is not added again, and what nobody is leads nowhere.
func TestAutoEdge(t *testing.T) {
	g := build(t, map[string]*thing{
		"a": {is: []string{"x", "y"}},
		"b": {wants: []string{"x", "y", "nobody", "!z"}},
		"c": {is: []string{"z"}, wants: []string{"z", "x"}},
	}, "a b c", "a!c")
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "a~b", "a!c", "b~c")
	same(t, "notes", notes, "autoedge: edge added: a -> b: b wants x", "autoedge: edge added: b -> c: b wants to come before z")
	same(t, "the graph that was given", edges(g), "a!c")
}

// What was made last goes first: between two that both are to go an edge is turned round, without the refresh that
// it would have carried, unless the order of the UID is fixed. No resource that stays waits for a user that is to go.
func TestAutoEdgeLeaving(t *testing.T) {
	g := build(t, map[string]*thing{
		"a": {is: []string{"x"}, gone: true}, "b": {is: []string{"y", "~u"}, gone: true},
		"c": {wants: []string{"+x", "!y"}, gone: true}, "d": {wants: []string{"x", "~u"}}, "e": {wants: []string{"=x"}, gone: true}, "i": {wants: []string{"!=y"}, gone: true},
		"f": {wants: []string{"@a", "~u"}, gone: true}, "g": {is: []string{"z"}}, "h": {wants: []string{"z"}, gone: true},
	}, "a b c d e f g h i")
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "a~d", "a~e", "b~c", "c~a", "f~a", "f~b", "g~h", "i~b")
	if want := "autoedge: edge added: c -> a: c belongs to x, and what was made last goes first"; !slices.Contains(notes, want) {
		t.Errorf("no note %q in %q", want, notes)
	}
}

// A Leaving that panics costs its resource the automatic edges of one that goes, and is told.
func TestAutoEdgeLeavingPanics(t *testing.T) {
	g := build(t, map[string]*thing{"a": {is: []string{"x"}, gone: true}, "b": {wants: []string{"x"}, gone: true, bad: "Leaving"}}, "a b")
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "a~b")
	if !strings.Contains(notes[0], "Leaving") {
		t.Errorf("notes %q", notes)
	}
}

// Who asks for all below a folder gets all of them, once each, and nothing beside it.
func TestAutoEdgeBelow(t *testing.T) {
	g := build(t, map[string]*thing{
		"a": {is: []string{"/d/a", "/d/x/a"}}, "b": {is: []string{"/d/x/y/b"}}, "c": {is: []string{"/d.old"}}, "d": {is: []string{"/d"}},
		"e": {is: []string{"/dd/e"}}, "f": {is: []string{"/d!"}}, "r": {is: []string{"/d/copy"}, wants: []string{"/d/*", "/nobody/*"}},
		"s": {wants: []string{"!+/d/x/*"}}, "t": {wants: []string{"//*"}, is: []string{"x"}},
	}, "a b c d e f r s t")
	out, notes := run(t, transform.AutoEdge(nil), g)
	if len(notes) != 11 { // one for each edge, and none of one that leads to who asks
		t.Errorf("notes %q", notes)
	}
	same(t, "edges", edges(out), "a~r", "a~t", "b~r", "b~t", "c~t", "d~t", "e~t", "f~t", "r~t", "s~!a", "s~!b")
}

// One that reads a folder of many costs no more than they do.
func TestAutoEdgeBelowMany(t *testing.T) {
	const n = 20_000
	things, names := map[string]*thing{"reader": {wants: []string{"/d/*", "/d/*"}}}, []string{"reader"}
	for i := range n {
		name := fmt.Sprint("n", i)
		things[name], names = &thing{is: []string{"/d/" + name}}, append(names, name)
	}
	out, notes := run(t, transform.AutoEdge(nil), build(t, things, strings.Join(names, " ")))
	if out.EdgeCount() != n || len(notes) != n {
		t.Errorf("%d edges, %d notes", out.EdgeCount(), len(notes))
	}
}

// What one asks for who has many wishes, all in vain, is no wish of those who ask later.
func TestAutoEdgeManyInVain(t *testing.T) {
	things, names := map[string]*thing{"bad": {wants: []string{"/d/*"}, bad: "late"}}, "bad"
	for i := range 40 {
		name := fmt.Sprint("n", i)
		things[name], names = &thing{is: []string{"/d/" + name}, wants: []string{"!@bad"}}, names+" "+name
	}
	out, _ := run(t, transform.AutoEdge(nil), build(t, things, names))
	if out.EdgeCount() != 40 {
		t.Errorf("%d edges", out.EdgeCount())
	}
}

// Without anything to do the graph is the same one.
func TestAutoEdgeNothing(t *testing.T) {
	g := build(t, nil, "a b", "a b")
	if out, _ := run(t, transform.AutoEdge(nil), g); out != g {
		t.Error("another graph")
	}
}

// A switch at either end, and a hidden resource, keep edges away.
func TestAutoEdgeSwitch(t *testing.T) {
	no := false
	for i, set := range []func(m *engine.MetaParams){
		func(m *engine.MetaParams) { m.AutoEdge = &no },
		func(m *engine.MetaParams) { m.Hidden = true },
	} {
		for _, end := range []string{"a", "b"} {
			things := map[string]*thing{"a": {is: []string{"x"}}, "b": {wants: []string{"x"}}}
			set(things[end].MetaParams())
			out, _ := run(t, transform.AutoEdge(nil), build(t, things, "a b"))
			same(t, fmt.Sprint(i, end), edges(out))
		}
	}
}

// mute is a resource that says nothing of itself.
type mute struct{ traits.Base }

func (*mute) Default() engine.Res                            { return &mute{} }
func (*mute) Validate() error                                { return nil }
func (*mute) Init(*engine.Init) error                        { return nil }
func (*mute) Cleanup() error                                 { return nil }
func (*mute) Watch(context.Context) error                    { return nil }
func (*mute) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*mute) Cmp(engine.Res) error                           { return nil }

// Every resource is found by its kind and name, also one that says nothing of
// itself; not by itself, not when it takes no part, and before one that only calls
// itself so.
func TestAutoEdgeByName(t *testing.T) {
	no := false
	g := build(t, map[string]*thing{
		"a": {wants: []string{"@m", "@a", "@off", "@nobody", "!@b"}},
		"0": {is: []string{"@b", "@alias"}},
		"c": {wants: []string{"@alias", "@b"}},
	}, "a b c 0")
	for _, name := range []string{"m", "off"} {
		m := &mute{}
		m.SetKind("thing")
		m.SetName(name)
		if name == "off" {
			m.MetaParams().AutoEdge = &no
		}
		if _, err := g.Add(m.String(), &resgraph.Vertex{Res: m}); err != nil {
			t.Fatal(err)
		}
	}
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "a~b", "b~c", "0~c", "m~a")
	same(t, "notes", notes, "autoedge: edge added: m -> a: a wants m", "autoedge: edge added: a -> b: a wants to come before b",
		"autoedge: edge added: 0 -> c: c wants alias", "autoedge: edge added: b -> c: c wants b")
}

// An edge carries refresh where a UID says so. One that is declared gets it too, in
// the same direction only; the other direction is left out, as ever.
func TestAutoEdgeRefresh(t *testing.T) {
	g := build(t, map[string]*thing{
		"a": {is: []string{"a"}},
		"b": {wants: []string{"+a", "!+@c", "+@nobody"}},
		"d": {wants: []string{"+@a", "@a", "@c", "+@c"}},
		"e": {wants: []string{"+@a", "+@b", "+@f"}},
		"f": {wants: []string{"@e"}},
	}, "a b c d e f", "a e", "b!e", "e f")
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "a~!b", "a~!d", "a!e", "b~!c", "b!e", "c~!d", "e f")
	same(t, "notes", notes,
		"autoedge: edge left out: f -> e: e wants f, with refresh, but e comes before f already",
		"autoedge: edge added: a -> b: b wants a, with refresh",
		"autoedge: edge added: b -> c: b wants to come before c, with refresh",
		"autoedge: edge added: a -> d: d wants a, with refresh",
		"autoedge: edge added: c -> d: d wants c, with refresh",
		"autoedge: edge notifies: a -> e: e wants a, with refresh")
	if e, _ := out.Link(0, 4); e.Implied || e.Name != "" {
		t.Errorf("the declared edge has become %+v", e)
	}
	same(t, "the graph that was given", edges(g), "a e", "b!e", "e f")
}

// An edge that would close a cycle is left out, with a line that says why: with a
// declared path, or with other automatic ones. All others stay.
func TestAutoEdgeCycles(t *testing.T) {
	things := map[string]*thing{
		"a": {is: []string{"a"}, wants: []string{"c", "d"}},
		"b": {is: []string{"b"}},
		"c": {is: []string{"c"}, wants: []string{"e"}},
		"d": {is: []string{"d"}, wants: []string{"e"}},
		"e": {is: []string{"e"}, wants: []string{"d"}},
	}
	for _, order := range []string{"a b c d e", "e d c b a", "c a e b d"} {
		out, notes := run(t, transform.AutoEdge(nil), build(t, things, order, "a b", "b c"))
		var left []string
		for _, n := range notes {
			if strings.Contains(n, "left out") {
				left = append(left, n)
			}
		}
		same(t, order, left,
			"autoedge: edge left out: c -> a: a wants c, but a comes before c already",
			"autoedge: edge left out: e -> d: d wants e, but d comes before e already")
		if out.EdgeCount() != 2+3 {
			t.Errorf("%s: %v", order, edges(out))
		}
		if _, err := out.Sort(); err != nil {
			t.Error(err)
		}
	}
}

// A resource that goes wrong has no automatic edges of its own; the others have.
func TestAutoEdgeFaults(t *testing.T) {
	for bad, why := range map[string]string{
		"error": "no idea", "late": "AutoEdges panicked: late", "AutoEdges": "AutoEdges panicked: oh", "Next": "AutoEdges panicked: oh",
		"UIDs": "UIDs panicked: oh", "endless": "AutoEdges goes on after 4096 questions",
	} {
		out, notes := run(t, transform.AutoEdge(nil), build(t, map[string]*thing{
			"a": {is: []string{"a"}},
			"b": {is: []string{"b"}, wants: []string{"a"}, bad: bad},
			"c": {wants: []string{"b", "a"}},
		}, "a b c"))
		if len(notes) == 0 || notes[0] != "autoedge: skipped: b: "+why {
			t.Errorf("%s: %q", bad, notes)
		}
		want := []string{"a~c", "b~c"}
		if bad == "UIDs" {
			want = []string{"a~b", "a~c"}
		}
		same(t, bad, edges(out), want...)
	}
}

// nilUID asks for nothing at all.
type nilUID struct{ thing }

func (x *nilUID) AutoEdges() (autoedge.Needs, error) { return x, nil }
func (x *nilUID) Next() []autoedge.UID               { return []autoedge.UID{nil} }
func (x *nilUID) Test([]bool) bool                   { return true }
func (x *nilUID) UIDs() []autoedge.UID               { return []autoedge.UID{nil} }

func TestAutoEdgeNilUID(t *testing.T) {
	g := build(t, map[string]*thing{"a": {is: []string{"x"}}}, "a")
	x := &nilUID{}
	x.SetKind("thing")
	x.SetName("b")
	_, _ = g.Add(x.String(), &resgraph.Vertex{Res: x})
	_, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "notes", notes, "autoedge: skipped: b: AutoEdges gives a UID that is nil")
}

// Of several that are what is wanted, the one with the lowest id counts, and never
// the one that asks.
func TestAutoEdgeSeveral(t *testing.T) {
	for _, slow := range []bool{false, true} {
		for _, order := range []string{"a b c", "c b a", "b c a"} {
			out, _ := run(t, transform.AutoEdge(nil), build(t, map[string]*thing{
				"a": {is: []string{"x"}, wants: []string{"x"}, slow: slow},
				"b": {is: []string{"x"}, slow: slow},
				"c": {wants: []string{"x"}, slow: slow},
			}, order))
			got := edges(out)
			if len(got) != 2 || strings.Join(got, ",") != "a~c,b~a" && strings.Join(got, ",") != "b~a,a~c" {
				t.Errorf("%t %s: %q", slow, order, got)
			}
		}
	}
}

// UIDs without a hash are compared within a budget; who asks later gets a note.
func TestAutoEdgeBudget(t *testing.T) {
	things := map[string]*thing{}
	const n = 6000
	for i := range n {
		things[fmt.Sprint(i)] = &thing{is: []string{fmt.Sprint(i)}, wants: []string{fmt.Sprint(i - 1)}, slow: true}
	}
	g := build(t, things, many("%d", n))
	notes := &transform.Notes{}
	out, err := transform.Run(t.Context(), g, []transform.Step{transform.AutoEdge(nil)}, notes)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes.List) == 0 || len(notes.List)+out.EdgeCount() != n-1 || !strings.Contains(notes.List[0].Reason, "method Hash") {
		t.Errorf("%d edges, %d notes", out.EdgeCount(), len(notes.List))
	}
}

// The end of the context ends a step.
func TestStepsEnd(t *testing.T) {
	g := build(t, map[string]*thing{"a": {is: []string{"x"}, key: "k"}, "b": {wants: []string{"x"}, key: "k"}}, "a b")
	for _, s := range []transform.Step{transform.AutoEdge(nil), transform.AutoGroup()} {
		if out, err := transform.Run(ended(t), g, []transform.Step{s}, nil); err == nil || out != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
