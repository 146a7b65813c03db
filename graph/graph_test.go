package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build makes a graph of vertices with the letters of ids as their ids, and
// edges written as "ab", "ab!" if it notifies, "ab?" if it is implied.
func build(tb testing.TB, ids string, edges ...string) *graph.Graph[int] {
	tb.Helper()
	s := graphtest.Spec{IDs: strings.Split(ids, "")}
	for i, e := range edges {
		s.Edges = append(s.Edges, graph.Edge{
			From:    strings.IndexByte(ids, e[0]),
			To:      strings.IndexByte(ids, e[1]),
			Notify:  strings.Contains(e, "!"),
			Implied: strings.Contains(e, "?"),
			Pos:     fmt.Sprintf("g.yaml:%d:1", i+1),
		})
	}
	return s.Build(tb)
}

// chain makes a graph of n vertices, one after the other.
func chain(tb testing.TB, n int) *graph.Graph[int] {
	tb.Helper()
	g := graph.New[int]("chain")
	g.Grow(n, n)
	for i := range n {
		if _, err := g.Add(fmt.Sprintf("v%d", i), i); err != nil {
			tb.Fatal(err)
		}
		if i > 0 {
			connect(tb, g, graph.Edge{From: i - 1, To: i})
		}
	}
	return g
}

func connect[V any](tb testing.TB, g *graph.Graph[V], e graph.Edge) {
	tb.Helper()
	if err := g.Connect(e); err != nil {
		tb.Fatal(err)
	}
}

// letters names vertices by their ids.
func letters(g *graph.Graph[int], order []int) string {
	var b strings.Builder
	for _, i := range order {
		b.WriteString(g.ID(i))
	}
	return b.String()
}

func TestLaws(t *testing.T) {
	graphtest.Run(t, func(tb graphtest.TB, s graphtest.Spec) *graph.Graph[int] { return s.Build(tb) })
}

// A graph that was read between every two writes is the same graph.
func TestLawsReadInBetween(t *testing.T) {
	graphtest.Run(t, func(tb graphtest.TB, s graphtest.Spec) *graph.Graph[string] {
		g := graph.New[string]("")
		for _, id := range s.IDs {
			if _, err := g.Add(id, id); err != nil {
				tb.Fatalf("%v", err)
			}
			g.EdgeCount()
		}
		for _, e := range s.Edges {
			if err := g.Connect(e); err != nil {
				tb.Fatalf("%v", err)
			}
			if _, ok := g.Link(e.From, e.To); !ok {
				tb.Errorf("the edge %+v is not there after Connect", e)
			}
		}
		return g
	})
}

func TestAdd(t *testing.T) {
	g := graph.New[string]("g")
	for want, id := range []string{"file[/a]", "", "file[/b]"} {
		if i, err := g.Add(id, "value of "+id); err != nil || i != want {
			t.Fatalf("Add(%q) = %d, %v, want %d", id, i, err, want)
		}
	}
	for id, want := range map[string]string{"file[/b]": "duplicate vertex: file[/b]", "": `duplicate vertex: ""`} {
		_, err := g.Add(id, "other")
		if !errors.Is(err, graph.ErrDuplicate) || err.Error() != want {
			t.Errorf("Add(%q) again: %v, want %q", id, err, want)
		}
	}
	if i, err := g.Add("file[/b]", ""); i != 2 || err == nil {
		t.Errorf("a duplicate's index is %d, want that of the first, 2", i)
	}
	if g.Len() != 3 || g.Value(2) != "value of file[/b]" || g.ID(2) != "file[/b]" {
		t.Errorf("a duplicate changed the graph: %d vertices, %q", g.Len(), g.Value(2))
	}
	if _, ok := g.Index("file[/c]"); ok {
		t.Error("Index finds a vertex that is not there")
	}
}

