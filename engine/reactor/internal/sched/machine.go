package sched

import (
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Vertex is a slot of the machine. The caller chooses it, keeps it stable over
// swaps, and may use it again after the vertex in it was removed.
type Vertex = int32

const none Vertex = -1

// Options steer a Machine.
type Options struct {
	// Parallel bounds the runs at once; a batch counts as one. Zero or less
	// means no bound.
	Parallel int
	// Changes has the machine keep which vertices have changed, for Changed.
	Changes bool
}

// Machine decides which vertex may run next. The zero value is of no use; call
// New. It belongs to one goroutine: none of its methods may overlap another.
type Machine struct {
	parallel int
	walk     int // how far holds looks back
	wide     int // from so many edges on, holds asks whether one leads to the found vertex
	slack    int // how much waste, and how much drift of levels, Patches may leave in a small graph
	used     int // slots taken: single runs, batches, and removed runs not yet forgotten
	gone     int // removed vertices whose run still holds a slot

	vs   vertices
	open bitset // the unsettled ones: what searches look at most, so kept small
	pred rows   // the ancestors one step up of each vertex, ascending
	succ rows   // the descendants one step down, of which only Patch and the caller ask
	keys keys   // of batches

	queue  Vertex // Due vertices without a key, and settled witnesses with parked vertices
	virgin Vertex // unsettled vertices that have no descendant that ever settled
	ring   Vertex // all other unsettled vertices, oldest first
	levels levelSet
	seq    uint64 // insertions into ring so far, and Patches
	floor  uint64 // certificates of an earlier seq are void
	depth  int    // no level is as high

	looked   uint64 // edges that searches have looked at, ever
	released int    // parked vertices whose witness has settled
	inPhase  [numPhases]int
	tally    [resgraph.NumStates]int // vertices by shown
	keyTurn  bool

	run     []Vertex
	stack   []Vertex
	changed []Vertex
	notes   bool // changes are kept in changed
}

// phase is where the machine keeps a vertex: exactly one at any time.
type phase uint8

const (
	phaseHole     phase = iota // no vertex in this slot
	phaseStarting              // its Watch has not said Running
	phaseRunning
	phaseFailed
	phaseHeld     // dirty, and no start before Release
	phaseDeferred // dirty, and no start before Wake
	phaseDue      // dirty, in the queue: to be looked at
	phaseParked   // dirty, in the list of its witness
	phaseClean    // settled: not dirty, or aside
	numPhases
)

type flags uint16

const (
	heard    flags = 1 << iota // its Watch has said Running
	dirty                      // asked to look again
	running                    // Next has started it, and Done has not come
	again                      // asked to look again while it ran
	failed                     // and, while it runs: failed by Fail, whatever the run says
	retry                      // failed, and Wake will come
	deferred                   // Defer was called and Wake not yet
	fresh                      // never settled since it was added
	virgin                     // in Machine.virgin while unsettled
	isNew                      // in Machine.changed
	zombie                     // removed while it ran, and not yet forgotten
	aside                      // held, and nothing waits for it: see Aside
)

// vertex is all that the machine knows of a slot: one cache line.
type vertex struct {
	cert  uint64 // the certificate: its proof was true at this seq; 0 is none
	since uint64 // seq of the insertion into ring

	links [2]link
	park  Vertex // first of the vertices parked on this one
	lot   int32  // how many are parked on this one
	by    Vertex // an ancestor once found unsettled; of a parked vertex: its witness
	pos   int32  // cursor into pred: the next one to look at
	left  int32  // how many of pred the certificate does not cover yet
	level int32  // longest path from a root

	flags flags
	phase phase
	hold  resgraph.State // StatePaused or StateHeld, else StateStarting for neither
	shown resgraph.State // its own state when last looked at; see own
	last  resgraph.State // how its last run ended
}

func (x *vertex) is(f flags) bool { return x.flags&f != 0 }
func (x *vertex) set(f flags)     { x.flags |= f }
func (x *vertex) clear(f flags)   { x.flags &^= f }
func (x *vertex) held() bool      { return x.hold != resgraph.StateStarting }

// New returns a machine without vertices.
func New(o Options) *Machine {
	return &Machine{
		parallel: o.Parallel,
		notes:    o.Changes,
		walk:     defaultWalk,
		wide:     defaultWide,
		slack:    defaultSlack,
		seq:      1,
		floor:    1,
		queue:    none,
		virgin:   none,
		ring:     none,
		keys:     newKeys(),
	}
}

// SetParallel alters the bound on the runs at once. Runs beyond a lower one go on.
func (m *Machine) SetParallel(n int) { m.parallel = n }

// at returns the vertex in slot v, nil if there is none.
func (m *Machine) at(v Vertex) *vertex {
	if v < 0 || int(v) >= len(m.vs) || m.vs[v].phase == phaseHole {
		return nil
	}
	return &m.vs[v]
}

func (m *Machine) unsettled(v Vertex) bool { return m.open.has(v) }

// wanted is the phase that the flags of x ask for.
func wanted(x *vertex) phase {
	switch {
	case x.is(running):
		return phaseRunning
	case x.is(failed):
		return phaseFailed
	case !x.is(heard):
		return phaseStarting
	case !x.is(dirty), x.is(aside):
		return phaseClean
	case x.held():
		return phaseHeld
	case x.is(deferred):
		return phaseDeferred
	case x.phase == phaseParked:
		return phaseParked
	default:
		return phaseDue
	}
}

// update brings v where its flags want it. Every event ends here.
func (m *Machine) update(v Vertex) {
	x := &m.vs[v]
	if p := wanted(x); p != x.phase {
		m.move(v, p)
	}
	m.show(v)
}

func (m *Machine) move(v Vertex, p phase) {
	m.leave(v)
	m.vs[v].phase = p
	m.enter(v)
}

func (m *Machine) leave(v Vertex) {
	x := &m.vs[v]
	m.inPhase[x.phase]--
	switch x.phase {
	case phaseStarting:
		m.keys.awaitStart(v, -1)
	case phaseDue:
		m.unqueue(v)
	case phaseParked:
		m.unpark(v)
	case phaseClean:
		m.recall(v)
		m.insert(v)
	}
}

func (m *Machine) enter(v Vertex) {
	x := &m.vs[v]
	m.inPhase[x.phase]++
	switch x.phase {
	case phaseStarting:
		m.keys.awaitStart(v, 1)
	case phaseDue:
		m.enqueue(v)
	case phaseClean:
		m.takeOut(v)
		m.release(v)
	}
}

// show notes v for Changed if its own state is another one than before.
func (m *Machine) show(v Vertex) {
	x := &m.vs[v]
	s := own(x)
	if s == x.shown {
		return
	}
	m.tally[x.shown]--
	m.tally[s]++
	x.shown = s
	m.note(v)
}

func (m *Machine) note(v Vertex) {
	if x := &m.vs[v]; m.notes && !x.is(isNew) {
		x.set(isNew)
		m.changed = append(m.changed, v)
	}
}

// own is the state of x as far as x alone decides it: blocked counts as waiting.
func own(x *vertex) resgraph.State {
	switch x.phase {
	case phaseStarting:
		return resgraph.StateStarting
	case phaseRunning:
		return resgraph.StateRunning
	case phaseFailed:
		return resgraph.StateFailed
	case phaseHeld:
		return x.hold
	case phaseClean:
		if x.held() {
			return x.hold
		}
		return x.last
	default:
		return resgraph.StateWaiting
	}
}
