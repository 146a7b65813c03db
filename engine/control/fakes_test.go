package control

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/openapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is what no answer may hold: it stands for a field of a resource.
const canary = "canary-7f3a-do-not-show"

// fakeRes is a resource of which only its name and its metaparameters may be looked at.
type fakeRes struct {
	engine.Res
	id     string
	secret string
	meta   engine.MetaParams
}

func (r *fakeRes) String() string { return r.id }

func (r *fakeRes) MetaParams() *engine.MetaParams { return &r.meta }

// fakeEngine answers at once, unless it is told not to.
type fakeEngine struct {
	mu      sync.Mutex
	list    []reactor.Status
	err     error
	hang    bool     // answer nothing before the end of the context
	awaits  []string // what a new graph waits for
	paused  []reactor.Pause
	resumed []string
	retried []string
	asked   []string  // whose Status was asked for; "*" for all
	rec     *Recorder // told of pauses, as by the reactor
	told    func()    // called by Told; may be nil
	steps   int       // how often Retry or RetryFailed was called
}

func (f *fakeEngine) ready(ctx context.Context) error {
	f.mu.Lock()
	hang, err := f.hang, f.err
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return err
}

func (f *fakeEngine) Status(ctx context.Context, id string) (reactor.Status, error) {
	if err := f.ready(ctx); err != nil {
		return reactor.Status{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, id)
	for _, s := range f.list {
		if s.Resource == id {
			return rested(s), nil
		}
	}
	return reactor.Status{}, &reactor.UnknownResourceError{Resource: id}
}

func (f *fakeEngine) Params(ctx context.Context, id string) ([]reactor.Param, error) {
	if _, err := f.Status(ctx, id); err != nil {
		return nil, err
	}
	return []reactor.Param{
		{Name: "content", Value: "new"}, {Name: "password", Value: schema.NewSecret("hidden-4711")}, {Name: "wait", Value: 3 * time.Minute},
		{Name: "long", Value: strings.Repeat("x", maxText+1)}, {Name: "mode", From: []schema.Ref{{Kind: "value", Name: "v", Key: "any"}}},
	}, f.ready(ctx)
}

// rested says of what is in no other state at rest that it rests.
func rested(s reactor.Status) reactor.Status {
	if s.Rest == resgraph.StateStarting {
		s.Rest = s.State
	}
	return s
}

// Snapshot says of what is in no other state at rest that it rests, and what the recorder
// was told of the graph.
func (f *fakeEngine) Snapshot(ctx context.Context) (reactor.Snapshot, error) {
	if err := f.ready(ctx); err != nil {
		return reactor.Snapshot{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, "*")
	st := f.rec.Standing()
	s := reactor.Snapshot{Rest: reactor.Rest{Generation: st.Generation, Converged: st.Converged, Early: !st.Converged}, Awaits: f.awaits}
	for _, one := range f.list {
		one = rested(one)
		s.Statuses = append(s.Statuses, one)
		s.Rest.Counts[one.Rest]++
	}
	return s, nil
}

func (f *fakeEngine) Pause(ctx context.Context, ps ...reactor.Pause) error {
	if err := f.ready(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	f.paused = append(f.paused, ps...)
	f.mu.Unlock()
	for _, p := range ps {
		f.rec.Paused(p, true)
	}
	return nil
}

func (f *fakeEngine) Retry(ctx context.Context, which reactor.Which) ([]string, error) {
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps++
	var tried []string
	for _, s := range f.list {
		named := slices.Contains(which.Named, s.Resource)
		switch failed := s.State == resgraph.StateFailed; {
		case failed && (named || which.All || slices.Contains(which.Among, s.Resource)):
			tried = append(tried, s.Resource)
		case named:
			return nil, &reactor.NotFailedError{Resource: s.Resource, Why: "has not failed: it is " + s.State.String()}
		}
	}
	f.retried = append(f.retried, tried...)
	return tried, nil
}

func (f *fakeEngine) Resume(ctx context.Context, which reactor.Which) (resumed []string, err error) {
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	ids := slices.Concat(which.Named, which.Among)
	if which.All {
		ids = []string{""}
	}
	for _, id := range ids {
		f.mu.Lock()
		n := len(f.paused)
		f.paused = slices.DeleteFunc(f.paused, func(p reactor.Pause) bool { return p.Resource == id })
		paused := len(f.paused) < n
		known := id == "" || paused || slices.ContainsFunc(f.list, func(s reactor.Status) bool { return s.Resource == id })
		goesOn := known && (paused || !slices.Contains(which.Among, id))
		if goesOn {
			f.resumed = append(f.resumed, id)
			resumed = append(resumed, id)
		}
		f.mu.Unlock()
		if !known {
			return nil, &reactor.UnknownResourceError{Resource: id}
		}
		if goesOn {
			f.rec.Paused(reactor.Pause{Resource: id}, false)
		}
	}
	return resumed, nil
}

func (f *fakeEngine) Told(context.Context) error {
	if f.told != nil {
		f.told()
	}
	return nil
}

func (f *fakeEngine) Dump(ctx context.Context) (string, error) {
	return "file[/a]: waits for nothing\n", f.ready(ctx)
}

// graphOf makes a graph of such vertices, each before the next one. A name like
// "owner<member" has a member in its group.
func graphOf(t testing.TB, names ...string) *resgraph.Graph {
	t.Helper()
	g := graph.New[*resgraph.Vertex]("web")
	for i, name := range names {
		id, member, grouped := strings.Cut(name, "<")
		v := &resgraph.Vertex{Res: &fakeRes{id: id, secret: canary}}
		if grouped {
			v.Alter(func(s *resgraph.Special) { s.Group = []*resgraph.Vertex{{Res: &fakeRes{id: member, secret: canary}}} })
		}
		if _, err := g.Add(id, v); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if err := g.Connect(graph.Edge{From: i - 1, To: i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return g
}

// rig is a server with a fake engine behind it. The recorder runs.
type rig struct {
	*Server
	spec   *openapitest.Spec // compares the answers of request
	engine *fakeEngine
	rec    *Recorder
	log    *lockedBuffer
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

// standing are the vertices of every rig.
func standing() []reactor.Status {
	return []reactor.Status{
		{Resource: "file[/a]", State: resgraph.StateOK, Changed: 2},
		{Resource: "svc[web]", State: resgraph.StateFailed, Err: errors.New("exit status 3"), RetryIn: 1500 * time.Millisecond, Pause: &reactor.Pause{Resource: "svc[web]", Reason: "lunch"}},
		{Resource: "exec[late]", State: resgraph.StateBlocked, BlockedBy: "svc[web]"},
		{Resource: "print[all]", State: resgraph.StateHeld, Held: &reactor.Held{Limit: "budget", Reason: "20 changes in 5m"}},
	}
}

func (e *fakeEngine) Decide(_ context.Context, d reactor.Decision) error {
	for _, p := range d.Proposals {
		switch {
		case p.Resource != "print[all]":
			return &reactor.UnknownResourceError{Resource: p.Resource}
		case p.Digest != "d1":
			return &reactor.OtherChangeError{Resource: p.Resource, Digest: p.Digest, Now: "d1"}
		}
		h := &reactor.Held{Limit: reactor.LimitApproval, Digest: "d1", Rejected: true}
		if d.Approve {
			h = nil
		}
		e.rec.Held(p.Resource, h)
	}
	return nil
}

// described is the description of every rig.
var described = sync.OnceValue(func() []byte {
	doc, err := Document()
	if err != nil {
		panic(err)
	}
	return doc
})

func newRig(t testing.TB, opts ...func(*Options)) *rig {
	t.Helper()
	out := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(out, nil))
	rec := newRecorder()
	e := &fakeEngine{list: standing(), rec: rec}
	o := Options{Engine: e, Recorder: rec, History: run(t, rec), Logger: logger, Objects: objects(), Shared: &store.Client{}, Version: "v1", StateDir: "/var/lib/x", MCP: silentAgents}
	for _, f := range opts {
		f(&o)
	}
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	rec.Swapped(reactor.Swap{Generation: 1, Name: "web", Added: 4})
	rec.Loaded(func() *resgraph.Graph {
		return graphOf(t, "file[/a]", "svc[web]", "exec[late]", "print[all]<print[one]")
	})
	return &rig{s, openapitest.New(t, described()), e, rec, out}
}

// silentAgents answers each message with an empty document.
func silentAgents(*Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})
}

// newHistory returns a history in memory.
func newHistory(t testing.TB) *journal.History {
	h := journal.NewHistory(journal.HistoryOptions{Buffer: 64 << 20, MaxBytes: 256 << 20})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func newRecorder() *Recorder { return NewRecorder(RecorderOptions{Version: "v1"}) }

// run runs a recorder until the end of the test.
func run(t testing.TB, rec *Recorder) History {
	h := newHistory(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { rec.Run(ctx, h) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return h
}

// request asks without a socket.
func (r *rig) request(t testing.TB, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	r.spec.Recorded(method, target, w)
	return w
}

func (r *rig) get(t testing.TB, target string) *httptest.ResponseRecorder {
	t.Helper()
	return r.request(t, http.MethodGet, target, "")
}

// listen serves on a socket until the returned function is called, which waits
// for the end.
func (r *rig) listen(t testing.TB) (path string, end func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return path, r.serve(t, l)
}

// serve is listen on a socket that is there.
func (r *rig) serve(t testing.TB, l *Listener) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, l) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// changedRun is a run that changed something because of an event.
func changedRun(id string, n uint64) reactor.Run {
	return reactor.Run{
		Resource: id, State: resgraph.StateOK, Changed: true, ID: n, Generation: 1, Class: reactor.Corrective,
		Changes:  []engine.Change{{Field: "content", From: "a\nb\n", To: "a\nc\n"}},
		Triggers: []reactor.Trigger{{Cause: reactor.CauseEvent, Source: "inotify", Path: "/a", Merged: 3}},
		Duration: 2 * time.Millisecond,
	}
}

// eventually asks until the answer is yes.
func eventually(t testing.TB, what string, yes func() bool) { t.Helper(); await.Until(t, what, yes) }

// objects are those of an empty store, without a model.
func objects() *model.NB {
	return model.Open(memory.New(), model.NewRegistry(nil), model.Options{})
}

func (f *fakeEngine) AskedBy(string) (left func() []reactor.Leaving, done func()) {
	return func() []reactor.Leaving { return nil }, func() {}
}
