package engine

import "time"

// Clock tells the time and makes timers. Code below the root package takes one as a
// value, so that a test or a simulated machine gives its own. Every method may be
// called by many goroutines.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on its own goroutine after d, unless stop was called before.
	// It returns stop, which reports whether it has prevented the call.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the clock of the machine, by package time.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// ClockOr returns c, and the clock of the machine where c is nil.
func ClockOr(c Clock) Clock {
	if c == nil {
		return SystemClock{}
	}
	return c
}

// Wake returns a channel that gets one token after d by the clock. Stop ends the timer;
// the channel is never closed.
func Wake(c Clock, d time.Duration) (wake <-chan struct{}, stop func() bool) {
	ch := make(chan struct{}, 1)
	return ch, c.AfterFunc(d, func() { ch <- struct{}{} })
}
