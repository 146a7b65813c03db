package reactor

import (
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// hasHeard reports whether the loop has, or is sure to get, the news of all that has happened before the graph came to rest. Else it
// turns once more when it may have. The host is asked once at a time.
func (l *loop) hasHeard() bool {
	host, ok := l.opt.Host.(hosting.Hearer)
	h, stirs := &l.hearing, l.hearing.stirs
	heard := h.heard.Load()
	if !ok || heard == stirs {
		return true
	}
	if h.asked == heard {
		h.asked = stirs
		l.enders.Go(func() {
			ctx, cancel := clock.WithTimeout(l.ctx, l.opt.Clock, hearFor, nil)
			defer cancel()
			host.Hear(ctx)
			h.heard.Store(stirs)
			l.wake()
		})
	}
	return false
}

// stir says that something happened that a converged graph does not do: a run
// changed something, or ended differently from the one before it.
func (l *loop) stir() {
	l.stirred = l.now()
	l.hearing.stirs++
	if l.converged {
		l.converged = false
		l.resting.Store(false)
		l.opt.Listener.converged(false, l.counts())
	}
}

// settle looks whether the graph has converged: law 12. It is called after each
// turn of the loop and costs a constant unless it has.
func (l *loop) settle() {
	if l.converged || l.generation == 0 || !l.m.AtRest() || l.busy.Load() > 0 || l.sharesEnding.Load() > 0 {
		return
	}
	quiet := l.opt.Quiet
	if l.departing.Load() > 0 { // they may have news for others, such as a path that is free
		quiet = max(quiet, hearFor)
	}
	if left := l.stirred + int64(quiet) - l.now(); left > 0 {
		l.lookAgain(time.Duration(left))
		return
	}
	if l.endAllShared() || !l.hasHeard() || l.mail.any() {
		return
	}
	l.converged, l.rested = true, true
	l.resting.Store(true)
	l.opt.Listener.converged(true, l.counts())
}

// lookAgain makes the loop turn once more after d.
func (l *loop) lookAgain(d time.Duration) {
	if l.looking {
		return
	}
	l.looking = true
	l.after(d, nil, func() { l.looking = false })
}
