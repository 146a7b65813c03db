package reactor

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// ran takes the outcome of a run of v.
func (l *loop) ran(v *vertex) {
	l.active--
	v.run.inRun = false
	l.altered(v)
	v.endRun()
	l.syncSlot(v)
	l.keepPromises(v)
	if v.membership.gone || v.membership.suspended {
		l.ranLast(v)
		return
	}
	o := v.run.job.out
	v.abil.noteQuick(o.took)
	o.err = l.failures.places.in(v, o.err)
	switch {
	case errors.Is(o.err, hold.ErrUsedUp):
		l.overBudget(v)
	case l.ctx.Err() == nil && l.stalls(v, &o):
	case l.ctx.Err() != nil && o.err != nil:
		l.interrupted(v, o.err)
	default:
		l.conclude(v, o)
	}
}

// conclude takes the end of a run whose outcome counts.
func (l *loop) conclude(v *vertex, o outcome) {
	run := Run{State: v.judge(o), Duration: o.took, Waited: time.Duration(v.run.job.started - v.run.job.since), Refreshed: v.run.refresh.Load(), Noop: !v.run.job.apply, Attempt: int(v.ledger.Retries())}
	if run.Noop {
		l.judgeNoop(v, &run)
	}
	if l.doubt(v, run.State, o.err) {
		return
	}
	run.Changed = run.State == engine.StateOK && !o.ok && o.err == nil
	v.hold.Ended(run.State == engine.StateFailed, v.run.job.paid())
	l.retry(v, &run, o.err)
	l.holds.stormRan(v, &run, l.moment, l.opt.Storm)
	before, untold := v.past.last, run.State == engine.StateUnknown && v.run.untold()
	v.guardSent()
	print := v.correction(&run)
	run = l.report(v, run)
	l.lay(v, run)
	l.corrected(v, &run, print)
	if o.err == nil && !untold {
		l.succeeded(v, run.Changed)
	}
	l.stuck(v, run, before)
	l.m.Done(v.slot, sched.Outcome{State: run.State, Retry: run.Retry && !v.byDefault()})
	l.setDue(v, dirty(l.m.State(v.slot)))
	if !v.run.job.apply && before != run.State {
		l.showBelow(v, before)
	}
	l.pool.jobs.end(v)
	l.next(v, run)
}

// ranLast takes the end of a run that was cut because its vertex leaves or is exchanged: it decides
// nothing, but its changes refresh others all the same.
func (l *loop) ranLast(v *vertex) {
	l.setDue(v, false)
	if v.run.job.out.err == nil {
		if v.run.job.apply && !v.run.job.out.ok { // it has changed something all the same
			l.report(v, Run{State: engine.StateOK, Changed: true, Duration: v.run.job.out.took, Refreshed: v.run.refresh.Load()})
		}
		l.refreshed(v, !v.run.job.out.ok)
	} else if !v.membership.gone {
		l.giveAsked(v)
	}
	l.pool.jobs.end(v)
	if v.membership.gone {
		l.m.Forgotten(v.slot)
		if d := l.opt.Declared; d != nil && v.membership.after == nil {
			d.leave(v.ID) // its run may have remembered it after it had left
		}
		l.leave(v)
		return
	}
	l.m.Done(v.slot, sched.Outcome{State: engine.StateFailed})
	l.tellIdle(v)
	l.resume(v)
}

// interrupted takes the end of a run that the end of Run has cut. That is no news, unless it has cut off a change.
func (l *loop) interrupted(v *vertex, err error) {
	if l.end.cutsOff(v) {
		l.report(v, Run{State: engine.StateFailed, Err: &CutError{err}, Duration: v.run.job.out.took})
	}
	l.m.Unready(v.slot) // it has not failed: it is unsettled
	l.m.Done(v.slot, sched.Outcome{State: engine.StateFailed})
	l.pool.jobs.end(v)
}

// judge returns the state that an outcome leads to.
func (v *vertex) judge(o outcome) engine.State {
	switch {
	case o.err != nil:
		return engine.StateFailed
	case !o.ok && !v.run.job.apply:
		return engine.StateWouldChange
	default:
		return engine.StateOK
	}
}

