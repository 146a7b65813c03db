package gapi_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
)

// shape is all that Memory may have a part in.
type shape struct {
	IDs, Said []string
	Recv      [][]resgraph.Wire
	Edges     []graph.Edge
}

func shapeOf(g *resgraph.Graph, ds schema.Diagnostics) (s shape) {
	for _, d := range ds {
		s.Said = append(s.Said, d.String())
	}
	if g == nil {
		return s
	}
	for i, v := range g.All() {
		s.IDs, s.Recv = append(s.IDs, g.ID(i)), append(s.Recv, v.Recv)
	}
	s.Edges = slices.Collect(g.Declared())
	return s
}

// edit changes one thing of a declared graph, or nothing.
func edit(t *rapid.T, d *gapi.Declared) {
	some := func() *gapi.Declaration { return &d.Resources[rapid.IntRange(0, len(d.Resources)-1).Draw(t, "some")] }
	switch rapid.IntRange(0, 8).Draw(t, "edit") {
	case 0, 1:
	case 2:
		from, to := rapid.IntRange(0, len(d.Resources)-1).Draw(t, "from"), rapid.IntRange(0, len(d.Resources)-1).Draw(t, "to")
		addEdge(t, d, min(from, to), max(from, to))
	case 3:
		r := some()
		for _, list := range []*[]gapi.RefDecl{&r.Before, &r.Depend, &r.Notify, &r.Listen} {
			*list = (*list)[:len(*list)/2]
		}
	case 4:
		some().Name += "x" // with references that lead nowhere now
	case 5:
		d.Resources = append(d.Resources, declare(1, "thing", fmt.Sprintf("new%d", len(d.Resources))))
	case 6:
		a, b := some(), some()
		*a, *b = *b, *a
	case 7:
		for i := range d.Resources { // all move down by a line
			for _, list := range [][]gapi.RefDecl{d.Resources[i].Before, d.Resources[i].Notify} {
				for n := range list {
					list[n].Pos.Line++
				}
			}
		}
	case 8:
		r := some()
		r.Recv = []gapi.RecvDecl{{Field: "text", From: schema.Ref{Kind: "thing", Name: some().Name, Key: "text"}}}
	}
}

// TestMemory: with a Memory and without it, each of many graphs in a row is found good or bad in the same words, and is the same.
func TestMemory(t *testing.T) {
	kinds := registry(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		d := &gapi.Declared{Name: "g"}
		for i := range rapid.IntRange(1, 6).Draw(t, "resources") {
			d.Resources = append(d.Resources, declare(1, rapid.SampledFrom([]string{"thing", "plain"}).Draw(t, "kind"), fmt.Sprint(i)))
		}
		var m gapi.Memory
		for range rapid.IntRange(2, 8).Draw(t, "graphs") {
			edit(t, d)
			again := func(int) bool { return false }
			if diff := cmp.Diff(shapeOf(gapi.Build(kinds, d)), shapeOf(m.NewDraft(kinds, d).Check(again))); diff != "" {
				t.Fatalf("without a memory -, with it +:\n%s", diff)
			}
		}
	})
}

// TestMemoryKeepsApart: a graph that was built with a Memory does not change when the next one is built.
func TestMemoryKeepsApart(t *testing.T) {
	kinds := registry(t, nil)
	d := &gapi.Declared{Name: "first", Resources: []gapi.Declaration{declare(1, "plain", "a"), declare(2, "plain", "b")}}
	d.Resources[1].Depend = refs(2, ref("plain", "a"))
	var m gapi.Memory
	never := func(int) bool { return false }
	first, _ := m.NewDraft(kinds, d).Check(never)
	res := first.Value(0).Res
	d.Name = "second"
	second, _ := m.NewDraft(kinds, d).Check(never)
	if first.Name != "first" || first.Value(0).Res != res || second.Name != "second" || second.Value(0).Res == res || second.EdgeCount() != 1 {
		t.Errorf("first %q with %p, before %p; second %q with %p and %d edges", first.Name, first.Value(0).Res, res, second.Name, second.Value(0).Res, second.EdgeCount())
	}
}

// TestMemoryCost: an unchanged graph of 10,000 vertices with 30,000 edges is built with less than 400 bytes a vertex. Without
// a Memory it takes about 580.
func TestMemoryCost(t *testing.T) {
	const n = 10_000
	kinds := registry(t, nil)
	declared := func() *gapi.Declared {
		d := &gapi.Declared{Name: "g"}
		for i := range n {
			res := &plain{}
			res.MetaParams() // makes them, as whoever declares a resource does: they are not a cost of the graph
			r := gapi.Declaration{Res: res, Kind: "plain", Name: fmt.Sprint(i)}
			for e := range min(i, 3) {
				r.Depend = append(r.Depend, gapi.RefDecl{Ref: ref("plain", fmt.Sprint((i-1)/(e+1)))})
			}
			d.Resources = append(d.Resources, r)
		}
		return d
	}
	var m gapi.Memory
	var cost [2]uint64
	for i := range cost {
		d := declared()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g, ds := m.NewDraft(kinds, d).Check(func(int) bool { return true })
		if g == nil || g.EdgeCount() < 2*n {
			t.Fatalf("the graph is not good: %v", ds)
		}
		runtime.ReadMemStats(&after)
		cost[i] = (after.TotalAlloc - before.TotalAlloc) / n
	}
	t.Logf("%d bytes a vertex, then %d", cost[0], cost[1])
	if cost[1] > 400 {
		t.Errorf("an unchanged graph takes %d bytes a vertex, the first one %d", cost[1], cost[0])
	}
}

// TestMadeOnce: a resource that was made in Go and declared as before is not written again, since it may run: another goroutine reads its
// fields meanwhile, and the race detector would tell. A declaration that differs counts, and so does a fault, which each build tells.
func TestMadeOnce(t *testing.T) {
	reg := registry(t, nil)
	res, err := reg.New("thing")
	if err != nil {
		t.Fatal(err)
	}
	var m gapi.Memory
	before := 0 // other resources in front of it
	build := func(name, content string) schema.Diagnostics {
		var list []gapi.Declaration
		for i := range before {
			list = append(list, declare(1, "thing", fmt.Sprint("other", i)))
		}
		d := gapi.Declaration{Kind: "thing", Name: name, Res: res}
		if content != "" {
			d.Value = &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: content, Value: &schema.Node{Kind: schema.NodeString, Text: "x"}}}}
		}
		_, ds := m.NewDraft(reg, &gapi.Declared{Name: "g", Resources: append(list, d)}).Check(func(int) bool { return false })
		return ds
	}
	if ds := build("/a", ""); ds.Err() != nil {
		t.Fatal(ds)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // a resource that runs is read at any time
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = res.Kind() + res.Name() + fmt.Sprint(res.MetaParams().Noop)
			}
		}
	}()
	for i := range 50 {
		before = i % 3 // a graph that another frontend alters has it at another place
		if ds := build("/a", ""); ds.Err() != nil {
			t.Fatal(ds)
		}
	}
	close(stop)
	<-stopped
	if ds := build("/b", ""); ds.Err() != nil || res.Name() != "/b" {
		t.Errorf("another name counts for nothing: %s, %v", res.Name(), ds)
	}
	for range 2 {
		if ds := build("/b", "contnet"); ds.Err() == nil {
			t.Error("a fault is told once only")
		}
	}
}
