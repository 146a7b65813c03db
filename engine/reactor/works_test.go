package reactor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

// TestWorks: a run, a Watch that starts or ends, and an event that the loop has not taken are work. A method that sleeps by the clock, and a run
// that waits for one that sleeps, are not.
func TestWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, w := simulate.NewClock(), newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1, Clock: c})
		defer rg.close()
		want := func(what string, want bool) {
			t.Helper()
			synctest.Wait()
			if got, err := rg.r.Works(t.Context(), c.Sleepers()); got != want || err != nil {
				t.Errorf("%s: %t, %v; want %t", what, got, err, want)
			}
		}
		goOn, sleeps := make(chan struct{}), false
		step := func(ctx context.Context) {
			if sleeps {
				_ = clock.Sleep(ctx, c, time.Minute)
				return
			}
			<-goOn
		}
		f := &fake{w: w}
		f.watch = func(ctx context.Context, f *fake) error {
			step(ctx)
			f.init.Running()
			<-ctx.Done()
			step(context.WithoutCancel(ctx))
			return nil
		}
		f.check = func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			step(ctx)
			return true, nil
		}
		rg.swap(newDecl(t).add("a", f))
		want("a Watch that starts", true)
		goOn <- struct{}{}
		want("a run", true)
		goOn <- struct{}{}
		want("at rest", false)
		sleeps = true
		f.init.Event()
		want("a run that sleeps", false)
		c.Advance(time.Minute)
		want("at rest again", false)
		var all []*fake
		d := newDecl(t)
		for _, name := range []string{"b", "c"} {
			next := &fake{w: w, check: f.check}
			next.SetMetaParams(&engine.MetaParams{Sema: []string{"s"}})
			all = append(all, next)
			d.add(name, next)
		}
		sleeps = false
		rg.swap(d)
		want("a Watch that ends, and two runs", true)
		goOn <- struct{}{}
		goOn <- struct{}{}
		goOn <- struct{}{}
		want("at rest with two", false)
		sleeps = true
		for _, f := range all {
			f.init.Event()
		}
		want("a run that sleeps, and one that waits for it", false)
		c.Advance(time.Minute)
		if n := len(rg.runs("b")) + len(rg.runs("c")); n != 2 {
			t.Errorf("%d runs have ended before the second one began to sleep, want 2", n)
		}
		want("the second one sleeps", false)
		c.Advance(time.Minute)
		want("at rest after both", false)
		if n := len(rg.runs("b")) + len(rg.runs("c")); n != 4 {
			t.Errorf("%d runs have ended, want 4", n)
		}
	})
}

// TestNewsIsWork: an event counts as work from the call of Init.Event on, whatever the loop does first.
func TestNewsIsWork(t *testing.T) {
	rg := newRig(t, reactor.Options{Sweep: -1})
	defer rg.close()
	w := newWorld()
	f := &fake{w: w}
	begun, goOn := make(chan struct{}), make(chan struct{})
	f.check = func(context.Context, *fake, bool) (bool, error) {
		begun <- struct{}{}
		<-goOn
		return true, nil
	}
	rg.swap(newDecl(t).add("a", f))
	for range 100 {
		if yes, err := rg.r.Works(t.Context(), nil); !yes || err != nil {
			t.Fatalf("after an event: %t, %v", yes, err)
		}
		<-begun
		goOn <- struct{}{}
		for yes := true; yes; {
			var err error
			if yes, err = rg.r.Works(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		f.init.Event()
	}
	<-begun
	goOn <- struct{}{}
}
