package resgraph_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// thing is a resource of which nothing but its id is asked.
type thing struct {
	engine.Res
	name string
}

func (t thing) String() string { return "thing[" + t.name + "]" }

// TestFindVertex: a vertex is found by its id, and the owner of a group by the id of a member.
func TestFindVertex(t *testing.T) {
	named := func(name string) *resgraph.Vertex {
		return &resgraph.Vertex{Res: thing{name: name}}
	}
	g := graph.New[*resgraph.Vertex]("g")
	owner := named("a")
	owner.Alter(func(s *resgraph.Special) { s.Group = []*resgraph.Vertex{named("b"), named("c")} })
	for _, v := range []*resgraph.Vertex{named("first"), owner} {
		if _, err := g.Add(v.Res.String(), v); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]int{"thing[first]": 0, "thing[a]": 1, "thing[b]": 1, "thing[c]": 1, "thing[d]": -1, "b": -1, "": -1} {
		if i, ok := resgraph.Find(g, id); i != want || ok != (want >= 0) {
			t.Errorf("%q is %d, %t; want %d", id, i, ok, want)
		}
	}
}

// TestFormulaSame: formulas are the same by their sums. One that is absent is the same as none other.
func TestFormulaSame(t *testing.T) {
	a, b, c := &resgraph.Formula{Text: "x", Sum: "1"}, &resgraph.Formula{Text: "y", Sum: "1"}, &resgraph.Formula{Text: "x", Sum: "2"}
	for _, tt := range []struct {
		one, other *resgraph.Formula
		want       bool
	}{{nil, nil, true}, {a, a, true}, {a, b, true}, {a, c, false}, {a, nil, false}, {nil, a, false}} {
		if got := tt.one.Same(tt.other); got != tt.want {
			t.Errorf("%+v and %+v: %t", tt.one, tt.other, got)
		}
	}
}
