package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// raw sends a request over a socket and returns what comes.
func raw(t testing.TB, path, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := httpd.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte(strings.ReplaceAll(request, "\n", "\r\n"))); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestServerSentEvents: as browsers and curl read them, resumable.
func TestServerSentEvents(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	r.rec.Ran(changedRun("file[/a]", 1))
	_, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\nLast-Event-ID: 2\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v, %v", resp, err)
	}
	body := bufio.NewReader(resp.Body)
	var got []string
	for range 3 {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	var e Event
	err = json.Unmarshal([]byte(strings.TrimPrefix(got[2], "data: ")), &e)
	if got[0] != "id: 3\n" || got[1] != "event: changed\n" || err != nil || e.Run != 1 || e.ID != 3 {
		t.Errorf("%q %v", got, err)
	}
}

// TestEventsFollow: what comes is sent, in order and once, also to who has been
// away.
func TestEventsFollow(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	events(t, r.rec, r.opt.History)
	c := NewClient(path)
	const n = 500
	go func() {
		for i := range uint64(n) {
			r.rec.Ran(changedRun("file[/a]", i+1))
		}
	}()
	after := uint64(2)
	var runs []uint64
	for len(runs) < n {
		for e, err := range c.Events(t.Context(), Query{Outcomes: []Outcome{Changed}}, &after) {
			if err != nil {
				t.Fatal(err)
			}
			runs, after = append(runs, e.Run), e.ID
			if len(runs)%100 == 0 {
				break // gone for a while
			}
		}
	}
	for i, got := range runs {
		if got != uint64(i+1) {
			t.Fatalf("the event %d is of run %d", i, got)
		}
	}
}

// TestEventsOfOne: those of a resource only, the new ones only.
func TestEventsOfOne(t *testing.T) {
	r := newRig(t)
	path, end := r.listen(t)
	r.rec.Ran(changedRun("svc[web]", 1))
	events(t, r.rec, r.opt.History)
	got := make(chan uint64)
	go func() {
		defer close(got)
		for e, err := range NewClient(path).Events(t.Context(), Query{Resource: "svc[web]"}, nil) {
			if err != nil {
				if !errors.Is(err, ErrEnded) {
					t.Error(err)
				}
				return
			}
			got <- e.Run
		}
	}()
	eventually(t, "a stream", func() bool { return r.frame.Lasting() == 1 })
	r.rec.Ran(changedRun("file[/a]", 2))
	r.rec.Ran(changedRun("svc[web]", 3))
	if n := <-got; n != 3 {
		t.Errorf("the first event is of run %d", n)
	}
	end()
	if n, more := <-got; more {
		t.Errorf("then run %d", n)
	}
}

// TestSigns: a stream on which nothing happens says that it lives.
func TestSigns(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Heartbeat = time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(": alive\n\n"))
	if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != ": alive\n\n" {
		t.Errorf("%q %v", buf, err)
	}
}

// TestGap: who asks for events that are gone is told so.
func TestGap(t *testing.T) {
	r := newRig(t, func(o *Options) { o.History = &pruned{o.History} })
	path, _ := r.listen(t)
	events(t, r.rec, r.opt.History)
	since := uint64(0)
	for e, err := range NewClient(path).Events(t.Context(), Query{}, &since) {
		if err != nil || e.Outcome != Dropped || e.ID != 0 {
			t.Errorf("it begins with %+v, %v", e, err)
		}
		break
	}
}

// pruned says that its first event is gone.
type pruned struct{ History }

func (p *pruned) Bounds() (oldest, next uint64) {
	_, next = p.History.Bounds()
	return 2, next
}

// TestSlowReaders: clients that read nothing hold neither the recorder nor the
// others, and the end of the server does not wait for them.
func TestSlowReaders(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Slow = 24 * time.Hour // so that a wait for them has no end
	path, end := r.listen(t)
	for range 8 {
		raw(t, path, "GET /v1/events?since=0 HTTP/1.1\nHost: x\n\n")
	}
	eventually(t, "the streams", func() bool { return r.frame.Lasting() == 8 })
	big := changedRun("file[/a]", 1)
	big.Changes[0].From = strings.Repeat("x", maxText)
	for range 500 {
		r.rec.Ran(big)
	}
	if l, err := NewClient(path).Log(t.Context(), Query{Limit: 10}); err != nil || len(l.Events) != 10 {
		t.Errorf("%+v, %v", l, err)
	}
	end()
}

