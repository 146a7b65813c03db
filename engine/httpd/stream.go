package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// The media types of a stream.
const (
	EventsType = "text/event-stream"
	LinesType  = "application/x-ndjson"
)

// Message is one event of a stream.
type Message struct {
	ID    string // by which a reader goes on after it; empty leaves the last one in effect
	Event string // the kind of event, one word
	Data  any    // sent in JSON
}

// Stream is where messages come from. The frame asks it from one goroutine.
type Stream struct {
	// Changed returns a channel that is closed when there may be more. It is asked
	// before Page, so that no message is missed between the two.
	Changed func() <-chan struct{}
	// Page returns the next messages, so many as may well be in memory at once, and whether to ask
	// again at once: it has moved on, perhaps over messages that are not wanted. The frame writes a
	// page after Page has returned.
	Page func(context.Context) (page []Message, again bool, err error)
	// First are messages that come before the first page.
	First []Message
}

// LastEventID returns the id of the last message that a reader has seen, as it says
// when it comes back; "" for none.
func LastEventID(r *http.Request) string { return r.Header.Get("Last-Event-ID") }

// Stream answers with messages as they come, until the request or the server ends: as
// server-sent events, or as one document on each line for a client that accepts
// application/x-ndjson. A reader that takes nothing for Limits.Slow is cut; that is the
// error. The route has to be Lasting.
func (s *Server) Stream(w http.ResponseWriter, r *http.Request, st Stream) error {
	f := &feed{w: w, rc: http.NewResponseController(w), patience: s.Patience, lines: strings.Contains(r.Header.Get("Accept"), LinesType)}
	if err := f.begin(); err != nil || r.Method == http.MethodHead {
		return err
	}
	if err := f.send(st.First); err != nil {
		return err
	}
	for {
		changed := st.Changed()
		page, again, err := s.page(r.Context(), st)
		if r.Context().Err() != nil {
			return nil
		}
		if err == nil {
			err = f.send(page)
		}
		if err == nil && !again {
			err = s.await(r.Context(), changed, f)
		}
		if err != nil || r.Context().Err() != nil {
			return err
		}
	}
}

// page asks for the next messages, with the time limit of an ordinary answer: a source that hangs ends the stream.
func (s *Server) page(ctx context.Context, st Stream) ([]Message, bool, error) {
	ctx, cancel := clock.WithTimeout(ctx, s.Clock, s.Limits.Answer, nil)
	defer cancel()
	return st.Page(ctx)
}

// await waits until there may be more, and gives a sign of life meanwhile.
func (s *Server) await(ctx context.Context, changed <-chan struct{}, f *feed) error {
	for {
		wake, stop := clock.After(s.Clock, s.Limits.Heartbeat)
		select {
		case <-wake:
			if err := f.heartbeat(); err != nil {
				return err
			}
			continue
		case <-changed:
		case <-ctx.Done():
		}
		stop()
		return nil
	}
}

// feed writes a stream.
type feed struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience func(http.ResponseWriter)
	lines    bool // a document on each line, and no server-sent events
}

// begin writes the head at once, before the first message, so that a client knows that its stream has begun.
func (f *feed) begin() error {
	kind := EventsType
	if f.lines {
		kind = LinesType
	}
	f.w.Header().Set("Content-Type", kind)
	f.w.Header().Set("Cache-Control", "no-store")
	f.w.WriteHeader(http.StatusOK)
	return f.rc.Flush()
}

// send writes a page and flushes it as a whole. The client has the time of Limits.Slow to take it.
func (f *feed) send(page []Message) error {
	if len(page) == 0 {
		return nil
	}
	f.patience(f.w)
	for i := range page {
		frame, err := f.frame(&page[i])
		if err != nil {
			return err
		}
		if _, err := f.w.Write(frame); err != nil {
			return err
		}
	}
	return f.rc.Flush()
}

// frame returns a message as it is sent. One without an id leaves the place to go on
// from where it was.
func (f *feed) frame(m *Message) ([]byte, error) {
	data, err := json.Marshal(m.Data)
	if err != nil {
		return nil, err
	}
	if f.lines {
		return append(data, '\n'), nil
	}
	id := ""
	if m.ID != "" {
		id = "id: " + oneLine(m.ID) + "\n"
	}
	return fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, oneLine(m.Event), data), nil
}

// oneLine takes out what would end a field of an event.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "", "\r", "", "\x00", "").Replace(s)
}

// heartbeat says that the stream lives.
func (f *feed) heartbeat() error {
	f.patience(f.w)
	sign := ": alive\n\n"
	if f.lines {
		sign = "\n"
	}
	if _, err := f.w.Write([]byte(sign)); err != nil {
		return err
	}
	return f.rc.Flush()
}
