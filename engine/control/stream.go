package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// streamPage is how many events are taken out of the history at once. They are
// written after the history has been left, so that a slow client holds nothing.
const streamPage = 64

// getEvents sends events as they come: as Server-Sent Events, or as one object
// on each line to who accepts application/x-ndjson. It begins with the next one,
// or after the ID in since or Last-Event-ID.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	p := params{Values: r.URL.Query()}
	last := s.opt.Recorder.history.Last()
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		p.Set("since", id)
	}
	after := p.number("since", last, 0, 1<<62)
	q := Query{Resource: p.Get("resource"), Outcomes: p.outcomes("outcome"), After: after, Limit: streamPage}
	if p.err != nil {
		return nil, p.err
	}
	if after > last {
		return nil, bad("begin without one", "there is no event %d yet, the last one is %d", after, last)
	}
	if err := s.own(&q.Resource); err != nil {
		return nil, err
	}
	f := &feed{w: w, rc: http.NewResponseController(w), lines: strings.Contains(r.Header.Get("Accept"), "application/x-ndjson")}
	if err := f.begin(); err != nil {
		return nil, errors.Join(errBegun, err)
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
		page, err := s.page(ctx, q)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = f.send(page)
		}
		if err != nil {
			return err
		}
		if len(page) > 0 {
			q.After = page[len(page)-1].ID
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

func (s *Server) page(ctx context.Context, q Query) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var page []Entry
	for e, err := range s.opt.Recorder.history.Select(ctx, q) {
		if err != nil {
			return nil, err
		}
		page = append(page, e)
	}
	return page, nil
}

// feed writes a stream of events.
type feed struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	lines bool // an object on each line, and no Server-Sent Events
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

func (f *feed) send(page []Entry) error {
	if len(page) == 0 {
		return nil
	}
	patience(f.w, writeTimeout)
	for i := range page {
		data, err := json.Marshal(eventIn(&page[i]))
		if err != nil {
			return err
		}
		if f.lines {
			_, err = f.w.Write(append(data, '\n'))
		} else {
			_, err = fmt.Fprintf(f.w, "id: %s\nevent: %s\ndata: %s\n\n", strconv.FormatUint(page[i].ID, 10), page[i].Outcome, data)
		}
		if err != nil {
			return err
		}
	}
	return f.rc.Flush()
}

// beat says that the stream lives.
func (f *feed) beat() error {
	patience(f.w, writeTimeout)
	sign := ": alive\n\n"
	if f.lines {
		sign = "\n"
	}
	if _, err := f.w.Write([]byte(sign)); err != nil {
		return err
	}
	return f.rc.Flush()
}
