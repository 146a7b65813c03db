package model

import "slices"

// Model is an engine that gets some graphs, one after the other. A test makes it wrong in one place.
type Model struct {
	Graphs  []Graph
	Actions []Action
	none    Graph // while no process runs
}

// New returns a model that is right.
func New(graphs ...Graph) *Model {
	m := &Model{Graphs: graphs, Actions: slices.Clone(actions)}
	for i := range Flights {
		m.Actions = append(m.Actions, withFlight(i)...)
	}
	return m
}

// at returns vertex v of a state.
func (m *Model) at(s *State, v int) at {
	a := at{State: s, all: m.Graphs, g: &m.none, v: v, x: &s.V[v]}
	if s.Graph >= 0 {
		a.g = &m.Graphs[s.Graph]
	}
	return a
}

// at is where an action happens: at a vertex of a state.
type at struct {
	*State
	all []Graph
	g   *Graph // in effect
	v   int
	x   *Vertex
}

// Action is something that can happen.
type Action struct {
	Name   string
	Of     Cause
	Guard  func(a *at) bool
	Effect func(a *at)
}

// Cause is where an action comes from.
type Cause uint8

// The causes. The engine itself acts without bounds.
const (
	Engine Cause = iota
	Drift
	Failure
	Edit
	Death
	causes
)

// actions are in the order of a walk: a graph takes effect, its vertices are heard of, and run.
var actions = []Action{
	{"swap", Edit, func(a *at) bool { return a.v < len(a.all) }, swap}, // here v is a graph, also the one in effect

	// The Watch of a vertex says Running, once the vertex that had the name before has left.
	{"hear", Engine, func(a *at) bool { return a.g.has(a.v) && !a.x.Heard && a.x.Run.Phase == Idle }, func(a *at) {
		a.x.Heard = true
		a.x.ask()
	}},

	// The world changes, and the Watch says Event. Later the loop takes that.
	{"drift", Drift, func(a *at) bool { return a.World[a.v] != 0 }, func(a *at) { a.World[a.v], a.x.News = 0, a.x.Heard }},
	{"deliver", Engine, func(a *at) bool { return a.x.News }, func(a *at) {
		a.x.News = false
		a.x.ask()
	}},

	{"start", Engine, mayStart, func(a *at) {
		a.x.Dirty, a.Taken[a.v] = false, a.Owed[a.v]
		a.x.Run = Run{Phase: Started, Want: a.g.Want[a.v], Targets: a.g.Notify[a.v], Acts: a.Due & ofTarget(a.v)}
		for t := range N {
			if a.x.Run.Targets.Has(t) {
				a.x.Run.Stale |= a.Due & refreshes(t, a.v)
			}
		}
	}},

	// CheckApply(false): a vertex that notifies is asked first.
	{"check", Engine, func(a *at) bool { return a.x.Run.Phase == Started && a.x.Run.Targets != 0 }, func(a *at) {
		if a.x.Run.Phase = Right; a.World[a.v] != a.x.Run.Want || a.x.Run.Acts != 0 {
			a.x.Run.Phase = Wanting
		}
	}},

	{"intend", Engine, in(Wanting), func(a *at) { intend(a, -1) }},

	// CheckApply(true).
	{"apply", Engine, func(a *at) bool {
		return a.x.Run.Phase == Intended || a.x.Run.Phase == Started && a.x.Run.Targets == 0
	}, apply},

	// A method fails, the journal refuses a write, or the run is cut.
	{"break", Failure, in(Started, Wanting, Right, Intended, Applied), func(a *at) {
		a.x.Run.May = a.x.Run.Phase >= Intended || a.x.Run.Phase == Started && a.x.Run.Targets == 0
		a.x.Run.Phase = Broken
	}},

	{"finish", Engine, in(Right, Applied), func(a *at) { finish(a, -1) }},

	// The loop takes the end of a run. A failure may not be believed before the ancestors were looked at. It ends by a retry.
	{"end", Engine, in(Finished), end},
	{"fail", Engine, in(Broken), func(a *at) {
		keep(a, a.x.Run.May)
		a.x.over(false, true)
	}},
	{"doubt", Engine, func(a *at) bool { return in(Broken)(a) && !a.x.Run.Old && a.g.Above[a.v] != 0 }, func(a *at) {
		keep(a, a.x.Run.May)
		a.x.over(true, false)
		for u := range N {
			if a.g.above(a.v).Has(u) {
				a.V[u].ask()
			}
		}
	}},
	{"retry", Engine, func(a *at) bool { return a.x.Failed }, func(a *at) {
		a.x.Failed = false
		a.x.ask()
	}},

	// Cleanup has ended. Of a name that has left no record stays.
	{"leave", Engine, in(Leaving), func(a *at) {
		a.x.Run = Run{}
		if a.g.has(a.v) {
			return
		}
		a.note(Writes{Del: a.Due & ofTarget(a.v)})
		if a.x.Intent {
			a.note(Writes{Del: intent(a.v)})
		}
		a.Due, a.x.Intent = a.Due&^ofTarget(a.v), false
	}},

	// Notes arrive alone. Here v is a flight.
	{"land", Engine, func(a *at) bool { return a.v < Flights && a.Flights[a.v] != Writes{} }, func(a *at) { a.commit(Writes{}, a.v) }},

	// The process is killed. This is of no vertex.
	{"crash", Death, func(a *at) bool { return a.v == 0 && a.Graph >= 0 }, func(a *at) {
		*a.State = State{Graph: -1, Journal: a.Journal, World: a.World, Owed: a.Owed, Late: a.Late & a.Journal}
	}},
}

