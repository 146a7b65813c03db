package yaml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// manyFiles is a graph of n files.
func manyFiles(n int) string {
	var b strings.Builder
	b.WriteString("graph: many\nresources:\n  file:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: /etc/app/f%05d\n    content: |\n      hello %d\n    mode: \"0644\"\n", i, i)
	}
	return b.String()
}

// BenchmarkLoad10000 reads a graph of 10,000 files, from the file to Declared.
func BenchmarkLoad10000(b *testing.B) {
	path := write(b, b.TempDir(), "g.yaml", manyFiles(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := yaml.Load(path, yaml.Options{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild10000 makes the graph of 10,000 declared files, decoding included.
func BenchmarkBuild10000(b *testing.B) {
	d, err := yaml.Load(write(b, b.TempDir(), "g.yaml", manyFiles(10_000)), yaml.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	reg := registry(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := gapi.Build(reg, d); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
}
