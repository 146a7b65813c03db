package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/formats/cytoscapejs"
	dotformat "gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"
	"gonum.org/v1/gonum/graph/simple"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// web is a small graph of resources, as a user would have it drawn.
func web(tb testing.TB) *graph.Graph[int] {
	tb.Helper()
	g := graphtest.Spec{
		IDs: []string{"password[app]", "file[/etc/app.secret]", "file[/etc/app.conf]", "exec[restart]", "noop[done]"},
		Edges: []graph.Edge{
			{From: 0, To: 1, Implied: true, Pos: "web.yaml:14:5"},
			{From: 1, To: 3, Name: "e1", Notify: true, Pos: "web.yaml:20:3"},
			{From: 2, To: 3, Notify: true},
			{From: 3, To: 4},
			{From: 1, To: 4, Name: "far"},
			{From: 0, To: 3, Notify: true, Name: "kept"},
		},
	}.Build(tb)
	g.Name = "web"
	return g
}

func styled() graph.DrawOptions {
	states := []string{"ok", "running", "ok", "failed", "blocked"}
	return graph.DrawOptions{
		Direction: "LR",
		Style: func(i int) graph.Style {
			s := graph.Style{Classes: []string{states[i], "kind " + strconv.Itoa(i)}}
			if states[i] == "failed" {
				s.Label = "exec[restart]\nexit status 1: \"no\\such\" file"
				s.Attributes = map[string]string{"tooltip": "next try in 3s", "penwidth": "2"}
			}
			return s
		},
		Looks: map[string]graph.Look{
			"ok":      {Fill: "#dcfce7", Stroke: "#166534"},
			"failed":  {Fill: "#fee2e2", Stroke: "#991b1b", Text: "#7f1d1d"},
			"running": {Fill: "lightyellow"},
			"blocked": {Stroke: "#64748b;} evil"},
		},
	}
}

func TestGolden(t *testing.T) {
	cyclic := web(t)
	connect(t, cyclic, graph.Edge{From: 4, To: 0})
	awkward := graphtest.Spec{IDs: graphtest.Awkward()}.Build(t)
	awkward.Name = "with \"quotes\"\nand lines"
	connect(t, awkward, graph.Edge{From: 0, To: 2, Name: "\"q\"|\n#1"})
	for name, c := range map[string]struct {
		g *graph.Graph[int]
		o graph.DrawOptions
	}{
		"plain":   {web(t), graph.DrawOptions{}},
		"styled":  {web(t), styled()},
		"reduced": {web(t), graph.DrawOptions{Reduce: true}},
		"cyclic":  {cyclic, graph.DrawOptions{Reduce: true, Direction: "sideways"}},
		"awkward": {awkward, graph.DrawOptions{}},
		"empty":   {graph.New[int](""), graph.DrawOptions{}},
	} {
		golden(t, name+".dot", func(w io.Writer) error { return c.g.WriteDOT(w, c.o) })
		golden(t, name+".mmd", func(w io.Writer) error { return c.g.WriteMermaid(w, c.o) })
		golden(t, name+".json", func(w io.Writer) error { return c.g.WriteCytoscape(w, c.o) })
	}
}

// golden compares what is drawn, twice, with a file.
func golden(t *testing.T, file string, draw func(io.Writer) error) {
	t.Helper()
	got, again := render(t, draw), render(t, draw)
	if got != again {
		t.Errorf("%s: drawn twice it differs: %s", file, cmp.Diff(got, again))
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func render(tb graphtest.TB, draw func(io.Writer) error) string {
	tb.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		tb.Fatalf("drawing: %v", err)
	}
	return b.String()
}

// awkwardSpec draws a specification, sometimes with every awkward id in it.
func awkwardSpec(t *rapid.T) graphtest.Spec {
	s := graphtest.Draw(t, graphtest.Shape{})
	if rapid.Bool().Draw(t, "awkward") {
		for _, id := range graphtest.Awkward() {
			if !slices.Contains(s.IDs, id) {
				s.IDs = append(s.IDs, id)
			}
		}
	}
	return s
}

// What gonum reads from our DOT, and from its own encoding of our graph, is the
// graph: every id and every edge.
func TestDOTRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := awkwardSpec(t).Build(t)
		g.Name = rapid.String().Draw(t, "name")
		ours := render(t, func(w io.Writer) error { return g.WriteDOT(w, graph.DrawOptions{}) })
		theirs, err := dot.Marshal(g, "", "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{ours, string(theirs)} {
			checkDOT(t, g, text)
		}
	})
}

