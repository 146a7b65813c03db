package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"pgregory.net/rapid"
)

// The metamorphic law: whatever happens in whatever order, at the end the world is
// as the last graph says, everything is ok, no refresh is owed and nothing is left
// in the store. What may happen are drift, failures, pauses, swaps, lost, doubled
// and late events, checks of any length that may ignore their end, a wall clock that
// jumps, a store that fails, limits, semaphores and a budget that is used up.

// relay is a fake that sends and receives.
type relay struct {
	fake
	Want string `yaml:"want"`
}

func (*relay) Sends() any { return sends{} }

func (r *relay) CheckApply(ctx context.Context, apply bool) (bool, error) {
	r.fake.Want = r.Want
	return r.check(ctx, &r.fake, apply)
}

func (r *relay) Cmp(o engine.Res) error {
	if other, ok := o.(*relay); !ok || other.Want != r.Want {
		return errors.New("want differs")
	}
	return nil
}

// step is one thing that happens in a transcript.
type step struct {
	what string
	a, b int
	d    time.Duration
}

func (s step) String() string { return fmt.Sprintf("%s %d %d %s", s.what, s.a, s.b, s.d) }

// plan is a transcript: what may be in the graphs, and what happens.
type plan struct {
	n        int
	notify   []bool // of the edge from i to i+1, which is in every graph that has both
	wired    []bool // i+1 receives its want from i
	retry    []time.Duration
	poll     []time.Duration
	settle   []time.Duration
	limit    []bool // to one run in two seconds
	sema     []bool // all of these share one
	budget   int    // changes in 10 s; 0 for no bound
	stubborn []bool // its check ignores its end
	parallel int
	seed     uint64
	steps    []step
}

func drawPlan(rt *rapid.T) *plan {
	p := &plan{n: rapid.IntRange(1, 7).Draw(rt, "vertices")}
	many := func(name string, of ...time.Duration) []time.Duration {
		return rapid.SliceOfN(rapid.SampledFrom(of), p.n, p.n).Draw(rt, name)
	}
	bools := func(name string) []bool { return rapid.SliceOfN(rapid.Bool(), p.n, p.n).Draw(rt, name) }
	p.notify, p.wired, p.stubborn = bools("notify"), bools("wired"), bools("stubborn")
	p.limit, p.sema = bools("limit"), bools("sema")
	p.budget = rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(rt, "budget")
	p.retry = many("delay", 0, time.Second, time.Minute)
	p.poll = many("poll", 0, 0, 0, 7*time.Second)
	p.settle = many("settle", 0, 0, 3*time.Second)
	p.parallel = rapid.IntRange(1, 4).Draw(rt, "parallel")
	p.seed = rapid.Uint64().Draw(rt, "seed")
	p.steps = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		return step{
			what: rapid.SampledFrom([]string{
				"drift", "drift", "storm", "break", "mend", "pause", "pause all", "resume", "resume all",
				"swap", "swap", "jump", "watch ends", "sleep", "sleep", "store fails", "store mends",
			}).Draw(rt, "what"),
			a: rapid.IntRange(0, p.n-1).Draw(rt, "a"),
			b: rapid.IntRange(0, 1<<p.n-1).Draw(rt, "b"),
			d: time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond,
		}
	}), 0, 40).Draw(rt, "steps")
	return p
}

func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "n %d notify %v wired %v retry %v poll %v settle %v limit %v sema %v budget %d stubborn %v parallel %d seed %d\n",
		p.n, p.notify, p.wired, p.retry, p.poll, p.settle, p.limit, p.sema, p.budget, p.stubborn, p.parallel, p.seed)
	for _, s := range p.steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// machine is the world that the resources of a plan manage: a text for each name.
type machine struct {
	t    testing.TB
	p    *plan
	mu   sync.Mutex
	rand *rand.Rand

	is      []string
	broken  []bool
	running []int
	subs    []map[chan struct{}]bool
	ends    []chan struct{} // closed to end a Watch
	changed []time.Time     // when the engine last began to change it
	acted   []time.Time     // when a refresh of it last began
	wall    time.Duration
}

