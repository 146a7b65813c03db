package sched_test

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// model says what the machine must do in the plainest way there is: flags for
// each vertex, ancestors by looking at all of them, every time.
type model struct {
	parallel int
	used     int
	vs       []modelVertex
	busy     map[int32]int // members that run, by the key they were started with
	clock    int
}

type modelVertex struct {
	present, heard, dirty, running, again, failed, retry, deferred, aside bool

	hold    resgraph.State
	last    resgraph.State
	key     int32
	ranAs   int32
	gone    bool // removed while it ran
	preds   []int
	asked   int // when Ready or Event last asked for a run
	started int
}

func newModel(parallel int) *model { return &model{parallel: parallel, busy: map[int32]int{}} }

func (m *model) unsettled(v int) bool {
	x := &m.vs[v]
	return x.present && (!x.heard || x.dirty && !x.aside || x.running || x.failed)
}

// ancestors returns all vertices above v.
func (m *model) ancestors(v int) map[int]bool {
	all := map[int]bool{}
	todo := slices.Clone(m.vs[v].preds)
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !all[p] {
			all[p] = true
			todo = append(todo, m.vs[p].preds...)
		}
	}
	return all
}

// obstacles returns the unsettled ancestors of v.
func (m *model) obstacles(v int) []int {
	var all []int
	for p := range m.ancestors(v) {
		if m.unsettled(p) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// candidate reports whether nothing about v itself keeps it from starting.
func (m *model) candidate(v int) bool {
	x := &m.vs[v]
	return x.present && x.heard && x.dirty && !x.running && !x.failed && !x.deferred && x.hold == 0
}

func (m *model) startable(v int) bool {
	x := &m.vs[v]
	return m.candidate(v) && len(m.obstacles(v)) == 0 && m.keyOpen(x.key)
}

// keyOpen reports whether no member of the key runs or is starting.
func (m *model) keyOpen(key int32) bool {
	if key < 0 {
		return true
	}
	for _, x := range m.vs {
		if x.present && x.key == key && !x.heard && !x.running && !x.failed {
			return false
		}
	}
	return m.busy[key] == 0
}

func (m *model) slotFree() bool { return m.parallel <= 0 || m.used < m.parallel }

func (m *model) ask(v int) {
	x := &m.vs[v]
	m.clock++
	x.asked = m.clock
	if x.running {
		x.again = true
	} else {
		x.dirty = true
	}
}

func (m *model) ready(v int) {
	x := &m.vs[v]
	x.heard, x.failed, x.retry = true, false, false
	m.ask(v)
}

func (m *model) unready(v int) {
	x := &m.vs[v]
	x.heard, x.dirty, x.again, x.failed, x.retry = false, false, false, false, false
}

func (m *model) event(v int) {
	x := &m.vs[v]
	m.clock++
	x.asked = m.clock
	if x.heard && !(x.failed && x.retry) {
		x.failed = false
		m.ask(v)
	}
}

func (m *model) fail(v int, retry bool) {
	x := &m.vs[v]
	x.dirty, x.again, x.deferred = false, false, false
	x.failed, x.retry = true, retry
}

func (m *model) wake(v int) {
	x := &m.vs[v]
	switch {
	case x.failed:
		x.failed, x.retry = false, false
		m.ask(v)
	case x.deferred:
		x.deferred = false
	}
}

func (m *model) free(v int) {
	x := &m.vs[v]
	if x.ranAs < 0 {
		m.used--
	} else if m.busy[x.ranAs]--; m.busy[x.ranAs] == 0 {
		m.used--
	}
}

func (m *model) done(v int, o sched.Outcome) {
	x := &m.vs[v]
	m.free(v)
	more := x.again
	x.running, x.again, x.last = false, false, o.State
	if !x.heard {
		return
	}
	bad := o.State == resgraph.StateFailed
	if x.failed {
		x.retry = x.retry || bad && o.Retry
		return
	}
	if bad && (o.Retry || !more) {
		x.failed, x.retry = true, o.Retry
		return
	}
	x.dirty = more
}

func (m *model) deferRun(v int) {
	x := &m.vs[v]
	m.free(v)
	x.running, x.again = false, false
	m.clock++
	x.asked = m.clock // the start does not count
	if !x.failed {
		x.dirty, x.deferred = true, true
	}
}

// start checks what Next decided and takes it over.
func (m *model) start(run []sched.Vertex) error {
	if !m.slotFree() {
		return fmt.Errorf("start of %v: all %d slots are taken", run, m.parallel)
	}
	if len(run) == 0 {
		return fmt.Errorf("an empty run")
	}
	key := m.vs[run[0]].key
	for _, v := range run {
		if err := m.mayStart(int(v)); err != nil {
			return err
		}
		if k := m.vs[v].key; k != key || k < 0 && len(run) > 1 {
			return fmt.Errorf("batch %v mixes keys", run)
		}
	}
	for v := range m.vs {
		if key >= 0 && m.vs[v].key == key && m.startable(v) && !slices.Contains(run, int32(v)) {
			return fmt.Errorf("batch %v leaves out %d", run, v)
		}
	}
	for _, v := range run {
		x := &m.vs[v]
		m.clock++
		x.running, x.dirty, x.started, x.ranAs = true, false, m.clock, key
	}
	m.used++
	if key >= 0 {
		m.busy[key] = len(run)
	}
	return nil
}

func (m *model) mayStart(v int) error {
	x := &m.vs[v]
	switch {
	case !x.present:
		return fmt.Errorf("start of %d, a hole", v)
	case !x.heard:
		return fmt.Errorf("law 1: start of %d, never heard", v)
	case len(m.obstacles(v)) > 0:
		return fmt.Errorf("law 2: start of %d below %v", v, m.obstacles(v))
	case x.running:
		return fmt.Errorf("law 4: start of %d, which runs", v)
	case !m.startable(v):
		return fmt.Errorf("start of %d, not startable: %+v", v, *x)
	}
	return nil
}

// idle checks that Next was right to start nothing.
func (m *model) idle() error {
	if !m.slotFree() {
		return nil
	}
	for v := range m.vs {
		if m.startable(v) {
			return fmt.Errorf("work left: %d could start", v)
		}
	}
	return nil
}

// own is the state of v as far as v decides it.
func (m *model) own(v int) resgraph.State {
	switch x := &m.vs[v]; {
	case x.running:
		return resgraph.StateRunning
	case x.failed:
		return resgraph.StateFailed
	case !x.heard:
		return resgraph.StateStarting
	case x.hold != 0:
		return x.hold
	case x.dirty:
		return resgraph.StateWaiting
	default:
		return x.last
	}
}

// blocks reports whether v holds back what is below until somebody outside acts.
func (m *model) blocks(v int) bool {
	x := &m.vs[v]
	return x.present && !x.running && (x.failed || x.heard && x.dirty && x.hold != 0 && !x.aside)
}

// compare checks all that the machine can be asked. After a Next that started
// nothing though a slot was free, there is nothing left to be looked at and rest
// and blocked are known exactly.
func (m *model) compare(s *sched.Machine, looked bool) error {
	var counts [resgraph.NumStates]int
	pending, stirring := 0, 0
	unsettled := map[int32]bool{}
	for v := range s.Unsettled() {
		if unsettled[v] {
			return fmt.Errorf("%d is unsettled twice", v)
		}
		unsettled[v] = true
	}
	for v := range m.vs {
		x := &m.vs[v]
		if x.gone {
			pending++
		}
		if unsettled[int32(v)] != m.unsettled(v) {
			return fmt.Errorf("%d: unsettled is %v", v, unsettled[int32(v)])
		}
		if !x.present {
			if s.State(int32(v)) != resgraph.NumStates {
				return fmt.Errorf("%d: a hole is %v", v, s.State(int32(v)))
			}
			continue
		}
		state := s.State(int32(v))
		counts[state]++
		if err := m.compareState(s, v, state, looked); err != nil {
			return err
		}
		if x.running || !x.heard && !x.failed || m.own(v) == resgraph.StateWaiting && x.deferred {
			pending++
		} else if m.candidate(v) && len(m.obstacles(v)) == 0 {
			stirring++
		} else if m.candidate(v) && !m.keyOpen(x.key) {
			looked = false // v itself may not have been looked at
		}
	}
	if got := s.Counts(); got != counts {
		return fmt.Errorf("counts are %v, want %v", got, counts)
	}
	return m.compareRest(s, pending, stirring, looked)
}

func (m *model) compareRest(s *sched.Machine, pending, stirring int, looked bool) error {
	got := s.Pending()
	switch {
	case s.AtRest() != (got == 0):
		return fmt.Errorf("at rest is %v with %d pending", s.AtRest(), got)
	case got < pending+stirring:
		return fmt.Errorf("pending is %d, want at least %d+%d", got, pending, stirring)
	case looked && stirring == 0 && got != pending:
		return fmt.Errorf("pending is %d, want %d", got, pending)
	}
	return nil
}

func (m *model) compareState(s *sched.Machine, v int, state resgraph.State, looked bool) error {
	own := m.own(v)
	if state != own && !(state == resgraph.StateBlocked && own == resgraph.StateWaiting) {
		return fmt.Errorf("%d is %v, want %v", v, state, own)
	}
	obstacles := m.obstacles(v)
	by, waits := s.Witness(int32(v))
	if waits && !slices.Contains(obstacles, int(by)) {
		return fmt.Errorf("%d: witness %d is none of %v", v, by, obstacles)
	}
	root, blocked := s.BlockedBy(int32(v))
	if blocked != (state == resgraph.StateBlocked) {
		return fmt.Errorf("%d is %v but blocked is %v", v, state, blocked)
	}
	if blocked && (!slices.Contains(obstacles, int(root)) || !m.blocks(int(root))) {
		return fmt.Errorf("%d: blocked by %d, which blocks nothing", v, root)
	}
	if looked && m.keyOpen(m.vs[v].key) && m.candidate(v) && len(obstacles) > 0 && !waits {
		return fmt.Errorf("%d has no witness of %v", v, obstacles)
	}
	return nil
}
