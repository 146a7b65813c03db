package reactor

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// commit puts the new graph into effect, on the loop. An error changes nothing.
func (s *swap) commit() error {
	r := s.r
	if r.ctx.Err() != nil {
		return ErrStopped
	}
	removed, changed := s.oldOnes()
	edges := s.onlyFresh()
	taken := r.loop.takeSlots(s.fresh)
	if err := edges.reshape(removed, taken); err != nil {
		s.giveBack(taken)
		return err
	}
	s.inherit()
	s.authored()
	for _, v := range s.fresh {
		r.loop.bySlot[v.slot] = v
	}
	s.enter()
	if r.loop.generation++; r.loop.generation == 1 {
		r.opt.InEffect, r.opt.Asking = nil, nil
		present := func(id string) bool { return r.loop.named(id) != nil }
		r.memory.forgetLeft(present)
		if d := r.opt.Declared; d != nil {
			d.forget(present)
		}
	}
	edges.connect()
	for _, v := range removed {
		r.loop.remove(v)
	}
	if len(r.loop.failures.list) > 0 {
		r.loop.failures.remark(r.loop.m)
	}
	r.account.Fit(len(r.loop.byIndex))
	s.begin()
	s.forgetAwaited()
	if len(s.fresh)+len(removed) > 0 {
		r.loop.stir()
	}
	if !s.part {
		s.noteMembers()
	}
	s.noteSwap(len(removed)-changed, changed)
	return nil
}

// begin starts the new vertices, unless they wait for the end of an old one.
func (s *swap) begin() {
	l := &s.r.loop
	for _, v := range s.fresh {
		v.byGraph = v.asked == nil || v.asked.list[0].Cause != CauseDeclaration
		if l.holds.pauses.Any() {
			l.updateHold(v)
		}
		if v.membership.before == nil {
			l.open(v)
		}
	}
	if !s.part {
		l.rewatchFailed()
	}
}

// forgetAwaited forgets the vertices that have left among those whose outcome waits for another one.
func (s *swap) forgetAwaited() {
	l := &s.r.loop
	for id, list := range l.awaited {
		if list = slices.DeleteFunc(list, func(v *vertex) bool { return v.membership.gone }); len(list) == 0 {
			delete(l.awaited, id)
		} else {
			l.awaited[id] = list
		}
	}
}

// onlyFresh returns the change of the edges: s itself, or, of a whole graph whose ids and edges are those that run, a
// part that brings the new vertices.
func (s *swap) onlyFresh() *swap {
	l := &s.r.loop
	if s.part || l.shape != s.g.Shape() || len(s.fresh)*l.mostNew > len(s.all) {
		return s
	}
	part := *s
	part.part, part.g, part.all = true, graph.New[*resgraph.Vertex](s.g.Name), slices.Clone(s.fresh)
	for _, v := range s.fresh {
		_, _ = part.g.Add(v.ID, s.g.Value(int(l.named(v.ID).index))) // ids are unique
	}
	for at, v := range s.fresh {
		i := int(l.named(v.ID).index)
		for _, j := range s.g.Succ(i) {
			part.bring(s, at, int(j), s.g.Declarations(i, int(j)), true)
		}
		for _, j := range s.g.Pred(i) {
			part.bring(s, at, int(j), s.g.Declarations(int(j), i), false)
		}
	}
	return &part
}

// bring adds the edges between a new vertex of the part and vertex j of the whole graph, as far as they stand at the new one.
func (s *swap) bring(whole *swap, at, j int, edges iter.Seq[graph.Edge], out bool) {
	for e := range edges {
		if out != (e.By == graph.ByFrom) {
			continue
		}
		other, err := s.g.Add(whole.g.ID(j), nil)
		if err == nil {
			s.all = append(s.all, whole.all[j])
		}
		e.From, e.To = at, other
		if !out {
			e.From, e.To = other, at
		}
		_ = s.g.Connect(e) // the ends are there, and are two
	}
}

// reshape tells the scheduler of the new topology. An error changes nothing.
func (s *swap) reshape(removed []*vertex, taken []int32) error {
	if s.part {
		return s.cycle(s.r.loop.m.Patch(s.redraw(removed, taken)))
	}
	var drawing sync.WaitGroup
	drawing.Go(s.drawTies)
	defer drawing.Wait()
	return s.r.loop.m.Swap(s.topology(removed, taken))
}

// enter puts the vertices of the new graph in their places.
func (s *swap) enter() {
	l := &s.r.loop
	if s.part {
		l.shape = graph.Shape{}
		s.enterPart()
		return
	}
	l.shape = s.g.Shape()
	for _, v := range s.leaving {
		l.names.remove(v.ID)
	}
	l.names.room(len(s.all))
	for _, v := range s.fresh {
		l.names.put(v)
	}
	l.failures.places = nil
	for i, v := range s.all {
		v.index = int32(i)
		l.failures.places.note(v, s.g.Value(i))
	}
	l.name, l.byIndex = s.g.Name, s.all
}

