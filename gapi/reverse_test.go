package gapi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// mute can be undone, and can't look; undoable can do both.
type (
	mute     struct{ plain }
	undoable struct{ mute }
)

func (*mute) Default() engine.Res                           { return &mute{} }
func (*mute) Reversed(engine.Res) (engine.Res, error)       { return &mute{}, nil }
func (*undoable) Default() engine.Res                       { return &undoable{} }
func (*undoable) Read(context.Context) (engine.Res, error)  { return nil, nil }
func (u *undoable) Reversed(engine.Res) (engine.Res, error) { return u, nil }

// A kind that can't be undone, or can't be looked at, says so where reverse is
// asked for, and is used all the same.
func TestBuildReverse(t *testing.T) {
	reg := registry(t, nil)
	for name, make := range map[string]func() engine.Res{
		"mute": func() engine.Res { return &mute{} }, "undoable": func() engine.Res { return &undoable{} },
	} {
		if err := reg.Register(name, make); err != nil {
			t.Fatal(err)
		}
	}
	yes := func(line int32) *schema.Node {
		return object(line, pair("reverse", &schema.Node{Kind: schema.NodeBool, Pos: at(line, 20), Text: "true"}))
	}
	const not = "g:5:20: warning: reverse: the kind %s can't be undone: it stays as it is when it leaves the graph"
	for kind, want := range map[string]string{"plain": fmt.Sprintf(not, "plain"), "mute": fmt.Sprintf(not, "mute"), "undoable": ""} {
		r := declare(5, kind, "a")
		r.Meta = yes(5)
		g, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}})
		if g == nil || len(ds) > 1 {
			t.Fatalf("%s: %v", kind, ds)
		}
		if got := ds.Error(); len(ds) == 1 && got != want || len(ds) == 0 && want != "" {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		r.Meta = nil
		if _, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}}); len(ds) > 0 {
			t.Errorf("%s, without reverse: %v", kind, ds)
		}
	}
	ready := &plain{}
	ready.MetaParams().Reverse = true
	r := gapi.Declaration{Kind: "plain", Name: "a", Res: ready, Pos: at(7, 1)}
	if _, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}}); len(ds) != 1 || ds[0].Pos != at(7, 1) {
		t.Errorf("a ready resource: %v", ds)
	}
}

// TestFindingQ12Declared: the policy that a resource is declared with counts where its own metaparameters say nothing.
func TestFindingQ12Declared(t *testing.T) {
	named := func(key, text string, kind schema.NodeKind) *schema.Node {
		return object(1, pair(key, &schema.Node{Kind: kind, Pos: at(1, 20), Text: text}))
	}
	for name, c := range map[string]struct {
		meta *schema.Node
		want engine.Leaving
	}{
		"none":    {nil, engine.LeavingUndo},
		"another": {named("noop", "true", schema.NodeBool), engine.LeavingUndo},
		"keep":    {named("leaving", "keep", schema.NodeString), engine.LeavingKeep},
		"reverse": {named("reverse", "true", schema.NodeBool), ""},
	} {
		r := declare(1, "plain", "a")
		r.Meta, r.Leaving = c.meta, engine.LeavingUndo
		g, ds := gapi.Build(registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{r}})
		if g == nil {
			t.Fatalf("%s: %v", name, ds)
		}
		for _, v := range g.All() {
			if got := v.Res.MetaParams().Leaving; got != c.want {
				t.Errorf("%s: leaving is %q, want %q", name, got, c.want)
			}
		}
	}
}
