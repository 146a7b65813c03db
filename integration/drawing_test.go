package integration_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The drawings of the house stand between these lines of docs/ARCHITECTURE.md.
const (
	smallBegin   = "<!-- The small drawing is made from the imports: go test ./integration -run TestDrawing -update -->\n"
	smallEnd     = "<!-- end of the small drawing -->\n"
	drawingBegin = "<!-- The drawing is made from the imports: go test ./integration -run TestDrawing -update -->\n"
	drawingEnd   = "<!-- end of the drawing -->\n"
)

// important are the boxes that a stranger looks at first, with the part that each plays.
var important = []struct{ box, part string }{
	{"cmd", "the verbs of the program"},
	{"daemon", "from a configuration to a running engine"},
	{".", "the front door of the library"},
	{"engine/control", "the API of a daemon"},
	{"gapi/yaml", "a frontend: reads graph files"},
	{"gapi", "builds and checks a graph"},
	{"engine/transform", "adds edges, undoing and groups"},
	{"engine/reactor", "runs the graph"},
	{"resources/*", "the kinds"},
	{"engine/lifecycle", "the life of one resource"},
	{"engine/host", "the machine: watches, commands, facts"},
	{"engine", "the contract of all of them"},
	{"engine/schema", "the types of parameters"},
}

// undrawn are packages that no program is built of, and borders that every package may cross.
var undrawn = []string{"docs/*", "integration", "integration/*", "packaging/*", "engine/enginetest", "graph/graphtest", "internal/*"}

// boxOf returns the box of the drawing in which a package stands, "" for none: internal packages stand in the box of their owner,
// and a suite of tests in none.
func boxOf(p string) string {
	if matches(p, undrawn) || strings.HasSuffix(p, "test") {
		return ""
	}
	if strings.HasPrefix(p, "resources/") && p != "resources/all" {
		return "resources/*"
	}
	if strings.HasPrefix(p, "cmd/internal/") { // what the rooms of the verbs share; cmd itself is above them
		return "cmd/internal"
	}
	owner, _, _ := strings.Cut(p, "/internal")
	return owner
}

// house is the drawing as data: for each box the boxes that it imports, and its layer.
type house struct {
	imports map[string]map[string]bool
	layer   map[string]int
}

func houseOf(table []row, pkgs []pkg) house {
	h := house{map[string]map[string]bool{}, map[string]int{}}
	for _, p := range pkgs {
		box := boxOf(p.ImportPath)
		if box == "" {
			continue
		}
		layer, _ := layerOf(table, p.ImportPath)
		h.layer[box] = max(h.layer[box], layer)
		if h.imports[box] == nil {
			h.imports[box] = map[string]bool{}
		}
		for _, imp := range p.Imports {
			if to := boxOf(imp); to != "" && to != box && !strings.HasPrefix(imp, "@") {
				h.imports[box][to] = true
			}
		}
	}
	return h
}

// below returns all boxes to which imports lead from a box. The box itself is among them if its packages and those of
// another box import each other.
func (h house) below(box string) map[string]bool {
	found := map[string]bool{}
	for todo := []string{box}; len(todo) > 0; todo = todo[1:] {
		for next := range h.imports[todo[0]] {
			if !found[next] {
				found[next] = true
				todo = append(todo, next)
			}
		}
	}
	return found
}

// arrows returns the imports of a box that no other of its imports implies, sorted.
func (h house) arrows(box string) []string {
	direct := slices.Sorted(maps.Keys(h.imports[box]))
	return slices.DeleteFunc(slices.Clone(direct), func(to string) bool {
		return slices.ContainsFunc(direct, func(by string) bool { return by != to && h.below(by)[to] })
	})
}

// mermaid draws the boxes by layers, the highest first, with their arrows.
func (h house) mermaid() string {
	boxes := slices.SortedFunc(maps.Keys(h.layer), func(a, b string) int {
		return cmp.Or(cmp.Compare(h.layer[b], h.layer[a]), cmp.Compare(a, b))
	})
	var out strings.Builder
	out.WriteString("```mermaid\nflowchart TD\n")
	for i, b := range boxes {
		first, last := i == 0 || h.layer[boxes[i-1]] != h.layer[b], i == len(boxes)-1 || h.layer[boxes[i+1]] != h.layer[b]
		if first {
			fmt.Fprintf(&out, "  subgraph layer%d [layer %[1]d]\n", h.layer[b])
		}
		label := b
		if b == "." {
			label = "mgmt, the front door"
		}
		fmt.Fprintf(&out, "    %s[\"%s\"]\n", nameOf(b), label)
		if last {
			out.WriteString("  end\n")
		}
	}
	h.writeArrows(&out, boxes)
	out.WriteString("```\n")
	return out.String()
}

func (h house) writeArrows(out *strings.Builder, boxes []string) {
	for _, b := range boxes {
		for _, to := range h.arrows(b) {
			fmt.Fprintf(out, "  %s --> %s\n", nameOf(b), nameOf(to))
		}
	}
}