// judgeNoop calls outcomes unknown that only a run of a vertex above could tell: those of a failed
// check, and whether a refresh follows. A check that has failed below such a vertex leaves one thing certain:
// what is not there will be made.
func (l *loop) judgeNoop(v *vertex, run *Run) {
	up := ""
	v.run.job.placeless = v.run.job.placeless && !l.mayBeBrought(v)
	switch {
	case run.State == engine.StateFailed:
		if _, moved := l.moved.LoadAndDelete(v); moved {
			l.outdated = append(l.outdated, outdated{v, v})
		}
		up = cmp.Or(v.run.job.unread, unreadIn(v.run.job.out.err), l.openAbove(v, l.looksAtPaths(v) && !v.run.untold()))
	case v.run.untold():
		up = l.openAbove(v, false)
	case run.State == engine.StateOK:
		up = l.mayRefresh(v)
	case v.once:
		up = l.failsAbove(v)
		v.run.job.stays = up != ""
	}
	if decides := l.names.find(v.run.awaits()); (up != "" || run.State == engine.StateFailed) && decides != nil && decides != v && undecided(decides.past.last) {
		up = decides.ID
	}
	switch {
	case up == "":
		if v.past.until != "" {
			v.past.own().until = ""
		}
	case v.run.job.absent && !v.run.job.placeless && run.State == engine.StateFailed:
		run.State = engine.StateWouldChange
		l.awaits(v, up) // what it is made of
		v.reports(append(v.reported(), v.wired().Unknown()...))
	default:
		l.awaits(v, up)
		v.past.own().fails = run.State == engine.StateFailed && !v.run.untold() && v.run.job.unread == "" && !errors.Is(v.run.job.out.err, fs.ErrNotExist)
		run.State = engine.StateUnknown
		if v.run.job.unread != "" {
			v.reports(v.wired().Unknown())
		}
	}
}

// lay adds the effect of a vertex that would change to the layer, through which the vertices below look.
func (l *loop) lay(v *vertex, run Run) {
	layer := l.opt.Layer
	if layer == nil {
		return
	}
	if path := v.run.frees(); path != "" && !l.freed[v] {
		if l.freed == nil {
			l.freed = map[*vertex]bool{}
		}
		l.freed[v] = true
		l.outdate(layer.Looked(path), v)
	}
	if !undecided(run.State) || v.run.laid != notLaid || v.onlyLooks() || v.run.job.placeless || v.run.job.stays {
		return
	}
	v.run.laid = partLaid
	_ = lifecycle.Call("Rooted", func() error {
		if run.State == engine.StateUnknown || v.run.job.unread != "" {
			l.outdate(layer.Doubt(v.Res), v)
			return nil
		}
		seen, before := layer.Lay(v.Res, v.Share().Value(), run.Changes)
		if seen {
			v.run.laid = wholeLaid
		}
		l.outdate(before, v)
		return nil
	})
}

// outdate notes that a vertex alters what these have looked at.
func (l *loop) outdate(lookers []Looker, by *vertex) {
	for _, h := range lookers {
		if t := (*vertex)(h.(*vertexHost)); t != by {
			l.outdated = append(l.outdated, outdated{t, by})
		}
	}
}

// outdated is a vertex of a plan that has looked at something before it was known that another one would alter it.
type outdated struct{ v, by *vertex }

// lookAnew has such vertices run again when all else is at rest, as a run would by the events of their Watches. One whose own effect is
// laid would change in any case, and has its effect made again. One that has undone all rests then.
func (l *loop) lookAnew() {
	layer := l.opt.Layer
	if layer == nil || !l.m.AtRest() {
		return
	}
	late := layer.Late()
	for _, id := range slices.Sorted(maps.Keys(late)) {
		if by := l.names.find(id); by != nil {
			l.outdate(late[id], by)
		}
	}
	for i := 0; i < len(l.outdated); i++ { // more are added
		switch o := l.outdated[i]; {
		case o.v.membership.gone || o.v.once && o.v.undone() && (o.v.run.laid != notLaid || o.v.past.last == engine.StateOK):
		case o.v.run.laid != notLaid:
			l.outdate(layer.Again(o.v.ID), o.v)
		default:
			l.from(o.v, CauseAbove, o.by)
			l.event(o.v)
		}
	}
	l.outdated = nil
}

// reported returns what the check of an absent thing has told before it failed; that the thing is made, where that is nothing.
func (v *vertex) reported() []engine.Change {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if told := v.run.changes(); len(told) > 0 {
		return slices.Clone(told)
	}
	return []engine.Change{{Verb: engine.Created}}
}

// reports makes these the changes of the run.
func (v *vertex) reports(changes []engine.Change) {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	v.run.says().changes = changes
}