func TestValues(t *testing.T) {
	g := build(t, "abc", "ab")
	row := g.Succ(0)
	g.SetValue(1, 42)
	var got []int
	for i, v := range g.All() {
		if g.Value(i) != v {
			t.Errorf("All has %d at %d, Value %d", v, i, g.Value(i))
		}
		got = append(got, v)
	}
	if !slices.Equal(got, []int{0, 42, 2}) {
		t.Errorf("the values are %v", got)
	}
	if &row[0] != &g.Succ(0)[0] {
		t.Error("SetValue made a new layout")
	}
}

func TestConnectErrors(t *testing.T) {
	g := build(t, "ab", "ab")
	for _, e := range []graph.Edge{{From: -1, To: 0}, {From: 0, To: 2}, {From: 5, To: 5}} {
		if err := g.Connect(e); err == nil {
			t.Errorf("Connect(%+v) gives no error", e)
		}
	}
	self := graph.Edge{From: 1, To: 1, Pos: "g.yaml:3:5"}
	c, ok := errors.AsType[*graph.CycleError](g.Connect(self))
	if !ok || c.Error() != "cycle: b -> b" || !slices.Equal(c.Edges, []graph.Edge{self}) || !c.Shortest {
		t.Errorf("a self edge gives %+v", c)
	}
	if g.EdgeCount() != 1 {
		t.Errorf("%d edges after errors, want 1", g.EdgeCount())
	}
	graphtest.Check(t, g)
}

func TestParallelDeclarations(t *testing.T) {
	a := graph.Edge{From: 0, To: 1, Implied: true, Name: "from recv", Pos: "g.yaml:9:1"}
	b := graph.Edge{From: 0, To: 1, Pos: "g.yaml:2:1"}
	c := graph.Edge{From: 0, To: 1, Name: "e1", Pos: "g.yaml", Line: 3, Col: 1, Notify: true}
	tests := map[string]struct {
		decls []graph.Edge
		want  graph.Edge
	}{
		"implied only":       {[]graph.Edge{a}, a},
		"implied twice":      {[]graph.Edge{a, a}, a},
		"plain wins":         {[]graph.Edge{a, b}, graph.Edge{From: 0, To: 1, Name: "from recv", Pos: b.Pos}},
		"order of the first": {[]graph.Edge{b, c}, graph.Edge{From: 0, To: 1, Name: "e1", Pos: b.Pos, Notify: true}},
		"all":                {[]graph.Edge{a, c, b}, graph.Edge{From: 0, To: 1, Name: "e1", Pos: c.Pos, Line: 3, Col: 1, Notify: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := build(t, "abc", "cb", "ac", "ba")
			for _, e := range tt.decls {
				connect(t, g, e)
			}
			if got, ok := g.Link(0, 1); !ok || got != tt.want {
				t.Errorf("Link = %+v, want %+v", got, tt.want)
			}
			if got := slices.Collect(g.Declarations(0, 1)); !slices.Equal(got, tt.decls) {
				t.Errorf("Declarations = %+v, want %+v", got, tt.decls)
			}
			if g.EdgeCount() != 4 {
				t.Errorf("%d edges, want 4", g.EdgeCount())
			}
			graphtest.Check(t, g)
		})
	}
}

func TestLinkOfUnknown(t *testing.T) {
	g := build(t, "ab", "ab")
	for _, p := range [][2]int{{1, 0}, {0, 0}, {-1, 0}, {0, 2}, {2, 2}} {
		if e, ok := g.Link(p[0], p[1]); ok {
			t.Errorf("Link(%d, %d) = %+v", p[0], p[1], e)
		}
		for e := range g.Declarations(p[0], p[1]) {
			t.Errorf("Declarations(%d, %d) yields %+v", p[0], p[1], e)
		}
	}
}

// A caller that appends to a row must not write into the next one.
func TestRowsAreClipped(t *testing.T) {
	g := build(t, "abcd", "ab", "bc", "cd")
	_ = append(g.Succ(0), 99)
	_ = append(g.Pred(1), 99)
	graphtest.Check(t, g)
}

