package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a resource whose methods a test sets. Want is its one parameter.
type fake struct {
	traits.Base
	traits.Refreshable
	traits.Recvable
	Want string            `yaml:"want"`
	Env  map[string]string `yaml:"env"`
	Free string            `yaml:"free" mgmt:"nowatch"`
	Key  string            `yaml:"key"`

	w    *stage
	init *engine.Init

	validate func(*fake) error
	initErr  func() error
	watch    func(ctx context.Context, f *fake) error
	check    func(ctx context.Context, f *fake, apply bool) (bool, error)
	cleanup  func() error
}

// lapping is a fake that overlaps.
type lapping struct {
	fake
	traits.Overlapping
}

// sends is what a sender sends.
type sends struct {
	Out    string        `yaml:"out"`
	Secret schema.Secret `yaml:"secret"`
	Num    int           `yaml:"num"`
}

// sender is a fake that sends.
type sender struct {
	fake
}

func (*sender) Sends() any { return sends{} }

func (f *fake) Default() engine.Res { return &fake{w: f.w} }
func (f *fake) Validate() error {
	if f.validate != nil {
		return f.validate(f)
	}
	return nil
}

func (f *fake) Init(i *engine.Init) error {
	f.init = i
	f.w.note("init " + f.Name())
	if f.initErr != nil {
		return f.initErr()
	}
	return nil
}

func (f *fake) Cleanup() error {
	f.w.note("cleanup " + f.Name())
	if f.cleanup != nil {
		return f.cleanup()
	}
	return nil
}

func (f *fake) Watch(ctx context.Context) error {
	if f.watch != nil {
		return f.watch(ctx, f)
	}
	f.init.Running()
	<-ctx.Done()
	return nil
}

// CheckApply by default counts itself and is right.
func (f *fake) CheckApply(ctx context.Context, apply bool) (bool, error) {
	defer f.w.enter(f.Name())()
	if f.check != nil {
		return f.check(ctx, f, apply)
	}
	return true, nil
}

func (f *fake) Cmp(o engine.Res) error {
	var other *fake
	switch o := o.(type) {
	case *fake:
		other = o
	case *lapping:
		other = &o.fake
	case *sender:
		other = &o.fake
	case *still:
		other = &o.fake
	}
	if f.Want != other.Want || f.Free != other.Free || fmt.Sprint(f.Env) != fmt.Sprint(other.Env) {
		return errors.New("want differs")
	}
	return nil
}

// world records what fakes do.
type stage struct {
	mu      sync.Mutex
	log     []string
	runs    map[string]int
	running map[string]int
	most    int // runs at once
	now     int
	overlap []string
}

func newWorld() *stage { return &stage{runs: map[string]int{}, running: map[string]int{}} }

func (w *stage) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, s)
}

func (w *stage) enter(name string) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, "run "+name)
	w.runs[name]++
	w.running[name]++
	w.now++
	w.most = max(w.most, w.now)
	if w.running[name] > 1 {
		w.overlap = append(w.overlap, name)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running[name]--
		w.now--
	}
}

func (w *stage) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[name]
}

func (w *stage) order() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// decl makes graphs in a few words.
type decl struct {
	t testing.TB
	g *resgraph.Graph
}

func newDecl(t testing.TB) *decl { return &decl{t, graph.New[*resgraph.Vertex]("test")} }

func (d *decl) add(name string, res engine.Res, wires ...string) *decl {
	res.SetKind("fake")
	res.SetName(name)
	v := &resgraph.Vertex{Res: res}
	for _, w := range wires {
		field, from, _ := strings.Cut(w, "=")
		ref, err := schema.ParseRef(from)
		if err != nil {
			d.t.Fatal(err)
		}
		v.Recv = append(v.Recv, resgraph.Wire{Field: field, From: ref})
	}
	if _, err := d.g.Add("fake["+name+"]", v); err != nil {
		d.t.Fatal(err)
	}
	return d
}

// edges reads a>b for an order and a!b for a notification.
func (d *decl) edges(list ...string) *decl {
	for _, e := range list {
		from, to, notify := e, "", false
		if a, b, ok := strings.Cut(e, "!"); ok {
			from, to, notify = a, b, true
		} else {
			from, to, _ = strings.Cut(e, ">")
		}
		i, _ := d.g.Index("fake[" + from + "]")
		j, ok := d.g.Index("fake[" + to + "]")
		if !ok {
			d.t.Fatalf("edge %s", e)
		}
		if err := d.g.Connect(graph.Edge{From: i, To: j, Notify: notify}); err != nil {
			d.t.Fatal(err)
		}
	}
	return d
}

