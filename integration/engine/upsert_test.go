package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// noopOf declares a noop that joins no group and depends on others.
func noopOf(name string, retry int, depend ...string) gapi.Declaration {
	res := &basic.NoopRes{}
	res.MetaParams().AutoGroup = new(false)
	res.MetaParams().Retry = retry
	d := static.Declare("noop", name, res)
	for _, on := range depend {
		d.Depend = append(d.Depend, gapi.RefDecl{Ref: schema.Ref{Kind: "noop", Name: on}})
	}
	return d
}

// TestUpsertAndDelete: a part of the graph that runs is changed, with its verdict, and the rest is left alone.
func TestUpsertAndDelete(t *testing.T) {
	var mu sync.Mutex
	var swaps []string
	graphs := make(chan *gapi.Declared)
	rested := make(chan struct{}, 100)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	e, err := mgmt.Open(ctx, mgmt.Options{Strict: true, Observer: mgmt.Observer{
		Swapped: func(s reactor.Swap) {
			mu.Lock()
			defer mu.Unlock()
			swaps = append(swaps, fmt.Sprint(s.Kept, s.Added, s.Changed, s.Removed))
		},
		Converged: func(yes bool, _ reactor.Counts) {
			if yes {
				rested <- struct{}{}
			}
		},
	}}, static.Chan(graphs))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- e.Wait() }()
	graphs <- &gapi.Declared{Resources: []gapi.Declaration{noopOf("a", 1), noopOf("b", 1, "a"), noopOf("c", 1, "b")}}
	<-rested
	part := func(ds ...gapi.Declaration) error {
		return e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: ds}})
	}
	if err := part(noopOf("b", 2, "a"), noopOf("d", 1, "c")); err != nil {
		t.Error(err)
	}
	bad := map[string]error{
		"noop[x] is not in the graph": part(noopOf("e", 1, "x")),
		"cycle":                       part(noopOf("a", 1, "d")),
		"noop[b] refers to it":        e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[a]"}}),
		"noop[x]":                     e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[x]"}}),
		"can't come before itself":    part(noopOf("a", 1, "a")),
	}
	for want, err := range bad {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, ok := errors.AsType[schema.Diagnostics](bad["noop[x] is not in the graph"]); !ok {
		t.Errorf("%T", bad["noop[x] is not in the graph"])
	}
	if _, ok := errors.AsType[*reactor.ReferredError](bad["noop[b] refers to it"]); !ok {
		t.Errorf("%T", bad["noop[b] refers to it"])
	}
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[d]", "noop[c]"}}); err != nil {
		t.Error(err)
	}
	list, err := statusesOf(ctx, e)
	if err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	graphs <- &gapi.Declared{Resources: []gapi.Declaration{noopOf("a", 1), noopOf("b", 2, "a")}} // the same, as a whole
	graphs <- &gapi.Declared{Resources: []gapi.Declaration{noopOf("a", 1), noopOf("b", 2, "a")}}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := part(noopOf("a", 1)); err == nil {
		t.Error("a part was taken after the end")
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(swaps[:4], ", "); got != "0 3 0 0, 2 1 1 0, 2 0 0 2, 2 0 0 0" {
		t.Errorf("swaps %s", got)
	}
}

// TestHeldDelete: a Delete that MaxRemovals holds goes on after Resume, and what Resume let through counts once.
func TestHeldDelete(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{MaxRemovals: reactor.Removals{Most: 1}})
	if _, err := e.Apply(ctx, noops(6)); err != nil {
		t.Fatal(err)
	}
	held := func(ids ...string) {
		t.Helper()
		err := e.Patch(ctx, mgmt.Patch{Delete: ids})
		if why, ok := errors.AsType[*reactor.RemovalsError](err); !ok || len(why.Removed) != len(ids) {
			t.Fatalf("%q: %v", ids, err)
		}
	}
	resume := func() {
		t.Helper()
		if _, err := e.Resume(ctx, reactor.Which{All: true}); err != nil {
			t.Fatal(err)
		}
	}
	held("noop[n0]", "noop[n1]")
	resume()
	held("noop[n0]", "noop[n1]", "noop[n2]") // other ones than those of the question
	resume()
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[n0]", "noop[n1]", "noop[n2]"}}); err != nil {
		t.Error(err)
	}
	if _, err := e.Apply(ctx, noops(6)); err != nil {
		t.Fatal(err)
	}
	resume() // nothing is held
	held("noop[n0]", "noop[n1]", "noop[n2]")
}

// TestRefusedPart: a part that is refused changes nothing, and an event tells why, as of a graph.
func TestRefusedPart(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	if _, err := e.Apply(ctx, noops(2)); err != nil {
		t.Fatal(err)
	}
	collecting := static.NewGraph("collecting")
	collecting.AddValues("noop", "new", nil)
	collecting.Collect("file", "*", "*", nil)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	events := e.Events(ctx)
	if err := e.Patch(gone, mgmt.Patch{Upsert: noops(4)}); !errors.Is(err, context.Canceled) { // that is no refusal
		t.Error(err)
	}
	wrong := static.NewGraph("wrong")
	wrong.AddValues("noop", "x", map[string]any{"nothing": 1})
	part := func(ds ...gapi.Declaration) error {
		return e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: ds}})
	}
	refused := map[string]error{
		"unknown key":              e.Patch(ctx, mgmt.Patch{Upsert: wrong.Declared()}),
		"noop[y]":                  e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[y]"}}),
		"a part collects nothing":  e.Patch(ctx, mgmt.Patch{Upsert: collecting.Declared()}),
		"there is no graph":        e.Patch(ctx, mgmt.Patch{Upsert: nil}),
		"not in the graph":         part(noopOf("z", 1, "nowhere")),
		"can't come before itself": part(noopOf("n0", 1, "n0")),
	}
	if list, err := statusesOf(ctx, e); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := e.Patch(ctx, mgmt.Patch{Upsert: noops(3)}); err != nil {
		t.Error(err)
	}
	told := map[string]bool{}
	for ev := range events {
		if ev.Kind == mgmt.EventRefused {
			told[ev.Err.Error()] = true
		}
		if ev.Kind == mgmt.EventLoaded {
			break
		}
	}
	for want, err := range refused {
		if err == nil || !strings.Contains(err.Error(), want) || !told[err.Error()] {
			t.Errorf("%s: %v; told was %v", want, err, told)
		}
	}
	if len(told) != len(refused) {
		t.Errorf("told of %d refusals: %v", len(told), told)
	}
}

// TestNoopPart: the resources of a part that only looks alter nothing.
func TestNoopPart(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	path := filepath.Join(t.TempDir(), "f")
	d := static.NewGraph("part")
	d.AddValues("file", path, map[string]any{"content": "x"})
	part := d.Declared()
	part.Noop = true
	if err := e.Patch(ctx, mgmt.Patch{Upsert: part}); err != nil {
		t.Fatal(err)
	}
	for {
		st, err := e.Status(ctx, "file["+path+"]")
		if err != nil {
			t.Fatal(err)
		}
		if st.State == resgraph.StateWouldChange {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
