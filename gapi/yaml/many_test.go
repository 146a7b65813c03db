package yaml_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

const tooMany = "the graph has more than %d resources, and this one is beyond; the setting max_resources allows more"

// TestFindingE5ManyResources: a graph may have so many resources, and the first one beyond is named with its place,
// however the graph is written.
func TestFindingE5ManyResources(t *testing.T) {
	for name, c := range map[string]struct{ src, place string }{
		"block":       {"graph: x\nresources:\n  print:\n  - name: a\n    msg: |\n      - b\n  - name: b\n  # - no\n  file:\n    - name: /c\nedges:\n- name: d\n", "10:7"},
		"at the left": {"resources:\n print:\n - name: a\n - name: b\n -\n   name: c\n", "5:2"},
		"flow lists":  {"resources:\n  print: [{name: a}, {name: b}]\n  file: [{name: /c}]\n", "3:10"},
		"flow":        {"resources: {print: [{name: a}, {name: b},\n {name: c}]}\n", "2:2"},
		"JSON":        {`{"resources": {"print": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}`, "1:56"},
		"an alias":    {"resources:\n  print: &p\n  - {name: a}\n  - {name: b}\n  note: *p\n", "3:5"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "g.yaml", c.src)
			for most, want := range map[int]string{2: path + ":" + c.place + ": " + fmt.Sprintf(tooMany, 2), 4: ""} {
				d, err := yaml.Load(path, yaml.Options{MaxResources: most}, nil)
				got := fmt.Sprint(err)
				if err == nil {
					got = d.Problems.Error()
				}
				if !strings.Contains(got, want) || want == "" && strings.Contains(got, "max_resources") {
					t.Errorf("of %d: %s", most, got)
				}
			}
		})
	}
}

// TestFindingE5ManyFiles: the resources of all files count together.
func TestFindingE5ManyFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, dir, name+".yaml", "resources:\n  print:\n  - name: "+name+"\n")
	}
	d, err := yaml.Load(dir, yaml.Options{MaxResources: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "c.yaml") + ":3:5: " + fmt.Sprintf(tooMany, 2)
	if got := d.Problems.Error(); got != want || !d.Partial {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if d, err := yaml.Load(dir, yaml.Options{MaxResources: 3}, nil); err != nil || len(d.Problems) > 0 {
		t.Error(d, err)
	}
}

// TestFindingE5MillionYAML: a million resources are refused before they cost more than their text.
func TestFindingE5MillionYAML(t *testing.T) {
	for name, c := range map[string]struct{ head, each, tail, place string }{
		"block":       {"resources:\n  print:\n", "  - {name: n%d, msg: x}\n", "", ":250003:5: "},
		"flow":        {"resources: {print: [\n", "{name: n%d},\n", "]}\n", ":250002:1: "},
		"over a size": {"resources:\n  print:\n", "  - {name: n%d, msg: " + strings.Repeat("x", 80) + "}\n", "", ":250003:5: "},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(c.head)
			for i := range 1_000_000 {
				fmt.Fprintf(&b, c.each, i)
			}
			b.WriteString(c.tail)
			path := write(t, t.TempDir(), "g.yaml", b.String())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := yaml.Load(path, yaml.Options{}, nil)
			runtime.ReadMemStats(&after)
			if err == nil || err.Error() != path+c.place+fmt.Sprintf(tooMany, 250_000) {
				t.Error(err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 2*uint64(b.Len())+1<<20 {
				t.Errorf("%d bytes were allocated for a text of %d", allocated, b.Len())
			}
		})
	}
}
