package graph_test

import (
	"fmt"
	"os"

	"github.com/reactivegraph/mgmt/graph"
)

func Example() {
	g := graph.New[string]("web")
	conf, _ := g.Add("file[/etc/app.conf]", "listen = 8080")
	restart, _ := g.Add("exec[restart]", "/usr/bin/app-restart")
	if err := g.Connect(graph.Edge{From: conf, To: restart, Notify: true, Pos: "web.yaml:9:3"}); err != nil {
		fmt.Println(err)
	}
	order, err := g.Sort()
	fmt.Println(order, err)
	if err := g.WriteMermaid(os.Stdout, graph.DrawOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [0 1] <nil>
	// ---
	// title: "web"
	// ---
	// flowchart TB
	//   n0["file[/etc/app.conf]"]
	//   n1["exec[restart]"]
	//   n0 ==> n1
	//   linkStyle 0 stroke:#b45309
}

func ExampleGraph_Cycle() {
	g := graph.New[int]("loop")
	for i, id := range []string{"exec[a]", "file[b]", "noop[c]"} {
		_, _ = g.Add(id, i)
	}
	_ = g.Connect(graph.Edge{From: 0, To: 1, Pos: "loop.yaml:3:9"})
	_ = g.Connect(graph.Edge{From: 1, To: 2, Pos: "loop.yaml:5:9"})
	_ = g.Connect(graph.Edge{From: 2, To: 0, Pos: "loop.yaml:8:3"})
	c := g.Cycle()
	fmt.Println(c)
	for at, e := range c.Edges {
		fmt.Printf("%s: %s before %s\n", e.Pos, c.Path[at], c.Path[at+1])
	}
	// Output:
	// cycle: exec[a] -> file[b] -> noop[c] -> exec[a]
	// loop.yaml:3:9: exec[a] before file[b]
	// loop.yaml:5:9: file[b] before noop[c]
	// loop.yaml:8:3: noop[c] before exec[a]
}
