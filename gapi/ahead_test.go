package gapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// crossed declares many resources. The first n refer to others by some of the four keys, with capitals in the kind. It also returns
// the edges that must come.
func crossed(n int) (*gapi.Declared, map[[2]string]bool) {
	d, edges := &gapi.Declared{Name: "g"}, map[[2]string]bool{}
	for i := range 2*n + 2 {
		d.Resources = append(d.Resources, declare(1, "thing", fmt.Sprint(i)))
	}
	for i := range n {
		r := &d.Resources[i]
		refer := func(list *[]gapi.RefDecl, other int) string {
			name := fmt.Sprint(other)
			*list = append(*list, gapi.RefDecl{Ref: schema.Ref{Kind: "Thing", Name: name}})
			return "thing[" + name + "]"
		}
		own := "thing[" + r.Name + "]"
		if i%3 == 2 {
			edges[[2]string{refer(&r.Depend, i/7), own}] = true
			edges[[2]string{refer(&r.Listen, i/3), own}] = true
		}
		if i%5 < 2 {
			edges[[2]string{own, refer(&r.Before, n+i)}] = true
			edges[[2]string{own, refer(&r.Notify, n+i+2)}] = true
		}
	}
	return d, edges
}

// Law: the references of a large graph lead where they say, whoever has looked them up.
func TestManyReferences(t *testing.T) {
	d, want := crossed(3_000)
	g := build(t, registry(t, nil), d)
	got := 0
	for e := range g.Edges() {
		pair := [2]string{g.ID(e.From), g.ID(e.To)}
		if got++; !want[pair] {
			t.Fatalf("an edge from %s to %s that was not declared", pair[0], pair[1])
		}
	}
	if got != len(want) {
		t.Errorf("%d edges, want %d", got, len(want))
	}
}

// A reference to a resource that is not there is told at its place, and shifts no other one.
func TestManyReferencesOneUnknown(t *testing.T) {
	d, _ := crossed(3_000)
	r := &d.Resources[1_234]
	r.Depend = append([]gapi.RefDecl{{Ref: schema.Ref{Kind: "thing", Name: "nowhere"}}}, r.Depend...)
	_, found := gapi.Build(registry(t, nil), d)
	if len(found) != 1 || found[0].Resource != "thing[1234]" || !strings.Contains(found[0].Message, "thing[nowhere] is not in the graph") {
		t.Errorf("found %v", found)
	}
}