// Slices handed out before a change stay as they were.
func TestRowsOutliveChanges(t *testing.T) {
	g := build(t, "abcd", "ac")
	before := g.Succ(0)
	connect(t, g, graph.Edge{From: 0, To: 1})
	if after := g.Succ(0); !slices.Equal(before, []int32{2}) || !slices.Equal(after, []int32{1, 2}) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestIteratorsStop(t *testing.T) {
	g := build(t, "abcd", "ab", "ac", "bd", "cd")
	reduced, err := g.Reduction()
	if err != nil {
		t.Fatal(err)
	}
	for name, seq := range map[string]func(func(graph.Edge) bool){
		"Edges": g.Edges(), "OutEdges": g.OutEdges(0), "InEdges": g.InEdges(3),
		"Declarations": g.Declarations(0, 1), "Reduction": reduced,
	} {
		count := 0
		for range seq {
			count++
			break
		}
		if count != 1 {
			t.Errorf("%s yields %d times", name, count)
		}
	}
	for range g.Descendants(0) {
		break
	}
}

// The first read, and everything that is found out lazily, may come from any
// number of goroutines at once. Means most under -race.
func TestConcurrentReaders(t *testing.T) {
	for name, g := range map[string]*graph.Graph[int]{
		"acyclic": build(t, "abcde", "ab", "bc", "ac", "de"),
		"cyclic":  build(t, "abcde", "ab", "bc", "ca", "de"),
	} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { graphtest.Check(t, g) })
			}
			wg.Wait()
		})
	}
}

func TestEmptyGraph(t *testing.T) {
	g := graph.New[int]("")
	graphtest.Check(t, g)
	if order, err := g.Sort(); err != nil || len(order) != 0 {
		t.Errorf("Sort() = %v, %v", order, err)
	}
	g.Grow(-1, -1)
}

// FuzzLaws lets the fuzzer look for a graph that breaks a law.
func FuzzLaws(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{})
		g := s.Build(t)
		graphtest.Check(t, g)
		graphtest.CheckSpec(t, g, s)
	}))
}

// TestIndex: each id is found, as text and as bytes, and no other is, over all growths of the index.
func TestIndex(t *testing.T) {
	g := graph.New[int]("")
	for n := range 5000 {
		id := fmt.Sprintf("v%d", n)
		if _, ok := g.IndexBytes([]byte(id)); ok {
			t.Fatalf("%s is found before it is there", id)
		}
		if at, err := g.Add(id, n); err != nil || at != n {
			t.Fatalf("%s is vertex %d, error %v; want %d", id, at, err, n)
		}
		for _, seek := range []int{0, n / 2, n} {
			id := fmt.Sprintf("v%d", seek)
			at, ok := g.Index(id)
			bytesAt, bytesOK := g.IndexBytes([]byte(id))
			if !ok || !bytesOK || at != seek || bytesAt != seek {
				t.Fatalf("of %d vertices, %s is found at %d (%t), as bytes at %d (%t)", n+1, id, at, ok, bytesAt, bytesOK)
			}
		}
	}
	if _, err := g.Add("v17", 0); !errors.Is(err, graph.ErrDuplicate) {
		t.Errorf("adding v17 again: %v", err)
	}
}

// TestPlaceOfAnEdge: a place is written as far as it is known.
func TestPlaceOfAnEdge(t *testing.T) {
	for want, e := range map[string]graph.Edge{
		"": {}, "g.yaml": {Pos: "g.yaml"}, "g.yaml:3": {Pos: "g.yaml", Line: 3}, "g.yaml:3:5": {Pos: "g.yaml", Line: 3, Col: 5},
		"3:5": {Line: 3, Col: 5}, "g.yaml:9:1": {Pos: "g.yaml:9:1"},
	} {
		if got := e.Place(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
