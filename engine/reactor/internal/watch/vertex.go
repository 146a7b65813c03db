package watch

import (
	"context"
	"sync/atomic"
	"time"
)

// State is how a Watch stands.
type State uint8

// The states.
const (
	Idle     State = iota // not started yet, or not wanted
	Starting              // started, has not said Running
	Running
	Ending // told to end, because values are to be assigned
	Late   // told to end, because it did not start in time
	Failed // ended by an error; starts again, or not
)

// Vertex is the Watch of one vertex. The zero value is not started. The loop calls everything but
// SayRunning, HasSaid and Subs. A vertex without a Watch has a nil one, which is never started.
type Vertex struct {
	subs Subs

	ctx     *Context // while active
	startBy int64    // by the reactor's clock
	seen    uint64   // see See
	tries   int32    // starts after failures
	state   State
	active  bool        // the goroutine is there
	again   bool        // start it again when the run has ended
	said    atomic.Bool // Running was called in this Watch
}

// Active reports whether the Watch was started and has not ended.
func (v *Vertex) Active() bool { return v != nil && v.active }

// Is reports whether the Watch is in a state.
func (v *Vertex) Is(s State) bool { return v.is() == s }

func (v *Vertex) is() State {
	if v == nil {
		return Idle
	}
	return v.state
}

// Subs are its subscriptions, nil for none. Callable from any goroutine.
func (v *Vertex) Subs() *Subs {
	if v == nil {
		return nil
	}
	return &v.subs
}

// Context is the context of the Watch, while it is active.
func (v *Vertex) Context() *Context { return v.ctx }

// Start starts a Watch that is not active, at a time, and returns its context. It has to say
// Running within the timeout.
func (v *Vertex) Start(parent context.Context, now int64, timeout time.Duration) *Context {
	v.ctx = newContext(parent)
	v.active, v.state = true, Starting
	v.said.Store(false)
	v.startBy = now + int64(timeout)
	return v.ctx
}

// StartLater has the Watch started when the run has ended, or with false no more.
func (v *Vertex) StartLater(yes bool) {
	if v != nil {
		v.again = yes
	}
}

// TakeStart reports whether the Watch has to be started now that a run has ended, once.
func (v *Vertex) TakeStart() (yes bool) {
	if v == nil {
		return false
	}
	yes, v.again = v.again, false
	return yes
}

// SayRunning takes the word of the Watch that it is armed. It reports whether that is the first
// since its start. Callable from any goroutine.
func (v *Vertex) SayRunning() (first bool) { return v != nil && v.said.CompareAndSwap(false, true) }

// HasSaid reports whether the Watch has said Running since its start. Callable from any goroutine.
func (v *Vertex) HasSaid() bool { return v != nil && v.said.Load() }

// Arm takes the news that the Watch is armed. It reports whether that is news: the Watch was
// starting.
func (v *Vertex) Arm() bool {
	if v.is() != Starting {
		return false
	}
	v.state = Running
	return true
}

// End tells the Watch to end. Why is Ending or Late.
func (v *Vertex) End(why State) {
	v.state = why
	v.ctx.cancel()
}

// Cut tells the Watch to end, if there is one, and leaves the next step open.
func (v *Vertex) Cut() {
	if v.Active() {
		v.ctx.cancel()
	}
}

// Ended takes the end of the Watch. It returns the state in which it ended, and its error.
func (v *Vertex) Ended() (why State, err error) {
	why, err = v.state, v.ctx.Result
	v.active, v.state = false, Idle
	v.ctx.cancel()
	return why, err
}

// Fail notes that the Watch has ended by an error.
func (v *Vertex) Fail() { v.state = Failed }

// Since returns how long ago the Watch was started, if it had the timeout.
func (v *Vertex) Since(now int64, timeout time.Duration) time.Duration {
	return time.Duration(now - v.startBy + int64(timeout))
}

// Due returns the time by which a starting Watch has to say Running; 0 where it is not starting.
func (v *Vertex) Due() int64 {
	if v.is() != Starting {
		return 0
	}
	return v.startBy
}

// See notes what the last good look at the thing has taken account of: all that was numbered up to n.
func (v *Vertex) See(n uint64) {
	if v != nil {
		v.seen = n
	}
}

// Seen returns what See has noted last, 0 for nothing.
func (v *Vertex) Seen() uint64 {
	if v == nil {
		return 0
	}
	return v.seen
}

// Tries returns how often the Watch was started again since it was well.
func (v *Vertex) Tries() int32 {
	if v == nil {
		return 0
	}
	return v.tries
}

// SetTries counts these.
func (v *Vertex) SetTries(n int32) {
	if v != nil {
		v.tries = n
	}
}
