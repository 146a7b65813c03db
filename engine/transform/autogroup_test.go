package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// keyed makes things of the same key by name.
func keyed(names string) map[string]*thing {
	things := map[string]*thing{}
	for name := range strings.FieldsSeq(names) {
		things[name] = &thing{key: "k"}
	}
	return things
}

func TestAutoGroup(t *testing.T) {
	for _, c := range []struct {
		name, vertices string
		edges          []string
		groups, want   []string
	}{
		{"isolated", "a b c", nil, []string{"a+b+c"}, nil},
		{"a chain stays", "a b c", []string{"a b", "b c"}, []string{"a", "b", "c"}, []string{"a b", "b c"}},
		{"a diamond", "a b c d", []string{"a b", "a c", "b d", "c d"}, []string{"a", "b+c", "d"}, []string{"a b", "b d"}},
		{"two chains", "a b x y", []string{"a b", "x y"}, []string{"a+x", "b+y"}, []string{"a b"}},
		{"crossed", "a b x y", []string{"a y", "x b"}, []string{"a+x", "b+y"}, []string{"a b"}},
		{"a path around", "a b c x", []string{"a b", "b c", "a x", "x c"}, []string{"a", "b+x", "c"}, []string{"a b", "b c"}},
		{"of unequal length", "a b c", []string{"a b"}, []string{"a+c", "b"}, []string{"a b"}},
	} {
		out, _ := run(t, transform.AutoGroup(), build(t, keyed(c.vertices), c.vertices, c.edges...))
		same(t, c.name, groups(out), c.groups...)
		same(t, c.name, edges(out), c.want...)
	}
}

// The members run by their owner, which knows them; the graph that was given is as
// it was.
func TestAutoGroupOwner(t *testing.T) {
	g := build(t, keyed("a b c"), "a b c")
	g.Value(1).Pos = schema.Pos{File: "f", Line: 7, Col: 1}
	g.Value(1).Res.MetaParams().Sema = []string{"s"}
	out, notes := run(t, transform.AutoGroup(), g)
	owner := out.Value(0)
	if members := owner.Res.(*thing).Group(); len(members) != 2 || members[0] != g.Value(1).Res || members[1] != g.Value(2).Res {
		t.Errorf("its members are %v", members)
	}
	if len(owner.Special().Group) != 2 || owner.Special().Group[0].Pos.Line != 7 {
		t.Errorf("%+v", owner)
	}
	if alone := owner.Special().Alone; len(alone.Sema) != 0 || len(owner.Res.MetaParams().Sema) != 1 {
		t.Errorf("alone it has %v, in the group %v", alone.Sema, owner.Res.MetaParams().Sema)
	}
	same(t, "notes", notes, "autogroup: grouped: a, b, c: 3 of kind thing run as one")
	if g.Len() != 3 || g.Value(0).Special().Group != nil {
		t.Error("the graph that was given is altered")
	}
	for id, want := range map[string]int{"thing[a]": 0, "thing[c]": 0, "thing[d]": -1} {
		if i, ok := resgraph.Find(out, id); i != want || ok != (want >= 0) {
			t.Errorf("%s is %d", id, i)
		}
	}
	late := &thing{key: "k"}
	late.SetKind("thing")
	late.SetName("z")
	_, _ = out.Add(late.String(), &resgraph.Vertex{Res: late})
	again, _ := run(t, transform.AutoGroup(), out)
	if again != out {
		t.Error("a group is grouped again")
	}
}

