package hold

import "time"

// Vertex is what the limits know of one vertex. The zero value is a vertex that nothing holds.
// It is used by the loop only.
type Vertex struct {
	Throttle *Throttle // nil if its starts wait for nothing
	Deferred Deferral  // the reason for which its start waits

	Charged bool // it has taken from the budget, or was told to go on, and failed since
	Pass    bool // the next run may change something whatever the budget says

	*past // nil for none: few vertices have one
}

// past is what has happened to a vertex.
type past struct {
	held  *holding // by a limit; nil for none
	flaps *flaps   // nil if it was not corrected
}

// own returns the past for writing.
func (v *Vertex) own() *past {
	if v.past == nil {
		v.past = &past{}
	}
	return v.past
}

// The limits, as Held names them.
const (
	LimitBudget   = "budget"   // too many changes: see Budget
	LimitFlapping = "flapping" // corrected again and again: see Flapping
)

// Held says which limit keeps a vertex from being altered.
type Held struct {
	Limit  string        // budget or flapping
	Reason string        // in words
	For    time.Duration // until it goes on by itself; 0 when it waits to be told
}

// holding is what holds a vertex, and since when.
type holding struct {
	Held
	at int64
}

// Hold has a limit hold the vertex from now on.
func (v *Vertex) Hold(h Held, now int64) { v.own().held = &holding{h, now} }

// LetGo ends Hold.
func (v *Vertex) LetGo() { v.own().held = nil }

// Forgive forgets the corrections of the vertex: an operator has said to go on.
func (v *Vertex) Forgive() { v.own().flaps = nil }

// IsHeld reports whether a limit holds the vertex.
func (v *Vertex) IsHeld() bool { return v.past != nil && v.held != nil }

// HeldBy reports whether that limit holds the vertex.
func (v *Vertex) HeldBy(limit string) bool { return v.IsHeld() && v.held.Limit == limit }

// HeldNow tells what holds the vertex, and for how long from now on; nil for nothing.
func (v *Vertex) HeldNow(now int64) *Held {
	if !v.IsHeld() {
		return nil
	}
	h := v.held.Held
	if h.For > 0 {
		h.For = max(1, h.For-time.Duration(now-v.held.at))
	}
	return &h
}
