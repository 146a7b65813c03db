package reactor

import (
	"context"
	"runtime"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// turn waits for one event, acts on it, and starts the vertices that can be started then.
func (l *loop) turn(ctx context.Context) {
	mail, alarm := l.mail.wake, l.alarms.timer.C
	behind := l.opt.Listener.behind()
	if behind != nil && l.mail.expected.Load() == 0 {
		mail, alarm = nil, nil
	}
	select {
	case <-mail:
		l.deliver()
	case q := <-l.requests:
		l.moment = l.now()
		l.serve(q)
	case q := <-l.questions:
		l.serve(q)
	case <-alarm:
		l.ring()
	case <-behind:
	case <-ctx.Done():
		return
	}
	l.startWatches()
	l.lookAnew()
	l.startRuns()
	l.checkRealized()
	l.settle()
}

// serve does what another goroutine has asked for.
func (l *loop) serve(q request) {
	defer close(q.done)
	q.do()
}

// ring does everything whose time has come.
func (l *loop) ring() {
	l.alarms.armed = 0
	l.moment = l.now()
	for due, ok := l.alarms.take(l.moment); ok; due, ok = l.alarms.take(l.moment) {
		due.do()
	}
	l.arm()
}

// startRuns starts the vertices that the machine lets start. It lets several runs go first: short
// ones have ended when the loop looks again, so one turn takes the ends of many. At rest it ends
// the workers but one.
func (l *loop) startRuns() {
	started := 0
	for {
		slots, ok := l.m.Next()
		if !ok {
			break
		}
		l.m.SetParallel(l.pool.widen(&l.opt, l.bySlot[slots[0]]))
		l.begin(slots)
		started++
	}
	l.pool.handOver()
	if started > 0 {
		l.lookOut()
	}
	if started > 1 && !l.pool.wide { // one run begins at once when the loop has nothing to do, and quick ones end before another processor is awake
		runtime.Gosched()
	}
	if l.pool.busy && l.m.AtRest() {
		l.pool.dismiss(1)
	}
}

// deliver takes the mail.
func (l *loop) deliver() {
	l.moment = l.now()
	l.inbox = l.mail.take(l.inbox)
	for _, v := range l.inbox {
		l.news(v, v.membership.mail.Swap(0))
	}
}

// news takes the news of v. An event that came together with the end of a run counts as a later
// one.
func (l *loop) news(v *vertex, news uint32) {
	if news&mailSlot != 0 {
		l.syncSlot(v)
	}
	if news&mailAlters != 0 && v.altering() && v.past.last != resgraph.StateFailed {
		l.stir()
	}
	if news&mailRan != 0 {
		l.ran(v)
	}
	if news&mailRunning != 0 && !v.membership.gone {
		l.running(v)
	}
	if news&mailEvent != 0 && !v.membership.gone && v.watch.Is(watch.Running) {
		l.heard(v)
		v.hold.Heard(l.moment)
		l.event(v)
	}
	if news&mailWatched != 0 {
		l.watched(v)
	}
	if news&mailFinished != 0 {
		l.finished(v)
	}
}

// heartbeat says again and again that the loop is alive.
func (l *loop) heartbeat() {
	l.opt.Heartbeat()
	l.after(l.opt.HeartbeatEvery, nil, l.heartbeat)
}
