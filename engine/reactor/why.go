package reactor

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// because notes the trigger of the next run of v. The caller sees to it that there is one. Triggers
// that say the same are merged; of too many the first are kept.
func (l *loop) because(v *vertex, t Trigger) {
	if v.asked == nil {
		v.asked = &asked{since: l.moment}
		v.asked.list = v.asked.first[:0]
	}
	v.asked.list = joined(v.asked.list, t)
}

// joined adds a trigger to a list, which it may alter.
func joined(list []Trigger, t Trigger) []Trigger {
	t.Merged = max(t.Merged, 1)
	for i := range list {
		if o := &list[i]; o.Cause == t.Cause && o.From == t.From && o.Field == t.Field {
			o.Merged += t.Merged
			o.Run, o.Resync = t.Run, o.Resync || t.Resync
			switch {
			case o.Source == "" && o.Path == "": // an event of which nothing was known
				o.Source, o.Path, o.By = t.Source, t.Path, t.By
			case t.By != nil && o.Path == t.Path:
				o.By = t.By
			}
			return list
		}
	}
	if len(list) < MaxTriggers {
		list = append(list, t)
	}
	return list
}

// graphTrigger is the only trigger of most first runs.
var graphTrigger = []Trigger{{Cause: CauseGraph, Merged: 1}}

// takeAsked moves the triggers of a run into the job of that run.
func (l *loop) takeAsked(v *vertex) {
	a := v.asked
	v.asked = nil
	v.run.drop()
	v.run.job.started, v.run.job.triggers, v.run.job.begun = l.moment, nil, l.runs
	v.run.job.since = v.run.job.started
	if a != nil {
		v.run.job.since, v.run.job.triggers = a.since, a.list
		l.writtenBy(a.list)
	}
	l.beginsRun(v)
	v.run.job.class = l.classify(v, v.run.job.triggers)
	if v.byGraph {
		v.byGraph = false
		v.run.job.triggers = append(slices.Clip(graphTrigger), v.run.job.triggers...)
	}
}

// writtenBy has events name the last run that has written of the vertex which they come from. They may have come before the end of it.
func (l *loop) writtenBy(ts []Trigger) {
	for i := range ts {
		if t := &ts[i]; t.Cause == CauseEvent && t.From != "" {
			if up := l.named(t.From); up != nil && l.wrote[up.slot] != 0 {
				t.Run = l.wrote[up.slot]
			}
		}
	}
}

// giveAsked undoes takeAsked for a run that did none of its work. Later triggers come after these.
func (l *loop) giveAsked(v *vertex) {
	later := v.asked
	v.asked = &asked{list: slices.Clone(v.run.job.triggers), since: v.run.job.since}
	if later != nil {
		for _, t := range later.list {
			l.because(v, t)
		}
	}
}

// classify tells why the things that the run changes have changed. A retry is of the class of the run that it repeats, and an event
// that another vertex has made of the class of that vertex's run: a file is put together anew as its parts were made anew.
func (l *loop) classify(v *vertex, ts []Trigger) Class {
	c := Corrective
	if v.byGraph {
		c = Intended
	}
	for _, t := range ts {
		switch t.Cause {
		case CauseGraph, CauseDeclaration:
			c = Intended
		case CauseRefresh, CauseValue, CauseAbove:
			c = min(c, Cascade)
		case CauseRetry:
			c = min(c, v.past.class)
		case CauseEvent:
			if t.From != "" {
				c = min(c, l.classOf(t.From))
			}
		}
	}
	return c
}

// classOf returns the class of the run of a vertex that alters it at this moment, or of the last one that did. One that has left did so
// because the graph says so.
func (l *loop) classOf(id string) Class {
	switch v := l.named(id); {
	case v == nil:
		return Intended
	case v.altering() && v.run.job != nil:
		return v.run.job.class
	default:
		return v.past.class
	}
}

// heard notes an event of v's Watch, with the causes that its subscriptions know. A Watch may say Event once more for changes that were
// told of with the one before: that is no further one.
func (l *loop) heard(v *vertex) {
	c := v.led()
	if c.Merged == 0 && !c.Resync && v.asked != nil && slices.ContainsFunc(v.asked.list, func(t Trigger) bool { return t.Cause == CauseEvent && t.Path != "" }) {
		return
	}
	l.because(v, l.triggerOf(v, c))
}

// triggerOf returns the trigger of an event of v's Watch.
func (l *loop) triggerOf(v *vertex, c events.Cause) Trigger {
	t := Trigger{Cause: CauseEvent}
	if c.Merged > 0 || c.Resync {
		t.Source, t.Path, t.Merged, t.Resync = c.Source, v.Text(c.Path), c.Merged, c.Resync
		t.By = c.By.Map(v.Text)
		if c.From != "" {
			t.From, t.Run = c.From, l.lastRunOf(c.From)
		}
	}
	return t
}

// from notes that another vertex asks for a run of v.
func (l *loop) from(v *vertex, c Cause, up *vertex) {
	l.because(v, Trigger{Cause: c, From: up.ID, Run: up.past.lastRun})
}

// number gives a run its place in the history, and says why it was made.
func (l *loop) number(v *vertex, run *Run) {
	l.runs++
	run.ID, run.Generation = l.runs, l.generation
	v.past.lastRun = run.ID
	run.Class = v.past.class
	if v.run.inRun || v.run.job == nil {
		return // it failed by something else, maybe while it runs
	}
	run.Triggers, run.Class = v.run.job.triggers, v.run.job.class
	v.run.mu.Lock()
	if said := v.run.said; said.led != nil {
		run.Triggers = joined(run.Triggers, l.triggerOf(v, *said.led))
		said.led = nil
	}
	v.run.mu.Unlock()
	v.run.job.triggers = nil
	if run.Changed || run.State != resgraph.StateOK {
		v.past.class = run.Class
	}
}

// beginsRun notes which declarations v has to take account of in a run, which begins.
func (l *loop) beginsRun(v *vertex) {
	d := l.opt.Declared
	if d != nil && (!v.membership.placed || v.abil.watched && len(l.m.Above(v.slot)) > 0) {
		v.run.job.last, v.run.job.stale = d.begins(v.ID, func(yield func(string) bool) {
			for _, slot := range l.m.Above(v.slot) {
				if !yield(l.bySlot[slot].ID) {
					return
				}
			}
		})
	}
}