type nullHost struct{ engine.Host }

func (nullHost) Facts() engine.Facts { return engine.Facts{} }

type nullWorld struct{ world.World }

// memStore is a Store that can fail.
type memStore struct {
	mu   sync.Mutex
	recs map[string]map[string][]byte
	fail error
	n    int
}

func (s *memStore) Records(_ context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for k, v := range s.recs[table] {
			if !yield(records.Record{Key: k, Value: v}, nil) {
				return
			}
		}
	}
}

func (s *memStore) Commit(ctx context.Context, ws []records.Write) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.fail != nil {
		return s.fail
	}
	for _, w := range ws {
		if s.recs == nil {
			s.recs = map[string]map[string][]byte{}
		}
		if s.recs[w.Table] == nil {
			s.recs[w.Table] = map[string][]byte{}
		}
		if w.Value == nil {
			delete(s.recs[w.Table], w.Key)
		} else {
			s.recs[w.Table][w.Key] = w.Value
		}
	}
	return nil
}

// set makes Commit fail, or with nil no longer.
func (s *memStore) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// size returns how many intents and refreshes there are.
func (s *memStore) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.recs["intent"]) + len(s.recs["refresh"])
}

// rig runs a reactor for a test.
type rig struct {
	stopping atomic.Pointer[[]string] // of the end of Run

	t     testing.TB
	r     *reactor.Reactor
	store *memStore
	stop  context.CancelFunc
	done  chan error

	mu        sync.Mutex
	ran       []reactor.Run
	converged chan reactor.Counts
	swaps     []reactor.Swap
}

func newRig(t testing.TB, o reactor.Options) *rig {
	rg := &rig{t: t, store: &memStore{}, done: make(chan error, 1), converged: make(chan reactor.Counts, 1000)}
	if o.Host == nil {
		o.Host = nullHost{}
	}
	if o.Store == nil {
		o.Store = rg.store
	}
	if o.World == nil {
		o.World = nullWorld{}
	}
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	o.Listener = reactor.Listener{
		Stopping: func(who []string) { rg.stopping.Store(&who) },
		Ran: func(r reactor.Run) {
			rg.mu.Lock()
			defer rg.mu.Unlock()
			rg.ran = append(rg.ran, r)
		},
		Converged: func(yes bool, c reactor.Counts) {
			if yes {
				rg.converged <- c
			}
		},
		Swapped: func(s reactor.Swap) {
			rg.mu.Lock()
			defer rg.mu.Unlock()
			rg.swaps = append(rg.swaps, s)
		},
	}
	r, err := reactor.New(o)
	if err != nil {
		t.Fatal(err)
	}
	rg.r = r
	ctx, stop := context.WithCancel(t.Context())
	rg.stop = stop
	go func() { rg.done <- r.Run(ctx) }()
	return rg
}

func (rg *rig) swap(d *decl) {
	rg.t.Helper()
	if err := rg.r.Swap(rg.t.Context(), d.g); err != nil {
		rg.t.Fatal(err)
	}
}

// rest waits until the graph has converged.
func (rg *rig) rest() reactor.Counts {
	rg.t.Helper()
	select {
	case c := <-rg.converged:
		return c
	case <-time.After(24 * time.Hour):
		rg.t.Fatal("not converged in a day")
		panic("unreachable")
	}
}

func (rg *rig) close() {
	rg.t.Helper()
	rg.stop()
	if err := <-rg.done; err != nil {
		rg.t.Fatal(err)
	}
}

func (rg *rig) runs(name string) []reactor.Run {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	var list []reactor.Run
	for _, r := range rg.ran {
		if r.Resource == "fake["+name+"]" {
			list = append(list, r)
		}
	}
	return list
}

func (rg *rig) state(name string) reactor.Status {
	rg.t.Helper()
	list, err := rg.r.Statuses(rg.t.Context())
	if err != nil {
		rg.t.Fatal(err)
	}
	for _, s := range list {
		if s.Resource == "fake["+name+"]" {
			return s
		}
	}
	rg.t.Fatalf("no vertex %s", name)
	return reactor.Status{}
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