// small draws the important boxes alone. Its arrows are imports, those over boxes that it does not draw included.
func (h house) small() string {
	few := house{imports: map[string]map[string]bool{}}
	var boxes []string
	var out strings.Builder
	out.WriteString("```mermaid\nflowchart TD\n")
	for _, i := range important {
		below := h.below(i.box)
		few.imports[i.box] = map[string]bool{}
		for _, to := range important {
			if to.box != i.box && below[to.box] {
				few.imports[i.box][to.box] = true
			}
		}
		boxes = append(boxes, i.box)
		fmt.Fprintf(&out, "  %s[\"%s<br/>%s\"]\n", nameOf(i.box), cmp.Or(strings.TrimPrefix(i.box, "."), "mgmt"), i.part)
	}
	few.writeArrows(&out, boxes)
	out.WriteString("```\n")
	return out.String()
}

// nameOf returns the name by which the text of the drawing knows a box.
func nameOf(box string) string {
	if box == "." {
		return "mgmt"
	}
	return strings.NewReplacer("/*", "_kinds", "/", "_").Replace(box)
}

// TestDrawing holds the drawings in docs/ARCHITECTURE.md against the code.
func TestDrawing(t *testing.T) {
	const page = "../docs/ARCHITECTURE.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	h := houseOf(readTable(t), goList(t, "./..."))
	drawing := h.mermaid()
	if n := len(regexp.MustCompile(`(?m)^ +\w+\["`).FindAllString(drawing, -1)); n < 20 {
		t.Fatalf("the drawing has only %d boxes", n)
	}
	for box := range h.imports {
		if h.below(box)[box] {
			t.Errorf("the box %s is part of a cycle: boxOf has to part or to join its packages otherwise", box)
		}
	}
	for _, i := range important {
		if h.imports[i.box] == nil {
			t.Errorf("the small drawing has the box %s, and no package stands in it", i.box)
		}
	}
	drawn := between(t, between(t, string(text), drawingBegin, drawingEnd, drawing), smallBegin, smallEnd, h.small())
	if drawn == string(text) {
		return
	}
	if !*update {
		t.Fatal("a drawing in docs/ARCHITECTURE.md is stale: go test ./integration -run TestDrawing -update")
	}
	if err := os.WriteFile(page, []byte(drawn), 0o644); err != nil {
		t.Fatal(err)
	}
}

// between returns a page with a drawing between two of its lines.
func between(t *testing.T, page, begin, end, drawing string) string {
	t.Helper()
	before, rest, there := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !there || !ended {
		t.Fatalf("docs/ARCHITECTURE.md: the lines around a drawing are missing: %q and %q", begin, end)
	}
	return before + begin + drawing + end + after
}

// TestDrawingSmall: the small drawing has the important boxes, and its arrows lead over all others.
func TestDrawingSmall(t *testing.T) {
	table := []row{{0, "engine/schema"}, {1, "x"}, {2, "engine"}, {3, "engine/reactor"}, {4, "."}}
	h := houseOf(table, []pkg{
		{ImportPath: "engine/schema"},
		{ImportPath: "x", Imports: []string{"engine/schema"}},
		{ImportPath: "engine", Imports: []string{"x"}},
		{ImportPath: "engine/reactor", Imports: []string{"engine", "engine/schema"}},
		{ImportPath: ".", Imports: []string{"engine/reactor"}},
	})
	got := h.small()
	for _, want := range []string{"  mgmt[\"mgmt<br/>the front door of the library\"]\n", "  mgmt --> engine_reactor\n  engine_reactor --> engine\n  engine --> engine_schema\n```\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwithout\n%s", got, want)
		}
	}
	if boxes := strings.Count(got, "<br/>"); boxes != len(important) {
		t.Errorf("%d boxes, want %d", boxes, len(important))
	}
}

// TestDrawingShows: arrows that follow from others are left out, internal packages stand in the box of their owner, and suites in none.
func TestDrawingShows(t *testing.T) {
	table := []row{{0, "graph"}, {1, "engine"}, {2, "engine/reactor/internal/sched"}, {3, "engine/reactor"}, {4, "x/worldtest"}}
	h := houseOf(table, []pkg{
		{ImportPath: "graph"},
		{ImportPath: "engine", Imports: []string{"graph", "@fmt"}},
		{ImportPath: "engine/reactor/internal/sched", Imports: []string{"graph"}},
		{ImportPath: "engine/reactor", Imports: []string{"engine", "engine/reactor/internal/sched"}},
		{ImportPath: "x/worldtest", Imports: []string{"engine"}},
	})
	const want = "```mermaid\nflowchart TD\n" +
		"  subgraph layer3 [layer 3]\n    engine_reactor[\"engine/reactor\"]\n  end\n" +
		"  subgraph layer1 [layer 1]\n    engine[\"engine\"]\n  end\n" +
		"  subgraph layer0 [layer 0]\n    graph[\"graph\"]\n  end\n" +
		"  engine_reactor --> engine\n  engine --> graph\n```\n"
	if got := h.mermaid(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
