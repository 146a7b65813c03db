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
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/traits"
	"pgregory.net/rapid"
)

// The metamorphic law: whatever happens in whatever order, at the end the world is
// as the last graph says, everything is ok, no refresh is owed and nothing is left
// in the store. What may happen are drift, failures, panics, pauses, swaps, also such
// as fail or are given up, lost, doubled and late events, values that are refused,
// checks of any length that may ignore their end, a wall clock that jumps, a store that
// fails, limits, semaphores and a budget that is used up.

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
	if relayOf(o).Want != r.Want {
		return errors.New("want differs")
	}
	return nil
}

func relayOf(o engine.Res) *relay {
	switch o := o.(type) {
	case *lapRelay:
		return &o.relay
	case *stillRelay:
		return &o.relay
	default:
		return o.(*relay)
	}
}

// lapRelay is a relay that overlaps.
type lapRelay struct {
	relay `yaml:",inline"`
	traits.Overlapping
}

// stillRelay is a relay that has nothing to watch, and whose value restarts nothing.
type stillRelay struct {
	relay `yaml:",inline"`
	traits.Overlapping
}

func (*stillRelay) WatchesNothing() bool { return true }

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
	unsaid   []bool // the graph does not say how often to try again
	poll     []time.Duration
	settle   []time.Duration
	limit    []bool // to one run in two seconds
	sema     []bool // all of these share one
	budget   int    // changes in 10 s; 0 for no bound
	stubborn []bool // its check ignores its end
	kind     []int  // 0 exclusive, 1 overlapping, 2 without a Watch
	skip     []bool // there is an edge from i to i+2 too
	parallel int
	storm    reactor.Storm
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
	p.limit, p.sema, p.skip = bools("limit"), bools("sema"), bools("skip")
	p.kind = rapid.SliceOfN(rapid.IntRange(0, 2), p.n, p.n).Draw(rt, "kind")
	p.budget = rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(rt, "budget")
	p.unsaid = bools("unsaid")
	p.retry = many("delay", 0, time.Second, time.Minute)
	p.poll = many("poll", 0, 0, 0, 7*time.Second)
	p.settle = many("settle", 0, 0, 3*time.Second)
	p.parallel = rapid.IntRange(1, 4).Draw(rt, "parallel")
	p.storm = rapid.SampledFrom([]reactor.Storm{{}, reactor.DefaultStorm(), {Runs: 3, Within: time.Minute}}).Draw(rt, "storm limit")
	p.seed = rapid.Uint64().Draw(rt, "seed")
	p.steps = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		return step{
			what: rapid.SampledFrom([]string{
				"drift", "drift", "turn", "storm", "break", "mend", "pause", "pause all", "resume", "resume all",
				"swap", "swap", "bad swap", "hasty swap", "panic", "refuse", "accept",
				"jump", "watch ends", "watch panics", "watch returns", "sleep", "sleep", "store fails", "store mends",
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
	fmt.Fprintf(&b, "n %d notify %v wired %v retry %v unsaid %v poll %v settle %v limit %v sema %v budget %d stubborn %v kind %v skip %v parallel %d storm %v seed %d\n",
		p.n, p.notify, p.wired, p.retry, p.unsaid, p.poll, p.settle, p.limit, p.sema, p.budget, p.stubborn, p.kind, p.skip, p.parallel, p.storm, p.seed)
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
	panics  []bool
	refuses []bool
	turns   []int // makes of what it sends another value
	running []int
	runs    int
	subs    []map[chan struct{}]bool
	ends    []chan string // says how a Watch has to end
	changed []time.Time   // when the engine last began to change it
	acted   []time.Time   // when a refresh of it last began
	wall    time.Duration
}

func newMachine(t testing.TB, p *plan) *machine {
	m := &machine{t: t, p: p, rand: rand.New(rand.NewPCG(p.seed, 0))}
	m.is, m.broken, m.running = make([]string, p.n), make([]bool, p.n), make([]int, p.n)
	m.subs, m.ends = make([]map[chan struct{}]bool, p.n), make([]chan string, p.n)
	m.panics, m.refuses, m.turns = make([]bool, p.n), make([]bool, p.n), make([]int, p.n)
	m.changed, m.acted = make([]time.Time, p.n), make([]time.Time, p.n)
	for i := range p.n {
		m.subs[i], m.ends[i] = map[chan struct{}]bool{}, make(chan string, 1)
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
			case how := <-end:
				switch how {
				case "watch panics":
					panic("the watch panics")
				case "watch returns":
					return nil
				}
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
		m.runs++
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
		if m.panics[i] {
			panic("the check panics")
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
		return ok, f.init.Send(sends{Out: m.sent(i, m.is[i])})
	}
}

// sent is what a vertex sends that has a value.
func (m *machine) sent(i int, has string) string { return has + strings.Repeat("'", m.turns[i]) }

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
		var s engine.Res
		r := relay{fake: fake{w: w, watch: m.watch(i), check: m.check(i), validate: m.validate(i)}, Want: fmt.Sprint("want ", i, " ", variant)}
		switch p.kind[i] {
		case 0:
			s = &r
		case 1:
			s = &lapRelay{relay: r}
		case 2:
			s = &stillRelay{relay: r}
		}
		meta := s.MetaParams()
		meta.Retry, meta.Delay, meta.Poll, meta.Settle = -1, p.retry[i]+time.Millisecond, p.poll[i], p.settle[i]
		if p.unsaid[i] {
			meta.Retry = engine.RetryDefault
		}
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
		if has(i-2) && p.skip[i-2] {
			d.edges(fmt.Sprintf("%d>%d", i-2, i))
		}
	}
	return d
}

func (m *machine) validate(i int) func(*fake) error {
	return func(*fake) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.refuses[i] {
			return errors.New("refused")
		}
		return nil
	}
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
	case "turn":
		m.turns[s.a]++
		m.set(s.a, "turned")
	case "break":
		m.broken[s.a] = true
	case "mend":
		m.broken[s.a], m.panics[s.a] = false, false
	case "panic":
		m.panics[s.a] = true
	case "refuse", "accept":
		m.refuses[s.a] = s.what == "refuse"
	case "jump":
		m.wall -= time.Hour
	case "watch ends", "watch panics", "watch returns":
		select {
		case m.ends[s.a] <- s.what:
		default:
		}
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
	case "bad swap":
		m.badSwap(rg, s)
	case "hasty swap":
		ctx, cancel := context.WithTimeout(m.t.Context(), s.d/100)
		defer cancel()
		_ = rg.r.Swap(ctx, m.graph(m.t, s.b, s.a).g)
	case "sleep":
		time.Sleep(s.d)
	}
}

