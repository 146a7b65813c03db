package reactor

import "time"

// stir says that something happened that a converged graph does not do: a run
// changed something, or ended differently from the one before it.
func (l *loop) stir() {
	l.stirred = l.r.now()
	if l.converged {
		l.converged = false
		l.resting.Store(false)
		l.r.opt.Listener.converged(false, l.counts())
	}
}

// settle looks whether the graph has converged: law 12. It is called after each
// turn of the loop and costs a constant unless it has.
func (l *loop) settle() {
	if l.converged || l.generation == 0 || !l.m.AtRest() || l.r.busy.Load() > 0 || l.r.shares.ends.Load() > 0 {
		return
	}
	if left := l.stirred + int64(l.r.opt.Quiet) - l.r.now(); left > 0 {
		l.lookAgain(time.Duration(left))
		return
	}
	if l.r.shares.endAllShared() {
		return
	}
	l.converged, l.rested = true, true
	l.resting.Store(true)
	l.r.opt.Listener.converged(true, l.counts())
}

// lookAgain makes the loop turn once more after d.
func (l *loop) lookAgain(d time.Duration) {
	if l.looking {
		return
	}
	l.looking = true
	l.after(d, nil, func() { l.looking = false })
}
