package watches

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

var errEnd = errors.New("told to end")

// TestPaths: Running is said once the paths are watched, each change is an event, and the end closes the subscription. A Watch that the
// host refuses says nothing.
func TestPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := simulate.NewHost()
		var said []string
		init := &engine.Init{
			Host:    h,
			Running: func() { said = append(said, "running", h.Subscriptions()[0][0]) },
			Event:   func() { said = append(said, "event") },
		}
		want := func(words ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(said, words) {
				t.Errorf("it said %q, want %q", said, words)
			}
			said = nil
		}
		h.FailWatch(errEnd)
		if err := Paths(t.Context(), init, []string{"/a"}, events.Options{}); !errors.Is(err, errEnd) {
			t.Error(err)
		}
		want()
		h.FailWatch(nil)
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- Paths(ctx, init, []string{"/a"}, events.Options{Contents: true}) }()
		want("running", "/a")
		h.Touch("/a/b")
		want("event")
		h.Touch("/b")
		want()
		h.Touch("/a")
		want("event")
		cancel()
		if err := <-ended; err != nil || len(h.Subscriptions()) > 0 {
			t.Errorf("%v, %v are open", err, h.Subscriptions())
		}
	})
}

// TestIdle: it says Running once, and lasts until its context ends.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		running, ended := 0, false
		go func() {
			if err := Idle(ctx, &engine.Init{Running: func() { running++ }}); err != nil {
				t.Error(err)
			}
			ended = true
		}()
		time.Sleep(time.Hour)
		if running != 1 || ended {
			t.Errorf("%d times running, ended %t", running, ended)
		}
		cancel()
		synctest.Wait()
		if !ended {
			t.Error("it outlives its context")
		}
	})
}

// TestPause: it lasts as long as it is told by the clock, and no longer than its context, whose cause it returns.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock()
		for _, d := range []time.Duration{0, -time.Second} {
			if err := Pause(t.Context(), clock, d); err != nil {
				t.Errorf("a pause of %s: %v", d, err)
			}
		}
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		for _, wake := range []struct {
			what string
			do   func()
			want error
		}{
			{"the clock", func() { clock.Advance(time.Second) }, nil},
			{"the context", func() { cancel(errEnd) }, errEnd},
		} {
			go func() { ended <- Pause(ctx, clock, time.Minute) }()
			synctest.Wait()
			clock.Advance(time.Minute - time.Second)
			synctest.Wait()
			select {
			case err := <-ended:
				t.Errorf("it has ended too early: %v", err)
			default:
			}
			wake.do()
			if err := <-ended; !errors.Is(err, wake.want) {
				t.Errorf("%s ends it with %v, want %v", wake.what, err, wake.want)
			}
		}
	})
}

// TestTurns: one looks at a time. A wait ends with its context, and takes no turn then.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns()
		if err := turns.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
		var given, taken error
		has := false
		go func() { given = turns.Lock(ctx) }()
		synctest.Wait()
		cancel(errEnd)
		synctest.Wait()
		go func() { taken = turns.Lock(context.WithoutCancel(t.Context())); has = true }()
		synctest.Wait()
		if has || !errors.Is(given, errEnd) {
			t.Errorf("two look at one time: %t; the wait that was ended: %v", has, given)
		}
		turns.Unlock()
		synctest.Wait()
		if !has || taken != nil {
			t.Errorf("the next one does not get its turn: %v", taken)
		}
	})
}
