package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// The wait before another try of a watch whose server was lost. It doubles from the first to the most.
const (
	firstWait = 100 * time.Millisecond
	mostWait  = 5 * time.Second
)

// Watch yields the changes until ctx ends. The query is that of GET /v1/api:watch.
// A server that is lost is asked again, and the watch goes on after the last revision that was yielded whole. The changes of a
// revision are yielded together, so that none comes twice. Where all objects come again, a relist comes first.
//
// An error is the last: the first request has failed, or the server refuses the caller. tell is called with the reason when a
// server is lost, and with nil when it is back. It runs on the goroutine of the reader.
func (c *Client) Watch(ctx context.Context, query url.Values, clk clock.Clock, tell func(error)) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		w := watcher{client: c, yield: yield, query: url.Values{}, last: query.Get("since"), tell: tell}
		for key, values := range query {
			if key != "since" {
				w.query[key] = values
			}
		}
		for wait := firstWait; ; wait = min(2*wait, mostWait) {
			met, err := w.once(ctx)
			switch {
			case w.done || ctx.Err() != nil:
				return
			case !w.met || refusal(err):
				yield(Change{}, err)
				return
			case !w.lost:
				w.lost = true
				tell(err)
			}
			if met {
				wait = firstWait
			}
			if clock.Sleep(ctx, clk, wait) != nil {
				return
			}
		}
	}
}

// refusal reports whether another try would end with the same error.
func refusal(err error) bool {
	if _, long := errors.AsType[*httpd.LongError](err); long {
		return true
	}
	p, ok := errors.AsType[*httpd.Problem](err)
	return ok && p.Status < http.StatusInternalServerError
}

// watcher is the state of a Watch.
type watcher struct {
	client *Client
	yield  func(Change, error) bool
	tell   func(error)
	query  url.Values
	last   string   // the id of the last message after which a reader may go on; "" for the beginning
	part   []Change // of a revision that has not come whole
	held   int      // the bytes of part
	shown  bool     // objects were yielded that no synced has followed
	met    bool     // a server has answered
	lost   bool     // a loss was told
	done   bool     // the reader has gone
}

// once reads one answer to its end. It reports whether the server has answered.
func (w *watcher) once(ctx context.Context) (met bool, err error) {
	q := Request{Method: http.MethodGet, Path: "/v1/api:watch", Query: w.query, Header: []string{"Accept", httpd.EventsType}}
	if w.last != "" {
		q.Header = append(q.Header, "Last-Event-ID", w.last)
	}
	resp, err := w.client.Do(ctx, q)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if w.met = true; w.lost {
		w.lost = false
		w.tell(nil)
	}
	w.part, w.held = nil, 0
	if w.last == "" && w.shown {
		w.emit(Change{Action: relist})
	}
	bound := httpd.NewBound(resp.Body, httpd.MaxRecord)
	for in := bufio.NewReader(bound); !w.done; {
		id, text, err := nextMessage(in)
		if err != nil {
			return true, err
		}
		if bound.Next(); id == "" {
			w.held += len(text) + 64 // and what a Change takes
		}
		if w.held > httpd.MaxAnswer {
			return true, &httpd.LongError{Most: httpd.MaxAnswer}
		}
		var c Change
		if err := json.Unmarshal(text, &c); err != nil {
			return true, err
		}
		w.take(id, c)
	}
	return true, nil
}

// take yields a message, or keeps it until its revision is whole.
func (w *watcher) take(id string, c Change) {
	switch {
	case c.Action == relist:
		w.last, w.shown = "", true
		w.emit(c)
	case c.Action == present:
		w.shown = true
		w.emit(c)
	case id == "":
		w.part = append(w.part, c)
	default:
		for _, one := range w.part {
			w.emit(one)
		}
		w.part, w.held, w.last, w.shown = nil, 0, id, false
		w.emit(c)
	}
}

func (w *watcher) emit(c Change) { w.done = w.done || !w.yield(c, nil) }

// nextMessage reads one server-sent event, and leaves out signs of life. An end of the stream in the midst of an event is
// io.ErrUnexpectedEOF.
func nextMessage(in *bufio.Reader) (id string, data []byte, err error) {
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", nil, err
		}
		switch key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case key == "id":
			id = value
		case key == "data":
			data = []byte(value)
		case key == "" && data != nil && line == "\n":
			return id, data, nil
		}
	}
}
