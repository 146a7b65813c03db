package reactor

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
)

// judgeNoop calls outcomes unknown that only a run of a vertex above could tell: those of a failed
// check, and whether a refresh follows. A check that has failed below such a vertex leaves one thing certain:
// what is not there will be made.
func (l *loop) judgeNoop(v *vertex, run *Run) {
	up := ""
	v.run.job.placeless = v.run.job.placeless && !l.mayBeBrought(v)
	switch {
	case run.State == resgraph.StateFailed:
		if _, moved := l.moved.LoadAndDelete(v); moved {
			l.outdated = append(l.outdated, outdated{v, v})
		}
		up = cmp.Or(v.run.job.unread, unreadIn(v.run.job.out.err), l.openAbove(v, l.looksAtPaths(v) && !v.run.said.untold))
	case v.run.said.untold:
		up = l.openAbove(v, false)
	case run.State == resgraph.StateOK:
		up = l.mayRefresh(v)
	case v.once:
		up = l.failsAbove(v)
		v.run.job.stays = up != ""
	}
	decides := l.names.find(v.run.said.awaits)
	if (up != "" || run.State == resgraph.StateFailed) && decides != nil && decides != v && undecided(decides.past.last) {
		up = decides.ID
	}
	switch {
	case up == "":
		if v.past.until != "" {
			v.past.own().until = ""
		}
	case v.run.job.absent && !v.run.job.placeless && run.State == resgraph.StateFailed:
		run.State = resgraph.StateWouldChange
		l.awaits(v, up) // what it is made of
		v.reports(append(v.reported(), v.wired().Unknown()...))
	default:
		l.awaits(v, up)
		v.past.own().fails = run.State == resgraph.StateFailed && !v.run.said.untold && v.run.job.unread == "" && !errors.Is(v.run.job.out.err, fs.ErrNotExist)
		run.State = resgraph.StateUnknown
		if v.run.job.unread != "" {
			v.reports(v.wired().Unknown())
		}
	}
}

// unreadIn returns what a check could not read in a plan, empty for nothing.
func unreadIn(err error) string {
	if e, ok := errors.AsType[*world.UnreadError](err); ok {
		return e.What
	}
	return ""
}

// lay adds the effect of a vertex that would change to the layer, through which the vertices below look.
func (l *loop) lay(v *vertex, run Run) {
	layer := l.opt.Layer
	if layer == nil {
		return
	}
	if path := v.run.said.frees; path != "" && !l.freed[v] {
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
		if run.State == resgraph.StateUnknown || v.run.job.unread != "" {
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
		case o.v.membership.gone || o.v.once && o.v.undone() && (o.v.run.laid != notLaid || o.v.past.last == resgraph.StateOK):
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
	if told := v.run.said.changes; len(told) > 0 {
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

// showBelow looks again at the vertices under noop whose outcome depends on whether v would change:
// after the first run only at vertices that v is known to feed, then also at vertices that waited
// for it.
func (l *loop) showBelow(v *vertex, before resgraph.State) {
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
		if t.past.last == resgraph.StateUnknown {
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
		if up := l.bySlot[slot]; up.past.last == resgraph.StateUnknown && up.past.fails {
			return up.ID
		}
	}
	return ""
}

// mayBeBrought reports whether a vertex above v may bring the place of its thing when it runs, as a package brings folders. A command is not
// counted on, and what others do with paths is seen.
func (l *loop) mayBeBrought(v *vertex) bool {
	for slot := range l.m.Ancestors(v.slot, l.undoes) {
		if up := l.bySlot[slot]; undecided(up.past.last) && up.abil.Readable && !l.looksAtPaths(up) && !l.idleFor(up, v) {
			return true
		}
	}
	return false
}

// wouldRefresh reports whether a source of v that may not be altered would
// change, and so would refresh it. One whose drift is reported never does.
func (l *loop) wouldRefresh(v *vertex) bool {
	for _, from := range v.listens {
		if from.past.last == resgraph.StateWouldChange && from.meta.Drift != engine.DriftReport && !l.idleFor(from, v) {
			return true
		}
	}
	return false
}

// mayRefresh returns a source of v that may or may not change, and so refresh v, or "".
func (l *loop) mayRefresh(v *vertex) string {
	if !v.abil.Refreshable {
		return ""
	}
	for _, from := range v.listens {
		if from.past.last == resgraph.StateUnknown && from.meta.Drift != engine.DriftReport && !l.idleFor(from, v) {
			return from.ID
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
func undecided(s resgraph.State) bool {
	return s == resgraph.StateWouldChange || s == resgraph.StateUnknown
}
