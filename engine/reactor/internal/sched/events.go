package sched

import (
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Outcome is how a run ended.
type Outcome struct {
	// State is StateOK, StateWouldChange or StateUnknown. All others mean
	// StateFailed.
	State resgraph.State
	// Retry says of a failed run that the caller will call Wake when the next
	// try is due. Events until then merge with it.
	Retry bool
}

// Ready says that the Watch of v has said Running. The vertex is dirty: earlier changes were not
// watched.
func (m *Machine) Ready(v Vertex) {
	x := m.at(v)
	if x == nil {
		return
	}
	x.clear(failed | retry)
	x.set(heard)
	m.soil(v)
}

// Unready says that the Watch of v has ended and will be started again. The
// vertex is starting; a run of it goes on, and its end decides nothing. It ends
// a failure and the wait for its retry, since Ready will ask for a run.
func (m *Machine) Unready(v Vertex) {
	x := m.at(v)
	if x == nil {
		return
	}
	x.clear(heard | dirty | again | failed | retry)
	m.update(v)
}

// Event asks v to look again. Before Ready it says nothing new, during a run it
// asks for one more, and while a retry will come it merges with that. A failure
// without a retry ends by it.
func (m *Machine) Event(v Vertex) {
	x := m.at(v)
	if x == nil || !x.is(heard) || x.is(failed) && x.is(retry) {
		return
	}
	x.clear(failed)
	m.soil(v)
}

// soil marks v dirty, after its run if it runs.
func (m *Machine) soil(v Vertex) {
	x := &m.vs[v]
	if x.is(running) {
		x.set(again)
	} else {
		x.set(dirty)
	}
	m.update(v)
}

// Done says that the run of v has ended, and gives its slot back; a batch gives
// it back when the last of its members is done. It does nothing if v does not
// run.
func (m *Machine) Done(v Vertex, o Outcome) {
	x := m.at(v)
	if x == nil || !x.is(running) {
		return
	}
	if !o.State.Settled() {
		o.State = resgraph.StateFailed
	}
	m.free(v)
	x.clear(running)
	x.last = o.State
	more := x.is(again)
	x.clear(again)
	switch bad := o.State == resgraph.StateFailed; {
	case !x.is(heard): // Ready, or what Fail waits for, asks for the next run
	case x.is(failed): // by Fail during the run
		if bad && o.Retry {
			x.set(retry)
		}
	case bad && (o.Retry || !more):
		x.set(failed)
		if o.Retry {
			x.set(retry)
		}
	case more:
		x.set(dirty)
	}
	m.update(v)
}

// Fail says that v failed without a run, or whatever its run will say: its Watch failed, or a
// received value was refused. Earlier events of it are void. It stays failed until Wake, Ready or
// Unready; without retry an Event ends it too, once it has been heard. If its Watch is gone, call
// Unready first: then only Ready leads to a run.
func (m *Machine) Fail(v Vertex, willRetry bool) {
	x := m.at(v)
	if x == nil {
		return
	}
	x.clear(dirty | again | deferred | retry)
	x.set(failed)
	if willRetry {
		x.set(retry)
	}
	m.update(v)
}

// Wake says that the delay of v is over: after a failure or Defer it is a
// candidate again, or starting if its Watch has not said Running. It does
// nothing to others, so a late timer does no harm to a vertex that is well.
func (m *Machine) Wake(v Vertex) {
	x := m.at(v)
	switch {
	case x == nil:
	case x.is(failed):
		x.clear(failed | retry)
		m.soil(v)
	case x.is(deferred):
		x.clear(deferred)
		m.update(v)
	}
}

// Defer takes back a start that Next decided: a limit or a semaphore does not
// let v run now. The run counts as not begun; v waits for Wake, and events merge
// with it. It does nothing if v does not run.
func (m *Machine) Defer(v Vertex) {
	x := m.at(v)
	if x == nil || !x.is(running) {
		return
	}
	m.free(v)
	x.clear(running | again)
	if !x.is(failed) {
		x.set(dirty | deferred)
	}
	m.update(v)
}

// Hold keeps v from starting until Release; a run of it goes on. The word is StatePaused or
// StateHeld, and a second call replaces it: a caller with several reasons keeps count of them. A
// held vertex that is clean is settled.
func (m *Machine) Hold(v Vertex, word resgraph.State) {
	if word != resgraph.StatePaused {
		word = resgraph.StateHeld
	}
	if x := m.at(v); x != nil {
		x.hold = word
		x.clear(aside)
		m.update(v)
	}
}

// Aside is Hold with StateHeld for a vertex that nothing has to wait for: it is settled also while
// it is dirty. Others wait for one that has never settled.
func (m *Machine) Aside(v Vertex) {
	m.Hold(v, resgraph.StateHeld)
	if x := m.at(v); x != nil && !x.is(fresh) {
		x.set(aside)
		m.update(v)
	}
}

// Release ends Hold and Aside.
func (m *Machine) Release(v Vertex) {
	if x := m.at(v); x != nil {
		x.hold = resgraph.StateStarting
		x.clear(aside)
		m.update(v)
	}
}

// Yield gives back the slot of a run that waits in Host. Each call must be
// followed by Regain, before Done of that run.
func (m *Machine) Yield() { m.used-- }

// Regain takes a slot again after Yield, at once, even if none is free: then as
// many more runs have to end before the next one starts.
func (m *Machine) Regain() { m.used++ }

// Forgotten says that the run of a vertex has ended that was removed while it
// ran. Only then its slot among the parallel runs, and its batch key, are free,
// and only then v may be added again.
func (m *Machine) Forgotten(v Vertex) {
	if v < 0 || int(v) >= len(m.vs) || !m.vs[v].is(zombie) {
		return
	}
	m.free(v)
	m.vs[v].clear(zombie)
	m.gone--
}
