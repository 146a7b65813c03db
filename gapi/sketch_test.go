package gapi_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

func refTo(kind, name string) gapi.RefDecl {
	return gapi.RefDecl{Ref: schema.Ref{Kind: kind, Name: name}}
}

// TestSketchKeepsWhatCanBeDrawn: a cycle, an unknown kind and an edge into
// nowhere prevent a graph but not its drawing.
func TestSketchKeepsWhatCanBeDrawn(t *testing.T) {
	d := &gapi.Declared{Name: "g", Resources: []gapi.Declaration{
		{Kind: "nowhere", Name: "a", Before: []gapi.RefDecl{refTo("nowhere", "b"), refTo("nowhere", "missing")}},
		{Kind: "nowhere", Name: "b", Before: []gapi.RefDecl{refTo("nowhere", "a"), refTo("nowhere", "b")}},
	}}
	reg := engine.NewRegistry()
	if g, ds := gapi.Build(reg, d); g != nil || ds.Err() == nil {
		t.Fatalf("Build made %v of a broken graph, with %v", g, ds)
	}
	g := gapi.Sketch(reg, d)
	var edges []string
	for e := range g.Edges() {
		edges = append(edges, g.ID(e.From)+" -> "+g.ID(e.To))
	}
	want := []string{"nowhere[a] -> nowhere[b]", "nowhere[b] -> nowhere[a]"}
	if g.Name != "g" || g.Len() != 2 || !slices.Equal(edges, want) {
		t.Errorf("drawn are %d vertices of %q and %q, want %q", g.Len(), g.Name, edges, want)
	}
}
