package gapi_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestPutAsideEdges: a resource that stays keeps its edges, but for those to a resource that is put aside. The declared graph is not
// altered.
func TestPutAsideEdges(t *testing.T) {
	refs := func(names ...string) (list []gapi.RefDecl) {
		for _, name := range names {
			list = append(list, gapi.RefDecl{Ref: schema.Ref{Kind: "note", Name: name}})
		}
		return list
	}
	d := &gapi.Declared{Resources: []gapi.Declaration{
		{Kind: "note", Name: "stays", Optional: true, Before: refs("bad", "good"), Notify: refs("good", "bad", "both")},
		{Kind: "note", Name: "bad", Optional: true},
		{Kind: "note", Name: "good", Optional: true},
		{Kind: "note", Name: "both", Optional: true},
		{Kind: "note", Name: "both"}, // of another place: it stays
	}}
	found := schema.Diagnostics{{Resource: "note[bad]", Message: "wrong"}, {Resource: "note[both]", Message: "declared twice"}}
	rest := gapi.PutAside(d, found, map[string]schema.Diagnostics{})
	names := func(list []gapi.RefDecl) (out []string) {
		for _, r := range list {
			out = append(out, r.Ref.Name)
		}
		return out
	}
	if len(rest.Resources) != 3 || rest.Resources[0].Name != "stays" {
		t.Fatalf("the rest is %v", rest.Resources)
	}
	r := rest.Resources[0]
	if got := names(r.Before); !slices.Equal(got, []string{"good"}) {
		t.Errorf("before: %v", got)
	}
	if got := names(r.Notify); !slices.Equal(got, []string{"good", "both"}) {
		t.Errorf("notify: %v", got)
	}
	if got := names(d.Resources[0].Before); !slices.Equal(got, []string{"bad", "good"}) {
		t.Errorf("the declared graph has %v", got)
	}
}

// TestPutAside: a fault puts its resource aside with those that depend on it, under the ids of their declarations.
func TestPutAside(t *testing.T) {
	on := func(name, target string) gapi.Declaration {
		n, err := schema.NodeOf(map[string]any{"target": target})
		if err != nil {
			t.Fatal(err)
		}
		return gapi.Declaration{Kind: "note", Name: name, Optional: true, Value: n}
	}
	after := func(d gapi.Declaration, name string) gapi.Declaration {
		d.Depend = []gapi.RefDecl{{Ref: schema.Ref{Kind: "note", Name: name}}}
		return d
	}
	firm := on("milk", "web1")
	firm.Optional = false
	for _, c := range []struct {
		what  string
		all   []gapi.Declaration
		fault string
		want  []string // nil for none
	}{
		{"with a target", []gapi.Declaration{on("milk", "web1"), on("tea", "web1")}, "note[milk@web1]", []string{"note[milk]"}},
		{"with a dependent", []gapi.Declaration{on("milk", "web1"), after(on("tea", "web2"), "milk@web1")}, "note[milk@web1]", []string{"note[milk]", "note[tea]"}},
		{"of another target", []gapi.Declaration{on("milk", "web1")}, "note[milk@web2]", nil},
		{"a firm one has the id", []gapi.Declaration{firm, on("milk", "web1"), after(on("tea", "web2"), "milk@web1")}, "note[milk@web1]", []string{"note[milk]"}},
	} {
		aside := map[string]schema.Diagnostics{}
		rest := gapi.PutAside(&gapi.Declared{Resources: c.all}, schema.Diagnostics{{Resource: c.fault, Message: "wrong"}}, aside)
		if got := slices.Sorted(maps.Keys(aside)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v is aside, not %v", c.what, got, c.want)
		}
		if (rest == nil) != (c.want == nil) || rest != nil && len(rest.Resources) != len(c.all)-len(c.want) {
			t.Errorf("%s: the rest is %v", c.what, rest)
		}
	}
}
