package sched_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

var graphs = flag.Int("graphs", 0, "random graphs that the machine is compared to the model on (default for 1,000,000 steps; a tenth where races are looked for, and with -short)")

// stepsEach is how many steps are made on each graph.
const stepsEach = 300

// howMany returns the number of graphs.
func howMany() int {
	switch {
	case *graphs > 0:
		return *graphs
	case withRace(), testing.Short():
		return 100_000/stepsEach + 1
	default:
		return 1_000_000/stepsEach + 1
	}
}

func withRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// duo drives a machine and its model by the same dice.
type duo struct {
	m     *sched.Machine
	o     *model
	intn  func(int) int
	rank  []int // edges go from low to high rank
	keys  int
	seen  []resgraph.State // own states as told by Changed
	slots int              // runs that have yielded
	log   []string
}

func newDuo(intn func(int) int) *duo {
	parallel := intn(5)
	d := &duo{
		m:    sched.New(sched.Options{Parallel: parallel, Changes: true}),
		o:    newModel(parallel),
		intn: intn,
		keys: intn(3),
	}
	d.m.SetLimits(1+intn(4), 1+intn(4), intn(4)*10)
	return d
}

func (d *duo) say(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

// swap removes and adds some vertices, moves some edges, and does the same to
// the model.
func (d *duo) swap(size int) error {
	n := max(size, len(d.o.vs)-d.intn(2))
	t := sched.Topology{}
	free := make([]bool, n)
	vs := make([]modelVertex, max(n, len(d.o.vs)))
	copy(vs, d.o.vs)
	for v := range vs {
		x := &vs[v]
		if x.present && (v >= n || d.intn(5) == 0) {
			t.Removed = append(t.Removed, int32(v))
			*x = modelVertex{gone: x.running, ranAs: x.ranAs}
		}
		if v < n {
			free[v] = !x.present && !x.gone
		}
	}
	for v, ok := range free {
		if ok && d.intn(4) > 0 {
			t.Added = append(t.Added, int32(v))
			vs[v] = modelVertex{present: true, key: int32(d.intn(d.keys+1)) - 1}
		}
	}
	t.N = n
	d.edges(&t, vs, d.intn(3) > 0)
	for v := range vs[:n] {
		if d.keys > 0 {
			t.Batch = append(t.Batch, vs[v].key)
		} else {
			vs[v].key = -1
		}
	}
	d.say("swap n=%d -%v +%v edges=%v batch=%v", n, t.Removed, t.Added, t.Edges, t.Batch)
	if err := d.badSwap(t); err != nil {
		return err
	}
	p, fits := d.patchTo(t, vs)
	d.o.vs = vs
	for len(d.seen) < len(vs) {
		d.seen = append(d.seen, resgraph.NumStates)
	}
	if fits && d.intn(4) > 0 {
		d.say("as a patch -%v +%v cut=%v join=%v", p.Removed, p.Added, p.Cut, p.Join)
		if err := d.badPatch(p, t.Edges); err != nil {
			return err
		}
		return d.m.Patch(p)
	}
	return d.m.Swap(t)
}

// patchTo returns the difference to a topology as a Patch, if it can be one: no slot gets another vertex,
// and no vertex another key.
func (d *duo) patchTo(t sched.Topology, vs []modelVertex) (p sched.Patch, fits bool) {
	p = sched.Patch{N: max(t.N, len(d.o.vs)), Removed: t.Removed, Added: t.Added}
	for _, v := range t.Added {
		if slices.Contains(t.Removed, v) {
			return p, false
		}
		if t.Batch != nil {
			p.Batch = append(p.Batch, t.Batch[v])
		}
	}
	for v := range d.o.vs {
		if vs[v].present && d.o.vs[v].present && vs[v].key != d.o.vs[v].key {
			return p, false
		}
		for _, u := range d.o.vs[v].preds {
			if d.o.vs[v].present && d.o.vs[u].present && vs[v].present && vs[u].present && !slices.Contains(vs[v].preds, u) {
				p.Cut = append(p.Cut, [2]int32{int32(u), int32(v)})
			}
		}
	}
	for _, e := range t.Edges {
		if u, v := int(e[0]), int(e[1]); v >= len(d.o.vs) || !slices.Contains(d.o.vs[v].preds, u) || d.intn(3) == 0 ||
			slices.Contains(t.Added, e[0]) || slices.Contains(t.Added, e[1]) {
			p.Join = append(p.Join, e)
		}
	}
	return p, true
}

// badPatch tries the patch with a cycle in it, which must change nothing.
func (d *duo) badPatch(p sched.Patch, edges [][2]int32) error {
	if len(edges) == 0 || d.intn(3) > 0 {
		return nil
	}
	e := edges[d.intn(len(edges))]
	p.Join = slices.Insert(slices.Clone(p.Join), d.intn(len(p.Join)+1), [2]int32{e[1], e[0]})
	err := d.m.Patch(p)
	c, ok := errors.AsType[*sched.CycleError](err)
	if !ok {
		return fmt.Errorf("a patch with a cycle is accepted: %v", err)
	}
	for i, v := range c.Path {
		e := [2]int32{v, c.Path[(i+1)%len(c.Path)]}
		if !slices.Contains(edges, e) && !slices.Contains(p.Join, e) {
			return fmt.Errorf("%v is no edge of the cycle %v", e, c.Path)
		}
	}
	return d.m.Invariants()
}

// edges makes random edges; kept ones stay if keep says so.
func (d *duo) edges(t *sched.Topology, vs []modelVertex, keep bool) {
	for len(d.rank) < len(vs) {
		d.rank = append(d.rank, d.intn(1000))
	}
	if d.intn(4) == 0 {
		keep = false
		for v := range d.rank {
			d.rank[v] = d.intn(1000)
		}
	}
	before := func(a, b int) bool { return d.rank[a] < d.rank[b] || d.rank[a] == d.rank[b] && a < b }
	dense := 1 + d.intn(6)
	for v := range vs {
		var preds []int
		for u := range vs {
			if !vs[u].present || !vs[v].present || u == v || !before(u, v) {
				continue
			}
			had := slices.Contains(vs[v].preds, u)
			if keep && had || d.intn(len(vs)) < dense && d.intn(2) == 0 {
				preds = append(preds, u)
				t.Edges = append(t.Edges, [2]int32{int32(u), int32(v)})
			}
		}
		vs[v].preds = preds
	}
}

// badSwap tries the topology with a cycle in it, which must change nothing.
func (d *duo) badSwap(t sched.Topology) error {
	if len(t.Edges) == 0 || d.intn(4) > 0 {
		return nil
	}
	e := t.Edges[d.intn(len(t.Edges))]
	t.Edges = append(slices.Clone(t.Edges), [2]int32{e[1], e[0]})
	err := d.m.Swap(t)
	if _, ok := errors.AsType[*sched.CycleError](err); !ok {
		return fmt.Errorf("a cycle is accepted: %v", err)
	}
	return d.check(false)
}

func (d *duo) pick(want func(*modelVertex) bool) (int, bool) {
	n := len(d.o.vs)
	from := d.intn(n)
	for i := range n {
		if v := (from + i) % n; want(&d.o.vs[v]) {
			return v, true
		}
	}
	return 0, false
}

func present(x *modelVertex) bool { return x.present }
func runs(x *modelVertex) bool    { return x.present && x.running }
func unheard(x *modelVertex) bool { return x.present && !x.heard }
func delayed(x *modelVertex) bool { return x.failed || x.deferred }
func removed(x *modelVertex) bool { return x.gone }
func rests(x *modelVertex) bool   { return x.present && x.heard && !x.dirty && !x.running && !x.failed }
func paused(x *modelVertex) bool  { return x.hold != 0 }

var outcomes = []sched.Outcome{
	{State: resgraph.StateOK}, {State: resgraph.StateOK}, {State: resgraph.StateOK}, {State: resgraph.StateWouldChange},
	{State: resgraph.StateUnknown}, {State: resgraph.StateFailed}, {State: resgraph.StateFailed, Retry: true},
}

// step does one random thing to both.
func (d *duo) step() error {
	looked := false
	var err error
	switch d.intn(25) {
	case 0, 1, 2:
		d.with(unheard, "ready", func(v int) { d.m.Ready(int32(v)); d.o.ready(v) })
	case 3:
		d.with(present, "ready", func(v int) { d.m.Ready(int32(v)); d.o.ready(v) })
	case 4:
		if d.intn(3) == 0 {
			d.with(present, "unready", func(v int) { d.m.Unready(int32(v)); d.o.unready(v) })
		}
	case 5, 6, 7:
		d.with(present, "event", func(v int) { d.m.Event(int32(v)); d.o.event(v) })
	case 8, 9, 10, 11, 12:
		o := outcomes[d.intn(len(outcomes))]
		d.with(runs, fmt.Sprint("done ", o), func(v int) { d.m.Done(int32(v), o); d.o.done(v, o) })
	case 13:
		retry := d.intn(2) == 0
		d.with(present, fmt.Sprint("fail ", retry), func(v int) { d.m.Fail(int32(v), retry); d.o.fail(v, retry) })
	case 14, 15:
		d.with(delayed, "wake", func(v int) { d.m.Wake(int32(v)); d.o.wake(v) })
	case 16:
		word := resgraph.StatePaused + resgraph.State(d.intn(2))
		d.with(present, "hold", func(v int) { d.m.Hold(int32(v), word); d.o.vs[v].hold, d.o.vs[v].aside = word, false })
		if d.intn(2) == 0 {
			d.with(rests, "aside", func(v int) { d.m.Aside(int32(v)); d.o.vs[v].hold, d.o.vs[v].aside = resgraph.StateHeld, true })
		}
	case 17:
		d.with(paused, "release", func(v int) { d.m.Release(int32(v)); d.o.vs[v].hold, d.o.vs[v].aside = 0, false })
	case 18:
		if d.intn(3) == 0 {
			d.with(runs, "defer", func(v int) { d.m.Defer(int32(v)); d.o.deferRun(v) })
		}
	case 19:
		d.with(removed, "forgotten", d.forgotten)
	case 20:
		d.yield()
	case 21:
		if d.intn(4) == 0 {
			err = d.swap(d.intn(max(1, len(d.o.vs))) + 2)
		}
	case 22:
		d.setParallel(d.intn(5))
	default:
		looked, err = d.next()
	}
	if err != nil {
		return err
	}
	return d.check(looked)
}

func (d *duo) with(want func(*modelVertex) bool, what string, do func(v int)) {
	if v, ok := d.pick(want); ok {
		d.say("%s %d", what, v)
		do(v)
	}
}

func (d *duo) forgotten(v int) {
	d.m.Forgotten(int32(v))
	d.o.free(v)
	d.o.vs[v].gone = false
}

// yield gives back a slot of a run, or takes one again.
func (d *duo) yield() {
	if d.slots > 0 {
		d.say("regain")
		d.m.Regain()
		d.slots--
		d.o.used++
	} else if d.o.used > 0 {
		d.say("yield")
		d.m.Yield()
		d.slots++
		d.o.used--
	}
}

// setParallel alters how many runs may go on at once.
func (d *duo) setParallel(n int) {
	d.say("parallel %d", n)
	d.m.SetParallel(n)
	d.o.parallel = n
}

// next starts what the machine wants to start, once or until it wants no more.
func (d *duo) next() (looked bool, err error) {
	for {
		free := d.o.slotFree()
		run, ok := d.m.Next()
		if !ok {
			return free, d.o.idle()
		}
		d.say("next %v", run)
		if err := d.o.start(run); err != nil {
			return false, err
		}
		if d.intn(3) == 0 {
			return false, nil
		}
	}
}

// check compares what the two answer.
func (d *duo) check(looked bool) error {
	if err := d.m.Invariants(); err != nil {
		return err
	}
	for _, v := range d.m.Changed() {
		d.seen[v] = d.m.State(v)
	}
	for v := range d.o.vs {
		if d.o.vs[v].present && d.seen[v] != d.o.own(v) &&
			!(d.seen[v] == resgraph.StateBlocked && d.o.own(v) == resgraph.StateWaiting) {
			return fmt.Errorf("%d: Changed did not tell %v, only %v", v, d.o.own(v), d.seen[v])
		}
	}
	return d.o.compare(d.m, looked)
}

// settle ends all waits until nothing moves: then every vertex has to be settled, and
// every question answered by a run that started after it.
func (d *duo) settle() error {
	d.say("settle")
	for d.slots > 0 {
		d.yield()
	}
	for range 20 * (len(d.o.vs) + 1) {
		for v := range d.o.vs {
			d.settleOne(v)
		}
		if _, err := d.next(); err != nil {
			return err
		}
		if err := d.check(false); err != nil {
			return err
		}
	}
	for v := range d.o.vs {
		x := &d.o.vs[v]
		if x.present && (!d.m.State(int32(v)).Settled() || x.started < x.asked) {
			return fmt.Errorf("law 3: %d is %v, asked at %d, started at %d", v, d.m.State(int32(v)), x.asked, x.started)
		}
	}
	if !d.m.AtRest() {
		return errors.New("not at rest")
	}
	return nil
}

func (d *duo) settleOne(v int) {
	id := int32(v)
	x := &d.o.vs[v]
	switch {
	case x.gone:
		d.forgotten(v)
	case !x.present:
	case x.running:
		o := sched.Outcome{State: resgraph.StateOK}
		d.m.Done(id, o)
		d.o.done(v, o)
	case x.failed || x.deferred:
		d.m.Wake(id)
		d.o.wake(v)
	case !x.heard:
		d.m.Ready(id)
		d.o.ready(v)
	case x.hold != 0:
		d.m.Release(id)
		x.hold, x.aside = 0, false
	}
}

// play is one game: a random graph and steps random steps.
func play(intn func(int) int, size, steps int) (log string, err error) {
	d := newDuo(intn)
	defer func() {
		log = strings.Join(d.log, "\n")
	}()
	if err := d.swap(size); err != nil {
		return "", err
	}
	for range steps {
		if err := d.step(); err != nil {
			return "", err
		}
	}
	return "", d.settle()
}

// TestModel plays many games with numbered seeds: 1,000,000 steps, of each of which
// the answers of the machine and its model are compared.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(howMany()) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := 2 + r.IntN(10)
		if seed%10 == 0 {
			size = 40
		}
		if log, err := play(r.IntN, size, stepsEach); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, log)
		}
	}
}

// TestModelRapid plays games that rapid makes small when they fail.
func TestModelRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		intn := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "dice") }
		if log, err := play(intn, rapid.IntRange(2, 6).Draw(t, "size"), 60); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
	})
}
