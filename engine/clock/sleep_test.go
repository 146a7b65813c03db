package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// TestSleepByAClock: Sleep ends with its time by the clock, or with the cause of its context, and leaves no timer.
func TestSleepByAClock(t *testing.T) {
	c := enginetest.NewClock()
	slept := make(chan error, 1)
	go func() { slept <- clock.Sleep(t.Context(), c, time.Minute) }()
	for done := false; !done; { // the timer may not be there yet
		c.Advance(time.Minute)
		select {
		case err := <-slept:
			if done = true; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	why := errors.New("told to end")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := clock.Sleep(ctx, c, time.Minute); !errors.Is(err, why) {
		t.Errorf("after the end of its context it returns %v", err)
	}
}

// TestSinceByAClock: the time that has passed is that of the clock, and never that of the machine beside it.
func TestSinceByAClock(t *testing.T) {
	c := enginetest.NewClock()
	begin := c.Now()
	c.Advance(90 * time.Second)
	if d := clock.Since(c, begin); d != 90*time.Second {
		t.Errorf("%s have passed by the clock, and not 90 s", d)
	}
	if d := clock.Since(clock.System{}, time.Now()); d < 0 || d > time.Minute {
		t.Errorf("%s have passed on the machine since a moment ago", d)
	}
}
