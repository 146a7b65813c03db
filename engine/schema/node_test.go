package schema_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestNodeAt: a path leads to its node, or as near to it as there are nodes.
func TestNodeAt(t *testing.T) {
	node := func(kind schema.NodeKind, text string) *schema.Node { return &schema.Node{Kind: kind, Text: text} }
	leaf, last := node(schema.NodeString, "leaf"), node(schema.NodeInt, "last")
	list := &schema.Node{Kind: schema.NodeList, Text: "list", Items: []*schema.Node{leaf, last}}
	inner := &schema.Node{Kind: schema.NodeMap, Text: "inner", Pairs: []schema.Pair{{Key: "b", Value: list}, {Key: "x.y", Value: leaf}}}
	root := &schema.Node{Kind: schema.NodeMap, Text: "root", Pairs: []schema.Pair{{Key: "a", Value: inner}}}
	for path, want := range map[string]*schema.Node{
		"a": inner, "a.b": list, "a.b[0]": leaf, "a.b[1]": last, `a["x.y"]`: leaf,
		"": root, "nope": root, "a.nope.b": inner, "a.b[2]": list, "a.b[1].c": last, "a.b.c": list, "a[0]": inner, "a.b[": root,
	} {
		if got := root.At(path); got != want {
			t.Errorf("at %q: %+v", path, got)
		}
	}
	if got := (*schema.Node)(nil).At("a.b[0]"); got != nil {
		t.Errorf("below nothing: %v", got)
	}
}