func checkDOT(t *rapid.T, g *graph.Graph[int], text string) {
	back := simple.NewDirectedGraph()
	if err := dot.Unmarshal([]byte(text), back); err != nil {
		t.Fatalf("gonum does not read it: %v\n%s", err, text)
	}
	if back.Nodes().Len() != g.Len() || back.Edges().Len() != g.EdgeCount() {
		t.Fatalf("gonum reads %d vertices and %d edges, want %d and %d\n%s",
			back.Nodes().Len(), back.Edges().Len(), g.Len(), g.EdgeCount(), text)
	}
	file, err := dotformat.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	if name := unquote(t, file.Graphs[0].ID); name != g.Name {
		t.Fatalf("the name is %q, want %q", name, g.Name)
	}
	var ids []string
	edges := map[[2]int]string{}
	for _, s := range file.Graphs[0].Stmts {
		switch s := s.(type) {
		case *ast.NodeStmt:
			ids = append(ids, unquote(t, s.Node.ID))
		case *ast.EdgeStmt:
			from, _ := g.Index(unquote(t, s.From.(*ast.Node).ID))
			to, _ := g.Index(unquote(t, s.To.Vertex.(*ast.Node).ID))
			edges[[2]int{from, to}] = attribute(t, s.Attrs, "style")
		}
	}
	if want := allIDs(g); !slices.Equal(ids, want) {
		t.Fatalf("the ids are %q, want %q", ids, want)
	}
	for e := range g.Edges() {
		if got, ok := edges[[2]int{e.From, e.To}]; !ok || got != wantStyle(e) {
			t.Fatalf("%+v has the style %q, %t", e, got, ok)
		}
	}
}

func allIDs(g *graph.Graph[int]) (ids []string) {
	for _, id := range g.IDs() {
		ids = append(ids, id)
	}
	return ids
}

func wantStyle(e graph.Edge) string {
	switch {
	case e.Notify:
		return "bold"
	case e.Implied:
		return "dashed"
	}
	return ""
}

func unquote(t *rapid.T, s string) string {
	u, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s is not quoted as Go does: %v", s, err)
	}
	return u
}

func attribute(t *rapid.T, attrs []*ast.Attr, key string) string {
	for _, a := range attrs {
		if a.Key == key && strings.HasPrefix(a.Val, `"`) {
			return unquote(t, a.Val)
		}
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// mermaidLine is all that a line of a drawing may be. What stands in quotes holds
// none of the characters that Mermaid, Markdown or HTML would read.
var mermaidLine = regexp.MustCompile(`^(?:---|title: ".*"|flowchart (?:TB|BT|LR|RL)` +
	"|  n\\d+\\[\"(?:[^\"<>&#`*_\\\\~]|#\\d+;|<br/>)+\"\\]" +
	"|  n\\d+ (?:-->|==>|-\\.->)(?:\\|\"(?:[^\"<>&#`*_\\\\~]|#\\d+;|<br/>)+\"\\|)? n\\d+" +
	`|  class n\d+ [\w-]+|  classDef [\w-]+ [\w:#,]+|  linkStyle [\d,]+ stroke:#\w{6})$`)

func TestMermaidGrammar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := awkwardSpec(t).Build(t)
		g.Name = rapid.String().Draw(t, "name")
		class := rapid.String().Draw(t, "class")
		text := render(t, func(w io.Writer) error {
			return g.WriteMermaid(w, graph.DrawOptions{
				Style: func(i int) graph.Style { return graph.Style{Label: g.ID(i), Classes: []string{class}} },
				Looks: map[string]graph.Look{class: {Fill: rapid.String().Draw(t, "fill"), Text: "black"}},
			})
		})
		edges := 0
		for line := range strings.Lines(text) {
			if !mermaidLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("what is this: %q\n%s", line, text)
			}
			if strings.Contains(line, "> n") || strings.Contains(line, "| n") {
				edges++
			}
		}
		if edges != g.EdgeCount() {
			t.Fatalf("%d edges, want %d\n%s", edges, g.EdgeCount(), text)
		}
	})
}

func TestCytoscapeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := awkwardSpec(t).Build(t)
		text := render(t, func(w io.Writer) error { return g.WriteCytoscape(w, graph.DrawOptions{}) })
		var doc cytoscapejs.GraphNodeEdge
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Elements.Nodes) != g.Len() || len(doc.Elements.Edges) != g.EdgeCount() {
			t.Fatalf("%d nodes, %d edges", len(doc.Elements.Nodes), len(doc.Elements.Edges))
		}
		ids := map[string]int{}
		for i, n := range doc.Elements.Nodes {
			ids[n.Data.ID] = i
			if n.Data.Attributes["label"] == "" {
				t.Fatalf("no label for %q", g.ID(i))
			}
		}
		next := 0
		for e := range g.Edges() {
			d := doc.Elements.Edges[next].Data
			if ids[d.Source] != e.From || ids[d.Target] != e.To {
				t.Fatalf("edge %d is %+v, want %+v", next, d, e)
			}
			ids[d.ID] = -1
			next++
		}
		if len(ids) != g.Len()+g.EdgeCount() {
			t.Fatalf("%d different ids for %d vertices and %d edges", len(ids), g.Len(), g.EdgeCount())
		}
	})
}

