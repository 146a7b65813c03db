package reactor

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Rest counts the states at rest of the vertices of a graph. Exit codes, the status, the
// log, the metrics and the status line of systemd all come from it.
//
// The state at rest of a vertex is the last state in which it rested: a retry, or a check
// that goes on, is none. Two vertices have no state at rest, and count as starting, waiting or
// running: one has not rested yet; the other was well, and is being altered or waits for
// something outside of the graph at this moment.
type Rest struct {
	Generation int    // of the graph; 0 before the first
	Counts     Counts // vertices by state at rest
	Converged  bool   // the graph is at rest: law 12
	Early      bool   // it has never been at rest since Run began
}

// String returns how the graph stands, such as "converged: 2 ok".
func (r Rest) String() string { return r.Word() + ": " + r.Counts.String() }

// Word says how the graph stands for a person: converged where it is at rest with every resource as wanted, "at rest"
// where some are not, or nobody knows, and "not converged" while something is to be done.
func (r Rest) Word() string {
	switch {
	case !r.Converged:
		return "not converged"
	case r.Counts.Well():
		return "converged"
	default:
		return "at rest"
	}
}

// Code returns the exit code of a process that reports this: 2 if a resource would change
// or is held, 4 if a resource has failed or is blocked, 6 for both. Without those it is 5
// if the graph has not been at rest yet, or a vertex has no state at rest. It is 0 if all
// is as wanted.
func (r Rest) Code() int {
	code, c := 0, &r.Counts
	if c[resgraph.StateWouldChange]+c[resgraph.StateUnknown]+c[resgraph.StateHeld] > 0 {
		code |= 2
	}
	if c[resgraph.StateFailed]+c[resgraph.StateBlocked] > 0 {
		code |= 4
	}
	if code == 0 && (r.Early || c[resgraph.StateStarting]+c[resgraph.StateWaiting]+c[resgraph.StateRunning] > 0) {
		return 5
	}
	return code
}

// ending is what is told of the end of Run.
type ending struct {
	final Rest                       // how the graph stood when the context of Run ended
	cuts  []string                   // changes that this has cut off
	was   map[*vertex]resgraph.State // the vertices that ran then, with the states in which they had rested before
}

// conclude takes into the final standing how the last runs ended. It is called when they are waited for no longer.
func (e *ending) conclude() {
	for v, before := range e.was {
		e.final.Counts[before]--
		e.final.Counts[e.endOf(v, before)]++
	}
	slices.Sort(e.cuts)
}

// endOf returns the state of a vertex that ran when Run was told to end. A vertex that is abandoned
// in the middle of a change is cut off.
func (e *ending) endOf(v *vertex, before resgraph.State) resgraph.State {
	switch {
	case v.altering():
		e.cuts = append(e.cuts, v.ID)
		return resgraph.StateFailed
	case v.run.inRun || v.past.last == resgraph.StateStarting:
		return before
	default:
		return v.past.last
	}
}

// cutsOff takes the end of a run that the end of Run has cut, and reports whether that was in the middle of a change: it leaves neither
// the old nor the new state, and counts as failed.
func (e *ending) cutsOff(v *vertex) bool {
	if !v.run.altered.Load() {
		return false
	}
	v.run.altered.Store(false)
	e.cuts = append(e.cuts, v.ID)
	return true
}

// CutError says that a change was cut off, because the engine was told to stop.
type CutError struct{ Err error }

func (e *CutError) Error() string {
	return "cut off in the middle of a change, because mgmt was told to stop; the next start checks it again: " + e.Err.Error()
}

// Unwrap returns the error of the run.
func (e *CutError) Unwrap() error { return e.Err }
