package simulate

import (
	"slices"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	c := NewClock()
	begin := c.Now()
	var called []string
	at := func(name string, d time.Duration) func() bool {
		return c.AfterFunc(d, func() { called = append(called, name+" "+c.Now().Sub(begin).String()) })
	}
	at("b", 2*time.Second)
	at("a", time.Second)
	stop := at("never", time.Second)
	at("past", -time.Second)
	at("late", time.Hour)
	c.AfterFunc(time.Second, func() { at("nested", 500*time.Millisecond) })
	if len(called) != 0 {
		t.Errorf("called before the clock was moved: %v", called)
	}
	if !stop() || stop() {
		t.Error("a timer can be stopped exactly once")
	}
	c.Advance(3 * time.Second)
	if want := []string{"past 0s", "a 1s", "nested 1.5s", "b 2s"}; !slices.Equal(called, want) {
		t.Errorf("called %v, want %v", called, want)
	}
	if got := c.Now().Sub(begin); got != 3*time.Second {
		t.Errorf("the clock stands at %s", got)
	}
	if stop() {
		t.Error("a stopped timer is stopped again")
	}
}

// TestClockStopAfterCall: a timer that was called can't be stopped, and one may
// be stopped from within another.
func TestClockStopAfterCall(t *testing.T) {
	c := NewClock()
	var second func() bool
	first := c.AfterFunc(time.Second, func() { second() })
	second = c.AfterFunc(time.Second, func() { t.Error("it was stopped") })
	c.Advance(time.Second)
	if first() {
		t.Error("a timer that was called was stopped")
	}
}