// badSwap tries a graph of which one vertex can't be initialised.
func (m *machine) badSwap(rg *rig, s step) {
	d := m.graph(m.t, s.b, s.a)
	if d.g.Len() == 0 {
		return
	}
	relayOf(d.g.Value(s.a % d.g.Len()).Res).initErr = func() error { return errors.New("no") }
	_ = rg.r.Swap(m.t.Context(), d.g) // who is kept is not initialised
}

// wants returns what the world has to be under the full graph.
func (m *machine) wants(variant int) []string {
	out := make([]string, m.p.n)
	for i := range out {
		out[i] = fmt.Sprint("want ", i, " ", variant)
		if i > 0 && m.p.wired[i-1] {
			out[i] = m.sent(i-1, out[i-1])
		}
	}
	return out
}

// last returns the variant of the last graph: one of which much may be there already,
// or, where a vertex may wait for another value, or may not see a drift, a new one.
func (p *plan) last() int {
	refuses := func(s step) bool { return s.what == "refuse" }
	if slices.Contains(p.kind, 2) || slices.ContainsFunc(p.steps, refuses) {
		return 99
	}
	return 0
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
		rg := newRig(t, reactor.Options{Parallel: p.parallel, Sweep: -1, MaxChanges: p.bound(), Storm: p.storm, Wall: func() time.Time {
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
			m.do(rg, step{what: "accept", a: i})
		}
		last := p.last()
		rg.swap(m.graph(t, all, last))
		m.settle(rg, last)
		for i := p.n - 1; i >= 0; i-- { // who is well still sees what happens, also while it runs
			if p.kind[i] != 2 || p.poll[i] > 0 {
				m.do(rg, step{what: "turn", a: i})
				m.pass(t.Context(), i)
			}
		}
		m.settle(rg, last)
	})
}

// settle waits until everything must have come to rest, and looks at the world.
func (m *machine) settle(rg *rig, variant int) {
	for range 60 { // a budget is used up more than once
		if err := rg.r.Resume(m.t.Context(), ""); err != nil {
			m.t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	m.verify(rg, variant)
}

func (m *machine) verify(rg *rig, variant int) {
	for try := 0; ; try++ { // polled ones run now and then, and hold up what is below them
		c, err := rg.r.Counts(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		if c[resgraph.StateOK] == m.p.n {
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
	for i := range m.p.n - 1 { // who was not in the graph at the last change owes nothing
		if variant != 0 && m.p.notify[i] && m.acted[i+1].Before(m.changed[i]) {
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