// TestCutOff: who reads nothing for too long is cut off.
func TestCutOff(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Slow = 20 * time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/events?since=0 HTTP/1.1\nHost: x\n\n")
	if _, err := http.ReadResponse(in, nil); err != nil { // it has begun; on a busy machine it may be cut off by now
		t.Fatal(err)
	}
	big := changedRun("file[/a]", 1)
	big.Changes[0].From = strings.Repeat("x", maxText)
	for range 200 {
		r.rec.Ran(big)
	}
	eventually(t, "the end of the stream", func() bool { return r.frame.Lasting() == 0 })
}

// TestNotCutOff: who reads stays, however long the stream lasts.
func TestNotCutOff(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Slow, r.frame.Limits.Heartbeat = time.Second, 10*time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	sign := make([]byte, len(": alive\n\n"))
	for start := time.Now(); time.Since(start) < r.frame.Limits.Slow*3/2; {
		if _, err := io.ReadFull(resp.Body, sign); err != nil {
			t.Fatalf("cut off after %s: %v", time.Since(start), err)
		}
	}
}

// TestManyClients: all are answered; of streams there is a bound.
func TestManyClients(t *testing.T) {
	r := newRig(t)
	path, end := r.listen(t)
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			if _, err := NewClient(path).Status(t.Context(), StatusQuery{}); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for range maxStreams {
		raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	}
	eventually(t, "the streams", func() bool { return r.frame.Lasting() == maxStreams })
	_, err := NewClient(path).Status(t.Context(), StatusQuery{Wait: time.Second})
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != 503 {
		t.Errorf("one too many: %v", err)
	}
	if _, err := NewClient(path).Version(t.Context()); err != nil {
		t.Errorf("the short ones go on: %v", err)
	}
	if _, err := NewClient(path).Status(t.Context(), StatusQuery{}); err != nil {
		t.Errorf("a status that waits for nothing is short: %v", err)
	}
	end()
}

// TestSilent: a daemon that takes connections and answers none, as one that was
// stopped with a signal, is no reason to wait for ever.
func TestSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := NewClient(path)
	c.patience = 50 * time.Millisecond
	for name, asked := range map[string]func() error{
		"status": func() error { _, err := c.Status(t.Context(), StatusQuery{}); return err },
		"wait":   func() error { _, err := c.Status(t.Context(), StatusQuery{Wait: time.Millisecond}); return err },
		"pause":  func() error { _, err := c.Pause(t.Context(), PauseRequest{}); return err },
		"events": func() (err error) {
			for _, err = range c.Events(t.Context(), Query{}, nil) {
			}
			return err
		},
		"graph": func() error { _, err := c.Graph(t.Context(), GraphQuery{}); return err },
	} {
		if err := asked(); !errors.Is(err, ErrSilent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMalformed: bytes that are no request harm nobody.
func TestMalformed(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for _, text := range []string{
		"\n\n", "GET\n\n", "\x16\x03\x01", "GET / HTTP/9.9\n\n",
		"GET /v1/version HTTP/1.1\nHost: x\nX: " + strings.Repeat("y", 64<<10) + "\n\n",
		"POST /v1/pause HTTP/1.1\nHost: x\nContent-Length: 5\n\n{}\n",
	} {
		conn, in := raw(t, path, text)
		_ = conn.(*net.UnixConn).CloseWrite()
		answer, _ := io.ReadAll(in) // it may cut us off
		if strings.Contains(string(answer), " 200 ") {
			t.Errorf("%.20q is answered with %s", text, answer)
		}
	}
	if _, err := NewClient(path).Version(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServeEnds: with requests of every sort under way.
func TestServeEnds(t *testing.T) {
	r := newRig(t)
	path, end := r.listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	results := make(chan error, 3)
	c := NewClient(path)
	wg.Go(func() {
		for _, err := range c.Events(ctx, Query{}, nil) {
			results <- err
		}
	})
	wg.Go(func() {
		_, err := c.Status(ctx, StatusQuery{Wait: time.Hour})
		results <- err
	})
	wg.Go(func() {
		_, err := c.text(ctx, "/debug/pprof/profile", map[string][]string{"seconds": {"100"}})
		results <- err
	})
	eventually(t, "the requests", func() bool { return r.frame.Lasting() == 3 })
	end()
	wg.Wait()
	var texts []string
	for range 3 {
		if err := <-results; err != nil {
			texts = append(texts, err.Error())
		}
	}
	if !slices.Contains(texts, ErrEnded.Error()) {
		t.Errorf("they ended with %q", texts)
	}
	_, err := c.Version(t.Context())
	if none, ok := errors.AsType[*NoDaemonError](err); !ok || none.Error() != fmt.Sprintf("no daemon answers on %s", path) {
		t.Errorf("afterwards: %v", err)
	}
}
