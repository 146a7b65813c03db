package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// stage is where a reactor runs: the world, the disk, and the trace.
type stage struct {
	mu      sync.Mutex
	rand    *rand.Rand
	graphs  []Graph
	world   [N]Value
	disk    map[string]map[string][]byte // by table and key
	journal Records
	trace   []shown
	calm    bool // nothing fails any more

	// of the present process
	process int // its number: what an earlier one does has no effect any more
	next    int // the graph that is about to take effect
	armed   [N]map[*thing]bool
}

var errKilled = errors.New("the process is killed")

// tell adds a line, with the lock held.
func (st *stage) tell(line shown) { st.trace = append(st.trace, line) }

// pass waits for a moment, so that others go first.
func (st *stage) pass(ctx context.Context) {
	st.mu.Lock()
	d := time.Duration(st.rand.IntN(4)) * time.Duration(st.rand.IntN(400)) * time.Millisecond
	st.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// thing is a resource whose state is a value in the world.
type thing struct {
	traits.Base
	traits.Refreshable
	traits.Overlapping
	Want int `yaml:"want"`

	st      *stage
	process int
	v       int
	init    *engine.Init
}

func (x *thing) Default() engine.Res        { return &thing{st: x.st, process: x.process, v: x.v} }
func (x *thing) Validate() error            { return nil }
func (x *thing) Init(i *engine.Init) error  { x.init = i; return nil }
func (x *thing) Cleanup() error             { x.st.pass(context.Background()); return nil }
func (x *thing) Cmp(other engine.Res) error { return engine.CmpFields(x, other) }

func (x *thing) Watch(ctx context.Context) error {
	x.st.pass(ctx)
	x.st.arm(x, true)
	defer x.st.arm(x, false)
	<-ctx.Done()
	return nil
}

func (st *stage) arm(x *thing, on bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.process != x.process {
		return
	}
	if !on {
		delete(st.armed[x.v], x)
		return
	}
	st.armed[x.v][x] = true
	x.init.Running()
}

// SetRefresh is called when the vertex is chosen.
func (x *thing) SetRefresh(yes bool) {
	x.Refreshable.SetRefresh(yes)
	x.st.mu.Lock()
	defer x.st.mu.Unlock()
	if x.st.process == x.process {
		x.st.tell(shown{what: "start", v: x.v, yes: yes})
	}
}

// broken reports, with the lock held, whether a run fails here.
func (x *thing) broken(ctx context.Context) error {
	switch {
	case x.st.process != x.process:
		return errKilled
	case ctx.Err() != nil || !x.st.calm && x.st.rand.IntN(8) == 0:
		x.st.tell(shown{what: "break", v: x.v})
		return errors.New("broken")
	}
	return nil
}

func (x *thing) CheckApply(ctx context.Context, apply bool) (bool, error) {
	x.st.pass(ctx)
	x.st.mu.Lock()
	defer x.st.mu.Unlock()
	if err := x.broken(ctx); err != nil {
		return false, err
	}
	right := x.st.world[x.v] == Value(x.Want) && !x.Refresh()
	if !apply {
		x.st.tell(shown{what: "check", v: x.v, yes: right})
		return right, nil
	}
	x.st.world[x.v] = Value(x.Want)
	x.st.tell(shown{what: "apply", v: x.v, yes: !right})
	x.st.mu.Unlock()
	x.st.pass(ctx)
	x.st.mu.Lock()
	return right, x.broken(ctx)
}

// store is the disk, for one process.
type store struct {
	*stage
	process int
}

func (s store) Records(_ context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		for k, v := range s.disk[table] {
			if !yield(records.Record{Key: k, Value: v}, nil) {
				return
			}
		}
	}
}

