package control

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Outcome is an event in one word.
type Outcome string

// The outcomes of runs.
const (
	Changed     Outcome = "changed"
	WouldChange Outcome = "would-change" // under noop
	Unknown     Outcome = "unknown"      // under noop: it can't be told yet
	Failed      Outcome = "failed"
	Recovered   Outcome = "recovered" // ok again, without having changed anything
	OK          Outcome = "ok"        // nothing to do; kept in memory only, and not for long
)

// The outcomes of events that are not about a run.
const (
	Started    Outcome = "started"              // the daemon
	Stopped    Outcome = "stopped"              // the daemon, in good order
	Graph      Outcome = "graph"                // another graph took effect
	Refused    Outcome = "refused"              // a graph could not be used
	Converged  Outcome = "converged"            // the graph has come to rest
	Paused     Outcome = "paused"               // by an operator
	Held       Outcome = "held"                 // by a limit
	Resumed    Outcome = "resumed"              // no longer paused or held
	Approved   Outcome = "approved"             // a change that had to be; it is made
	Rejected   Outcome = "rejected"             // a change that had to be approved; it stays held
	TriedAgain Outcome = "retried"              // by an operator, after it has failed
	Dropped    Outcome = journal.OutcomeDropped // events came faster than they could be kept
)

// outcomes are all words for events, in the order in which help lists them.
var outcomes = []Outcome{
	Changed, WouldChange, Unknown, Failed, Recovered, OK,
	Started, Stopped, Graph, Refused, Converged, Paused, Held, Resumed, Approved, Rejected, TriedAgain, Dropped,
}

// Outcomes returns all words for events.
func Outcomes() []Outcome { return outcomes[:len(outcomes):len(outcomes)] }

// Event is one thing that happened. Which fields are there depends on the
// outcome; see docs/objects.md.
// Times in seconds are floating numbers. Members that are empty are left out of the JSON.
type Event struct {
	ID       uint64    `json:"id,omitempty"` // 0 for what only memory knows
	At       time.Time `json:"at"`
	Outcome  Outcome   `json:"outcome"`
	Resource string    `json:"resource,omitempty"`
	Session  string    `json:"session"` // of which start of the daemon

	// of a run
	Run        uint64    `json:"run,omitempty"` // its number in the session
	Generation int       `json:"generation,omitempty"`
	State      string    `json:"state,omitempty"`
	Class      string    `json:"class,omitempty"` // intended, cascade or corrective
	Triggers   []Trigger `json:"triggers,omitempty"`
	Changes    []Change  `json:"changes,omitempty"`
	Error      string    `json:"error,omitempty"` // also of refused
	Until      string    `json:"until,omitempty"` // with unknown: the resource that has to run before
	Refreshed  bool      `json:"refreshed,omitempty"`
	Noop       bool      `json:"noop,omitempty"`
	Seconds    float64   `json:"seconds,omitempty"`        // how long it took
	Waited     float64   `json:"waited_seconds,omitempty"` // from what asked for it first to its start
	Attempt    int       `json:"attempt,omitempty"`
	RetryIn    float64   `json:"retry_in_seconds,omitempty"`

	// of the others
	Graph   *Swap          `json:"graph,omitempty"`   // graph
	Counts  map[string]int `json:"counts,omitempty"`  // converged: vertices by state
	Pause   *Pause         `json:"pause,omitempty"`   // paused
	Held    *Hold          `json:"held,omitempty"`    // held, rejected; approved where others have to approve it, too
	By      string         `json:"by,omitempty"`      // paused, resumed, approved, rejected, retried: who said so over the socket; of a run: the program that made its event
	Reason  string         `json:"reason,omitempty"`  // resumed, approved, rejected, retried: what that person says
	Dropped int            `json:"dropped,omitempty"` // dropped: how many, where that is known
	PID     int            `json:"pid,omitempty"`     // started
	Version string         `json:"version,omitempty"` // started
}

// Trigger is one reason for which a resource was run.
// Cause is one of the words of reactor.Cause.
type Trigger struct {
	Cause string `json:"cause"`
	From  string `json:"from,omitempty"`
	Run   uint64 `json:"run,omitempty"` // of From, in the same session
	Field string `json:"field,omitempty"`

	Fields []string `json:"fields,omitempty"` // with declaration: what differs

	Source string `json:"source,omitempty"`
	Path   string `json:"path,omitempty"`

	Culprit *Culprit `json:"culprit,omitempty"` // who made the event, where that is known
	Merged  int      `json:"merged,omitempty"`  // how many came together as this one; absent for one
	Resync  bool     `json:"resync,omitempty"`

	// By is the run of From, where it is known; only why fills it.
	By *Event `json:"by,omitempty"`
}

