package httpd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/openapitest"
)

// thing is an object of the store of the tests.
type thing struct {
	ID    string `json:"id"`
	Value string `json:"value,omitempty"`
}

// store is a table of things, each with a version, and the messages of its changes.
type store struct {
	mu     sync.Mutex
	rev    int
	things map[string]thing
	revs   map[string]int
	log    []Message
	wake   chan struct{}
	page   int // messages of one page
}

func newStore() *store {
	return &store{things: map[string]thing{}, revs: map[string]int{}, wake: make(chan struct{}), page: 64}
}

// put writes one thing, if it is of the version that is asked for.
func (s *store) put(id, value string, c Conditions) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := ""
	if rev, ok := s.revs[id]; ok {
		version = strconv.Itoa(rev)
	}
	if err := c.Check(version); err != nil {
		return "", err
	}
	s.rev++
	s.things[id], s.revs[id] = thing{id, value}, s.rev
	s.log = append(s.log, Message{ID: strconv.Itoa(s.rev), Event: "put", Data: s.things[id]})
	close(s.wake)
	s.wake = make(chan struct{})
	return strconv.Itoa(s.rev), nil
}

func (s *store) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wake
}

// after returns the next messages after a revision, and moves it on.
func (s *store) after(rev *int) ([]Message, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := s.log[min(*rev, len(s.log)):min(*rev+s.page, len(s.log))]
	*rev += len(page)
	return page, len(page) > 0, nil
}

// rig is a server over a store, with a route of every sort.
type rig struct {
	generous bool // listen has set the limits of time
	*Server
	store *store
	log   *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{store: newStore(), log: &lockedBuffer{}}
	table, err := NewTable(Info{Title: "Things", Version: "1"}, r.routes())
	if err != nil {
		t.Fatal(err)
	}
	r.Server = &Server{Table: table, Logger: slog.New(slog.NewTextHandler(r.log, nil))}
	return r
}

func (s *rig) routes() []Route {
	id := Param{Name: "id", Doc: "Which one.", Path: true}
	answer := func(v any) Handler { return func(http.ResponseWriter, *http.Request) (any, error) { return v, nil } }
	return []Route{
		{Method: "GET", Pattern: "/v1/{table}/{id}", Summary: "One thing.", Params: []Param{id}, Answer: thing{}, Versions: true, Errors: []int{404}, Serve: s.get},
		{Method: "PUT", Pattern: "/v1/{table}/{id}", Summary: "Write a thing.", Body: thing{}, Accepts: []string{"application/json"}, Answer: thing{}, Versions: true, Serve: s.put},
		{Method: "PATCH", Pattern: "/v1/{table}/{id}", Summary: "Alter a thing.", Body: thing{}, Accepts: []string{"application/merge-patch+json"}, Status: 204, Serve: answer(&Answer{})},
		{Method: "POST", Pattern: "/v1/{table}/{id}:{operation}", Summary: "Call an operation.", Answer: map[string]string{}, Serve: echo},
		{Method: "GET", Pattern: "/v1/{table}/{id}/status", Summary: "How it stands.", Answer: map[string]string{}, Serve: echo},
		{Method: "GET", Pattern: "/v1/api:watch", Summary: "What changes.", Params: []Param{{Name: "since", Type: "integer"}}, Answer: thing{}, Types: []string{EventsType, LinesType}, Lasting: Always, Serve: s.watch},
		{Method: "POST", Pattern: "/v1/api:txn", Summary: "Any body.", Body: thing{}, Answer: thing{}, Serve: decodeThing},
		{Method: "POST", Pattern: "/v1/wrong", Summary: "Findings.", Serve: func(http.ResponseWriter, *http.Request) (any, error) {
			return nil, schema.Diagnostics{
				{Pos: schema.Pos{File: "body", Line: 2, Col: 3}, Path: "a.b[1]", Message: "there is no field contnet", Suggestion: "content"},
				{Message: "mode is no number"},
			}.Err()
		}},
		{Method: "POST", Pattern: "/v1/wait", Summary: "An answer after an hour.", Body: thing{}, Answer: thing{}, Lasting: Always, Serve: s.wait},
		{Method: "GET", Pattern: "/v1/panic", Summary: "A fault.", Serve: func(http.ResponseWriter, *http.Request) (any, error) { panic("ouch") }},
		{Method: "GET", Pattern: "/v1/half", Summary: "An answer that breaks off.", Types: []string{"text/plain"}, Serve: func(w http.ResponseWriter, _ *http.Request) (any, error) {
			_, _ = w.Write(bytes.Repeat([]byte("half"), 5000))
			return nil, errors.New("the rest is lost")
		}},
		{Method: "GET", Pattern: "/v1/hang", Summary: "No answer.", Serve: func(_ http.ResponseWriter, r *http.Request) (any, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}},
		{Method: "GET", Pattern: "/v1/public", Summary: "For everybody.", Public: true, Serve: answer(&Answer{Type: "text/plain", Body: []byte("hello\n")})},
		{Method: "GET", Pattern: "/v1/who", Summary: "Who asks.", Serve: func(_ http.ResponseWriter, r *http.Request) (any, error) {
			p, _ := PeerOf(r.Context())
			return map[string]string{"peer": p.String()}, nil
		}},
	}
}

