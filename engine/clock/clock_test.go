package clock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// ticked takes what a channel has, and reports whether there was something.
func ticked(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestTimer: a timer by a clock of a test does what a time.Timer does, and the clock of the machine has those.
func TestTimer(t *testing.T) {
	machine := func(f func(t *testing.T, c clock.Clock, pass func(time.Duration))) func(*testing.T) {
		return func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f(t, clock.System{}, func(d time.Duration) { time.Sleep(d); synctest.Wait() })
			})
		}
	}
	tests := func(f func(t *testing.T, c clock.Clock, pass func(time.Duration))) func(*testing.T) {
		return func(t *testing.T) {
			c := enginetest.NewClock()
			f(t, c, c.Advance)
		}
	}
	t.Run("machine", machine(timerLaws))
	t.Run("test", tests(timerLaws))
	t.Run("ticker/machine", machine(tickerLaws))
	t.Run("ticker/test", tests(tickerLaws))
	t.Run("timeout/machine", machine(timeoutLaws))
	t.Run("timeout/test", tests(timeoutLaws))
}

// timeoutLaws: a context ends by the clock as one of the standard library does by that of the machine.
func timeoutLaws(t *testing.T, c clock.Clock, pass func(time.Duration)) {
	late := errors.New("too late")
	for _, cause := range []error{late, nil} {
		ctx, cancel := clock.WithTimeout(t.Context(), c, time.Second, cause)
		child, end := context.WithCancel(ctx)
		pass(999 * time.Millisecond)
		if ctx.Err() != nil || context.Cause(ctx) != nil {
			t.Error("it ends too early")
		}
		pass(time.Millisecond)
		<-child.Done()
		want := cmp.Or(cause, context.DeadlineExceeded)
		after, stop := context.WithCancel(child) // made after the end
		for _, c := range []context.Context{ctx, child, after} {
			if c.Err() != context.DeadlineExceeded || context.Cause(c) != want {
				t.Errorf("it has ended with %v, by %v", c.Err(), context.Cause(c))
			}
		}
		stop()
		end()
		cancel()
	}
	ctx, cancel := clock.WithTimeout(t.Context(), c, time.Second, late)
	child, end := context.WithCancel(ctx)
	defer end()
	cancel()
	if child.Err() != context.Canceled {
		t.Errorf("cancelled, a child has ended with %v", child.Err())
	}
	pass(time.Hour)
	if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
		t.Errorf("cancelled, it has ended with %v, by %v", ctx.Err(), context.Cause(ctx))
	}
	parent, stop := context.WithCancelCause(t.Context())
	ctx, cancel = clock.WithTimeout(parent, c, time.Second, late)
	stop(io.EOF)
	if ctx.Err() != context.Canceled || context.Cause(ctx) != io.EOF {
		t.Errorf("with its parent, it has ended with %v, by %v", ctx.Err(), context.Cause(ctx))
	}
	<-ctx.Done()
	pass(time.Hour)
	if ctx.Err() != context.Canceled || context.Cause(ctx) != io.EOF {
		t.Errorf("the end of the time alters the end by the parent to %v, by %v", ctx.Err(), context.Cause(ctx))
	}
	cancel()
}

func timerLaws(t *testing.T, c clock.Clock, pass func(time.Duration)) {
	start, x := c.Now(), clock.NewTimer(c, time.Second)
	pass(999 * time.Millisecond)
	if ticked(x.C) {
		t.Error("it ends too early")
	}
	pass(time.Millisecond)
	if !ticked(x.C) || clock.Since(c, start) < time.Second {
		t.Error("it does not end")
	}
	x.Reset(time.Second)
	pass(2 * time.Second)
	x.Reset(time.Second) // what it had is gone
	if ticked(x.C) {
		t.Error("Reset leaves the time of before")
	}
	pass(time.Second)
	if !ticked(x.C) {
		t.Error("Reset does not start it")
	}
	x.Reset(time.Second)
	if !x.Stop() {
		t.Error("it was not stopped")
	}
	pass(2 * time.Second)
	if ticked(x.C) {
		t.Error("it goes on after Stop")
	}
	x.Reset(time.Second)
	pass(time.Second)
	if !ticked(x.C) {
		t.Error("it can't be used again after Stop")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("over")
	cancel(cause)
	if err := clock.Sleep(ctx, c, time.Hour); !errors.Is(err, cause) {
		t.Errorf("Sleep says %v", err)
	}
}

func tickerLaws(t *testing.T, c clock.Clock, pass func(time.Duration)) {
	x := clock.NewTicker(c, time.Second)
	for range 3 {
		pass(time.Second)
		if !ticked(x.C) {
			t.Error("it does not tick")
		}
	}
	pass(5 * time.Second)
	if !ticked(x.C) || ticked(x.C) {
		t.Error("ticks that nobody takes are not one")
	}
	x.Stop()
	pass(5 * time.Second)
	if ticked(x.C) {
		t.Error("it ticks after Stop")
	}
}

// counted is a clock that notes what it is told, and rings when the test says so.
type counted struct {
	stopped
	log  []string
	ring func()
}

func (c *counted) AfterFunc(_ time.Duration, f func()) func() bool {
	c.log, c.ring = append(c.log, "timer"), f
	return func() bool { c.log = append(c.log, "stop"); return false }
}

func (c *counted) Ended(more int) { c.log = append(c.log, fmt.Sprintf("%+d", more)) }

func (c *counted) Asleep(context.Context) func() {
	c.log = append(c.log, "asleep")
	return func() { c.log = append(c.log, "awake") }
}

// TestCountingClock: at each moment between the end of a timer and the next wait, the clock knows of a goroutine that has to act, or of a
// timer. So it is told of a sleeper only while its timer is set, and that a timer was taken after the next one is set.
func TestCountingClock(t *testing.T) {
	check := func(what string, c *counted, want ...string) {
		t.Helper()
		if !slices.Equal(c.log, want) {
			t.Errorf("%s: the clock was told %q, want %q", what, c.log, want)
		}
		c.log = nil
	}
	c := &counted{}
	timer := clock.NewTimer(c, time.Minute)
	check("a new timer", c, "timer")
	c.ring()
	check("it ends", c, "+1")
	<-timer.C
	timer.Reset(time.Minute)
	check("it is set again", c, "stop", "timer", "-1")
	timer.Reset(time.Hour)
	check("it is set again before its end", c, "stop", "timer")
	c.ring()
	timer.Stop()
	check("it is stopped", c, "+1", "stop", "-1")
	ended, end := context.WithCancelCause(t.Context())
	end(errSleep)
	if err := clock.Sleep(ended, c, time.Minute); !errors.Is(err, errSleep) {
		t.Error(err)
	}
	check("a sleep", c, "timer", "asleep", "awake", "stop")
	clock.Asleep(t.Context(), clock.System{})()
	clock.Asleep(t.Context(), nil)()
}

var errSleep = errors.New("told to wake")