// Reduce leaves out only plain edges, and nothing is reached less for it.
func TestDrawingReduced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{Acyclic: true})
		g := s.Build(t)
		text := render(t, func(w io.Writer) error { return g.WriteDOT(w, graph.DrawOptions{Reduce: true}) })
		back := simple.NewDirectedGraph()
		if err := dot.Unmarshal([]byte(text), back); err != nil {
			t.Fatal(err)
		}
		reduced, err := g.Reduction()
		if err != nil {
			t.Fatal(err)
		}
		want := map[graph.Edge]bool{}
		for e := range reduced {
			want[e] = true
		}
		for e := range g.Edges() {
			if e.Notify || e.Implied {
				want[e] = true
			}
		}
		if back.Edges().Len() != len(want) {
			t.Fatalf("%d edges are drawn, want %d", back.Edges().Len(), len(want))
		}
	})
}

// full is a writer on a full disk.
type full struct{ left int }

var errFull = errors.New("disk is full")

func (w *full) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errFull
	}
	w.left -= len(p)
	return len(p), nil
}

func TestDrawingReportsTheWriter(t *testing.T) {
	g := chain(t, 2000)
	for left := range 3 {
		for name, draw := range map[string]func(io.Writer, graph.DrawOptions) error{
			"DOT": g.WriteDOT, "Mermaid": g.WriteMermaid, "Cytoscape": g.WriteCytoscape,
		} {
			if err := draw(&full{left * 5000}, graph.DrawOptions{}); !errors.Is(err, errFull) {
				t.Errorf("%s on a full disk: %v", name, err)
			}
		}
	}
}

// Labels and names are untrusted text: none can add a statement, an attribute or
// an element of its own.
func TestInjection(t *testing.T) {
	const evil = `x"]; "y" [label="z`
	g := graphtest.Spec{IDs: []string{"a", "b"}, Edges: []graph.Edge{{From: 0, To: 1, Name: evil, Pos: evil}}}.Build(t)
	g.Name = evil + "\n---\nevil: true"
	o := graph.DrawOptions{
		Style: func(int) graph.Style {
			return graph.Style{Label: evil, Classes: []string{evil}, Attributes: map[string]string{evil: evil, "id": "n:b", "label": "no"}}
		},
		Looks: map[string]graph.Look{evil: {Fill: evil, Stroke: `red", evil="1`}},
	}
	back := simple.NewDirectedGraph()
	text := render(t, func(w io.Writer) error { return g.WriteDOT(w, o) })
	if err := dot.Unmarshal([]byte(text), back); err != nil || back.Nodes().Len() != 2 {
		t.Errorf("%v: %d nodes in\n%s", err, back.Nodes().Len(), text)
	}
	for line := range strings.Lines(render(t, func(w io.Writer) error { return g.WriteMermaid(w, o) })) {
		if !mermaidLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("a line of its own: %s", line)
		}
	}
	var doc cytoscapejs.GraphNodeEdge
	text = render(t, func(w io.Writer) error { return g.WriteCytoscape(w, o) })
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Elements.Nodes) != 2 {
		t.Fatalf("%v in\n%s", err, text)
	}
	if n := doc.Elements.Nodes[0]; n.Data.ID != "n:a" || n.Data.Attributes["label"] != evil {
		t.Errorf("an attribute replaced what the drawing writes: %+v", n.Data)
	}
}

func TestStyleIsAskedInOrder(t *testing.T) {
	g := web(t)
	for _, draw := range []func(io.Writer, graph.DrawOptions) error{g.WriteDOT, g.WriteMermaid, g.WriteCytoscape} {
		var asked []int
		o := graph.DrawOptions{Style: func(i int) graph.Style { asked = append(asked, i); return graph.Style{} }}
		if err := draw(io.Discard, o); err != nil || fmt.Sprint(asked) != "[0 1 2 3 4]" {
			t.Errorf("asked %v, %v", asked, err)
		}
	}
}

// Names that mean something in one of the languages are still only names.
func TestReservedNames(t *testing.T) {
	for class, want := range map[string]string{
		"end": "_end", "Default": "_Default", "ok": "ok", "9x": "_9x", "-x": "_-x", "": "_", "größe 1": "gr__e_1", "_": "_",
	} {
		g := build(t, "a")
		o := graph.DrawOptions{
			Style: func(int) graph.Style {
				return graph.Style{Classes: []string{class}, Attributes: map[string]string{"node": "", "Graph": "x", "a.b": "y"}}
			},
			Looks: map[string]graph.Look{class: {Fill: "red"}},
		}
		text := render(t, func(w io.Writer) error { return g.WriteDOT(w, o) })
		if line := `  "a" [label="a", fillcolor="red", class="` + want + `", "Graph"="x", "a.b"="y", "node"=""];`; !strings.Contains(text, line) {
			t.Errorf("want %s in\n%s", line, text)
		}
		if err := dot.Unmarshal([]byte(text), simple.NewDirectedGraph()); err != nil {
			t.Errorf("gonum does not read it: %v\n%s", err, text)
		}
		text = render(t, func(w io.Writer) error { return g.WriteMermaid(w, o) })
		if line := "  class n0 " + want + "\n  classDef " + want + " fill:red\n"; !strings.HasSuffix(text, line) {
			t.Errorf("want %s at the end of\n%s", line, text)
		}
	}
}
