package reactor

import (
	"sync/atomic"
	"time"
)

// stir says that something happened that a converged graph does not do: a run
// changed something, or ended differently from the one before it.
func (r *Reactor) stir() {
	r.stirred = r.now()
	if r.converged {
		r.converged = false
		r.resting.Store(false)
		r.opt.Listener.converged(false, r.counts())
	}
}

// settle looks whether the graph has converged: law 12. It is called after each
// turn of the loop and costs a constant unless it has.
func (r *Reactor) settle() {
	if r.converged || r.generation == 0 || !r.m.AtRest() || r.busy.Load() > 0 || r.ending.Load() > 0 {
		return
	}
	if left := r.stirred + int64(r.opt.Quiet) - r.now(); left > 0 {
		r.lookAgain(time.Duration(left))
		return
	}
	if r.endAllShared() {
		return
	}
	r.converged, r.rested = true, true
	r.resting.Store(true)
	r.opt.Listener.converged(true, r.counts())
}

// lookAgain makes the loop turn once more after d.
func (r *Reactor) lookAgain(d time.Duration) {
	if r.looking {
		return
	}
	r.looking = true
	r.after(d, nil, func() { r.looking = false })
}

// sayBusy implements Init.Busy.
func (r *Reactor) sayBusy() (done func()) {
	r.busy.Add(1)
	var once atomic.Bool
	return func() {
		if once.CompareAndSwap(false, true) {
			r.busy.Add(-1)
			r.poke()
		}
	}
}

// poke makes the loop turn.
func (r *Reactor) poke() {
	select {
	case r.mail.wake <- struct{}{}:
	default:
	}
}