// Culprit is the process that made an event. Its texts are escaped.
type Culprit struct {
	PID     int    `json:"pid"`
	Program string `json:"program,omitempty"` // the file that it ran when it was read; where it was ending, a name without a slash
	User    string `json:"user,omitempty"`
	Login   string `json:"login,omitempty"` // who has logged in, where that is another one
	Unit    string `json:"unit,omitempty"`  // of the service manager
	Gone    bool   `json:"gone,omitempty"`  // it had ended: only pid is known
}

// Change is one difference that a run found. A long text is not kept, only its
// length.
type Change struct {
	Field     string      `json:"field,omitempty"`
	Verb      engine.Verb `json:"verb,omitempty"`
	From      any         `json:"from,omitempty"`
	To        any         `json:"to,omitempty"`
	Unknown   bool        `json:"unknown,omitempty"`
	FromBytes int         `json:"from_bytes,omitempty"` // in place of From
	ToBytes   int         `json:"to_bytes,omitempty"`   // in place of To
}

// Swap tells of a graph that took effect.
type Swap struct {
	Name    string `json:"name"`
	Added   int    `json:"added"`
	Changed int    `json:"changed"`
	Removed int    `json:"removed"`
	Kept    int    `json:"kept"`
	Path    string `json:"path,omitempty"`   // where it comes from: a file or folder, or "deploy 3 to all"
	Digest  string `json:"digest,omitempty"` // of its text
	Signer  string `json:"signer,omitempty"` // the key of a deploy

	Leaving []Leaving `json:"leaving,omitempty"` // at most 100 of those that have left the graph
	More    int       `json:"more,omitempty"`    // have left beside them
}

// Leaving is a resource that has left the graph.
type Leaving struct {
	Resource string `json:"resource"`
	Undone   bool   `json:"undone,omitempty"` // its state before the first change is brought back; else its work stays as it is
}

// maxLeaving is how many of the resources that leave with one graph are kept by name.
const maxLeaving = 100

// LeavingOf returns those that have left with a graph, and how many more there are.
func LeavingOf(list []reactor.Leaving) (named []Leaving, more int) {
	most := min(len(list), maxLeaving)
	for _, l := range list[:most] {
		named = append(named, Leaving(l))
	}
	return named, len(list) - most
}

// maxText is the length above which only the length of a changed text is kept.
const maxText = 16 << 10

// omitted stands for a text that was not kept, by its length.
type omitted int

// Values stay as the engine gave them, with secrets taken out there.
func changesOf(list []engine.Change) []Change {
	if len(list) == 0 {
		return nil
	}
	out := make([]Change, len(list))
	for i, c := range list {
		out[i] = Change{Field: c.Field, Verb: c.Verb}
		out[i].From, out[i].FromBytes = side(c.From)
		if c.To == any(engine.Unknown) {
			out[i].Unknown = true
			continue
		}
		out[i].To, out[i].ToBytes = side(c.To)
	}
	return out
}

// side returns one side of a change, or how long it is.
func side(x any) (any, int) {
	switch x := x.(type) {
	case omitted:
		return nil, int(x)
	case string:
		if len(x) > maxText {
			return nil, len(x)
		}
	}
	return x, 0
}

// A trigger that came once has no count, since most do.
func triggersOf(list []reactor.Trigger) []Trigger {
	if len(list) == 0 {
		return nil
	}
	out := make([]Trigger, len(list))
	for i, t := range list {
		out[i] = Trigger{
			Cause: string(t.Cause), From: t.From, Run: t.Run, Field: t.Field, Fields: t.Fields,
			Source: t.Source, Path: t.Path, Merged: t.Merged, Resync: t.Resync,
		}
		if t.Merged == 1 {
			out[i].Merged = 0
		}
		if c := t.By.Plain(); c != nil {
			of := Culprit(*c)
			out[i].Culprit = &of
		}
	}
	return out
}

// eventOf returns a run as an event.
func eventOf(o Outcome, r *reactor.Run) *Event {
	e := &Event{
		Outcome: o, Resource: r.Resource,
		Run: r.ID, Generation: r.Generation, State: r.State.String(), Class: r.Class.String(),
		Triggers: triggersOf(r.Triggers), By: r.By().String(), Changes: changesOf(r.Changes),
		Until: r.Until, Refreshed: r.Refreshed, Noop: r.Noop,
		Seconds: r.Duration.Seconds(), Waited: r.Waited.Seconds(), Attempt: r.Attempt,
	}
	if r.Err != nil {
		e.Error = r.Err.Error()
	}
	if r.Retry {
		e.RetryIn = r.RetryIn.Seconds()
	}
	return e
}

// Rest returns how the graph of an event with counts stood.
func (e *Event) Rest() reactor.Rest {
	return reactor.Rest{Generation: e.Generation, Counts: reactor.CountsOf(e.Counts), Converged: e.Outcome == Converged}
}