// awaits notes that v can't be told before another one has run.
func (l *loop) awaits(v *vertex, until string) {
	if v.past.until == until {
		return // it is noted
	}
	v.past.own().until = until
	if l.awaited == nil {
		l.awaited = map[string][]*vertex{}
	}
	l.awaited[until] = append(l.awaited[until], v)
}

// decider returns what v, which is unknown, really waits for: where the vertex above can't be told itself, or not all of what it makes, what that one
// waits for, unless its own command decides.
func (l *loop) decider(v *vertex) string {
	for range maxDeciders {
		up := l.names.find(v.past.until)
		if up == nil || !undecided(up.past.last) || up.past.until == "" || up.run.asks() {
			break
		}
		v = up
	}
	return v.past.until
}

// maxDeciders bounds the search for a decider. What a vertex has looked at may be what one below it alters.
const maxDeciders = 1000

// retry decides whether a failed run is tried again, and says so in run.
func (l *loop) retry(v *vertex, run *Run, err error) {
	if run.State != engine.StateFailed {
		if v.meta.RetryReset {
			v.watch.SetTries(0)
		}
		if v.meta.RetryReset || v.byDefault() {
			l.memory.setRetries(v, 0)
		}
		return
	}
	run.Err = err
	if v.watch.Is(watch.Failed) {
		return
	}
	tried := v.ledger.Retries()
	if v.byDefault() && tried > 0 && !v.run.job.retries() {
		tried-- // something else has asked for it: the waits do not grow by that
	}
	if run.RetryIn, run.Retry = l.backoff.Again(v.meta, err, tried); run.Retry {
		l.memory.setRetries(v, tried+1)
	}
}

// byDefault reports whether the graph says nothing of retry: an event of v ends the wait for its
// next try.
func (v *vertex) byDefault() bool { return v.meta.Retry == engine.RetryDefault }

// retries reports whether the run is made because v had failed.
func (j *job) retries() bool {
	return slices.ContainsFunc(j.triggers, func(t Trigger) bool { return t.Cause == CauseRetry })
}

// succeeded carries the effects of a run without an error to others.
func (l *loop) succeeded(v *vertex, changed bool) {
	l.refreshed(v, changed)
	v.past.rested = v.once && v.run.job.apply && v.undone()
	if v.wired().Acted() {
		l.memory.recorder.NoteAll(v.wired().Digests(v.ID)...)
	}
	l.propagate(v, v.run.sent())
}

// next arranges the next step after the run.
func (l *loop) next(v *vertex, run Run) {
	switch {
	case v.watch.Is(watch.Failed): // its own alarm is set
	case run.Retry && l.m.State(v.slot) == engine.StateFailed: // else something has asked for it meanwhile
		v.past.setRetry(l.now() + int64(run.RetryIn))
		l.after(run.RetryIn, v, func() { l.retryNow(v) })
	case v.meta.Poll > 0 && !l.opt.Once:
		l.after(jitter(l.rand, v.meta.Poll), v, func() {
			l.because(v, Trigger{Cause: CausePoll})
			l.event(v)
		})
	}
	l.afterRun(v)
}

// afterRun does the work that had to wait for the end of a run.
func (l *loop) afterRun(v *vertex) {
	if v.watch.TakeStart() {
		l.startWatch(v)
	}
	if v.wired().Waits() {
		l.tryAssign(v)
	}
}

func (l *loop) retryNow(v *vertex) {
	v.past.setRetry(0)
	l.because(v, Trigger{Cause: CauseRetry})
	l.m.Wake(v.slot)
	l.setDue(v, true)
}

// event marks v dirty.
func (l *loop) event(v *vertex) {
	if v.membership.suspended {
		return // it is looked at anyway, or is no more
	}
	if v.hold.Deferred() == hold.ByOutside { // the cause of its wait may be over
		l.disarm(v)
	}
	l.m.Event(v.slot)
	l.setDue(v, true)
}

// ready says that v may be run from now on, and has to be.
func (l *loop) ready(v *vertex) {
	l.m.Ready(v.slot)
	l.setDue(v, true)
}

// showBelow looks again at the vertices under noop whose outcome depends on whether v would change:
// after the first run only at vertices that v is known to feed, then also at vertices that waited
// for it.
func (l *loop) showBelow(v *vertex, before engine.State) {
	for _, t := range v.notify {
		if t.noop {
			l.from(t, CauseAbove, v)
			l.event(t)
		}
	}
	for _, t := range v.sendsTo {
		l.from(t.v, CauseAbove, v)
		l.event(t.v)
	}
	if !undecided(before) {
		return
	}
	waiting := l.awaited[v.ID]
	delete(l.awaited, v.ID)
	for _, t := range waiting {
		if t.past.until != v.ID || t.membership.gone {
			continue
		}
		t.past.own().until = ""
		if t.past.last == engine.StateUnknown {
			l.from(t, CauseAbove, v)
			l.event(t)
		}
	}
}

