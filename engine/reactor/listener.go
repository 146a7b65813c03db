package reactor

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Listener is told of all events. Each function may be nil. They are called on the loop, one at a
// time, in the order of the events, and must return soon. They must not call the Reactor: its
// methods wait for the loop.
type Listener struct {
	// Swapped: another graph is in effect.
	Swapped func(Swap)
	// Ran: a CheckApply has ended, or a vertex has failed without one.
	Ran func(Run)
	// Converged: the graph has come to rest (true), or something has happened
	// again (false).
	Converged func(bool, Counts)
	// Paused: an operator's pause has begun (true), or has ended.
	Paused func(Pause, bool)
	// Held: a limit holds this resource, or with nil no longer does.
	Held func(resource string, h *Held)
	// Stopping is called once when the context of Run has ended a second ago and
	// Run still waits for methods of these resources, which are sorted.
	Stopping func(resources []string)
	// Behind is asked before each turn of the loop. While the channel that it returns is open, the
	// loop takes no news of vertices, rings no alarm and only answers calls: so a listener that
	// queues events can bound its queue. A nil channel is for none. At the end of Run it is not
	// asked. It counts for nothing while a change of the graph waits for vertices to end or to be realized: the
	// change may be the listener's own.
	Behind func() <-chan struct{}
}

// Counts are the number of vertices by state.
type Counts [resgraph.NumStates]int

// Well reports whether every resource is as wanted. What is paused or held may not be.
func (c Counts) Well() bool {
	c[resgraph.StateOK] = 0
	return c == Counts{}
}

// String returns the number of resources in each state that has some, such as "2 ok, 1 failed".
func (c Counts) String() string {
	var parts []string
	for s, n := range c {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, resgraph.State(s)))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}

// Swap tells of a graph that took effect.
type Swap struct {
	Generation int
	Name       string
	Added      int // vertices that were not there
	Changed    int // that want something else now
	Removed    int
	Kept       int
	Leaving    []Leaving // what this graph has no more, in the order of the graph before
	Policy     bool      // of those that changed one asks before it leaves, and did not before, or the other way

	// The engine's front door sets these.
	Origin provenance.Origin // of the graph
	Held   *RemovalsError    `json:",omitempty"` // removals that still wait to be accepted beside this graph; nil for none
}

// Leaving is a resource that has left the graph. The first graph of a process is compared with Options.InEffect.
type Leaving struct {
	Resource string // kind[name]
	Undone   bool   // its state before the first change is brought back (metaparameter reverse); else its work stays as it is
}

// Run tells of one CheckApply that ended, or of a failure without one.
type Run struct {
	Resource  string // kind[name]
	State     resgraph.State
	Changes   []engine.Change // secrets are gone; must not be altered
	Err       error           // of StateFailed
	Until     string          // of StateUnknown: the vertex that has to run first
	Refreshed bool            // a notification was pending
	Noop      bool            // nothing was altered
	Changed   bool            // something was
	Duration  time.Duration
	Waited    time.Duration // from what asked for it first to its start
	Attempt   int           // 0, or which retry this was
	Retry     bool          // it will be tried again,
	RetryIn   time.Duration // after this

	ID         uint64    // counts the runs of this reactor, from 1
	Generation int       // of the graph
	Class      Class     // why what changed has changed
	Triggers   []Trigger // the events that asked for the run, at most MaxTriggers; must not be altered
}

// By returns who made the first event that asked for the run; nil where nothing is known.
func (r *Run) By() *provenance.Culprit {
	for i := range r.Triggers {
		if by := r.Triggers[i].By; by != nil {
			return by
		}
	}
	return nil
}

// Class tells changes apart by their causes.
type Class uint8

// The classes of a run. The first that applies is taken.
const (
	Intended   Class = iota // the graph declares something new, or it has just been started
	Cascade                 // another vertex refreshed it, or sent it another value
	Corrective              // the world has changed
)

var classWords = [...]string{"intended", "cascade", "corrective"}

// String returns the word for the class.
func (c Class) String() string { return classWords[c] }

// MarshalText writes the word for the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MaxTriggers bounds how many different triggers of one run are told.
const MaxTriggers = 8

// Cause is what a Trigger is.
type Cause string

// The causes of runs.
const (
	CauseGraph   Cause = "graph"   // a graph in which it is new took effect
	CauseEvent   Cause = "event"   // its Watch reported an event
	CausePoll    Cause = "poll"    // it is polled, and it was time
	CauseRefresh Cause = "refresh" // another vertex has changed and notifies it
	CauseValue   Cause = "value"   // another vertex has sent it another value
	CauseRetry   Cause = "retry"   // it had failed, and the wait is over
	CauseWatch   Cause = "watch"   // its Watch had failed or was ended, and is there again
	CauseSweep   Cause = "sweep"   // it is looked at from time to time without an event
	CauseResume  Cause = "resume"  // a limit had held it, and it goes on
	CauseAbove   Cause = "above"   // it had failed, and a vertex above it has changed; under noop: that came out differently
	CauseAsked   Cause = "asked"   // it had failed, and a person asked for another try
	CauseBelow   Cause = "below"   // a vertex below it was about to fail, and it is looked at first

	CauseDeclaration Cause = "declaration" // it is declared differently
	CauseAnew        Cause = "anew"        // it is declared as when it was last well, and is looked at anew: the engine has been started, say
)

// Trigger is one reason for which a vertex was run.
type Trigger struct {
	Cause Cause
	From  string // refresh, value, above, below, and event where a run of it made that: the vertex that caused it,
	Run   uint64 // and the ID of its run; 0 when that was in an earlier process
	Field string // value: the field that received it

	Fields []string // declaration: what differs, parameters by their keys and metaparameters as meta.KEY; must not be altered

	// event: what the machine reported, where it said so
	Source string              // inotify, poll, dbus, ...
	Path   string              // of the first event
	By     *provenance.Culprit // who made the last event of Path; nil where nothing is known; must not be altered
	Merged int                 // how many triggers were merged into this one; 1 for one
	Resync bool                // events may have been lost: it was looked at for safety
}

func (l Listener) behind() <-chan struct{} {
	if l.Behind == nil {
		return nil
	}
	return l.Behind()
}

func (l Listener) swapped(s Swap) {
	if l.Swapped != nil {
		l.Swapped(s)
	}
}

func (l Listener) ran(r Run) {
	if l.Ran != nil {
		l.Ran(r)
	}
}

func (l Listener) converged(yes bool, c Counts) {
	if l.Converged != nil {
		l.Converged(yes, c)
	}
}

func (l Listener) paused(p Pause, on bool) {
	if l.Paused != nil {
		l.Paused(p, on)
	}
}

func (l Listener) held(resource string, h *Held) {
	if l.Held != nil {
		l.Held(resource, h)
	}
}
