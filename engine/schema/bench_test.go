package schema_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func benchNodes(n int) []*schema.Node {
	nodes := make([]*schema.Node, n)
	for i := range nodes {
		nodes[i] = dict("path", str(fmt.Sprintf("/srv/%d", i)), "content", str("text"), "mode", str("0644"),
			"state", str("exists"), "delay", str("500ms"))
	}
	return nodes
}

func BenchmarkDecode10000(b *testing.B) {
	nodes := benchNodes(10000)
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range nodes {
			var k kitchen
			if ds := schema.Decode(n, &k); len(ds) > 0 {
				b.Fatal(ds)
			}
		}
	}
}

func BenchmarkDiffEqual(b *testing.B) {
	var x, y kitchen
	n := benchNodes(1)[0]
	schema.Decode(n, &x)
	schema.Decode(n, &y)
	t, _ := schema.Of(&kitchen{})
	b.ReportAllocs()
	for b.Loop() {
		if len(schema.Diff(t, &x, &y)) > 0 {
			b.Fatal("differ")
		}
	}
}

func BenchmarkOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Of(&kitchen{State: "exists"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	var k kitchen
	b.ReportAllocs()
	for b.Loop() {
		if err := schema.Set(&k, "content", "text"); err != nil {
			b.Fatal(err)
		}
	}
}
