package all_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
)

// BenchmarkTransform is what the transforms cost each time a graph is loaded:
// 100,000 resources, of which 8 in 10 are files in folders that are managed too,
// one is a command that uses some of them, and one can be grouped.
func BenchmarkTransform(b *testing.B) {
	steps := map[string][]transform.Step{
		"both": transform.Default(), "autoedge": {transform.AutoEdge(nil)}, "autogroup": {transform.AutoGroup()},
	}
	for _, name := range []string{"both", "autoedge", "autogroup"} {
		b.Run(name, func(b *testing.B) {
			g := manyResources(b, 100_000)
			if _, err := g.Sort(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				out, err := transform.Run(b.Context(), g, steps[name], nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(out.EdgeCount()), "edges")
				b.ReportMetric(float64(out.Len()), "vertices")
			}
		})
	}
}

func manyResources(tb testing.TB, n int) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("many")
	path := func(i int) string {
		p := ""
		for ; i > 0; i /= 16 {
			p = fmt.Sprintf("/dir%d%s", i%16, p)
		}
		return p
	}
	for i := range n {
		var r engine.Res
		kind, name := "file", path(i)+"/"
		switch i % 10 {
		case 8:
			kind, name = "exec", fmt.Sprint(i)
			r = &exec.Res{Cmd: "/bin/make -f " + path(i-1), Cwd: path(i - 2), User: "root"}
		case 9:
			kind, name = "noop", fmt.Sprint(i)
			r = &basic.NoopRes{}
		default:
			r = &file.Res{Owner: "root"}
		}
		r.SetKind(kind)
		r.SetName(name)
		if _, err := g.Add(r.String(), &resgraph.Vertex{Res: r}); err != nil {
			tb.Fatal(err)
		}
	}
	return g
}