// inherit gives the new vertices the state that belongs to their names.
func (s *swap) inherit() {
	r := s.r
	for _, v := range s.fresh {
		if old := r.loop.named(v.ID); old != nil {
			r.loop.succeed(v, old)
			continue
		}
		r.memory.inheritLeft(v)
		for _, p := range v.ledger.Pending() {
			r.loop.because(v, Trigger{Cause: CauseRefresh, From: p.Source})
		}
		if old := r.loop.leaving[v.ID]; old != nil {
			v.membership.own().before, old.membership.own().after = old, v
		}
	}
}

// authored notes who has had the new vertices declared, where a policy may ask.
func (s *swap) authored() {
	r := s.r
	if r.guards.Load().policy == nil || r.opt.Author == nil {
		return
	}
	who := r.opt.Author()
	for _, v := range s.fresh {
		v.hold.DeclaredBy(who)
	}
}

// succeed takes over the state of the name from the vertex that v replaces. The refreshes follow
// when that one has ended: its run may still alter something.
func (l *loop) succeed(v, old *vertex) {
	v.membership.own().before, old.membership.own().after = old, v
	l.because(v, Trigger{Cause: CauseDeclaration, Fields: v.membership.altered})
	v.past.changed, v.past.lastRun = old.past.changed, old.past.lastRun
	v.watch.See(old.watch.Seen())
	if v.meta.Reset || v.byDefault() || old.byDefault() {
		l.memory.recorder.NoteAll(ledger.NoRetries(v.ID))
	} else {
		v.ledger.InheritRetries(&old.ledger)
		v.watch.SetTries(old.watch.Tries())
	}
	if !v.meta.Reset {
		v.hold.Inherit(&old.hold, l.epoch.Add(time.Duration(l.now())))
	}
	l.holds.storms.Succeed(v, old)
	v.HideLike(&old.Life)
	v.wired().Inherit(old.wired()) // what came while the swap was prepared
}

// connect tells every vertex whom it refreshes and to whom it sends.
func (s *swap) connect() {
	if s.part {
		s.retie()
		s.rewire()
		s.findReadersOfPart()
		return
	}
	s.drawn.take(s.all)
	for _, v := range s.all {
		v.links = noLinks
	}
	last := graph.Ends{From: -1}
	for e := range s.g.DeclaredEnds() {
		if e.Notify && (e.From != last.From || e.To != last.To) { // the declarations of one edge follow each other
			s.all[e.From].refreshes(s.all[e.To])
			last = e
		}
	}
	for _, v := range s.all {
		s.wire(v)
	}
	for _, v := range s.all {
		v.wired().SetFeeds(len(v.sendsTo) > 0)
	}
	s.findReaders()
}

// wire tells the senders of v that it receives from them.
func (s *swap) wire(v *vertex) {
	l := &s.r.loop
	for i, w := range v.wired().Wires() {
		from := l.named(w.From.ID())
		if from == nil {
			continue // the builder refuses it
		}
		from.wiring()
		own := from.ownLinks()
		own.sendsTo = append(own.sendsTo, target{v, i})
		v.wired().OfferFirst(i, from.wired().Last())
	}
}

// rewire does it for the vertices of a part, and has what others receive from them sent by the new ones.
func (s *swap) rewire() {
	l, d := &s.r.loop, s.redrawn
	for old, now := range d.next {
		for _, w := range old.wired().Wires() {
			if from := l.named(w.From.ID()); from != nil {
				own := from.ownLinks()
				own.sendsTo = slices.DeleteFunc(own.sendsTo, func(t target) bool { return t.v == old })
				from.wired().SetFeeds(len(from.sendsTo) > 0)
			}
		}
		if now == nil || now == old {
			continue
		}
		for _, t := range old.sendsTo {
			if _, touched := d.next[t.v]; touched {
				continue
			}
			now.wiring()
			own := now.ownLinks()
			own.sendsTo = append(own.sendsTo, t)
			t.v.wired().OfferFirst(t.i, now.wired().Last())
		}
	}
	for v := range d.ties {
		s.wire(v)
		for _, w := range v.wired().Wires() {
			if from := l.named(w.From.ID()); from != nil {
				from.wired().SetFeeds(true)
			}
		}
	}
	for v := range d.ties {
		v.wired().SetFeeds(len(v.sendsTo) > 0)
	}
}

// noteSwap tells of the swap that has taken effect.
func (s *swap) noteSwap(removed, changed int) {
	r := s.r
	r.opt.Listener.swapped(Swap{
		Generation: r.loop.generation, Name: r.loop.name, Kept: len(r.loop.byIndex) - len(s.fresh),
		Added: len(s.fresh) - changed, Changed: changed, Removed: removed, Leaving: s.left, Policy: s.policy,
	})
}
