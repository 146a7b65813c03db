package reactor

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine"
)

// ending is what is told of the end of Run.
type ending struct {
	final Rest                     // how the graph stood when the context of Run ended
	cuts  []string                 // changes that this has cut off
	was   map[*vertex]engine.State // the vertices that ran then, with the states in which they had rested before
}

func (e *ending) begin(final Rest, was map[*vertex]engine.State) { e.final, e.was = final, was }

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
func (e *ending) endOf(v *vertex, before engine.State) engine.State {
	switch {
	case v.altering():
		e.cuts = append(e.cuts, v.ID)
		return engine.StateFailed
	case v.run.inRun || v.past.last == engine.StateStarting:
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
