package sched

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// SetLimits sets the limits of holds and Patch, so that small graphs reach all of them.
func (m *Machine) SetLimits(walk, wide, slack int) { m.walk, m.wide, m.slack = walk, wide, slack }

// Outcome returns how the last run of v ended: StateOK, StateWouldChange,
// StateUnknown or StateFailed. It returns false before the end of the first run.
func (m *Machine) Outcome(v Vertex) (resgraph.State, bool) {
	x := m.at(v)
	if x == nil || x.last == resgraph.StateStarting {
		return resgraph.StateStarting, false
	}
	return x.last, true
}

// Heard reports whether the Watch of v has said Running and did not end since.
func (m *Machine) Heard(v Vertex) bool { x := m.at(v); return x != nil && x.is(heard) }

// Looked returns how many edges the searches for unsettled ancestors have looked
// at since New: the measure of what law 6 bounds.
func (m *Machine) Looked() uint64 { return m.looked }

// Invariants checks that what the machine keeps twice agrees. It exists in tests
// only.
func (m *Machine) Invariants() error {
	var inPhase [numPhases]int
	gone := 0
	for v := range m.vs {
		x := &m.vs[v]
		if x.is(zombie) {
			gone++
		}
		if x.phase == phaseHole {
			continue
		}
		inPhase[x.phase]++
		if wanted(x) != x.phase {
			return fmt.Errorf("%d is in phase %d, wants %d", v, x.phase, wanted(x))
		}
		if m.unsettled(Vertex(v)) != (x.phase != phaseClean) {
			return fmt.Errorf("%d: unsettled is %v in phase %d", v, m.unsettled(Vertex(v)), x.phase)
		}
		if m.vs.linked(inSet, Vertex(v)) != (x.phase != phaseClean) {
			return fmt.Errorf("%d: linked as unsettled: %v", v, m.vs.linked(inSet, Vertex(v)))
		}
		if own(x) != x.shown {
			return fmt.Errorf("%d shows %v", v, x.shown)
		}
		if x.is(virgin) && !x.is(fresh) {
			return fmt.Errorf("%d is virgin but not fresh", v)
		}
		if err := m.virginsAbove(Vertex(v)); err != nil {
			return err
		}
	}
	inPhase[phaseHole] = m.inPhase[phaseHole]
	if err := m.levelsRise(); err != nil {
		return err
	}
	if inPhase != m.inPhase || gone != m.gone {
		return fmt.Errorf("phases %v and %d gone, counted %v and %d", inPhase, gone, m.inPhase, m.gone)
	}
	return m.lists()
}

// virginsAbove checks that above what is no virgin, none is.
func (m *Machine) virginsAbove(v Vertex) error {
	if m.vs[v].is(virgin) {
		return nil
	}
	for _, p := range m.pred.of(v) {
		if m.vs[p].is(virgin) {
			return fmt.Errorf("%d is no virgin but below %d, which is", v, p)
		}
	}
	return nil
}

// lists checks what is queued and parked.
func (m *Machine) lists() error {
	due, released := 0, 0
	m.vs.each(inQueue, m.queue, func(v Vertex) bool {
		if m.vs[v].phase == phaseDue {
			due++
		} else {
			released += int(m.vs[v].lot)
		}
		return true
	})
	for k := range m.keys.list {
		m.vs.each(inQueue, m.keys.list[k].due, func(Vertex) bool { due++; return true })
	}
	parked := 0
	for v := range m.vs {
		lot := int32(0)
		if m.vs[v].phase != phaseHole {
			m.vs.each(inQueue, m.vs[v].park, func(Vertex) bool { lot++; return true })
			parked += int(m.vs[v].lot)
		}
		if lot != m.vs[v].lot {
			return fmt.Errorf("%d: a list of %d, counted %d", v, lot, m.vs[v].lot)
		}
	}
	if due != m.inPhase[phaseDue] || released != m.released || parked != m.inPhase[phaseParked] {
		return fmt.Errorf("due %d, released %d, parked %d; counted %d, %d, %d",
			due, released, parked, m.inPhase[phaseDue], m.released, m.inPhase[phaseParked])
	}
	return nil
}

// levelsRise checks the rows against each other, and the levels against the rows.
func (m *Machine) levelsRise() error {
	count := make([]int32, len(m.levels.count))
	for v := range m.vs {
		x := &m.vs[v]
		if m.vs.linked(inSet, Vertex(v)) && !x.is(virgin) && x.phase != phaseHole {
			count[x.level]++
		}
		for _, p := range m.pred.of(Vertex(v)) {
			if m.vs[p].level >= x.level || m.vs[p].phase == phaseHole || !slices.Contains(m.succ.of(p), Vertex(v)) {
				return fmt.Errorf("%d on level %d is below %d on level %d", v, x.level, p, m.vs[p].level)
			}
		}
		if x.phase == phaseHole && m.pred.len(Vertex(v))+m.succ.len(Vertex(v)) > 0 {
			return fmt.Errorf("%d is a hole with edges", v)
		}
	}
	if !slices.Equal(count, m.levels.count) {
		return fmt.Errorf("levels of the unsettled are %v, counted %v", m.levels.count, count)
	}
	return nil
}
