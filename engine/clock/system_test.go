package clock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// stopped is a clock that stands still.
type stopped struct{ clock.System }

func (stopped) Now() time.Time { return time.Unix(1, 0) }

// TestClockOr: a nil clock is the clock of the machine, and any other one stays.
func TestClockOr(t *testing.T) {
	if c := clock.Or(nil); c != (clock.System{}) {
		t.Errorf("nil has become %T", c)
	}
	if c := clock.Or(stopped{}); c.Now() != time.Unix(1, 0) {
		t.Errorf("a clock has become %T", c)
	}
}

// TestSystemClock: it goes with package time, so that it goes with the virtual time of a bubble.
func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, begin := clock.System{}, time.Now()
		var rang atomic.Bool
		if !clock.Now().Equal(begin) {
			t.Errorf("it is %s, and the clock says %s", begin, clock.Now())
		}
		stop := clock.AfterFunc(time.Hour, func() { rang.Store(true) })
		time.Sleep(time.Hour - 1)
		synctest.Wait()
		if rang.Load() {
			t.Error("it rang too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !rang.Load() {
			t.Error("it did not ring")
		}
		if stop() {
			t.Error("stop says that it has prevented a call that was made")
		}
		if clock.Now().Sub(begin) != time.Hour {
			t.Errorf("after an hour the clock says %s", clock.Now())
		}
	})
}

// TestClockStops: a stopped timer does not ring, and says so once.
func TestClockStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := clock.System{}.AfterFunc(time.Second, func() { t.Error("it rang") })
		if !stop() {
			t.Error("stop says that it came too late")
		}
		if stop() {
			t.Error("the second stop says that it has prevented a call")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// TestWake: one token after the time, none after stop, and the timer never waits for a reader.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake, stop := clock.After(clock.System{}, time.Second)
		time.Sleep(time.Second)
		synctest.Wait() // without a reader the token stays in the channel, and no goroutine is left
		if stop() {
			t.Error("stop says that it has prevented a token that is there")
		}
		if _, open := <-wake; !open {
			t.Error("the channel is closed")
		}
		select {
		case <-wake:
			t.Error("there is a second token")
		default:
		}
		wake, stop = clock.After(clock.System{}, time.Second)
		if !stop() {
			t.Error("stop came too late")
		}
		time.Sleep(time.Minute)
		select {
		case <-wake:
			t.Error("a token came after stop")
		default:
		}
	})
}