func (s store) Commit(ctx context.Context, writes []records.Write) error {
	s.pass(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage.process != s.process {
		return errKilled
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if w := writes[0]; len(writes) == 1 && w.Table == "intent" && w.Value != nil && !s.calm && s.rand.IntN(8) == 0 {
		s.tell(shown{what: "break", v: vertexOf(w.Key)}) // nothing was noted, so it is not tried again
		return errors.New("the disk is full")
	}
	for _, w := range writes {
		if s.disk[w.Table] == nil {
			s.disk[w.Table] = map[string][]byte{}
		}
		if s.disk[w.Table][w.Key] = w.Value; w.Value == nil {
			delete(s.disk[w.Table], w.Key)
		}
	}
	if now := s.records(); now != s.journal {
		s.journal = now
		s.tell(shown{what: "journal", journal: now})
	}
	return nil
}

// records returns the intents and refreshes on the disk.
func (st *stage) records() (all Records) {
	for key := range st.disk["intent"] {
		all |= intent(vertexOf(key))
	}
	for key := range st.disk["refresh"] {
		parts := strings.Split(key, "\x00")
		all |= first(vertexOf(parts[0]), vertexOf(parts[1]))
	}
	return all
}

func vertexOf(id string) int { return int(strings.TrimPrefix(id, "thing[")[0] - '0') }

type noHost struct{ engine.Host }

func (noHost) Facts() engine.Facts { return engine.Facts{} }

type noWorld struct{ world.World }

// start starts a process. The function kills it.
func (st *stage) start(t *testing.T) (r *reactor.Reactor, kill func()) {
	st.process++
	process := st.process
	for v := range N {
		st.armed[v] = map[*thing]bool{}
	}
	tell := func(line shown) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.process == process {
			if line.what == "swap" {
				line.v = st.next
			}
			st.tell(line)
		}
	}
	r, err := reactor.New(reactor.Options{
		Host: noHost{}, World: noWorld{}, Store: store{st, process}, Sweep: -1, Parallel: 2,
		Listener: reactor.Listener{
			Swapped: func(reactor.Swap) { tell(shown{what: "swap"}) },
			Ran: func(r reactor.Run) {
				line := shown{what: "end", v: vertexOf(r.Resource), yes: r.Changed}
				if r.State != resgraph.StateOK {
					line = shown{what: "fail", v: line.v}
				}
				tell(line)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	return r, func() {
		st.mu.Lock()
		st.tell(shown{what: "crash"})
		st.process++
		st.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// swap puts a graph into effect.
func (st *stage) swap(t *testing.T, r *reactor.Reactor, n int) {
	g := graph.New[*resgraph.Vertex]("trace")
	at := map[int]int{}
	for v := range N {
		if !st.graphs[n].has(v) {
			continue
		}
		x := &thing{st: st, process: st.process, v: v, Want: int(st.graphs[n].Want[v])}
		x.SetKind("thing")
		x.SetName(fmt.Sprint(v))
		x.MetaParams().Retry, x.MetaParams().Delay = -1, 50*time.Millisecond
		i, err := g.Add(fmt.Sprintf("thing[%d]", v), &resgraph.Vertex{Res: x})
		if err != nil {
			t.Fatal(err)
		}
		at[v] = i
	}
	for to := range at {
		for from := range at {
			if st.graphs[n].Above[to].Has(from) {
				if err := g.Connect(graph.Edge{From: at[from], To: at[to], Notify: st.graphs[n].Notify[from].Has(to)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	st.mu.Lock()
	st.next = n
	st.mu.Unlock()
	if err := r.Swap(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

// drift changes a thing from outside, and whoever watches it says so.
func (st *stage) drift(v int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.world[v] == 0 {
		return
	}
	st.world[v] = 0
	st.tell(shown{what: "drift", v: v})
	for x := range st.armed[v] {
		x.init.Event()
	}
}

// random returns a random graph.
func random(r *rand.Rand) (g Graph) {
	order := r.Perm(N)
	for v := range N {
		g.Want[v] = Value(r.IntN(3))
	}
	for i, from := range order {
		for _, to := range order[i+1:] {
			if kind := r.IntN(3); kind > 0 && g.has(from) && g.has(to) {
				g.Above[to] |= only(from)
				if kind == 2 {
					g.Notify[from] |= only(to)
				}
			}
		}
	}
	return g
}

// steps is how much happens in a life.
const steps = 12

// play plays a random life of a reactor.
func play(t *testing.T, seed uint64) *stage {
	st := &stage{rand: rand.New(rand.NewPCG(seed, 0)), disk: map[string]map[string][]byte{}}
	choose := rand.New(rand.NewPCG(seed, 1))
	st.graphs = []Graph{random(choose), random(choose)}
	r, kill := st.start(t)
	now := 0
	st.swap(t, r, now)
	for range steps {
		switch choose.IntN(6) {
		case 0, 1:
			st.drift(choose.IntN(N))
		case 2:
			if choose.IntN(4) > 0 { // else the same once more, which costs nothing
				now = 1 - now
			}
			st.swap(t, r, now)
		case 3:
			if choose.IntN(3) > 0 {
				break
			}
			kill()
			r, kill = st.start(t)
			now = choose.IntN(2)
			st.swap(t, r, now)
		default:
			time.Sleep(time.Duration(choose.IntN(1000)) * time.Millisecond)
		}
	}
	st.mu.Lock()
	st.calm = true
	st.mu.Unlock()
	time.Sleep(time.Hour)
	synctest.Wait()
	kill()
	return st
}

// TestTraces: what the real reactor does, the model can do; and it is at rest only where the model may be. So each law that the model keeps
// holds for these lives of the reactor, too.
func TestTraces(t *testing.T) {
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := play(t, seed)
				c := newChecker(New(st.graphs...))
				last := len(st.trace) - 1 // the end of the last process, which was at rest
				for i, line := range st.trace {
					if i == last && !c.rests() {
						t.Errorf("the reactor is at rest, and the model has something to do: %+v", c.one())
					}
					before := c.one()
					if !c.take(line) {
						t.Fatalf("the model can't do the last line. The graphs: %+v\nA state before it: %+v\n%s", st.graphs, before, st.trace[:i+1])
					}
				}
				if c.broken != nil {
					t.Errorf("%d times a law is broken, at first %s\nThe graphs: %+v\n%s", len(c.broken), c.broken[0], st.graphs, st.trace)
				}
			})
		})
	}
}
