package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and makes timers. Code below the root package takes one as a
// value, so that a test or a simulated machine gives its own. Every method may be
// called by many goroutines.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on its own goroutine after d, unless stop was called before.
	// It returns stop, which reports whether it has prevented the call.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// System is the clock of the machine, by package time.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (System) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// Or returns c, and the clock of the machine where c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return System{}
	}
	return c
}

// After returns a channel that gets one token after d by the clock. Stop ends the timer;
// the channel is never closed.
func After(c Clock, d time.Duration) (wake <-chan struct{}, stop func() bool) {
	ch := make(chan struct{}, 1)
	return ch, c.AfterFunc(d, func() { ch <- struct{}{} })
}

// Since returns the time that has passed since t by the clock.
func Since(c Clock, t time.Time) time.Duration {
	if _, ok := c.(System); ok {
		return time.Since(t) // which reads less of the clock
	}
	return c.Now().Sub(t)
}

// Sleep waits for d by the clock. The error is the cause of a context that ended before.
func Sleep(ctx context.Context, c Clock, d time.Duration) (err error) {
	t := NewTimer(c, d)
	awake := Asleep(ctx, c)
	select {
	case <-t.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	awake() // before Stop: the clock knows at all times who is awake
	t.Stop()
	return err
}

// Asleep tells a Counting that a goroutine goes on only by a timer, by another goroutine that the clock knows of, or by the end of ctx.
// Whoever makes it go on calls awake, once, before. Any other clock is told nothing.
func Asleep(ctx context.Context, c Clock) (awake func()) {
	if c := counting(c); c != nil {
		return c.Asleep(ctx)
	}
	return func() {}
}

// counting returns a clock as one that counts; nil where it does not. Each place that asks by itself would take memory of its own.
//
//go:noinline
func counting(c Clock) Counting {
	counts, _ := c.(Counting)
	return counts
}

// WithTimeout is context.WithTimeoutCause by a clock. By another one than that of the machine the context tells no Deadline, since
// what would ask for it, such as a connection, goes by the clock of the machine.
func WithTimeout(ctx context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if _, ok := c.(System); ok {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	inner, cancel := context.WithCancelCause(ctx)
	t := &timedContext{Context: inner, late: cause, done: make(chan struct{})}
	if cause == nil {
		t.late = context.DeadlineExceeded
	}
	end := func(cause error) {
		cancel(cause)
		_ = t.Err()
	}
	stop := c.AfterFunc(d, func() { end(t.late) })
	context.AfterFunc(inner, func() { _ = t.Err() }) // for an end of the parent
	return t, func() {
		stop()
		end(nil)
	}
}

// timedContext is a context that ends by a clock. Package context takes the error of a foreign parent, such as this one, over to its
// children; of its own parents it takes only the cause. So the children stand below this one, and the context inside has the cause.
type timedContext struct {
	context.Context       // ends first, with the cause
	late            error // its cause where the time is over
	done            chan struct{}

	mu       sync.Mutex
	err      error              // set when done is closed
	children map[*func()]func() // are called at the end
}

// Done implements context.Context.
func (t *timedContext) Done() <-chan struct{} { return t.done }

// Err is DeadlineExceeded where the time is over. The first call after the end of the context inside ends this one and its children.
func (t *timedContext) Err() error {
	children, err := t.end()
	for _, f := range children {
		f()
	}
	return err
}

// end ends this context if the one inside has ended, and returns the children that have to be told.
func (t *timedContext) end() (children map[*func()]func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || t.Context.Err() == nil {
		return nil, t.err
	}
	t.err = t.Context.Err()
	if context.Cause(t.Context) == t.late {
		t.err = context.DeadlineExceeded
	}
	children, t.children = t.children, nil
	close(t.done)
	return children, t.err
}

// AfterFunc calls f once at the end. Package context asks for it, for the children, and holds a lock of the child meanwhile: so
// after the end f is called on another goroutine.
func (t *timedContext) AfterFunc(f func()) (stop func() bool) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		go f()
		return func() bool { return false }
	}
	defer t.mu.Unlock()
	if t.children == nil {
		t.children = map[*func()]func(){}
	}
	key := &f
	t.children[key] = f
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, waits := t.children[key]
		delete(t.children, key)
		return waits
	}
}

// Timer is a time.Timer by a Clock. Its methods are for one goroutine at a time.
type Timer struct {
	C   <-chan time.Time // gets the time when the timer ends; of capacity 1
	sys *time.Timer      // by the clock of the machine; else nil

	clock Clock
	c     chan time.Time
	stop  func() bool
	mu    sync.Mutex
	round int  // a call of an earlier round has no effect
	ended bool // Counting has been told so
}

// NewTimer returns a timer that ends after d. By the clock of the machine it is a time.Timer, and costs no more.
func NewTimer(c Clock, d time.Duration) *Timer {
	if _, ok := c.(System); ok {
		sys := time.NewTimer(d)
		return &Timer{C: sys.C, sys: sys}
	}
	t := &Timer{clock: c, c: make(chan time.Time, 1)}
	t.C = t.c
	t.start(d)
	return t
}

// Counting is a Clock that is told how many timers have ended whose goroutine has not stopped or reset them since: it may still have to
// act on that. It is told, too, who sleeps: see Asleep. A simulated machine comes to rest after the timers, and moves its clock where all sleep.
type Counting interface {
	Clock
	Ended(more int)
	Asleep(ctx context.Context) (awake func())
}

// count tells the clock once that the timer has ended, and once that its goroutine went on. The lock is held.
func (t *Timer) count(more int) {
	if ended := more > 0; ended != t.ended {
		t.ended = ended
		if c := counting(t.clock); c != nil {
			c.Ended(more)
		}
	}
}

func (t *Timer) start(d time.Duration) {
	round := t.round
	t.stop = t.clock.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.round == round {
			t.c <- t.clock.Now()
			t.count(1)
		}
	})
}

// Stop ends the timer: after it, C gets nothing, and has nothing. It reports whether that has kept the time from coming.
func (t *Timer) Stop() bool {
	if t.sys != nil {
		return t.sys.Stop()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stopped := t.halt()
	t.count(-1)
	return stopped
}

// halt is Stop without a word to the clock. The lock is held.
func (t *Timer) halt() bool {
	stopped := t.stop()
	t.round++
	select {
	case <-t.c:
		stopped = true
	default:
	}
	return stopped
}

// Reset stops the timer, and has it end after d from now.
func (t *Timer) Reset(d time.Duration) {
	if t.sys != nil {
		t.sys.Reset(d)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.halt()
	t.start(d)
	t.count(-1) // at last: else there is a moment with neither a goroutine that has to act nor a timer
}

// Ticker is a time.Ticker by a Clock.
type Ticker struct {
	C    <-chan time.Time // gets the time again and again; of capacity 1
	Stop func()           // ends the ticker; to be called once
}

// NewTicker returns a ticker of a period, which must be positive.
func NewTicker(c Clock, every time.Duration) *Ticker {
	if _, ok := c.(System); ok {
		sys := time.NewTicker(every)
		return &Ticker{C: sys.C, Stop: sys.Stop}
	}
	ch := make(chan time.Time, 1)
	var mu sync.Mutex
	var stop func() bool
	ended := false
	var next func()
	next = func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		select {
		case ch <- c.Now():
		default: // the last one was not taken
		}
		stop = c.AfterFunc(every, next)
	}
	mu.Lock()
	defer mu.Unlock()
	stop = c.AfterFunc(every, next)
	return &Ticker{C: ch, Stop: func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		stop()
	}}
}