func echo(_ http.ResponseWriter, r *http.Request) (any, error) {
	return map[string]string{"table": r.PathValue("table"), "id": r.PathValue("id"), "operation": r.PathValue("operation")}, nil
}

func decodeThing(_ http.ResponseWriter, r *http.Request) (any, error) {
	var in thing
	err := DecodeObject(r, &in)
	return in, err
}

// wait answers after an hour, or when the caller has gone.
func (s *rig) wait(w http.ResponseWriter, r *http.Request) (any, error) {
	in, err := decodeThing(w, r)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Hour):
		s.Patience(w)
		return in, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (s *rig) get(_ http.ResponseWriter, r *http.Request) (any, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	id := r.PathValue("id")
	v, ok := s.store.things[id]
	if !ok {
		return nil, NewProblem(http.StatusNotFound, "there is no thing %q", id)
	}
	return &Answer{Version: strconv.Itoa(s.store.revs[id]), Body: v}, nil
}

func (s *rig) put(_ http.ResponseWriter, r *http.Request) (any, error) {
	c, err := ConditionsOf(r)
	if err != nil {
		return nil, err
	}
	in := thing{ID: r.PathValue("id")}
	if err := DecodeObject(r, &in); err != nil {
		return nil, err
	}
	version, err := s.store.put(in.ID, in.Value, c)
	return &Answer{Version: version, Body: in}, err
}

func (s *rig) watch(w http.ResponseWriter, r *http.Request) (any, error) {
	rev, _ := strconv.Atoi(r.URL.Query().Get("since"))
	if id := LastEventID(r); id != "" {
		rev, _ = strconv.Atoi(id)
	}
	return nil, s.Stream(w, r, Stream{Changed: s.store.changed, Page: func(context.Context) ([]Message, bool, error) { return s.store.after(&rev) }})
}

// ask asks without a connection.
func (s *rig) ask(t testing.TB, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	s.ServeHTTP(w, r)
	openapitest.New(t, s.Table.Document()).Recorded(method, target, w)
	return w
}

// serve serves on a listener until the returned function is called, which waits for
// the end.
func (s *rig) serve(t testing.TB, l net.Listener) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// listen serves on a socket.
func (s *rig) listen(t testing.TB) (path string, end func()) {
	t.Helper()
	// A limit of time that is no part of the test must not end its requests on a machine that does something else for seconds.
	if !s.generous { // before the first goroutine of the server
		s.generous = true
		for _, l := range []*time.Duration{&s.Limits.Head, &s.Limits.Read, &s.Limits.Answer, &s.Limits.Slow} {
			*l = cmp.Or(*l, time.Hour)
		}
	}
	path = socketIn(t)
	return path, s.serve(t, mustListen(t, path))
}

// raw sends bytes over a socket, and returns what comes.
func raw(t testing.TB, path, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// answerOf reads one answer, whole.
func answerOf(t testing.TB, in *bufio.Reader) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// works fails the test unless the server on a socket still answers.
func works(t testing.TB, path string) {
	t.Helper()
	conn, in := raw(t, path, "GET /v1/public HTTP/1.1\nHost: x\nConnection: close\n\n")
	if err := conn.SetReadDeadline(time.Now().Add(await.Left())); err != nil {
		t.Fatal(err)
	}
	if status, body := answerOf(t, in); status != 200 || body != "hello\n" {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

// eventually asks until the answer is yes.
func eventually(t testing.TB, what string, yes func() bool) { t.Helper(); await.Until(t, what, yes) }
