package hold

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Vertex is what the limits know of one vertex. The zero value is a vertex that nothing holds.
// It is used by the loop only.
type Vertex struct {
	throttle *throttle // nil if its starts wait for nothing
	deferred Deferral  // the reason for which its start waits
	stalled  Stall     // what the log was told of the wait for something outside
	charged  bool      // it has taken from the budget, or was told to go on, and failed since
	pass     bool      // the next run may change something whatever budget and windows say

	*past // nil for none: few vertices have one
}

// New returns the vertex that metaparameters ask for.
func New(m *engine.MetaParams) Vertex { return Vertex{throttle: newThrottle(m)} }

// past is what has happened to a vertex.
type past struct {
	held  *holding // by a limit; nil for none
	flaps *flaps   // nil if it was not corrected

	asked    string    // the digest of the change that waits for a person, or is looked at again; empty for none
	persons  int       // how many have to approve it
	approved *Approved // what the next run may change; nil for nothing
	author   string    // who has had it declared; empty where nobody is known
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
	LimitApproval = "approval" // a person has to approve the change: see Approval
	LimitWindow   = "window"   // nothing is changed at this time: see Windows
)

// Held says which limit keeps a vertex from being altered.
type Held struct {
	Limit  string        // one of the limits
	Reason string        // in words
	For    time.Duration // until it goes on by itself; 0 when it waits to be told

	// With LimitApproval.
	Digest   string          // of the change
	Changes  []engine.Change // what it would change; secrets are gone
	Rejected bool            // a person has said no, as Reason tells
	Why      string          // the rules of a policy that ask, which Reason tells too; empty for none
}

// Waits gives what is lacking as the reason.
func (h *Held) Waits(lacks string) {
	h.Rejected = false
	if h.Reason = lacks; h.Why != "" {
		h.Reason += ": " + h.Why
	}
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

// Allow lets the next run of a vertex that is held change something, whatever the budget says.
func (v *Vertex) Allow() { v.pass = v.IsHeld() }

// Begin takes the begin of a run. It reports whether the run was told to go on, whatever windows say, and whether it may change
// something whatever the budget says: a vertex that fails again and again takes from the budget once, or was told once.
func (v *Vertex) Begin() (told, pass bool) {
	told, v.pass = v.pass, false
	return told, told || v.charged
}

// TakeBack takes Begin and TakeApproved back, with their answers: the run did none of its work.
func (v *Vertex) TakeBack(told bool, approved *Approved) {
	v.pass = v.pass || told
	if approved != nil {
		v.own().approved = approved
	}
}

// Ended takes the end of a run that had a pass, or has taken from the budget, as paid says.
func (v *Vertex) Ended(failed, paid bool) { v.charged = failed && paid }

// Doubted takes a failure that is not believed before the next run.
func (v *Vertex) Doubted(paid bool) { v.charged = v.charged || paid }

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
