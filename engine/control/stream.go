package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/journal"
)

// streamPage is how many events are taken out of the history at once. They are
// written after the history has been left, so that a slow client holds nothing.
const streamPage = 64

// getEvents sends events as they come: as Server-Sent Events, or as one object
// on each line to who accepts application/x-ndjson. It begins with the next one,
// or after the ID in since or Last-Event-ID.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.opt.Recorder.Sync(r.Context()); err != nil {
		return nil, err
	}
	p := params{Values: r.URL.Query()}
	oldest, next := s.opt.History.Bounds()
	last := next - 1
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		p.Set("since", id)
	}
	after := p.number("since", last, 0, 1<<62)
	q := Query{Resource: p.Get("resource"), Outcomes: p.outcomes("outcome"), After: after}
	if p.err != nil {
		return nil, p.err
	}
	if after > last {
		return nil, bad("begin without one", "there is no event %d yet, the last one is %d", after, last)
	}
	if err := s.own(&q.Resource); err != nil {
		return nil, err
	}
	f := &feed{w: w, rc: http.NewResponseController(w), slow: s.slow, lines: strings.Contains(r.Header.Get("Accept"), "application/x-ndjson")}
	if err := f.begin(); err != nil {
		return nil, errors.Join(errBegun, err)
	}
	if after+1 < oldest && p.Has("since") {
		err := f.send([]*Event{{At: s.opt.Recorder.opt.Now(), Outcome: Dropped, Session: s.opt.Recorder.session}})
		if err != nil {
			return nil, errors.Join(errBegun, err)
		}
	}
	if err := s.follow(r.Context(), q, f); err != nil {
		return nil, errors.Join(errBegun, err)
	}
	return nil, nil
}

// follow sends what the history has and what comes, until ctx ends.
func (s *Server) follow(ctx context.Context, q Query, f *feed) error {
	alive := time.NewTicker(s.wait)
	defer alive.Stop()
	for {
		changed := s.opt.Recorder.Changes()
		page, seen, err := s.page(ctx, &q)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = f.send(page)
		}
		if err != nil {
			return err
		}
		if seen {
			continue
		}
		select {
		case <-changed:
		case <-alive.C:
			if err := f.beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// page returns the next events that are wanted, and whether there were any at
// all. It moves q on.
func (s *Server) page(ctx context.Context, q *Query) (page []*Event, seen bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	from := journal.Query{Resource: q.Resource, After: q.After, Limit: streamPage}
	for e, err := range s.opt.History.Query(ctx, from) {
		if err != nil {
			return nil, false, err
		}
		q.After, seen = e.ID, true
		if q.wants(&e) {
			page = append(page, eventIn(&e))
		}
	}
	return page, seen, nil
}

// feed writes a stream of events.
type feed struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	slow  time.Duration // see Server
	lines bool          // an object on each line, and no Server-Sent Events
}

func (f *feed) begin() error {
	kind := "text/event-stream"
	if f.lines {
		kind = "application/x-ndjson"
	}
	f.w.Header().Set("Content-Type", kind)
	f.w.Header().Set("Cache-Control", "no-store")
	f.w.WriteHeader(http.StatusOK)
	return f.rc.Flush()
}

func (f *feed) send(page []*Event) error {
	if len(page) == 0 {
		return nil
	}
	patience(f.w, f.slow)
	for _, e := range page {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := f.w.Write(f.frame(e, data)); err != nil {
			return err
		}
	}
	return f.rc.Flush()
}

// frame returns an event as it is sent. One without an ID leaves the place to go
// on from where it was.
func (f *feed) frame(e *Event, data []byte) []byte {
	if f.lines {
		return append(data, '\n')
	}
	id := ""
	if e.ID > 0 {
		id = fmt.Sprintf("id: %d\n", e.ID)
	}
	return fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, e.Outcome, data)
}

// beat says that the stream lives.
func (f *feed) beat() error {
	patience(f.w, f.slow)
	sign := ": alive\n\n"
	if f.lines {
		sign = "\n"
	}
	if _, err := f.w.Write([]byte(sign)); err != nil {
		return err
	}
	return f.rc.Flush()
}
