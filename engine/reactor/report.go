package reactor

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// report remembers how v ended and tells the listener. It returns the report.
func (l *loop) report(v *vertex, run Run) Run {
	run.Resource = v.ID
	out, begun := v.endedWith()
	l.number(v, &run)
	run.Err = v.Error(run.Err)
	if run.State == resgraph.StateUnknown {
		run.Until = l.decider(v)
	}
	if run.State != resgraph.StateFailed {
		v.run.mu.Lock()
		run.Changes = v.clean(v.run.said.changes)
		v.run.forget()
		v.run.mu.Unlock()
	}
	l.place(v, &run, &out)
	l.attribute(v, &run)
	if begun > 0 && run.State == resgraph.StateOK {
		v.watch.See(begun)
	}
	l.written(v, &run)
	if run.Changed {
		v.past.changed++
	}
	if run.Changed || run.State != v.past.last || v.run.said.leaves {
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
	run := l.report(v, Run{State: resgraph.StateFailed, Err: err, Retry: retry, RetryIn: in})
	l.stuck(v, run, before)
}

// place compares the declaration of v with the one of its last run that was well, in its first run, and then remembers it. It corrects
// the causes of the run by that: a start of the engine declares nothing.
func (l *loop) place(v *vertex, run *Run, out *outcome) {
	d := l.opt.Declared
	if d == nil || out.print == "" || v.membership.gone {
		return
	}
	i := slices.IndexFunc(run.Triggers, func(t Trigger) bool { return t.Cause == CauseGraph || t.Cause == CauseDeclaration })
	if i >= 0 && out.was != nil {
		t := Trigger{Cause: CauseDeclaration, Fields: out.was.Print.differs(out.print), Merged: 1}
		if out.was.Print == out.print {
			t = Trigger{Cause: CauseAnew, Merged: 1}
		}
		run.Triggers = slices.Clone(run.Triggers)
		run.Triggers[i] = t
		run.Class = l.classify(v, run.Triggers)
		if t.Cause == CauseAnew && run.Class == Corrective && len(run.Changes) > 0 && !hold.Corrects(run.Changes) {
			run.Class = Intended // what only runs does so at each start
		}
		if run.Changed || run.State != resgraph.StateOK {
			v.past.class = run.Class
		}
	}
	if run.State == resgraph.StateOK {
		d.right(v.ID, out.print, 0, false)
		v.membership.placed = true
	}
}

// written notes that a run of v has changed what others may read.
func (l *loop) written(v *vertex, run *Run) {
	if !run.Changed || !v.abil.watched || len(l.m.Below(v.slot)) == 0 {
		return
	}
	if l.wrote == nil {
		l.wrote = map[int32]uint64{}
	}
	l.wrote[v.slot] = run.ID
}

// attribute corrects the events among the causes of a change by what v had seen in its last good run. An event of a write that it had
// seen is no cause, however late it comes: somebody else has altered what v reads since. Where nothing tells who that was, or v was not
// watched yet, it was a vertex right above v, if one has written what v reads since then.
func (l *loop) attribute(v *vertex, run *Run) {
	if !run.Changed {
		return
	}
	seen, corrected, at := v.watch.Seen(), false, -1
	ts := slices.Clone(run.Triggers)
	for i := range ts {
		t := &ts[i]
		if t.Cause == CauseEvent && t.From != "" {
			if t.Run == 0 || t.Run > seen {
				continue
			}
			path := ""
			if slices.Equal(v.watchedPaths(), []string{v.ownPath()}) { // then the stranger has altered the same one
				path = t.Path
			}
			*t, corrected = Trigger{Cause: CauseEvent, Path: path, Merged: t.Merged, Resync: t.Resync}, true
		}
		if at < 0 && (t.Cause == CauseAnew || t.Cause == CauseEvent && (t.By == nil || t.By.PID == os.Getpid())) {
			at = i
		}
	}
	if at >= 0 {
		t := &ts[at]
		// A part that was mended is again what v was made of.
		if up, path := l.writer(v, seen, t.Cause == CauseAnew); up != nil && (t.Cause != CauseAnew || l.classOf(up.ID) != Corrective) {
			*t = Trigger{Cause: CauseEvent, Source: t.Source, Path: v.Text(path), From: up.ID, Merged: t.Merged, Resync: t.Resync}
			if !up.altering() { // else its run has no number yet
				t.Run = l.wrote[up.slot]
			}
			corrected = true
		}
	}
	if run.Triggers = ts; corrected {
		run.Class = l.classify(v, ts)
		v.past.class = run.Class
	}
}

// writer returns a vertex right above v that has changed a path that v watches, in a run after another one or just now; nil for none.
// With anew also one that an earlier process has changed, after v was right for the last time.
func (l *loop) writer(v *vertex, since uint64, anew bool) (found *vertex, path string) {
	reads := v.watchedPaths()
	if len(reads) == 0 {
		return nil, ""
	}
	own := v.ownPath()
	for _, slot := range l.m.Above(v.slot) {
		up := l.bySlot[slot]
		if l.wrote[slot] <= since && !up.altering() && !(anew && l.placedAfter(up, v)) || found != nil && l.classOf(up.ID) >= l.classOf(found.ID) {
			continue
		}
		at := up.ownPath()
		for _, p := range reads {
			if p != own && at != "" && (at == p || strings.HasPrefix(at, p+"/")) {
				found, path = up, at
			}
		}
	}
	return found, path
}

// placedAfter reports whether the declaration of a vertex was brought about after the run of an earlier process that had found v right.
func (l *loop) placedAfter(up, v *vertex) bool {
	if l.opt.Declared == nil || v.run.inRun || v.run.job == nil {
		return false
	}
	p, was := l.opt.Declared.of(up.ID), v.run.job.out.was
	return p != nil && was != nil && p.since > was.seen
}

// watchedPaths returns the paths that v watches.
func (v *vertex) watchedPaths() []string {
	paths := v.watch.Subs().Paths()
	if res, ok := engine.As[engine.WatchedRes](v.Res); ok && v.abil.watched && len(paths) == 0 {
		paths, _, _, _ = watchesOf(res)
	}
	return paths
}

// ownPath returns the path of the thing itself among those that v watches: the first one that WatchedRes names. Empty for none.
func (v *vertex) ownPath() string {
	if res, ok := engine.As[engine.WatchedRes](v.Res); ok && v.abil.watched {
		if paths, _, _, err := watchesOf(res); err == nil && len(paths) > 0 {
			return paths[0]
		}
	}
	return ""
}

// endedWith returns the outcome of the run of v that has ended, and the last run that had ended when it began.
func (v *vertex) endedWith() (out outcome, begun uint64) {
	if v.run.inRun || v.run.job == nil {
		return outcome{}, 0
	}
	return v.run.job.out, v.run.job.begun
}
