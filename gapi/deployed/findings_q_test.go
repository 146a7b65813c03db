package deployed

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestFindingQ12Policy: a deploy has a policy for the resources that have none. The nodes of the graph are shared, and stay as they are.
func TestFindingQ12Policy(t *testing.T) {
	meta := func() *schema.Node {
		return &schema.Node{Kind: schema.NodeMap, Pairs: make([]schema.Pair, 1, 2)}
	}
	named := func(key, value string) *schema.Node {
		n := meta()
		n.Pairs[0] = schema.Pair{Key: key, Value: &schema.Node{Kind: schema.NodeString, Text: value}}
		return n
	}
	noop, keep, reverse := named("noop", "true"), named("leaving", "keep"), named("reverse", "true")
	before := []gapi.Declaration{{Name: "a"}, {Name: "b", Meta: noop}, {Name: "c", Meta: noop}, {Name: "d", Meta: keep}, {Name: "e", Meta: reverse}}
	d := &gapi.Declared{Resources: before}
	leave(d, "")
	leave(d, engine.LeavingUndo)
	for i, want := range []string{"undo", "undo", "undo", "keep", ""} {
		got := ""
		if n := d.Resources[i].Meta.Get("leaving"); n != nil {
			got = n.Text
		}
		if got != want {
			t.Errorf("%s: leaving is %q, want %q", d.Resources[i].Name, got, want)
		}
	}
	if before[0].Meta != nil || len(noop.Pairs) != 1 || noop.Pairs[:2][1].Key != "" || d.Resources[1].Meta.Get("noop") == nil {
		t.Error("a node that others share has changed")
	}
}
