package reactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// startWatches begins the Watches that are starting, and looks later whether they have said something.
func (l *loop) startWatches() {
	if l.watches.startAll(l.core) {
		l.expectStart(l.now() + int64(min(slowStart, l.opt.StartTimeout)))
	}
}

// running takes the news that the watches of v are armed.
func (l *loop) running(v *vertex) {
	if !v.membership.suspended && v.watch.Arm() && v.wired().Refused() == nil {
		l.ready(v)
	}
}

var errWatchReturned = errors.New("Watch returned although nobody told it to end")

// watched takes the news that the Watch of v has ended.
func (l *loop) watched(v *vertex) {
	l.active--
	why, err := v.watch.Ended()
	switch {
	case v.membership.gone:
		l.leave(v)
	case v.membership.suspended:
		l.tellIdle(v)
		l.resume(v)
	case l.ctx.Err() != nil:
	case why == watch.Ending:
		l.tryAssign(v)
	case why == watch.Late:
		l.watchFailed(v, l.late())
	case err == nil:
		l.watchFailed(v, errWatchReturned)
	default:
		l.watchFailed(v, fmt.Errorf("Watch: %w", err))
	}
}

// watchFailed has the Watch started again, if there are tries left.
func (l *loop) watchFailed(v *vertex, err error) {
	v.watch.Fail()
	if v.byDefault() && hold.Healed(v.watch.Since(l.now(), l.opt.StartTimeout)) {
		v.watch.SetTries(0) // it was well for long
	}
	wait, again := l.backoff.Again(v.meta, err, v.watch.Tries())
	if again {
		v.watch.SetTries(v.watch.Tries() + 1)
		v.past.setRetry(l.now() + int64(wait))
		l.after(wait, v, func() {
			l.because(v, Trigger{Cause: CauseWatch})
			l.startWatch(v)
		})
	}
	l.fail(v, err, again, wait)
}

// late is the error of a Watch that has not started in time. It is tried again, and so recovers with what it waits for.
func (l *loop) late() error {
	return fmt.Errorf("Watch said nothing for %s after its start: a file system, a device or a program does not answer; fix that, or end it", l.opt.StartTimeout)
}

func (l *loop) checkStarts() {
	late, slow, again := l.watches.look(l.byIndex, l.now(), l.opt.StartTimeout)
	for _, v := range late {
		l.endWatch(v, watch.Late)
		l.fail(v, l.late(), false, 0)
	}
	slow.tell(l.log)
	if again != 0 {
		l.expectStart(again)
	}
}

const sweepParts = 64

// sweep looks at a part of the vertices without an event, and at the next part
// later: the answer to sources that lose events without knowing it.
func (l *loop) sweep(part int) {
	l.after(jitter(l.rand, l.opt.Sweep/sweepParts), nil, func() {
		n := len(l.byIndex)
		for _, v := range l.byIndex[n*part/sweepParts : n*(part+1)/sweepParts] {
			if v.watch.Is(watch.Running) {
				l.because(v, Trigger{Cause: CauseSweep})
				l.event(v)
			}
		}
		l.sweep((part + 1) % sweepParts)
	})
}

// expectStart looks at this time whether a Watch is slow or late.
func (l *loop) expectStart(at int64) {
	if l.watches.expects(at) {
		l.after(time.Duration(at-l.now()), nil, l.checkStarts)
	}
}
