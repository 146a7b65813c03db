package transform_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
)

// BenchmarkSteps transforms 100,000 resources: files in nested folders, commands
// that use some of them, and what can be grouped. The kinds of resources are those
// of the tests, but what they ask for is what files and commands do.
func BenchmarkSteps(b *testing.B) {
	for name, steps := range map[string][]transform.Step{
		"both": transform.Default(), "autoedge": {transform.AutoEdge(nil)}, "autogroup": {transform.AutoGroup()},
	} {
		b.Run(name, func(b *testing.B) {
			g := machine(b, 100_000)
			if _, err := g.Sort(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				out, err := transform.Run(b.Context(), g, steps, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(out.EdgeCount()), "edges")
				b.ReportMetric(float64(out.Len()), "vertices")
			}
		})
	}
}

// machine makes a graph of n vertices: 8 of 10 are files with up to five folders
// above them, one uses three of them, and one can be grouped.
func machine(tb testing.TB, n int) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("machine")
	add := func(kind, name string, x *thing) int {
		x.SetKind(kind)
		x.SetName(name)
		i, err := g.Add(x.String(), &resgraph.Vertex{Res: x})
		if err != nil {
			tb.Fatal(err)
		}
		return i
	}
	path := func(i int) string {
		p := ""
		for ; i > 0; i /= 16 {
			p = fmt.Sprintf("/dir%d%s", i%16, p)
		}
		return p
	}
	var last int
	for i := range n {
		switch i % 10 {
		case 8:
			last = add("exec", fmt.Sprint(i), &thing{wants: []string{path(i - 1), path(i - 2), "/bin/sh"}})
		case 9:
			v := add("noop", fmt.Sprint(i), &thing{key: "noop"})
			if i%20 == 9 {
				_ = g.Connect(graph.Edge{From: last, To: v})
			}
		default:
			p := path(i)
			add("file", p, &thing{is: []string{p}, wants: []string{path(i / 16), "user"}})
		}
	}
	return g
}
