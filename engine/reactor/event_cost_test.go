package reactor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingG12EventAllocates: an event, from Init.Event to the end of its run, makes at most three things.
func TestFindingG12EventAllocates(t *testing.T) {
	ran := make(chan struct{}, 1)
	f := &fake{w: newWorld(), check: func(context.Context, *fake, bool) (bool, error) {
		ran <- struct{}{}
		return true, nil
	}}
	rg := newRig(t, reactor.Options{})
	defer rg.close()
	rg.swap(newDecl(t).add("a", f))
	rg.rest()
	<-ran
	event := func() {
		f.init.Event()
		<-ran
	}
	event()
	const own = 1 // the fake's note of what has begun
	if n := testing.AllocsPerRun(1000, event); n > 3+own {
		t.Errorf("%v allocations for an event, want at most 3 and %d of the test", n, own)
	}
}

// TestRunContextAskedLate: a context that was only looked at while the run was wanted has ended
// for those who ask for its channel afterwards, and for what is derived from it.
func TestRunContextAskedLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		ended := make(chan error, 1)
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
			}
			derived, stop := context.WithCancel(ctx)
			defer stop()
			<-derived.Done()
			<-ctx.Done()
			ended <- context.Cause(derived)
			return true, ctx.Err()
		}}))
		time.Sleep(10 * time.Second)
		rg.swap(newDecl(t).add("b", &fake{w: w}))
		err := <-ended
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "another graph") {
			t.Errorf("the cause is %v, want that another graph has taken effect", err)
		}
	})
}
