package yaml_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// textPart is a piece of a text with the value that it has for an item.
type textPart struct {
	src   string
	value func(key string, index, port int) string
}

// textParts are what the texts of TestModel are made of.
var textParts = []textPart{
	{"x", func(string, int, int) string { return "x" }},
	{"$${{ k }}", func(string, int, int) string { return "${{ k }}" }},
	{"${{ each.key }}", func(k string, _, _ int) string { return k }},
	{"${{each.index}}", func(_ string, i, _ int) string { return fmt.Sprint(i) }},
	{"${{ each.value.port * 2 }}", func(_ string, _, p int) string { return fmt.Sprint(2 * p) }},
	{"${{ each.value.port > 50 ? '}}' : '{' }}", func(_ string, _, p int) string {
		if p > 50 {
			return "}}"
		}
		return "{"
	}},
	{"${{ facts.hostname + vars.tail }}", func(string, int, int) string { return "w1-t" }},
}

// TestModel compares loops, conditions, defaults and texts with a model that writes the graph out, for random graphs.
func TestModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ports := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.IntRange(0, 99), 0, 6).Draw(r, "ports")
		least := rapid.IntRange(0, 99).Draw(r, "least")
		mode := rapid.SampledFrom([]string{"", "0600"}).Draw(r, "default")
		texts := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(textParts), 1, 4), 1, 3).Draw(r, "texts")
		var in, out strings.Builder
		in.WriteString("vars:\n  tail: -t\n  sites:\n    zz: {port: 0}\n")
		for key, port := range ports {
			fmt.Fprintf(&in, "    %q: {port: %d}\n", "k"+key, port)
		}
		if mode != "" {
			fmt.Fprintf(&in, "defaults: {file: {mode: %q}}\n", mode)
		}
		in.WriteString("resources:\n  file:\n")
		out.WriteString("resources:\n  file:\n  - {name: none, mode: \"0644\"}\n")
		in.WriteString("  - {name: none, mode: \"0644\", content: \"${{ data.?none }}\"}\n")
		for n, parts := range texts {
			var src strings.Builder
			for _, p := range parts {
				src.WriteString(p.src)
			}
			fmt.Fprintf(&in, "  - name: \"/%d/${{ each.key }}\"\n    for_each: ${{ vars.sites }}\n    when: ${{ each.value.port >= %d }}\n    content: \"= %s\"\n", n, least, src.String())
			for i, key := range append(prefixed("k", sortedKeys(ports)), "zz") {
				port := ports[strings.TrimPrefix(key, "k")]
				if key == "zz" {
					port = 0
				}
				if port < least {
					continue
				}
				var text strings.Builder
				text.WriteString("= ")
				for _, p := range parts {
					text.WriteString(p.value(key, i, port))
				}
				fmt.Fprintf(&out, "  - {name: /%d/%s, content: %q", n, key, escaped(text.String()))
				if mode != "" {
					fmt.Fprintf(&out, ", mode: %q", mode)
				}
				out.WriteString("}\n")
			}
		}
		got, _, err := loadFiles(t, map[string]string{"g.yaml": in.String()}, yaml.Options{})
		if err == nil {
			err = got.Problems.Err()
		}
		if err != nil {
			r.Fatalf("%v\n%s", err, in.String())
		}
		want, _, err := loadFiles(t, map[string]string{"g.yaml": out.String()}, yaml.Options{})
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" {
			r.Fatalf("%s\n%s", d, in.String())
		}
	})
}

// escaped writes a text so that it has no expression.
func escaped(text string) string { return strings.ReplaceAll(text, "${{", "$${{") }

func prefixed(with string, list []string) []string {
	for i := range list {
		list[i] = with + list[i]
	}
	return list
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
