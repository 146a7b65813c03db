package transform_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is a resource of the tests: is and wants are texts that others ask for. A
// want begins with "!" for what comes after it, then with "+" where it asks for
// refresh, then with "=" where both that are to go have the same order, then with "@" for a thing by its name
// or with "~" for a user.
type thing struct {
	traits.Base
	traits.Groupable

	is, wants []string
	key       string
	bad       string // the method that panics, or "error"
	foe       string // whom it does not run
	slow      bool   // its UIDs have no hash
	gone      bool   // it is to go
	tell      func() // is called when it is asked
}

var (
	_ engine.EdgeableRes  = (*thing)(nil)
	_ engine.GroupableRes = (*thing)(nil)
)

func (*thing) Default() engine.Res                            { return &thing{} }
func (*thing) Validate() error                                { return nil }
func (*thing) Init(*engine.Init) error                        { return nil }
func (*thing) Cleanup() error                                 { return nil }
func (*thing) Watch(context.Context) error                    { return nil }
func (*thing) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*thing) Cmp(engine.Res) error                           { return nil }

func (x *thing) bang(method string) {
	if x.bad == method {
		panic("oh")
	}
}

func (x *thing) GroupKey() string {
	x.bang("GroupKey")
	return x.key
}

func (x *thing) GroupCmp(o engine.GroupableRes) error {
	x.bang("GroupCmp")
	if o.Name() == x.foe {
		return errors.New("never")
	}
	return nil
}

func (x *thing) uid(text string) autoedge.UID {
	before := !strings.HasPrefix(text, "!")
	base := autoedge.BaseUID{Name: x.Name(), Kind: x.Kind(), Reversed: &before}
	text, base.Notifying = strings.CutPrefix(strings.TrimPrefix(text, "!"), "+")
	text, base.FixedOrder = strings.CutPrefix(text, "=")
	if name, ok := strings.CutPrefix(text, "~"); ok {
		return traits.UserUID(base, name)
	}
	if x.slow {
		return &slowUID{base, text}
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		return autoedge.NameUID(base, "thing", name)
	}
	if dir, ok := strings.CutSuffix(text, "/*"); ok {
		return traits.BelowUID(base, dir)
	}
	return traits.FileUID(base, text)
}

func (x *thing) Leaving() bool {
	x.bang("Leaving")
	return x.gone
}

func (x *thing) UIDs() (list []autoedge.UID) {
	x.bang("UIDs")
	for _, t := range x.is {
		list = append(list, x.uid(t))
	}
	return list
}

// AutoEdges asks for one want after the other.
func (x *thing) AutoEdges() (autoedge.Needs, error) {
	x.bang("AutoEdges")
	if x.tell != nil {
		x.tell()
	}
	if x.bad == "error" {
		return nil, errors.New("no idea")
	}
	return &asker{x: x}, nil
}

type asker struct {
	x  *thing
	at int
}

func (a *asker) Next() []autoedge.UID {
	a.x.bang("Next")
	switch {
	case a.x.bad == "endless":
		return []autoedge.UID{a.x.uid("nothing")}
	case a.at == len(a.x.wants) && a.x.bad == "late":
		panic("late")
	case a.at == len(a.x.wants):
		return nil
	}
	a.at++
	return []autoedge.UID{a.x.uid(a.x.wants[a.at-1])}
}

func (a *asker) Test(found []bool) bool { return len(found) == 1 }

// slowUID has no Hash.
type slowUID struct {
	autoedge.BaseUID
	text string
}

func (u *slowUID) IFF(o autoedge.UID) bool {
	s, ok := o.(*slowUID)
	return ok && s.text == u.text
}

// build makes a graph of things, by name, and edges: "a b" for one from a to b,
// "a!b" for one that notifies.
func build(tb testing.TB, things map[string]*thing, names string, edges ...string) *resgraph.Graph {
	tb.Helper()
	g := graph.New[*resgraph.Vertex]("g")
	for name := range strings.FieldsSeq(names) {
		x := things[name]
		if x == nil {
			x = &thing{}
		}
		x.SetKind("thing")
		x.SetName(name)
		if _, err := g.Add(x.String(), &resgraph.Vertex{Res: x}); err != nil {
			tb.Fatal(err)
		}
	}
	for _, e := range edges {
		a, b, notify := strings.Cut(e, "!")
		if !notify {
			a, b, _ = strings.Cut(e, " ")
		}
		from, ok := g.Index("thing[" + a + "]")
		to, there := g.Index("thing[" + b + "]")
		if !ok || !there {
			tb.Fatalf("no edge %q", e)
		}
		if err := g.Connect(graph.Edge{From: from, To: to, Notify: notify}); err != nil {
			tb.Fatal(err)
		}
	}
	return g
}

// run applies one step, and returns the graph and the notes, each as text.
func run(tb testing.TB, s transform.Step, g *resgraph.Graph) (*resgraph.Graph, []string) {
	tb.Helper()
	n := &transform.Notes{All: true}
	out, err := transform.Run(tb.Context(), g, []transform.Step{s}, n)
	if err != nil {
		tb.Fatal(err)
	}
	var notes []string
	for _, x := range n.List {
		notes = append(notes, short(x.String()))
	}
	return out, notes
}

// short leaves out the kind of the tests.
func short(s string) string {
	return strings.NewReplacer("thing[", "", "]", "", "file[", "").Replace(s)
}

// edges returns the edges of a graph: "a b", "a!b", and "a~b" and "a~!b" for
// automatic ones.
func edges(g *resgraph.Graph) (list []string) {
	for e := range g.Edges() {
		between := " "
		switch {
		case e.Implied && e.Name == "auto" && !e.Notify:
			between = "~"
		case e.Implied && e.Name == "auto":
			between = "~!"
		case e.Notify:
			between = "!"
		}
		list = append(list, short(g.ID(e.From)+between+g.ID(e.To)))
	}
	return list
}

// groups returns the vertices of a graph, with their members: "a+b+c".
func groups(g *resgraph.Graph) (list []string) {
	for i, v := range g.All() {
		ids := []string{g.ID(i)}
		for _, m := range v.Special().Group {
			ids = append(ids, m.Res.String())
		}
		list = append(list, short(strings.Join(ids, "+")))
	}
	return list
}

func same(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+" ", i)
	}
	return b.String()
}
