package reactor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestFindingQ8BehindAPause: what waits for a paused resource counts as paused before and after a restart of the daemon, and the exit
// status is the same. What a failure blocks stays blocked.
func TestFindingQ8BehindAPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, store := newWorld(), &memStore{}
		graph := func() *decl {
			return newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}).add("c", &fake{w: w}).edges("a>b", "b>c")
		}
		rg := newRig(t, reactor.Options{Store: store})
		rg.swap(graph())
		rg.rest()
		rg.pause(t, "a")
		if rest := rg.standing(); rest.Code() != 0 || rest.Counts[resgraph.StatePaused] != 1 || rest.Counts[resgraph.StateOK] != 2 {
			t.Errorf("before the restart: %+v", rest)
		}
		rg.close()

		rg = newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(graph())
		rg.rest()
		if rest := rg.standing(); rest.Code() != 0 || rest.Counts[resgraph.StatePaused] != 3 || !rest.Converged || rest.Word() != "at rest" {
			t.Errorf("after the restart: %+v", rest)
		}
		for _, name := range []string{"b", "c"} {
			if s := rg.state(name); s.State != resgraph.StatePaused || s.Rest != resgraph.StatePaused || s.BlockedBy != "fake[a]" || s.Pause != nil {
				t.Errorf("after the restart: %+v", s)
			}
		}
		if _, err := rg.r.Retry(t.Context(), "fake[b]"); err == nil {
			t.Error("what only waits was tried again")
		}
		rg.resume(t, "a")
		if rest := rg.standing(); rest.Code() != 0 || rest.Counts[resgraph.StateOK] != 3 {
			t.Errorf("resumed: %+v", rest)
		}
	})
}

// TestFindingQ8BehindAFailure: a pause elsewhere makes nothing of what a failure blocks.
func TestFindingQ8BehindAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, store := newWorld(), &memStore{}
		fails := func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }
		graph := func() *decl {
			bad := &fake{w: w, check: fails}
			bad.MetaParams().Retry = 0
			return newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}).add("bad", bad).add("below", &fake{w: w}).edges("a>b", "bad>below")
		}
		rg := newRig(t, reactor.Options{Store: store})
		rg.swap(graph())
		rg.rest()
		rg.pause(t, "a")
		rg.pause(t, "bad")
		rg.close()
		rg = newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(graph())
		synctest.Wait()
		rg.resume(t, "bad")
		rest := rg.standing()
		if rest.Code() != 4 || rest.Counts[resgraph.StatePaused] != 2 || rest.Counts[resgraph.StateFailed] != 1 || rest.Counts[resgraph.StateBlocked] != 1 {
			t.Errorf("%+v", rest)
		}
		if s := rg.state("below"); s.State != resgraph.StateBlocked || s.BlockedBy != "fake[bad]" {
			t.Errorf("%+v", s)
		}
	})
}