func newMachine(t testing.TB, p *plan) *machine {
	m := &machine{t: t, p: p, rand: rand.New(rand.NewPCG(p.seed, 0))}
	m.is, m.broken, m.running = make([]string, p.n), make([]bool, p.n), make([]int, p.n)
	m.subs, m.ends = make([]map[chan struct{}]bool, p.n), make([]chan struct{}, p.n)
	m.changed, m.acted = make([]time.Time, p.n), make([]time.Time, p.n)
	for i := range p.n {
		m.subs[i], m.ends[i] = map[chan struct{}]bool{}, make(chan struct{})
	}
	return m
}

// set writes a value. Who watches hears of it once, twice, or late: an event that
// is lost is made up for by a resync.
func (m *machine) set(i int, to string) {
	m.is[i] = to
	for c := range m.subs[i] {
		switch m.rand.IntN(4) {
		case 0: // lost
			time.AfterFunc(time.Duration(m.rand.IntN(5000))*time.Millisecond, func() { wake(c) })
		case 1: // twice
			time.AfterFunc(time.Duration(m.rand.IntN(5000))*time.Millisecond, func() { wake(c) })
			wake(c)
		default:
			wake(c)
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (m *machine) watch(i int) func(ctx context.Context, f *fake) error {
	return func(ctx context.Context, f *fake) error {
		c := make(chan struct{}, 1)
		m.mu.Lock()
		m.subs[i][c] = true
		end := m.ends[i]
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.subs[i], c)
		}()
		f.init.Running()
		for {
			select {
			case <-c:
				f.init.Event()
			case <-end:
				return errors.New("the watch was lost")
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// pass takes some time, and less if the run is cut and heeds it.
func (m *machine) pass(ctx context.Context, i int) {
	m.mu.Lock()
	d := time.Duration(m.rand.IntN(3)) * 100 * time.Millisecond
	m.mu.Unlock()
	if m.p.stubborn[i] {
		time.Sleep(d)
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (m *machine) check(i int) func(ctx context.Context, f *fake, apply bool) (bool, error) {
	return func(ctx context.Context, f *fake, apply bool) (bool, error) {
		m.mu.Lock()
		m.running[i]++
		if m.running[i] > 1 {
			m.t.Errorf("%d runs beside itself", i)
		}
		began := time.Now()
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.running[i]--
		}()
		m.pass(ctx, i)
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := ctx.Err(); err != nil && !m.p.stubborn[i] {
			return false, err
		}
		if m.broken[i] {
			return false, errors.New("broken")
		}
		ok := m.is[i] == f.Want
		if !ok && apply {
			m.set(i, f.Want)
			m.changed[i] = began
		}
		if f.init.Refresh() {
			ok = false
			if apply {
				m.acted[i] = time.Now()
			}
		}
		return ok, f.init.Send(sends{Out: m.is[i]})
	}
}

// graph declares the vertices whose bit is set, with a want of its own for each
// variant.
func (m *machine) graph(t testing.TB, bits, variant int) *decl {
	d := newDecl(t)
	p := m.p
	w := newWorld()
	has := func(i int) bool { return i >= 0 && i < p.n && bits&(1<<i) != 0 }
	for i := range p.n {
		if !has(i) {
			continue
		}
		s := &relay{fake: fake{w: w, watch: m.watch(i), check: m.check(i)}, Want: fmt.Sprint("want ", i, " ", variant)}
		meta := s.MetaParams()
		meta.Retry, meta.Delay, meta.Poll, meta.Settle = -1, p.retry[i]+time.Millisecond, p.poll[i], p.settle[i]
		if p.limit[i] {
			meta.Limit, meta.Burst = 0.5, 1
		}
		if p.sema[i] {
			meta.Sema = []string{"one"}
		}
		var wires []string
		if has(i-1) && p.wired[i-1] {
			wires = append(wires, fmt.Sprintf("want=fake[%d].out", i-1))
		}
		d.add(fmt.Sprint(i), s, wires...)
		if has(i - 1) {
			kind := ">"
			if p.notify[i-1] {
				kind = "!"
			}
			d.edges(fmt.Sprintf("%d%s%d", i-1, kind, i))
		}
	}
	return d
}

func (m *machine) do(rg *rig, s step) {
	id := fmt.Sprintf("fake[%d]", s.a)
	m.mu.Lock()
	switch s.what {
	case "drift":
		m.set(s.a, fmt.Sprint("drift ", s.b))
	case "storm":
		for i := range 50 {
			m.set(s.a, fmt.Sprint("storm ", i))
		}
	case "break":
		m.broken[s.a] = true
	case "mend":
		m.broken[s.a] = false
	case "jump":
		m.wall -= time.Hour
	case "watch ends":
		close(m.ends[s.a])
		m.ends[s.a] = make(chan struct{})
	}
	m.mu.Unlock()
	until := time.Now().Add(m.wall + s.d + time.Second)
	switch s.what { // what is not in the graph, or cannot be recorded, is refused
	case "store fails":
		rg.store.set(errors.New("disk full"))
	case "store mends":
		rg.store.set(nil)
	case "pause":
		_ = rg.r.Pause(m.t.Context(), reactor.Pause{Resource: id, Until: until})
	case "pause all":
		_ = rg.r.Pause(m.t.Context(), reactor.Pause{Until: until})
	case "resume":
		_ = rg.r.Resume(m.t.Context(), id)
	case "resume all":
		_ = rg.r.Resume(m.t.Context(), "")
	case "swap":
		rg.swap(m.graph(m.t, s.b, s.a))
	case "sleep":
		time.Sleep(s.d)
	}
}

// wants returns what the world has to be under the full graph.
func (m *machine) wants(variant int) []string {
	out := make([]string, m.p.n)
	for i := range out {
		out[i] = fmt.Sprint("want ", i, " ", variant)
		if i > 0 && m.p.wired[i-1] {
			out[i] = out[i-1]
		}
	}
	return out
}

func (p *plan) bound() reactor.Budget {
	if p.budget == 0 {
		return reactor.Budget{}
	}
	return reactor.Budget{Most: p.budget, Within: 10 * time.Second}
}

func playPlan(t *testing.T, p *plan) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, p)
		rg := newRig(t, reactor.Options{Parallel: p.parallel, Sweep: -1, MaxChanges: p.bound(), Wall: func() time.Time {
			m.mu.Lock()
			defer m.mu.Unlock()
			return time.Now().Add(m.wall)
		}})
		defer rg.close()
		all := 1<<p.n - 1
		rg.swap(m.graph(t, all, 0))
		for _, s := range p.steps {
			m.do(rg, s)
		}
		m.do(rg, step{what: "store mends"})
		for i := range p.n {
			m.do(rg, step{what: "mend", a: i})
		}
		rg.swap(m.graph(t, all, 99))
		for range 60 { // a budget is used up more than once
			if err := rg.r.Resume(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		synctest.Wait()
		m.verify(rg, 99)
	})
}

func (m *machine) verify(rg *rig, variant int) {
	for try := 0; ; try++ { // polled ones run now and then, and hold up what is below them
		c, err := rg.r.Counts(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		if c[engine.StateOK] == m.p.n {
			break
		}
		if try == 100 {
			text, _ := rg.r.Dump(m.t.Context())
			m.t.Errorf("not everything is ok:\n%s", text)
			break
		}
		time.Sleep(97 * time.Millisecond)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if want := m.wants(variant); !slices.Equal(m.is, want) {
		m.t.Errorf("the world is %q, want %q", m.is, want)
	}
	for i := range m.p.n - 1 {
		if m.p.notify[i] && m.acted[i+1].Before(m.changed[i]) {
			m.t.Errorf("%d was not refreshed after the change of %d", i+1, i)
		}
	}
	if n := rg.store.size(); n != 0 {
		m.t.Errorf("%d records are left in the store", n)
	}
}

// TestMetamorphic plays random transcripts. One that fails is shrunk and printed.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		if !t.Run("plan", func(t *testing.T) { playPlan(t, p) }) {
			rt.Fatalf("the transcript:\n%s", p)
		}
	})
}