// What keeps a vertex alone.
func TestAutoGroupAlone(t *testing.T) {
	wire := resgraph.Wire{Field: "f", From: schema.Ref{Kind: "thing", Name: "b", Key: "k"}}
	for why, set := range map[string]func(g *resgraph.Graph, x *thing){
		"b": func(_ *resgraph.Graph, x *thing) { x.key = "other" },
		"c": func(_ *resgraph.Graph, x *thing) { x.SetKind("other") },
		"":  func(_ *resgraph.Graph, x *thing) { x.key = "" },
		"it receives a value": func(g *resgraph.Graph, _ *thing) {
			g.Value(1).Recv = []resgraph.Wire{{From: schema.Ref{Kind: "z", Name: "z"}}}
		},
		"it only undoes what has left the graph": func(g *resgraph.Graph, _ *thing) { g.Value(1).Alter(func(s *resgraph.Special) { s.Once = true }) },
		"a value that it sends is received":      func(g *resgraph.Graph, _ *thing) { g.Value(3).Recv = []resgraph.Wire{wire} },
		"GroupKey panicked: oh":                  func(_ *resgraph.Graph, x *thing) { x.bad = "GroupKey" },
		"not with thing[a]: never":               func(g *resgraph.Graph, _ *thing) { g.Value(0).Res.(*thing).foe = "b" },
		"meta.hidden: it never runs":             func(_ *resgraph.Graph, x *thing) { x.MetaParams().Hidden = true },
	} {
		g := build(t, keyed("a b c"), "a b c receiver")
		set(g, g.Value(1).Res.(*thing))
		out, notes := run(t, transform.AutoGroup(), g)
		same(t, why, groups(out), "a+c", "b", "receiver")
		told := slices.ContainsFunc(notes, func(n string) bool { return strings.HasSuffix(n, ": b: "+short(why)) })
		if len(why) > 1 && !told {
			t.Errorf("%s: %q", why, notes)
		}
	}
}

// A panic in GroupCmp costs that owner its members.
func TestAutoGroupCmpPanics(t *testing.T) {
	things := keyed("a b c")
	things["a"].bad = "GroupCmp"
	out, notes := run(t, transform.AutoGroup(), build(t, things, "a b c"))
	same(t, "groups", groups(out), "a", "b+c")
	if !slices.Contains(notes, "autogroup: skipped: a: GroupCmp panicked: oh") {
		t.Errorf("%q", notes)
	}
}

// Whom a change of one would refresh, a change of the others must refresh too, and
// what refreshes one must refresh all: else grouping would notify whom nobody has
// asked to notify. Edges without notification do not matter.
func TestAutoGroupNotify(t *testing.T) {
	for _, c := range []struct {
		edges, groups, want []string
	}{
		{[]string{"a!x"}, []string{"a", "b+c", "x", "y"}, []string{"a!x"}},
		{[]string{"a!x", "b!x", "c!y"}, []string{"a+b", "c", "x", "y"}, []string{"a!x", "c!y"}},
		{[]string{"a!x", "b!x", "c x", "b y"}, []string{"a+b", "c", "x", "y"}, []string{"a!x", "a y", "c x"}},
		{[]string{"x!a", "x!b", "x c"}, []string{"a+b", "c", "x", "y"}, []string{"x!a", "x c"}},
		{[]string{"x!a", "x!b", "y!b", "y c"}, []string{"a", "b", "c", "x", "y"}, []string{"x!a", "x!b", "y!b", "y c"}},
	} {
		out, _ := run(t, transform.AutoGroup(), build(t, keyed("a b c"), "a b c x y", c.edges...))
		got := edges(out)
		slices.Sort(got)
		slices.Sort(c.want)
		same(t, fmt.Sprint(c.edges), groups(out), c.groups...)
		same(t, fmt.Sprint(c.edges), got, c.want...)
	}
}

// A GroupCmp that likes nobody costs no square.
func TestAutoGroupBounded(t *testing.T) {
	things := keyed(many("v%d", 3000))
	compared := 0
	for _, x := range things {
		x.bad = ""
	}
	g := build(t, things, many("v%d", 3000))
	for i := range g.Len() {
		g.SetValue(i, &resgraph.Vertex{Res: &lonely{thing: things[fmt.Sprint("v", i)], compared: &compared}})
	}
	out, _ := run(t, transform.AutoGroup(), g)
	if out.Len() != 3000 || compared > 16*3000 {
		t.Errorf("%d vertices after %d comparisons", out.Len(), compared)
	}
}

type lonely struct {
	*thing
	compared *int
}

func (x *lonely) GroupCmp(engine.GroupableRes) error {
	*x.compared++
	return fmt.Errorf("alone")
}
