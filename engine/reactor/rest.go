package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
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
	if c[engine.StateWouldChange]+c[engine.StateUnknown]+c[engine.StateHeld] > 0 {
		code |= 2
	}
	if c[engine.StateFailed]+c[engine.StateBlocked] > 0 {
		code |= 4
	}
	if code == 0 && (r.Early || c[engine.StateStarting]+c[engine.StateWaiting]+c[engine.StateRunning] > 0) {
		return 5
	}
	return code
}

// Rest returns how the graph stands.
func (r *Reactor) Rest(ctx context.Context) (rest Rest, err error) {
	err = r.ask(ctx, func() { rest = r.loop.stand() })
	return rest, err
}

// Stand returns the state of every vertex, in the order of the graph, and how the graph
// stands, both of one moment.
func (r *Reactor) Stand(ctx context.Context) (list []Status, rest Rest, err error) {
	err = r.ask(ctx, func() { list, rest = r.loop.statuses(), r.loop.stand() })
	return list, rest, err
}

func (l *loop) stand() Rest {
	return Rest{Generation: l.generation, Counts: l.counts(), Converged: l.converged, Early: !l.rested}
}

// counts counts the vertices by state at rest.
func (l *loop) counts() Counts { return l.m.AtRestCounts(l.lastRest) }

// lastRest returns the state in which the vertex in a slot rested before its present work, false if
// there is none.
func (l *loop) lastRest(slot sched.Vertex) (engine.State, bool) {
	v := l.bySlot[slot]
	if v == nil || v.past.last == engine.StateStarting {
		return 0, false
	}
	return v.past.last, v.past.last == engine.StateFailed || !v.altering() && !v.hold.IsStalled()
}

// altering reports whether a run of v that goes on has said that it changes something,
// or may have been cut off after that.
func (v *vertex) altering() bool { return v.run.inRun && v.run.altered.Load() }

// applies notes, at the first change that a run is about to make, that the graph is not at rest any
// more. A failed vertex stays failed through its retries. It is called by the run.
func (v *vertex) applies() {
	v.run.altered.Store(true)
	if v.core.resting.Load() {
		v.core.mail.post(v, mailAlters)
	}
}
