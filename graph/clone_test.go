package graph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// what a graph says of itself, in order.
func said(g *Graph[int]) (out []string) {
	for i, id := range g.IDs() {
		out = append(out, fmt.Sprint(i, id, g.Value(i)))
	}
	for e := range g.Edges() {
		for d := range g.Declarations(e.From, e.To) {
			out = append(out, fmt.Sprintf("%+v", d))
		}
	}
	order, err := g.Sort()
	return append(out, fmt.Sprint(g.Name, order, err))
}

// However many edges have one name, it is kept once.
func TestNamesAreKeptOnce(t *testing.T) {
	g := New[int]("g")
	for i := range 50 {
		_, _ = g.Add(fmt.Sprint(i), i)
	}
	for i := 1; i < 50; i++ {
		_ = g.Connect(Edge{From: 0, To: i, Name: []string{"auto", "", "x"}[i/20]})
	}
	for i := 1; i < 50; i++ {
		if e, _ := g.Link(0, i); e.Name != []string{"auto", "", "x"}[i/20] {
			t.Errorf("%d has the name %q", i, e.Name)
		}
	}
	if len(g.texts) != 3 {
		t.Errorf("%d texts", len(g.texts))
	}
}

func TestClone(t *testing.T) {
	g := New[int]("g")
	for i := range 5 {
		_, _ = g.Add(fmt.Sprint("v", i), i)
	}
	_ = g.Connect(Edge{From: 3, To: 1, Name: "e", Pos: "x:1:1"})
	_ = g.Connect(Edge{From: 0, To: 1, Notify: true})
	before := said(g)
	a, b := g.Clone(), g.Clone()
	if diff := cmp.Diff(before, said(a)); diff != "" {
		t.Fatal(diff)
	}
	for k, c := range []*Graph[int]{a, b, g} { // each grows on its own
		_, _ = c.Add(fmt.Sprint("new", k), k)
		c.SetValue(0, 100+k)
		_ = c.Connect(Edge{From: 4, To: k, Name: fmt.Sprint("n", k)})
	}
	for k, c := range []*Graph[int]{a, b, g} {
		i, ok := c.Index(fmt.Sprint("new", k))
		e, there := c.Link(4, k)
		if old, known := c.Index("v3"); old != 3 || !known {
			t.Errorf("%d has lost v3", k)
		}
		if !ok || i != 5 || c.ID(5) != fmt.Sprint("new", k) || c.Len() != 6 || c.Value(0) != 100+k || !there || e.Name != fmt.Sprint("n", k) || c.EdgeCount() != 3 {
			t.Errorf("%d: %v", k, said(c))
		}
		if slices.ContainsFunc([]int{0, 1, 2}, func(o int) bool { _, has := c.Link(4, o); return has && o != k }) {
			t.Errorf("%d has an edge of another one", k)
		}
	}
}

// TestShape: a graph and its clones have one shape until one of them changes, and a bare clone has no values.
func TestShape(t *testing.T) {
	g := New[int]("")
	for i := range 3 {
		if _, err := g.Add(fmt.Sprint(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Connect(Edge{From: 0, To: 2}); err != nil {
		t.Fatal(err)
	}
	c, bare := g.Clone(), g.Bare()
	if c.Shape() != g.Shape() || bare.Shape() != g.Shape() || g.Shape() == (Shape{}) {
		t.Error("clones have other shapes")
	}
	if bare.Value(1) != 0 || g.Value(1) != 2 || !slices.Equal(bare.Succ(0), g.Succ(0)) {
		t.Errorf("the bare clone has %d and leads to %v; the graph has %d and leads to %v", bare.Value(1), bare.Succ(0), g.Value(1), g.Succ(0))
	}
	g.SetValue(1, 7)
	if c.Shape() != g.Shape() {
		t.Error("a value is a part of the shape")
	}
	if err := c.Connect(Edge{From: 0, To: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.Add("3", 0); err != nil {
		t.Fatal(err)
	}
	if c.Shape() == g.Shape() || bare.Shape() == g.Shape() || bare.Shape() == c.Shape() {
		t.Error("a changed graph has the shape of another one")
	}
	if _, ok := g.Index("3"); ok {
		t.Error("a vertex of the clone is in the graph")
	}
}
