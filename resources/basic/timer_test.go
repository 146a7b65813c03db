package basic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func newTimer(t *testing.T, interval time.Duration) (*TimerRes, *enginetest.Fake) {
	r := &TimerRes{Interval: interval}
	return r, kindtest.Begin(t, "timer", r)
}

// tickAt lets time pass and says after how long the next event came.
func tickAt(t *testing.T, f *enginetest.Fake, within time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	select {
	case <-f.Events():
		return time.Since(start)
	case <-time.After(within):
		t.Fatalf("no tick within %s", within)
		return 0
	}
}

func TestTimerTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		stop := kindtest.Watching(t, f, r)
		defer stop()
		kindtest.Want(t, f, r, "")
		for range 3 {
			if d := tickAt(t, f, time.Hour); d != time.Minute {
				t.Fatalf("a tick after %s", d)
			}
			kindtest.Want(t, f, r, "ran")
			kindtest.Want(t, f, r, "")
		}
	})
}

// The peer's timer never ticked again after a refresh.
func TestTimerRefreshResetsPhaseAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		stop := kindtest.Watching(t, f, r)
		defer stop()
		time.Sleep(40 * time.Second)
		f.SetRefresh(true)
		kindtest.Want(t, f, r, "refreshed")
		f.SetRefresh(false)
		kindtest.Want(t, f, r, "")
		for range 3 {
			if d := tickAt(t, f, time.Hour); d != time.Minute {
				t.Fatalf("a tick after %s", d)
			}
			kindtest.Want(t, f, r, "ran")
		}
	})
}

func TestTimerMergesMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		stop := kindtest.Watching(t, f, r)
		defer stop()
		time.Sleep(3*time.Minute + 20*time.Second)
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
		<-f.Events()
		if d := tickAt(t, f, time.Hour); d != 40*time.Second {
			t.Fatalf("a tick after %s: the grid was lost", d)
		}
		kindtest.Want(t, f, r, "ran")
	})
}

// Under noop nobody takes a tick, and the clock is not kept busy by it.
func TestTimerUnderNoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		stop := kindtest.Watching(t, f, r)
		defer stop()
		time.Sleep(10*time.Minute + time.Second)
		for range 3 {
			if got := kindtest.Verbs(t, f, r, false); got != "ran" {
				t.Fatalf("got %q", got)
			}
		}
		if n := f.EventCount(); n != 10 {
			t.Errorf("%d events in ten minutes", n)
		}
	})
}

// Polled, and never watched, it ticks all the same.
func TestTimerPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		ticks := 0
		for range 60 {
			time.Sleep(10 * time.Second)
			if kindtest.Verbs(t, f, r, true) != "" {
				ticks++
			}
		}
		if ticks != 10 {
			t.Errorf("%d ticks in ten minutes", ticks)
		}
	})
}

// A Watch that is started again goes on where the last one ended.
func TestTimerWatchRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newTimer(t, time.Minute)
		for range 2 {
			f.Restart()
			stop := kindtest.Watching(t, f, r)
			time.Sleep(25 * time.Second)
			stop()
		}
		f.Restart()
		stop := kindtest.Watching(t, f, r)
		defer stop()
		if d := tickAt(t, f, time.Hour); d != 10*time.Second {
			t.Errorf("a tick after %s", d)
		}
	})
}

func TestTimerEndsAtOnce(t *testing.T) {
	r, f := newTimer(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Watch(ctx); err != nil {
		t.Error(err)
	}
	if f.EventCount() != 0 {
		t.Error("it ticked")
	}
}

func TestTimerValidate(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: false, -time.Second: false, time.Millisecond: false, 10 * time.Millisecond: true, time.Hour: true} {
		if err := (&TimerRes{Interval: d}).Validate(); (err == nil) != ok {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestAfter(t *testing.T) {
	zero := time.Unix(0, 0)
	for _, tt := range []struct{ t, now, want time.Duration }{
		{t: 10, now: 0, want: 20},
		{t: 10, now: 10, want: 20},
		{t: 10, now: 19, want: 20},
		{t: 10, now: 20, want: 30},
		{t: 10, now: 999, want: 1000},
	} {
		if got := after(zero.Add(tt.t), 10, zero.Add(tt.now)).Sub(zero); got != tt.want {
			t.Errorf("after(%d, 10, %d) = %d, want %d", tt.t, tt.now, got, tt.want)
		}
	}
}

// TestTimerGoesByTheClockOfTheMachine: on a simulated machine it ticks when the time of that machine moves.
func TestTimerGoesByTheClockOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, clock := enginetest.NewHost(), enginetest.NewClock()
		h.SetClock(clock)
		r := &TimerRes{Interval: time.Hour}
		f := kindtest.Begin(t, "timer", r, enginetest.WithHost(h))
		stop := kindtest.Watching(t, f, r)
		defer stop()
		kindtest.Want(t, f, r, "")
		for range 3 {
			clock.Advance(59 * time.Minute)
			synctest.Wait()
			kindtest.Want(t, f, r, "")
			clock.Advance(time.Minute)
			if d := tickAt(t, f, time.Second); d != 0 {
				t.Errorf("the tick took %s of another clock", d)
			}
			kindtest.Want(t, f, r, "ran")
			synctest.Wait() // until it has set its next timer: the time must not move meanwhile
		}
	})
}
