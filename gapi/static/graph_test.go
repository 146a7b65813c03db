package static_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// made is a resource made in Go: it receives text, and sends some.
type made struct {
	traits.Base
	traits.Recvable
	traits.Sendable
	traits.Refreshable
	Text  string     `yaml:"text"`
	Count int        `yaml:"count"`
	Other schema.Ref `yaml:"other"`
}

type madeSends struct {
	Out    string `yaml:"out"`
	Number int    `yaml:"number"`
}

func (m *made) Default() engine.Res                            { return &made{} }
func (m *made) Validate() error                                { return nil }
func (m *made) Init(*engine.Init) error                        { return nil }
func (m *made) Cleanup() error                                 { return nil }
func (m *made) Watch(context.Context) error                    { return nil }
func (m *made) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (m *made) Cmp(o engine.Res) error                         { return engine.CmpFields(m, o) }
func (m *made) Sends() any                                     { return &madeSends{} }

// shape returns the edges of a graph as text.
func shape(g *resgraph.Graph) (list []string) {
	for e := range g.Edges() {
		list = append(list, fmt.Sprint(g.ID(e.From), " ", g.ID(e.To), " ", e.Notify, e.Implied))
	}
	slices.Sort(list)
	return list
}

// valid declares a graph that has each thing that can be said.
func valid() *static.Graph {
	g := static.NewGraph("web")
	target := &made{}
	a := g.Add("made", "a", &made{Count: 1})
	b := g.Add("made", "b", target).Recv(&target.Text, static.SentField(a, func(s *madeSends) any { return &s.Out }))
	c := g.Add("made", "c", &made{Other: b.Ref()}).Meta(map[string]any{"retry": 3})
	a.Before(c)
	d := g.Add("made", "d", &made{}).Depend(c).Recv("count", a.Sent("number"))
	c.Notify(d)
	g.AddValues("other", "e", map[string]any{"text": "x", "count": 7}).Listen(a)
	return g
}

func registry(t *testing.T) *engine.Registry {
	t.Helper()
	reg, err := engine.NewRegistry().With("other", func() engine.Res { return &made{} })
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestFindingG4Graph: what the methods say is in the graph that is built, and a graph that is ready becomes the same one again.
func TestFindingG4Graph(t *testing.T) {
	g, diags := gapi.Build(registry(t), valid().Declared())
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := []string{ // notify, implied
		"made[a] made[b] false true", "made[a] made[c] false false", "made[a] made[d] false true",
		"made[a] other[e] true false", "made[c] made[d] true false",
	}
	if got := shape(g); !slices.Equal(got, want) {
		t.Errorf("the edges are %q\nwant %q", got, want)
	}
	c, _ := g.Index("made[c]")
	if m := g.Value(c).Res.MetaParams(); m.Retry != 3 {
		t.Errorf("retry is %d", m.Retry)
	}
	e, _ := g.Index("other[e]")
	if m := g.Value(e).Res.(*made); m.Text != "x" || m.Count != 7 {
		t.Errorf("decoded %+v", m)
	}
	again, diags := gapi.Build(registry(t), gapi.Ready(g))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if !slices.Equal(shape(again), shape(g)) || again.Name != "web" || again.Value(c).Res != g.Value(c).Res {
		t.Errorf("the ready graph becomes %q\nwant %q", shape(again), shape(g))
	}
}

// TestRunning: resources of a part refer to a resource that runs already; the part declares nothing of it.
func TestRunning(t *testing.T) {
	g := static.NewGraph("part")
	runs := g.Running("made", "runs")
	g.Add("made", "a", &made{}).Before(runs).Recv("text", runs.Sent("out"))
	d := g.Declared()
	if len(d.Problems) > 0 || len(d.Resources) != 1 {
		t.Fatal(d.Problems, len(d.Resources))
	}
	a := d.Resources[0]
	if len(a.Before) != 1 || a.Before[0].Ref.ID() != "made[runs]" || len(a.Recv) != 1 || a.Recv[0].From.ID() != "made[runs]" {
		t.Errorf("%+v %+v", a.Before, a.Recv)
	}
	_, diags := gapi.Build(registry(t), d)
	if text := fmt.Sprint(diags); !strings.Contains(text, "made[runs] is not in the graph") {
		t.Errorf("as a whole graph: %s", text)
	}
}

// here returns the place of its caller.
func here(plus int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d: ", file, line+plus)
}

// TestFindingG4GraphErrors: everything that is wrong is found at once, each with the place of the call.
func TestFindingG4GraphErrors(t *testing.T) {
	g, other := static.NewGraph("bad"), static.NewGraph("other")
	twice := &made{}
	at := here(1)
	a := g.Add("made", "a", twice)
	foreign := other.Add("made", "x", &made{})
	wants := []string{}
	want := func(place, text string) { wants = append(wants, place+text) }

	want(here(1), "the same Go value is made[a] already, declared at "+strings.TrimSuffix(at, ": "))
	g.Add("made", "b", twice)
	want(here(1), "Before: made[x] is a resource of another graph")
	a.Before(foreign)
	want(here(1), "Depend: made[runs] is not declared in this graph; declare it")
	g.Running("made", "runs").Depend(a)
	want(here(1), "Meta: made[runs] is not declared in this graph; declare it")
	g.Running("made", "runs").Meta(map[string]any{"retry": 3})
	want(here(1), "Recv: made[runs] is not declared in this graph; declare it")
	g.Running("made", "runs").Recv("text", a.Sent("out"))
	want(here(1), "Notify: the other resource is nil")
	a.Notify(nil)
	want(here(1), "Recv: the field is a *int, want a pointer to a parameter")
	a.Recv(new(int), a.Sent("out"))
	want(here(1), "Recv: made[a] sends a *static_test.madeSends, not a *static_test.made")
	a.Recv(&twice.Text, static.SentField(a, func(*made) any { return nil }))
	c := g.Add("made", "c", &made{})
	want(here(1), "count can't receive made[c].out")
	g.Add("made", "d", &made{}).Recv("count", c.Sent("out"))
	want(here(1), `unknown key "outt" (did you mean "out"?)`)
	g.Add("made", "e", &made{}).Recv("text", c.Sent("outt"))
	want(here(1), "made[c] is declared twice")
	g.Add("made", "c", &made{})
	want(here(1), "the resource is nil")
	g.Add("made", "nil", nil)
	want(here(1), "retries")
	g.Add("made", "f", &made{}).Meta(map[string]any{"retries": 3})
	want(here(1), "text: chan int")
	g.AddValues("other", "g", map[string]any{"text": make(chan int)})

	built, diags := gapi.Build(registry(t), g.Declared())
	if built != nil {
		t.Error("there is a graph")
	}
	var texts []string
	for _, d := range diags {
		texts = append(texts, d.String())
	}
	all := strings.Join(texts, "\n")
	for _, w := range wants {
		place, text, _ := strings.Cut(w, ": ")
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, place) && strings.Contains(s, text) }) {
			t.Errorf("nothing says %q in\n%s", w, all)
		}
	}
}

// BenchmarkGraph declares 10,000 resources with 30,000 edges.
func BenchmarkGraph(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		g := static.NewGraph("large")
		list := make([]*static.Resource, 10000)
		for i := range list {
			list[i] = g.Add("made", fmt.Sprint(i), &made{})
			for _, back := range []int{1, 7, 50} {
				if i >= back {
					list[i].Depend(list[i-back])
				}
			}
		}
		if len(g.Declared().Resources) != len(list) {
			b.Fatal("some are missing")
		}
	}
}
