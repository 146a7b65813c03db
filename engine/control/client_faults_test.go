package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// fakeDaemon answers on a socket as a test says, and notes what it is asked.
type fakeDaemon struct {
	mu    sync.Mutex
	asked []string
}

// took returns what was asked since the last call.
func (d *fakeDaemon) took() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.asked
	d.asked = nil
	return list
}

// daemonOf serves a handler until the test ends, and returns a client of it.
func daemonOf(t *testing.T, h http.HandlerFunc) (*fakeDaemon, *Client) {
	t.Helper()
	d := &fakeDaemon{}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		d.mu.Lock()
		d.asked = append(d.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, query, body)))
		d.mu.Unlock()
		h(w, r)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return d, NewClient(path)
}

// cutAfter writes the head and a part of an answer, and cuts the connection.
func cutAfter(status int, part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func saying(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestClientOfABrokenDaemon: whatever answers on the socket, the error says what has answered.
func TestClientOfABrokenDaemon(t *testing.T) {
	for name, c := range map[string]struct {
		h      http.HandlerFunc
		status int // of an *Error; 0 for another error
		want   string
	}{
		"an error":        {saying(409, `{"error":"it is paused","hint":"resume it","detail":"x"}`), 409, "it is paused, resume it"},
		"no hint":         {saying(404, `{"error":"there is none"}`), 404, "there is none"},
		"a page":          {saying(500, "<html>bad</html>"), 500, "the daemon answers 500 Internal Server Error"},
		"nothing":         {saying(503, ""), 503, "the daemon answers 503 Service Unavailable"},
		"no words":        {saying(418, `{"hint":"tea"}`), 418, "the daemon answers 418 I'm a teapot, tea"},
		"a list":          {saying(400, `[]`), 400, "the daemon answers 400 Bad Request"},
		"another place":   {saying(304, ""), 304, "the daemon answers 304 Not Modified"},
		"an error is cut": {cutAfter(500, `{"error":"x"`), 500, "the daemon answers 500 Internal Server Error"},
		"no JSON":         {saying(200, "hello"), 0, "the answer of the daemon to /v1/version cannot be read: "},
		"no body":         {saying(200, ""), 0, "the answer of the daemon to /v1/version cannot be read: "},
		"another form":    {saying(200, `[1]`), 0, "the answer of the daemon to /v1/version cannot be read: "},
		"is cut":          {cutAfter(200, `{"program":`), 0, "the answer of the daemon to /v1/version cannot be read: "},
		"is gone":         {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "the daemon did not answer: "},
	} {
		_, client := daemonOf(t, c.h)
		v, err := client.Version(t.Context())
		e, ok := errors.AsType[*Error](err)
		if v != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) || ok != (c.status > 0) || ok && (e.Status != c.status || err.Error() != c.want) {
			t.Errorf("%s: %+v %v", name, v, err)
		}
		if _, none := errors.AsType[*NoDaemonError](err); none {
			t.Errorf("%s: it says that there is no daemon", name)
		}
	}
	_, client := daemonOf(t, saying(500, `{"error":"`+strings.Repeat("x", maxBody)+`"}`))
	if _, err := client.Version(t.Context()); err == nil || err.Error() != "the daemon answers 500 Internal Server Error" {
		t.Errorf("an error of great length: %.100v", err)
	}
}

// TestClientSends: each question has its path and only the bounds that were given.
func TestClientSends(t *testing.T) {
	d, c := daemonOf(t, saying(200, "{}"))
	ctx := t.Context()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	after := uint64(0)
	for want, call := range map[string]func() error{
		"GET /v1/version": func() error { _, err := c.Version(ctx); return err },
		"GET /v1/status":  func() error { _, err := c.Status(ctx, StatusQuery{}); return err },
		"GET /v1/resources prefix=file[/a b&terms=true": func() error { _, err := c.Names(ctx, "file[/a b"); return err },
		"GET /v1/status all=true&for_seconds=1.5&state=ok,failed&wait=converged": func() error {
			_, err := c.Status(ctx, StatusQuery{States: []string{"ok", "failed"}, All: true, Wait: 1500 * time.Millisecond})
			return err
		},
		"GET /v1/why n=3&resource=file[/a]": func() error { _, err := c.Why(ctx, "file[/a]", 3); return err },
		"GET /v1/log":                       func() error { _, err := c.Log(ctx, Query{}); return err },
		"GET /v1/log after=7&before=9&limit=5&outcome=changed,failed&resource=a[b]&since=2026-01-02T03:04:05.0000006+01:00&until=2026-01-02T04:04:05.0000006+01:00": func() error {
			_, err := c.Log(ctx, Query{Resource: "a[b]", Outcomes: []Outcome{"changed", "failed"}, Since: at, Until: at.Add(time.Hour), After: 7, Before: 9, Limit: 5})
			return err
		},
		"GET /v1/graph direction=LR&format=dot&reduce=true": func() error {
			_, err := c.Graph(ctx, GraphQuery{Format: "dot", Direction: "LR", Reduce: true})
			return err
		},
		"GET /v1/dump": func() error { _, err := c.Dump(ctx); return err },
		`POST /v1/pause  {"resource":"a[b]","for_seconds":60,"reason":"lunch"}`: func() error {
			_, err := c.Pause(ctx, PauseRequest{Resource: "a[b]", For: 60, Reason: "lunch"})
			return err
		},
		"POST /v1/reload": func() error { _, err := c.Reload(ctx); return err },
		"GET /v1/events outcome=failed&resource=a[b]&since=0": func() error {
			for _, err := range c.Events(ctx, Query{Resource: "a[b]", Outcomes: []Outcome{"failed"}, Since: at, Limit: 5, After: 3}, &after) {
				if err != nil && !errors.Is(err, ErrEnded) {
					return err
				}
			}
			return nil
		},
		"GET /v1/events": func() error {
			for _, err := range c.Events(ctx, Query{}, nil) {
				if err != nil && !errors.Is(err, ErrEnded) {
					return err
				}
			}
			return nil
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got := d.took(); !slices.Equal(got, []string{want}) {
			t.Errorf("%q is sent, want %s", got, want)
		}
	}
}

// heard returns the ids of the events that a client hears, and how they ended.
func heard(ctx context.Context, c *Client) (ids []uint64, err error) {
	for e, e2 := range c.Events(ctx, Query{}, nil) {
		if err != nil {
			return ids, fmt.Errorf("%+v comes after the error %w", e, err)
		}
		if err = e2; err == nil {
			ids = append(ids, e.ID)
		}
	}
	return ids, err
}

// TestClientEvents: events come line by line. Empty lines are signs of life, the end of a stream is ErrEnded wherever it comes, and a
// line that is no event ends it.
func TestClientEvents(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		ids  []uint64
		want string
	}{
		"nothing":     {saying(200, ""), nil, ErrEnded.Error()},
		"signs":       {saying(200, "\n\r\n  \n"), nil, ErrEnded.Error()},
		"two":         {saying(200, "{\"id\":1}\n\n{\"id\":2}\n"), []uint64{1, 2}, ErrEnded.Error()},
		"half a line": {saying(200, "{\"id\":1}\n{\"id\":2}"), []uint64{1}, ErrEnded.Error()},
		"cut":         {cutAfter(200, "{\"id\":1}\n{\"id"), []uint64{1}, ErrEnded.Error()},
		"no event":    {saying(200, "{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}\n"), []uint64{1}, "json: cannot unmarshal"},
		"no JSON":     {saying(200, "<html>\n"), nil, "invalid character"},
		"refused":     {saying(404, `{"error":"there is none"}`), nil, "there is none"},
	} {
		_, client := daemonOf(t, c.h)
		ids, err := heard(t.Context(), client)
		if !slices.Equal(ids, c.ids) || err == nil || !strings.Contains(err.Error(), c.want) || (c.want == ErrEnded.Error()) != errors.Is(err, ErrEnded) {
			t.Errorf("%s: %v %v", name, ids, err)
		}
	}
}

// TestClientEventsLast: a stream that has begun may be silent for longer than the patience, and ends with its reader: by its context, or
// when it wants no more. The daemon sees that the reader has gone.
func TestClientEventsLast(t *testing.T) {
	left := make(chan struct{}, 2)
	_, c := daemonOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{\"id\":1}\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		left <- struct{}{}
	})
	c.patience = time.Millisecond * 500
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough, n := errors.New("enough"), 0
	for e, err := range c.Events(ctx, Query{}, nil) {
		if n++; n == 1 {
			if err != nil || e.ID != 1 {
				t.Fatal(e, err)
			}
			time.AfterFunc(2*c.patience, func() { cancel(enough) })
			continue
		}
		if !errors.Is(err, enough) {
			t.Errorf("it ends with %v", err)
		}
	}
	<-left
	for range c.Events(t.Context(), Query{}, nil) {
		break
	}
	<-left
	if n != 2 {
		t.Errorf("%d values", n)
	}
	if _, err := heard(ctx, c); !errors.Is(err, enough) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// TestNoDaemon: of several sockets the most telling reason is kept, and no path is repeated in it.
func TestNoDaemon(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path("dead")})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	for want, paths := range map[string][]string{
		"no daemon answers on D/none":                               {"none"},
		"no daemon answers on D/none or D/other":                    {"none", "other"},
		"no daemon answers on D/dead":                               {"dead"},
		"no daemon answers on D/file/s (not a directory)":           {"file/s"},
		"no daemon answers on D/file/s or D/none (not a directory)": {"file/s", "none"},
		"no daemon answers on D/none or D/file/s (not a directory)": {"none", "file/s"},
	} {
		var full []string
		for _, p := range paths {
			full = append(full, path(p))
		}
		c := NewClient(full...)
		_, err := c.Version(t.Context())
		none, ok := errors.AsType[*NoDaemonError](err)
		if got := strings.ReplaceAll(fmt.Sprint(err), dir, "D"); !ok || got != want || !slices.Equal(none.Paths, full) || none.Err == nil {
			t.Errorf("%q: %s", paths, got)
		}
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://mgmt/v1/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := c.Transport().RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("the transport has an answer")
		} else if _, ok := errors.AsType[*NoDaemonError](err); !ok {
			t.Errorf("the transport: %v", err)
		}
	}
	if _, err := NewClient(path("none")).Version(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestTransportLeavesAnswers: the transport of a client gives answers as they are.
func TestTransportLeavesAnswers(t *testing.T) {
	_, c := daemonOf(t, saying(418, "tea"))
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://mgmt/v1/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); resp.StatusCode != 418 || string(text) != "tea" || err != nil {
		t.Errorf("%d %s %v", resp.StatusCode, text, err)
	}
}