// openAbove returns the nearest ancestor of v whose run would bring something
// that is not there yet. With unseen, what v sees through the layer does not count.
func (l *loop) openAbove(v *vertex, unseen bool) string {
	for slot := range l.m.Ancestors(v.slot, l.undoes) {
		if up := l.bySlot[slot]; undecided(up.past.last) && !(unseen && up.run.laid == wholeLaid) && !l.idleFor(up, v) {
			return up.ID
		}
	}
	return ""
}

// undoes reports whether a vertex undoes something. What comes before that brings nothing to what comes after it.
func (l *loop) undoes(slot int32) bool { return l.bySlot[slot].once }

// failsAbove returns an ancestor of v that is unknown, and fails by what is in its way unless what decides it helps. What v undoes stays then.
func (l *loop) failsAbove(v *vertex) string {
	for slot := range l.m.Ancestors(v.slot, nil) {
		if up := l.bySlot[slot]; up.past.last == engine.StateUnknown && up.past.fails {
			return up.ID
		}
	}
	return ""
}

// idleFor reports of a plan whether a run would bring v nothing of a vertex above it, since that one alters nothing then, and v may.
func (l *loop) idleFor(up, v *vertex) bool {
	return l.opt.Layer != nil && up.onlyLooks() && !v.onlyLooks()
}

// looksAtPaths reports whether v sees the layer: it looks at nothing but paths.
func (l *loop) looksAtPaths(v *vertex) bool {
	if l.opt.Layer == nil {
		return false
	}
	_, yes := engine.As[engine.RootedRes](v.Res)
	return yes
}

// undecided reports whether a vertex that has ended so has something to do that only a run without noop does.
func undecided(s engine.State) bool { return s == engine.StateWouldChange || s == engine.StateUnknown }

// unknown reports that v can't be told before until has run: the values that it
// has not received are shown as such.
func (l *loop) unknown(v *vertex, until string) {
	l.awaits(v, until)
	v.reports(v.wired().Unknown())
	l.lay(v, l.report(v, Run{State: engine.StateUnknown, Noop: true}))
}

// fail reports a failure without a run. Only a new start of the Watch or a new value is the way
// out. With retry the caller sees to that.
func (l *loop) fail(v *vertex, err error, retry bool, in time.Duration) {
	if !retry {
		v.past.setRetry(0)
		l.disarm(v)
	}
	l.m.Unready(v.slot)
	l.m.Fail(v.slot, retry)
	l.setDue(v, false)
	before := v.past.last
	run := l.report(v, Run{State: engine.StateFailed, Err: err, Retry: retry, RetryIn: in})
	l.stuck(v, run, before)
}

// report remembers how v ended and tells the listener. It returns the report.
func (l *loop) report(v *vertex, run Run) Run {
	run.Resource = v.ID
	out, begun := v.endedWith()
	l.number(v, &run)
	run.Err = v.Error(run.Err)
	if run.State == engine.StateUnknown {
		run.Until = l.decider(v)
	}
	if run.State != engine.StateFailed {
		v.run.mu.Lock()
		run.Changes = v.clean(v.run.changes())
		v.run.forget()
		v.run.mu.Unlock()
	}
	l.place(v, &run, &out)
	l.attribute(v, &run)
	if begun > 0 && run.State == engine.StateOK {
		v.watch.See(begun)
	}
	l.written(v, &run)
	if run.Changed {
		v.past.changed++
	}
	if run.Changed || run.State != v.past.last || v.run.leaves() {
		l.stir()
	}
	v.past.last = run.State
	if run.Err != nil || !v.watch.Is(watch.Failed) { // else the Watch's error stands
		v.past.setError(run.Err)
	}
	v.past.realized = v.past.realized || run.State.Settled()
	l.opt.Listener.ran(run)
	return run
}

// dirty reports whether a vertex in this state has something to do.
func dirty(s engine.State) bool {
	switch s {
	case engine.StateWaiting, engine.StateRunning, engine.StateBlocked:
		return true
	default:
		return false
	}
}

// unreadIn returns what a check could not read in a plan, empty for nothing.
func unreadIn(err error) string {
	if e, ok := errors.AsType[*engine.UnreadError](err); ok {
		return e.What
	}
	return ""
}
