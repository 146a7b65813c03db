package simulate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it. It fits wherever a
// clock is taken as a value, as in world/memory. Code that uses package time
// itself is tested in a testing/synctest bubble instead.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
	ended  int // see Waking
	asleep map[*sleeper]bool
}

type sleeper struct{ ctx context.Context }

type timer struct {
	at time.Time
	f  func()
}

// NewClock returns a clock that stands at the beginning of the year 2000, UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), asleep: map[*sleeper]bool{}}
}

// Now returns the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Ended implements clock.Counting.
func (c *Clock) Ended(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended += more
}

// Waking returns how many timers have ended that a goroutine waits for and has not stopped or set again since.
func (c *Clock) Waking() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Asleep implements clock.Counting.
func (c *Clock) Asleep(ctx context.Context) (awake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &sleeper{ctx}
	c.asleep[s] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asleep, s)
	}
}

// Sleepers returns the contexts of the goroutines that sleep by the clock (clock.Sleep). A context that has ended wakes its
// goroutine, so it is left out.
func (c *Clock) Sleepers() []context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []context.Context
	for s := range c.asleep {
		if s.ctx.Err() == nil {
			list = append(list, s.ctx)
		}
	}
	return list
}

// AfterFunc has f called by the Advance that reaches the time in d from now, on
// the goroutine of Advance. It is not called before AfterFunc returns, however
// short d is. The returned function prevents the call, and reports whether it
// could.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i < 0 {
			return false
		}
		c.timers = slices.Delete(c.timers, i, i+1)
		return true
	}
}

// Advance moves the clock forward, stopping at each due timer to call it, in
// order of time and then of AfterFunc. Timers that these calls set are called
// too, where they are due. Such a call may advance the clock itself. The time never goes back, also by
// a negative d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for f := c.next(end); f != nil; f = c.next(end) {
		f()
	}
}

// Next returns the time of the next timer, false where none is set.
func (c *Clock) Next() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.timers {
		if !ok || t.at.Before(at) {
			at, ok = t.at, true
		}
	}
	return at, ok
}

// next takes the first timer due by end and stands at it, or stands at end. It returns nil where no
// timer is due.
func (c *Clock) next(end time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := -1
	for i, t := range c.timers {
		if !t.at.After(end) && (first < 0 || t.at.Before(c.timers[first].at)) {
			first = i
		}
	}
	if first < 0 {
		c.forward(end)
		return nil
	}
	t := c.timers[first]
	c.timers = slices.Delete(c.timers, first, first+1)
	c.forward(t.at)
	return t.f
}

// forward moves the clock to a time, and never back: a timer that was called may have moved the
// clock further already. The lock is held.
func (c *Clock) forward(to time.Time) {
	if to.After(c.now) {
		c.now = to
	}
}