// withFlight returns the actions with a flight: notes take off, and go with what a run waits for.
func withFlight(flight int) []Action {
	return []Action{
		{"take off", Engine, func(a *at) bool {
			for _, f := range a.Flights { // of a record there is one flight at a time
				if a.Notes != a.Notes.without(f) {
					return false
				}
			}
			return a.v == 0 && a.Notes != Writes{} && a.Flights[flight] == Writes{} && (flight == 0 || a.Flights[flight-1] != Writes{})
		}, func(a *at) { a.Flights[flight], a.Notes = a.Notes, Writes{} }},
		{"intend with a flight", Engine, func(a *at) bool {
			return in(Wanting)(a) && !a.x.Intent && a.Flights[flight] != Writes{}
		}, func(a *at) { intend(a, flight) }},
		{"finish with a flight", Engine, func(a *at) bool {
			return in(Right, Applied)(a) && a.x.Run.Acts != 0 && a.Flights[flight] != Writes{}
		}, func(a *at) { finish(a, flight) }},
	}
}

// in returns the guard of an action in the middle of a run.
func in(phases ...Phase) func(a *at) bool {
	var all int
	for _, p := range phases {
		all |= 1 << p
	}
	return func(a *at) bool { return all>>a.x.Run.Phase&1 == 1 }
}

// mayStart: a dirty vertex starts when no ancestor, near or far, is unsettled.
func mayStart(a *at) bool {
	for u := range N {
		x := &a.V[u]
		if a.g.above(a.v).Has(u) && (!x.Heard || x.Dirty || x.Failed || x.Run.Phase != Idle) {
			return false
		}
	}
	return a.x.Dirty && a.x.Run.Phase == Idle
}

// intend makes the intent durable, if it is not.
func intend(a *at, flight int) {
	if !a.x.Intent {
		a.commit(Writes{Put: intent(a.v)}, flight)
	}
	a.x.Intent, a.x.Run.Phase = true, Intended
}

func apply(a *at) {
	r := &a.x.Run
	r.Phase, r.Changed = Applied, r.Acts != 0 || a.World[a.v] != r.Want
	a.World[a.v] = r.Want
	for t := range N {
		if r.Changed && (r.Targets & a.g.Notify[a.v]).Has(t) {
			a.Owed[t] |= only(a.v)
			a.Taken[t] &^= only(a.v)
		}
	}
	a.Late |= a.x.late()
}

