package sched

import (
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// State returns the state of v, resgraph.NumStates if the slot is a hole. Running
// goes before failed, failed before starting, starting before paused and held,
// those before all others. It takes as many steps as the way to BlockedBy.
func (m *Machine) State(v Vertex) resgraph.State {
	x := m.at(v)
	if x == nil {
		return resgraph.NumStates
	}
	if _, blocked := m.BlockedBy(v); blocked {
		return resgraph.StateBlocked
	}
	return own(x)
}

// Witness returns the unsettled ancestor that v waits for: when that settles, v
// is looked at again. There may be others. It returns false if v does not wait
// for an ancestor.
func (m *Machine) Witness(v Vertex) (by Vertex, ok bool) {
	x := m.at(v)
	if x == nil || x.phase != phaseParked || !m.unsettled(x.by) {
		return none, false
	}
	return x.by, true
}

// BlockedBy returns the ancestor that blocks v: from witness to witness the first that waits for no
// other. It returns false if v does not wait for an ancestor or if that ancestor can go on by
// itself; then v is waiting, not blocked.
func (m *Machine) BlockedBy(v Vertex) (by Vertex, ok bool) {
	by = v
	for {
		w, more := m.Witness(by)
		if !more {
			break
		}
		by = w
	}
	if by == v || m.at(by) == nil || !blocks(&m.vs[by]) {
		return none, false
	}
	return by, true
}

// paused reports whether a person's pause alone keeps x from its run.
func (x *vertex) paused() bool { return x.phase == phaseHeld && x.hold == resgraph.StatePaused }

func blocks(x *vertex) bool { return x.phase == phaseFailed || x.phase == phaseHeld }

// Counts returns how many vertices are in each state. It takes a constant if
// nothing is failed, paused or held, else a step for each unsettled vertex.
func (m *Machine) Counts() [resgraph.NumStates]int {
	n := m.tally
	if m.inPhase[phaseFailed]+m.inPhase[phaseHeld] == 0 {
		return n
	}
	for v := range m.Unsettled() {
		if blocks(&m.vs[v]) {
			below := m.parkedBelow(v)
			n[resgraph.StateWaiting] -= below
			n[resgraph.StateBlocked] += below
		}
	}
	return n
}

// AtRestState returns the state in which v last rested: the answer of State, unless v is starting,
// waiting or running. For these, rested tells how they ended last, or false before the first end;
// then State answers. A vertex that waits for a failed or held ancestor stays blocked while that
// runs again. One that a paused vertex blocks is paused with it: nothing is wrong with it.
func (m *Machine) AtRestState(v Vertex, rested func(Vertex) (resgraph.State, bool)) resgraph.State {
	s := m.State(v)
	if by, blocked := m.BlockedBy(v); blocked && m.vs[by].paused() {
		return resgraph.StatePaused
	}
	if !moving(s) {
		return s
	}
	for by, more := m.Witness(v); more; by, more = m.Witness(by) {
		if m.stays(by, rested) {
			return resgraph.StateBlocked
		}
	}
	if last, ok := rested(v); ok {
		return last
	}
	return s
}

// AtRestCounts returns how many vertices are in each AtRestState. It takes a step for
// each unsettled vertex.
func (m *Machine) AtRestCounts(rested func(Vertex) (resgraph.State, bool)) [resgraph.NumStates]int {
	n := m.tally
	var behind map[Vertex]resgraph.State // the state of those that wait for what goes on only later
	for v := range m.Unsettled() {
		state := resgraph.StateBlocked
		if x := &m.vs[v]; x.paused() {
			state = resgraph.StatePaused
		} else if !blocks(x) && !m.stays(v, rested) {
			continue
		}
		for w := range m.parked(v) {
			if behind == nil {
				behind = map[Vertex]resgraph.State{}
			}
			behind[w] = max(state, behind[w]) // paused wins: it is at the end of the way of BlockedBy
		}
	}
	n[resgraph.StateWaiting] -= len(behind)
	for _, state := range behind {
		n[state]++
	}
	for v := range m.Unsettled() {
		if s := own(&m.vs[v]); moving(s) && behind[v] == 0 {
			if last, ok := rested(v); ok {
				n[s]--
				n[last]++
			}
		}
	}
	return n
}

// stays reports whether v, which moves, keeps others blocked until it is well.
func (m *Machine) stays(v Vertex, rested func(Vertex) (resgraph.State, bool)) bool {
	if !moving(own(&m.vs[v])) {
		return false
	}
	last, ok := rested(v)
	return ok && (last == resgraph.StateFailed || last == resgraph.StateHeld)
}

// moving reports whether a state is one in which nothing rests.
func moving(s resgraph.State) bool {
	return s == resgraph.StateStarting || s == resgraph.StateWaiting || s == resgraph.StateRunning
}

// parked yields the vertices parked on root, those parked on them, and so on.
func (m *Machine) parked(root Vertex) iter.Seq[Vertex] {
	return func(yield func(Vertex) bool) {
		stack := []Vertex{root}
		for len(stack) > 0 {
			last := len(stack) - 1
			by := stack[last]
			stack = stack[:last]
			first := m.vs[by].park
			for v := first; v != none; {
				if !yield(v) {
					return
				}
				stack = append(stack, v)
				if v = m.vs[v].links[inQueue].next; v == first {
					break
				}
			}
		}
	}
}

// parkedBelow counts the vertices parked on root, those parked on them, and so
// on. The lists are a tree: it goes down by park, on by next, and up by by.
func (m *Machine) parkedBelow(root Vertex) int {
	n := 0
	for v := root; ; {
		if down := m.vs[v].park; down != none {
			v = down
			n++
			continue
		}
		for v != root && m.vs[v].links[inQueue].next == m.vs[m.vs[v].by].park {
			v = m.vs[v].by
		}
		if v == root {
			return n
		}
		v = m.vs[v].links[inQueue].next
		n++
	}
}

// Pending returns how many vertices are starting, running or to be looked at, counting removed ones
// whose run has not been forgotten. A failed vertex that waits for its retry, a held vertex and all
// that they block are at rest.
func (m *Machine) Pending() int {
	return m.inPhase[phaseStarting] + m.inPhase[phaseRunning] + m.inPhase[phaseDeferred] +
		m.inPhase[phaseDue] + m.released + m.gone
}

// AtRest reports whether nothing is pending: without a new event, Wake or
// Release nothing will ever start.
func (m *Machine) AtRest() bool { return m.Pending() == 0 }

// Unsettled yields all unsettled vertices, in no order that means anything. The
// machine must not be changed meanwhile.
func (m *Machine) Unsettled() iter.Seq[Vertex] {
	return func(yield func(Vertex) bool) {
		if m.vs.each(inSet, m.virgin, yield) {
			m.vs.each(inSet, m.ring, yield)
		}
	}
}

// Changed returns, once each, the vertices whose own state or witness has changed since the last call: with
// Options.Changes. That a vertex turns from waiting to blocked, or back, because its witness changed is not its own
// change. The list is valid until the machine is changed.
func (m *Machine) Changed() []Vertex {
	list := m.changed
	m.changed = list[:0]
	for _, v := range list {
		m.vs[v].clear(isNew)
	}
	return slices.DeleteFunc(list, func(v Vertex) bool { return m.vs[v].phase == phaseHole })
}

// Above returns the vertices one step above v, ascending. The list is valid until the next Swap or Patch,
// and must not be altered. A hole has none.
func (m *Machine) Above(v Vertex) []Vertex {
	if m.at(v) == nil {
		return nil
	}
	return m.pred.of(v)
}

// Below returns the vertices one step below v, as Above does, but in no order.
func (m *Machine) Below(v Vertex) []Vertex {
	if m.at(v) == nil {
		return nil
	}
	return m.succ.of(v)
}

// Ancestors yields all vertices above v, the nearest ones first, and none above one that ends the search; ends may be nil. The topology must
// not be changed meanwhile.
func (m *Machine) Ancestors(v Vertex, ends func(Vertex) bool) iter.Seq[Vertex] {
	return func(yield func(Vertex) bool) {
		seen := map[Vertex]struct{}{}
		for todo := []Vertex{v}; len(todo) > 0; todo = todo[1:] {
			for _, u := range m.Above(todo[0]) {
				if _, twice := seen[u]; twice {
					continue
				}
				if !yield(u) {
					return
				}
				seen[u] = struct{}{}
				if ends == nil || !ends(u) {
					todo = append(todo, u)
				}
			}
		}
	}
}

// Level returns a number for v that is lower than those of all vertices below v.
func (m *Machine) Level(v Vertex) int {
	if x := m.at(v); x != nil {
		return int(x.level)
	}
	return 0
}
