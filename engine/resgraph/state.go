package resgraph

import "fmt"

// State is what a vertex of a running graph is doing or has come to. The words
// of String are the only ones used for it, in every output.
type State uint8

// The states of a vertex. OK, WouldChange and Unknown are settled. Failed is
// not. Paused and Held are settled unless the vertex is dirty.
const (
	StateStarting    State = iota // its Watch has not said Running yet
	StateWaiting                  // dirty, and an ancestor is unsettled, no slot is free, or something outside must end first
	StateRunning                  // its CheckApply runs
	StateOK                       // its last CheckApply left it as wanted
	StateWouldChange              // under noop: it differs from what is wanted
	StateUnknown                  // under noop: it can't be told before an ancestor has run
	StateFailed                   // its last run, or its Watch, ended with an error
	StateBlocked                  // dirty, and an ancestor is failed, paused or held
	StatePaused                   // an operator has paused it
	StateHeld                     // a limit holds it
	NumStates        = iota
)

var stateWords = [NumStates]string{
	"starting", "waiting", "running", "ok", "would-change", "unknown", "failed", "blocked", "paused", "held",
}

// String returns the word for the state.
func (s State) String() string {
	if int(s) < len(stateWords) {
		return stateWords[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText writes the word for the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Settled reports whether a clean vertex in this state lets its dependents
// start.
func (s State) Settled() bool {
	return s == StateOK || s == StateWouldChange || s == StateUnknown
}
