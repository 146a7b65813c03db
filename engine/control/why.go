package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Why tells of the last runs of a resource, and of what led to them.
// Each run has its triggers, and each trigger the run behind it, as far as they are
// known.
type Why struct {
	Resource string    `json:"resource"`
	Member   string    `json:"member,omitempty"` // the resource of the request, where Resource is the owner of its group
	Status   *Resource `json:"status,omitempty"` // absent where it is no longer in the graph
	Runs     []*Event  `json:"runs"`             // the newest first
}

// Bounds of one answer.
const (
	someRuns  = 3
	manyRuns  = 100
	maxChain  = 16  // runs, one because of the other
	maxCauses = 256 // runs that are looked up for one answer
)

// A resource that has left the graph is answered from the history, and is an error only
// if that does not know it either.
func (s *Server) getWhy(_ http.ResponseWriter, r *http.Request) (any, error) {
	out, err := s.why(r)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Server) why(r *http.Request) (*Why, error) {
	p := params{Values: r.URL.Query()}
	name := p.Get("resource")
	n := int(p.number("n", someRuns, 1, manyRuns))
	if p.err != nil {
		return nil, p.err
	}
	if name == "" {
		return nil, errUnnamed
	}
	out := &Why{Resource: name}
	missing := s.own(&out.Resource)
	if name != out.Resource {
		out.Member = name
	}
	var err error
	if out.Runs, err = s.lastRuns(r.Context(), out.Resource, n); err != nil {
		return nil, err
	}
	if len(out.Runs) == 0 && missing != nil {
		return nil, missing
	}
	out.Status, err = s.statusOf(r.Context(), out.Resource)
	if err != nil {
		return nil, err
	}
	c := chain{run: s.runOf, left: maxCauses}
	for _, e := range out.Runs {
		c.explain(r.Context(), e, maxChain)
	}
	return out, nil
}

// runOutcomes are the events of a resource that why shows.
var runOutcomes = []Outcome{Changed, WouldChange, Unknown, Failed, Recovered, Held, Paused, Resumed, Approved, Rejected, TriedAgain}

// lastRuns merges what the history knows with what only memory does.
// Both lists come with the newest first and stay so.
func (s *Server) lastRuns(ctx context.Context, id string, n int) ([]*Event, error) {
	kept, err := s.newest(ctx, Query{Resource: id, Outcomes: runOutcomes, Limit: n})
	if err != nil {
		return nil, err
	}
	quiet := s.opt.Recorder.Quiet(id)
	out := []*Event{}
	for len(out) < n && len(kept)+len(quiet) > 0 {
		if len(quiet) == 0 || len(kept) > 0 && newer(kept[0], quiet[0]) {
			out, kept = append(out, kept[0]), kept[1:]
		} else {
			out, quiet = append(out, quiet[0]), quiet[1:]
		}
	}
	return out, nil
}

// newer reports whether a came after b, both of one resource.
// Numbers of runs are compared within one session only; between sessions the time has to
// do.
func newer(a, b *Event) bool {
	if a.Session == b.Session && a.Run > 0 && b.Run > 0 {
		return a.Run > b.Run
	}
	return a.At.After(b.At)
}

// statusOf returns how one vertex stands, nil where there is none.
// That it left the graph between two questions is not an error.
func (s *Server) statusOf(ctx context.Context, id string) (*Resource, error) {
	st, err := s.opt.Engine.Status(ctx, id)
	if _, gone := errors.AsType[*reactor.UnknownResourceError](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := resourceOf(&st)
	return &out, nil
}

// chain looks up the runs that led to others.
// Its bound holds for all runs of one answer together, since causes can fan out.
type chain struct {
	run  func(ctx context.Context, t *Trigger, e *Event) *Event // what a trigger of e names
	left int                                                    // how many it may still look up
}

// explain fills in the runs that have triggered a run, and the runs before those.
// It goes up depth levels at most. A trigger without a number of a run has none behind
// it.
func (c *chain) explain(ctx context.Context, e *Event, depth int) {
	for i := range e.Triggers {
		t := &e.Triggers[i]
		if t.Run == 0 || depth == 0 || c.left == 0 {
			continue
		}
		c.left--
		if t.By = c.run(ctx, t, e); t.By != nil {
			c.explain(ctx, t.By, depth-1)
		}
	}
}

// maxLag is how long before an event its cause is looked for.
const maxLag = 24 * time.Hour

// runOf returns the run that a trigger of e names, nil where it is not known any
// more.
func (s *Server) runOf(ctx context.Context, t *Trigger, e *Event) *Event {
	if e.Session == s.opt.Recorder.session {
		for _, q := range s.opt.Recorder.Quiet(t.From) {
			if q.Run == t.Run {
				return q
			}
		}
	}
	return runIn(ctx, s.opt.History, t, e)
}

// runIn is runOf for a run in a history.
// It reads backwards from the event, and stops at an earlier run or another session.
func runIn(ctx context.Context, h reader, t *Trigger, e *Event) *Event {
	q := journal.Query{Resource: t.From, Before: e.ID, From: e.At.Add(-maxLag), Newest: true}
	for entry, err := range h.Query(ctx, q) {
		if err != nil {
			return nil // told by the runs themselves
		}
		up := eventIn(&entry)
		if up.Session != e.Session || up.Run > 0 && up.Run < t.Run {
			return nil
		}
		if up.Run == t.Run {
			return up
		}
	}
	return nil
}
