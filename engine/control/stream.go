package control

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/journal"
)

// streamPage is how many events are taken out of the history at once. They are
// written after the history has been left, so that a slow client holds nothing.
const streamPage = 64

// getEvents sends events as they come: as Server-Sent Events, or as one object
// on each line to clients that accept application/x-ndjson. It begins with the next
// one, or after the ID in since or Last-Event-ID.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.sync(r.Context()); err != nil {
		return nil, err
	}
	p := params{Values: r.URL.Query()}
	oldest, next := s.opt.History.Bounds()
	last := next - 1
	if id := httpd.LastEventID(r); id != "" {
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
	if missing, err := s.narrow(r.Context(), &q); err != nil || missing != nil {
		return nil, cmp.Or(err, missing)
	}
	st := httpd.Stream{Changed: s.opt.Recorder.Changes, Page: func(ctx context.Context) ([]httpd.Message, bool, error) { return s.page(ctx, &q) }}
	if after+1 < oldest && p.Has("since") {
		st.First = []httpd.Message{message(&Event{At: s.opt.Recorder.opt.Now(), Outcome: Dropped, Session: s.opt.Recorder.session})}
	}
	return nil, s.frame.Stream(w, r, st)
}

// page returns the next events that are wanted, and whether there were any at
// all. It moves q on.
func (s *Server) page(ctx context.Context, q *Query) (page []httpd.Message, seen bool, err error) {
	from := journal.Query{Resource: q.Resource, After: q.After, Limit: streamPage}
	for e, err := range s.opt.History.Query(ctx, from) {
		if err != nil {
			return nil, false, err
		}
		q.After, seen = e.ID, true
		if q.wants(&e) {
			page = append(page, message(eventIn(&e)))
		}
	}
	return page, seen, nil
}

// message returns an event as it is sent. An event that only memory knows has no
// id.
func message(e *Event) httpd.Message {
	m := httpd.Message{Event: string(e.Outcome), Data: e}
	if e.ID > 0 {
		m.ID = strconv.FormatUint(e.ID, 10)
	}
	return m
}