// late returns what was promised during a run that has changed something.
func (x *Vertex) late() Records {
	if !x.Run.Changed {
		return 0
	}
	return x.Run.Promised
}

// keep ends what was promised to targets during a run: it is due if the run may have changed something, or an earlier one may have.
func keep(a *at, changes bool) {
	changes = changes || a.x.Intent
	for t := range N {
		if r := a.x.Run.Promised & refreshes(t, a.v); changes && r != 0 && a.g.has(t) {
			a.Due |= r
			a.V[t].ask()
		} else {
			a.note(Writes{Del: r})
		}
	}
}

// finish clears the refreshes that the run has acted on, and turns the intent into a refresh for each target. A run waits for the first.
// The second alone is only noted: after a crash the intent says the same.
func finish(a *at, flight int) {
	r, w := &a.x.Run, Writes{}
	if a.x.Intent {
		for t := range N {
			if r.Targets.Has(t) {
				r.Owes |= a.number(t, a.v)
			}
			if a.Late&r.Stale&refreshes(t, a.v) != 0 { // the later refresh takes its place
				a.Owed[t] |= only(a.v)
				a.Taken[t] &^= only(a.v)
			}
		}
		a.Late &^= r.Stale
		w = Writes{Put: r.Owes, Del: intent(a.v) | r.Stale}
	}
	if r.Phase = Finished; r.Acts == 0 {
		a.note(w)
		return
	}
	a.commit(Writes{Del: r.Acts}.then(w), flight)
	a.Owed[a.v] &^= a.Taken[a.v]
	a.Late &^= r.Acts
}

// end gives the targets their refreshes.
func end(a *at) {
	r := a.x.Run
	keep(a, r.Changed)
	a.Due &^= r.Acts
	a.x.Intent = false
	for t := range N {
		switch owes := r.Owes & refreshes(t, a.v); {
		case owes == 0:
		case !a.g.has(t):
			a.note(Writes{Del: owes})
		default:
			a.Due = a.Due&^(r.Stale&refreshes(t, a.v)) | owes
			a.V[t].ask()
		}
	}
	a.x.over(a.x.Dirty || a.x.Again, false)
}

// swap puts a graph into effect. A vertex that wants the same stays as it is. A new one begins when that of its name has left, and takes over
// what that one owes; the first ones of a process take that from the journal.
func swap(a *at) {
	before, first, now := a.g, a.Graph < 0, &a.all[a.v]
	a.Graph = int8(a.v)
	for v := range N {
		x := &a.V[v]
		switch {
		case first && now.has(v):
			x.Intent, a.Due = a.Journal&intent(v) != 0, a.Due|a.Journal&ofTarget(v)
		case first:
			a.note(Writes{Del: a.Journal & (intent(v) | ofTarget(v))})
		case before.has(v) && before.Want[v] != now.Want[v]:
			*x = Vertex{Intent: x.Intent, Run: x.Run}
			if x.Run.Old = true; x.Run.Phase == Idle {
				x.Run.Phase = Leaving
			}
		}
		for t := range N { // a debt ends when its target leaves, and when its edge does before the source has succeeded
			succeeded := (a.Journal|a.Notes.Put|a.flying())&refreshes(t, v) != 0 && !x.Intent
			if !now.has(t) || !now.Notify[v].Has(t) && !succeeded {
				a.Owed[t] &^= only(v)
			}
			if !now.has(t) {
				a.Late &^= ofTarget(t)
			}
		}
		promise(a.State, now, v)
	}
}

// promise notes a refresh for each target that a graph brings while a run of its source goes on: it may have changed something already.
func promise(s *State, now *Graph, v int) {
	r := &s.V[v].Run
	for t := range N {
		goes := r.Phase != Idle && r.Phase != Leaving
		if goes && now.Notify[v].Has(t) && !r.Targets.Has(t) && r.Promised&refreshes(t, v) == 0 {
			number := s.number(t, v)
			r.Promised |= number
			s.note(Writes{Put: number})
		}
	}
	s.Late |= s.V[v].late()
}
