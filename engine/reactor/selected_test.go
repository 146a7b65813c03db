package reactor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestFindingQ9AllOrNone: several resources are paused at one moment, or with an unknown one none; those are resumed and tried again that can be.
func TestFindingQ9AllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		broken := func(context.Context, *fake, bool) (bool, error) { return false, errors.New("broken") }
		rg.swap(newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}).add("c", &fake{w: w, check: broken}))
		rg.rest()
		id := func(names ...string) (ids []string) {
			for _, name := range names {
				ids = append(ids, "fake["+name+"]")
			}
			return ids
		}
		pause := func(names ...string) error {
			var pauses []reactor.Pause
			for _, id := range id(names...) {
				pauses = append(pauses, reactor.Pause{Resource: id})
			}
			return rg.r.Pause(t.Context(), pauses...)
		}
		if err := pause("a", "none"); err == nil || rg.state("a").Pause != nil {
			t.Errorf("with an unknown one: %v, %+v", err, rg.state("a"))
		}
		if err := pause("a", "b"); err != nil || rg.state("a").State != resgraph.StatePaused || rg.state("b").State != resgraph.StatePaused {
			t.Errorf("%v, %+v, %+v", err, rg.state("a"), rg.state("b"))
		}
		if got, err := rg.r.ResumeHeld(t.Context(), id("b", "c", "none")); err != nil || !slices.Equal(got, id("b")) || rg.state("b").Pause != nil || rg.state("a").Pause == nil {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := rg.r.ResumeHeld(t.Context(), id("b", "c")); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := rg.r.RetryFailed(t.Context(), id("a", "b", "c", "none")); err != nil || !slices.Equal(got, id("c")) {
			t.Errorf("%v, %v", got, err)
		}
		synctest.Wait() // and not rest: an end of an earlier stir may be told late
		// Several are tried again at one moment: with a named one that can't be, none is.
		if got, err := rg.r.RetryFailed(t.Context(), id("c"), id("a")...); err == nil || len(got) != 0 {
			t.Errorf("a named one has not failed: %v, %v", got, err)
		}
		if got, err := rg.r.RetryFailed(t.Context(), id("a", "c"), id("c")...); err != nil || !slices.Equal(got, id("c")) {
			t.Errorf("a named one is selected, too: %v, %v", got, err)
		}
		synctest.Wait()
		if err := rg.r.Pause(t.Context(), reactor.Pause{}); err != nil {
			t.Fatal(err)
		}
		if got, err := rg.r.ResumeHeld(t.Context(), id("b", "c")); err == nil || len(got) != 0 {
			t.Errorf("while everything is paused: %v, %v", got, err)
		}
		if got, err := rg.r.ResumeHeld(t.Context(), id("a", "b")); err != nil || !slices.Equal(got, id("a")) {
			t.Errorf("while everything is paused: %v, %v", got, err)
		}
		atOnce(t, "the end", rg.end)
	})
}
