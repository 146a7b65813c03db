package integration_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// strangeNames are names that mean something to what draws them.
var strangeNames = []string{
	"plain", `with "quotes"`, "it's", `back\slash`, `back\`, "new\nline", "<b>html</b>", "<>", "a & b &amp; &lt;c&gt; &#65;", "日本語 ü 😀",
	"semi; {brace} [x] | pipe", "--", "node", `\N`, `\G\l`, "%s", strings.Repeat("x", 3000), `"; x -> y; "`, "]", "$HOME `id`", "#hash",
	"/*c*/", "end", "subgraph", "-->|x|", "A:::b",
}

// TestGraphviz has the real Graphviz draw what we write: a chain of strange names
// and, closed, a cycle of them. Each name is a node of its own and stands in the
// picture as it is.
func TestGraphviz(t *testing.T) {
	enginetest.Need(t, "dot", "graphviz")
	for name, code := range map[string]int{"chain": 0, "cycle": 1} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("graph: 'strange \"graph\" <x>\\'\nresources:\n  noop:\n")
			for i, n := range strangeNames {
				fmt.Fprintf(&b, "  - name: %s\n    meta: {dollar: true}\n", strconv.Quote(n))
				if i+1 < len(strangeNames) || name == "cycle" {
					next := strangeNames[(i+1)%len(strangeNames)]
					fmt.Fprintf(&b, "    before: [%s]\n", strconv.Quote("noop["+next+"]"))
				}
			}
			texts, nodes, edges := drawn(t, b.String(), code)
			if nodes != len(strangeNames) || edges != len(strangeNames)-1+code {
				t.Errorf("%d nodes and %d edges are drawn", nodes, edges)
			}
			for _, n := range strangeNames {
				for line := range strings.SplitSeq("noop["+n+"]", "\n") {
					if !slices.ContainsFunc(texts, func(text string) bool { return text == line || len(n) > 1000 && strings.HasPrefix(text, "noop[xxx") }) {
						t.Errorf("%q is not in the picture: %q", line, texts)
					}
				}
			}
		})
	}
}

// drawn draws a graph and returns the texts of the picture, and how many nodes and
// edges it has.
func drawn(t *testing.T, graph string, code int) (texts []string, nodes, edges int) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), "graph", "--declared", "--yaml", file, "-o", "svg")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, _ := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("the code is %d: %s", got, errs.String())
	}
	var svg struct {
		Groups []struct {
			Parts []struct {
				Class string   `xml:"class,attr"`
				Texts []string `xml:"text"`
			} `xml:"g"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(out, &svg); err != nil || len(svg.Groups) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, part := range svg.Groups[0].Parts {
		for _, text := range part.Texts {
			texts = append(texts, strings.ReplaceAll(text, "\u00a0", " "))
		}
		switch strings.Fields(part.Class)[0] {
		case "node":
			nodes++
		case "edge":
			edges++
		}
	}
	return texts, nodes, edges
}
