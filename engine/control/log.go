package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/journal"
)

// Log is a part of the history.
type Log struct {
	Events []*Event `json:"events"` // the oldest first
	More   bool     `json:"more"`   // there are older ones that fit too: ask with before
}

// Bounds of one answer.
const (
	someEvents = 100
	manyEvents = 1000
)

// Query says which events are wanted; the zero value all.
type Query struct {
	Resource      string    // kind[name], or a selection
	Outcomes      []Outcome // any of these
	Since, Until  time.Time // Since inclusive, Until exclusive; zero for no bound
	After, Before uint64    // IDs, both exclusive; 0 for no bound
	Limit         int       // at most so many, the newest; 100 when 0

	among func(resource string) bool // in the place of Resource, where that is a selection
}

// It asks the history for one event more than is wanted, which tells whether there are
// older ones.
func (s *Server) getLog(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := params{Values: r.URL.Query()}
	q := Query{
		Resource: p.Get("resource"), Outcomes: p.outcomes("outcome"),
		Since: p.time("since"), Until: p.time("until"),
		After: p.number("after", 0, 0, 1<<62), Before: p.number("before", 0, 0, 1<<62),
	}
	limit := int(p.number("limit", someEvents, 1, manyEvents))
	if p.err != nil {
		return nil, p.err
	}
	q.Limit = limit + 1
	missing, err := s.narrow(r.Context(), &q)
	if err != nil {
		return nil, err
	}
	events, err := s.newest(r.Context(), q)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 && missing != nil {
		return nil, missing
	}
	return logOf(events, limit), nil
}

// logOf is the answer that has at most so many of some events, which come with the newest first.
// The caller's slice is reversed in place.
func logOf(events []*Event, limit int) *Log {
	out := &Log{Events: events[:min(len(events), limit)], More: len(events) > limit}
	slices.Reverse(out.Events)
	return out
}

// own puts the owner in the place of a member of a group. A resource that is not
// in the graph is an error, but perhaps the history knows it.
func (s *Server) own(resource *string) error {
	if *resource == "" {
		return nil
	}
	id, err := s.find(*resource)
	if err == nil {
		*resource = id
	}
	return err
}

// newest returns events out of the history, the newest first, with all that has
// happened up to now.
func (s *Server) newest(ctx context.Context, q Query) ([]*Event, error) {
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	return newestIn(ctx, s.opt.History, q)
}

// sync waits until all that has happened up to now is in the history.
// Without it a user who pauses and then looks at the log would miss the pause.
func (s *Server) sync(ctx context.Context) error {
	if err := s.opt.Engine.Told(ctx); err != nil {
		return err
	}
	return s.opt.Recorder.Sync(ctx)
}

// newestIn returns events out of a history, the newest first.
// It stops reading as soon as it has enough. An unbounded question is one with a Limit of
// 0.
func newestIn(ctx context.Context, h reader, q Query) ([]*Event, error) {
	from := journal.Query{Resource: q.Resource, From: q.Since, Until: q.Until, After: q.After, Before: q.Before, Newest: true}
	list := []*Event{}
	for entry, err := range h.Query(ctx, from) {
		if err != nil {
			return nil, fmt.Errorf("the history cannot be read: %w", err)
		}
		if q.wants(&entry) {
			list = append(list, eventIn(&entry))
		}
		if len(list) == q.Limit {
			break
		}
	}
	return list, nil
}

// wants looks at the outcome, since the history itself takes only one.
func (q *Query) wants(e *journal.Entry) bool {
	return (len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, Outcome(e.Outcome))) && (q.among == nil || e.Resource != "" && q.among(e.Resource))
}

// eventIn decodes an entry. What another version of the program has written, and
// this one can't read, is told as far as it goes.
func eventIn(entry *journal.Entry) *Event {
	e := &Event{}
	if err := json.Unmarshal(entry.Data, e); err != nil {
		e = &Event{Error: "this event cannot be read: " + err.Error()}
	}
	e.ID, e.At, e.Outcome, e.Resource = entry.ID, entry.At, Outcome(entry.Outcome), entry.Resource
	return e
}