// TestProblemOf: what a client is told of an error: its words, the hint, and the member error that says what detail says.
func TestProblemOf(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		detail string
	}{
		"own":     {fmt.Errorf("so: %w", &Error{404, "there is none", "look again"}), 404, "there is none"},
		"bad":     {bad("use a number", "%q is no number", "x"), 400, `"x" is no number`},
		"problem": {httpd.NewProblem(409, "taken"), 409, "taken"},
		"late":    {fmt.Errorf("so: %w", context.DeadlineExceeded), 504, "the engine did not answer in time"},
		"ended":   {context.Canceled, 503, ""},
		"unknown": {errors.New("the disk is full"), 500, "the disk is full"},
	} {
		p := problem(c.err)
		if p.Status != c.status || c.detail != "" && p.Detail != c.detail || p.Detail == "" || p.More["error"] != p.Detail {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestFindingR9TurnedAway: a client that gives way to others before it was heard asks again. What may have been begun is asked once.
func TestFindingR9TurnedAway(t *testing.T) {
	for method, wants := range map[string]int{http.MethodGet: 4, http.MethodPost: 1} {
		path, asked := filepath.Join(t.TempDir(), "s"), atomic.Int64{}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if _, err = http.ReadRequest(bufio.NewReader(conn)); err == nil && asked.Add(1) == 4 {
					_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
				_ = errors.Join(err, conn.Close())
			}
		}()
		resp, err := NewClient(path).do(t.Context(), method, "/v1/status", nil, nil)
		if err == nil {
			_ = resp.Body.Close()
		}
		if n := int(asked.Load()); n != wants || (err == nil) != (wants == 4) {
			t.Errorf("%s: asked %d times: %v", method, n, err)
		}
		_ = l.Close()
		<-done
	}
}

// TestFindingJ12Event: an event without an end is given up, and a stream may have any length.
func TestFindingJ12Event(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	_, client := daemonOf(t, func(w http.ResponseWriter, _ *http.Request) {
		for range httpd.MaxRecord>>20 + 2 {
			fmt.Fprintf(w, "{\"error\": %q}\n", line)
		}
		for err := error(nil); err == nil; {
			_, err = io.WriteString(w, line)
		}
	})
	n := 0
	for e, err := range client.Events(t.Context(), Query{}, nil) {
		if err == nil && e != nil {
			n++
			continue
		}
		if _, long := errors.AsType[*httpd.LongError](err); !long || n != httpd.MaxRecord>>20+2 {
			t.Errorf("after %d events: %v", n, err)
		}
	}
}
