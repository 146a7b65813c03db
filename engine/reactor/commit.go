package reactor

import (
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
)

// commit puts the new graph into effect, on the loop. An error changes nothing.
func (s *swap) commit() error {
	r := s.r
	if r.ctx.Err() != nil {
		return ErrStopped
	}
	removed, changed := s.oldOnes()
	taken := r.loop.takeSlots(s.fresh)
	err := r.loop.m.Swap(s.topology(removed, taken))
	if err != nil {
		r.loop.free = append(r.loop.free, taken...)
		return err
	}
	s.inherit()
	for _, v := range s.fresh {
		r.loop.bySlot[v.slot] = v
	}
	for i, v := range s.all {
		v.index = int32(i)
	}
	r.loop.graph, r.loop.byIndex = s.g, s.all
	if r.loop.generation++; r.loop.generation == 1 {
		r.opt.InEffect = nil
		r.memory.forgetLeft()
	}
	s.connect()
	s.findReaders()
	for _, v := range removed {
		r.loop.remove(v)
	}
	if len(r.loop.failures.list) > 0 {
		r.loop.failures.remark()
	}
	r.account.Fit(len(s.all))
	for _, v := range s.fresh {
		v.byGraph = true
		if r.loop.brakes.pauses.Any() {
			r.loop.brakes.brake(v)
		}
		if v.life.before == nil {
			r.loop.open(v)
		}
	}
	r.loop.rewatchFailed()
	for id, list := range r.loop.awaited {
		if list = slices.DeleteFunc(list, func(v *vertex) bool { return v.life.gone }); len(list) == 0 {
			delete(r.loop.awaited, id)
		} else {
			r.loop.awaited[id] = list
		}
	}
	if len(s.fresh)+len(removed) > 0 {
		r.loop.stir()
	}
	s.noteSwap(len(removed)-changed, changed)
	return nil
}

// oldOnes returns the vertices that leave, those that are replaced by a changed
// one first, and how many these are.
func (s *swap) oldOnes() (removed []*vertex, changed int) {
	r := s.r
	for _, v := range s.fresh {
		if old := r.loop.named(v.id); old != nil {
			removed = append(removed, old)
		}
	}
	changed = len(removed)
	if s.kept+changed == len(r.loop.byIndex) {
		return removed, changed
	}
	for _, v := range r.loop.byIndex {
		if s.named(v.id) == nil {
			removed = append(removed, v)
		}
	}
	return removed, changed
}

// inherit gives the new vertices what belongs to their names.
func (s *swap) inherit() {
	r := s.r
	for _, v := range s.fresh {
		if old := r.loop.named(v.id); old != nil {
			v.succeed(old)
			continue
		}
		r.memory.inheritLeft(v)
		if old := r.loop.leaving[v.id]; old != nil {
			v.life.before, old.life.after = old, v
		}
	}
}

// succeed takes over from the vertex that v replaces what belongs to the name.
// The refreshes follow when that one has ended: its run may still alter something.
func (v *vertex) succeed(old *vertex) {
	v.life.before, old.life.after = old, v
	v.past.changed, v.past.lastRun = old.past.changed, old.past.lastRun
	if v.meta.Reset || v.byDefault() || old.byDefault() {
		v.r.memory.recorder.NoteAll(ledger.NoRetries(v.id))
	} else {
		v.owed.InheritRetries(&old.owed)
		v.watch.SetTries(old.watch.Tries())
	}
	if !v.meta.Reset {
		v.hold.Pace.Inherit(old.hold.Pace, v.r.epoch.Add(time.Duration(v.r.now())))
	}
	v.r.loop.brakes.storms.Succeed(v, old)
	v.guardLike(old)
	v.wired().Inherit(old.wired()) // what came while the swap was prepared
}

// takeSlots gives the new vertices slots, free ones first.
func (l *loop) takeSlots(vs []*vertex) []int32 {
	taken := make([]int32, len(vs))
	for i, v := range vs {
		if last := len(l.free) - 1; last >= 0 {
			v.slot = l.free[last]
			l.free = l.free[:last]
		} else {
			v.slot = int32(len(l.bySlot))
			l.bySlot = append(l.bySlot, nil)
		}
		taken[i] = v.slot
	}
	return taken
}

func (s *swap) topology(removed []*vertex, added []int32) sched.Topology {
	r := s.r
	t := sched.Topology{N: len(r.loop.bySlot), Added: added, Edges: make([][2]int32, 0, s.g.EdgeCount())}
	for _, v := range removed {
		t.Removed = append(t.Removed, v.slot)
	}
	for i, v := range s.all {
		for _, j := range s.g.Succ(i) {
			t.Edges = append(t.Edges, [2]int32{v.slot, s.all[j].slot})
		}
		if v.key != "" {
			t.Batch = r.loop.batchOf(t.Batch, t.N, v)
		}
	}
	return t
}

// batchOf notes the batch key of v.
func (l *loop) batchOf(keys []int32, n int, v *vertex) []int32 {
	if keys == nil {
		keys = make([]int32, n)
		for i := range keys {
			keys[i] = -1
		}
	}
	num, ok := l.batches[v.key]
	if !ok {
		num = int32(len(l.batches))
		l.batches[v.key] = num
	}
	keys[v.slot] = num
	return keys
}

// connect tells every vertex whom it refreshes and to whom it sends.
func (s *swap) connect() {
	for _, v := range s.all {
		v.notify, v.sendsTo = nil, nil
	}
	for e := range s.g.Edges() {
		if to := s.all[e.To]; e.Notify && to.abil.Refreshable && !to.meta.Hidden {
			from := s.all[e.From]
			from.notify = append(from.notify, to)
		}
	}
	for _, v := range s.all {
		for i, w := range v.wired().Wires() {
			from := s.named(w.From.ID())
			if from == nil {
				continue // the builder refuses it
			}
			from.wiring()
			from.sendsTo = append(from.sendsTo, target{v, i})
			v.wired().OfferFirst(i, from.wired().Last())
		}
	}
	for _, v := range s.all {
		v.wired().SetFeeds(len(v.sendsTo) > 0)
	}
}
