package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// three declares a > b ! c with what each wants.
func three(t *testing.T, w *stage, a, b, c string) *decl {
	d := newDecl(t)
	for i, want := range []string{a, b, c} {
		d.add(string(rune('a'+i)), &fake{w: w, Want: want})
	}
	return d.edges("a>b", "b!c")
}

// TestStageSays: Same tells what goes on unchanged, Drop leaves no trace, and a stage ends once.
func TestStageSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(three(t, w, "1", "1", "1"))
		rg.rest()
		log := len(w.order())
		next := three(t, w, "1", "2", "1").add("d", &fake{w: w})
		st, err := rg.r.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Same("fake[a]") {
			t.Error("the same as a graph that was not compared")
		}
		st.Compare(next.g)
		for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false, "e": false} {
			if st.Same("fake["+name+"]") != want {
				t.Errorf("Same of %s is %v", name, !want)
			}
		}
		if res := st.Find("fake[b]"); res == nil || res.(*fake).Want != "1" || st.Find("fake[d]") != nil {
			t.Error("Find finds something else than what runs")
		}
		st.Drop()
		st.Drop()
		if err := st.Commit(t.Context(), next.g); !errors.Is(err, reactor.ErrStageOver) {
			t.Errorf("a commit after Drop: %v", err)
		}
		synctest.Wait()
		if got := w.order()[log:]; len(got) != 0 || len(rg.swaps) != 1 {
			t.Errorf("a stage that was dropped did %v", got)
		}
		st, err = rg.r.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st.Compare(next.g)
		if err := st.Commit(t.Context(), next.g); err != nil {
			t.Fatal(err)
		}
		if s := rg.swaps[1]; s.Kept != 2 || s.Changed != 1 || s.Added != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestRefreshDeclaredTwice: an edge that carries refresh by two declarations is one, and so is its refresh.
func TestRefreshDeclaredTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(three(t, newWorld(), "1", "1", "1").edges("b!c", "a!b"))
		rg.rest()
		_, edges, err := rg.r.Drawing(t.Context())
		if want := []string{"fake[a]!fake[b]", "fake[b]!fake[c]"}; err != nil || !slices.Equal(edges, want) {
			t.Errorf("%v, %v, want %v", edges, err, want)
		}
	})
}

// TestStageWaits: a second stage waits for the end of the first, and its own context, and neither keeps Run from its end.
func TestStageWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		first, err := rg.r.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		brief, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := rg.r.Stage(brief); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second stage did not wait: %v", err)
		}
		second := make(chan error, 1)
		go func() { second <- rg.r.Swap(t.Context(), three(t, w, "2", "2", "2").g) }()
		synctest.Wait()
		select {
		case err := <-second:
			t.Errorf("a swap went on beside a stage: %v", err)
		default:
		}
		if err := first.Commit(t.Context(), three(t, w, "1", "1", "1").g); err != nil {
			t.Error(err)
		}
		if err := <-second; err != nil || rg.swaps[1].Changed != 3 {
			t.Errorf("%v, %+v", err, rg.swaps)
		}
		held, err := rg.r.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		third := make(chan error, 1)
		go func() { _, err := rg.r.Stage(t.Context()); third <- err }()
		rg.close() // with a stage held and one that waits
		if err := <-third; !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("a stage that waited got %v", err)
		}
		if err := held.Commit(t.Context(), three(t, w, "3", "3", "3").g); !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("a commit after the end got %v", err)
		}
	})
}

// part makes the part of a graph: names that begin with * are of running vertices, and stand for them.
func part(t *testing.T, w *stage, wants map[string]string, edges ...string) *resgraph.Graph {
	d := newDecl(t)
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		if wants[name] != "*" {
			d.add(name, &fake{w: w, Want: wants[name]})
		} else if _, err := d.g.Add("fake["+name+"]", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range edges {
		own := graph.ByTo
		if from, ok := strings.CutPrefix(e, "^"); ok { // it belongs to the end that it leaves
			own, e = graph.ByFrom, from
		}
		from, to, notify := strings.Cut(e, "!")
		if !notify {
			from, to, _ = strings.Cut(e, ">")
		}
		i, _ := d.g.Index("fake[" + from + "]")
		j, _ := d.g.Index("fake[" + to + "]")
		if err := d.g.Connect(graph.Edge{From: i, To: j, Notify: notify, By: own}); err != nil {
			t.Fatal(err)
		}
	}
	return d.g
}

// drawn fails the test unless the graph that runs has these edges.
func drawn(t *testing.T, r *reactor.Reactor, want ...string) {
	t.Helper()
	_, edges, err := r.Drawing(t.Context())
	if err != nil {
		t.Error(err)
	}
	got := strings.NewReplacer("fake[", "", "]", "").Replace(strings.Join(edges, " "))
	if got != strings.Join(want, " ") {
		t.Errorf("edges are %s, want %s", got, want)
	}
}

// TestUpsertAndDelete: a part comes with its edges, touches nothing else, and goes again.
func TestUpsertAndDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		if err := rg.r.Swap(t.Context(), part(t, w, map[string]string{"a": "1", "b": "1", "c": "1"}, "a>b", "b!c")); err != nil {
			t.Fatal(err)
		}
		rg.rest()
		do := func(what string, err error, changed string, want ...string) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			synctest.Wait()
			time.Sleep(time.Minute)
			drawn(t, rg.r, want...)
			if s := rg.swaps[len(rg.swaps)-1]; fmt.Sprint(s.Kept, s.Added, s.Changed, s.Removed) != changed {
				t.Errorf("%s: %+v", what, s)
			}
		}
		before := len(w.order())
		do("change b", rg.r.Upsert(t.Context(), part(t, w, map[string]string{"b": "2", "a": "*"}, "a!b")), "2 0 1 0", "a!b", "b!c")
		if got := strings.Join(w.order()[before:], ", "); got != "cleanup b, init b, run b" {
			t.Errorf("a change of b did: %s", got)
		}
		before = len(w.order())
		do("the same b", rg.r.Upsert(t.Context(), part(t, w, map[string]string{"b": "2", "a": "*"}, "a!b")), "3 0 0 0", "a!b", "b!c")
		do("add d before a and after c would close a cycle, so only before", rg.r.Upsert(t.Context(), part(t, w, map[string]string{"d": "1", "a": "*"}, "^d>a")), "3 1 0 0", "a!b", "b!c", "d>a")
		err := rg.r.Upsert(t.Context(), part(t, w, map[string]string{"d": "3", "a": "*", "c": "*"}, "^d>a", "c>d"))
		if _, ok := errors.AsType[*graph.CycleError](err); !ok || !strings.Contains(err.Error(), "fake[d]") {
			t.Errorf("a cycle: %v", err)
		}
		drawn(t, rg.r, "a!b", "b!c", "d>a")
		err = rg.r.Delete(t.Context(), "fake[a]")
		if by, ok := errors.AsType[*reactor.ReferredError](err); !ok || by.Resource != "fake[a]" {
			t.Errorf("a reference: %v", err)
		}
		err = rg.r.Delete(t.Context(), "fake[x]")
		if _, ok := errors.AsType[*reactor.UnknownResourceError](err); !ok {
			t.Errorf("an unknown one: %v", err)
		}
		err = rg.r.Upsert(t.Context(), part(t, w, map[string]string{"e": "1", "x": "*"}, "x>e"))
		if _, ok := errors.AsType[*reactor.UnknownResourceError](err); !ok {
			t.Errorf("an unknown end: %v", err)
		}
		if got := w.order()[before:]; strings.Join(got, ", ") != "init d, run d" {
			t.Errorf("what was refused did %v", got)
		}
		do("delete b and c", rg.r.Delete(t.Context(), "fake[c]", "fake[b]"), "2 0 0 2", "d>a")
		do("give d no edge", rg.r.Upsert(t.Context(), part(t, w, map[string]string{"d": "1"})), "2 0 0 0")
	})
}

// TestChange: a part comes and others go at once, or neither. A vertex that a brought one referred to may go, and a brought resource that is
// the running one goes on.
func TestChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		if err := rg.r.Swap(t.Context(), part(t, w, map[string]string{"a": "1", "b": "1", "c": "1"}, "a>b", "b!c")); err != nil {
			t.Fatal(err)
		}
		rg.rest()
		change := func(p *resgraph.Graph, ids ...string) error {
			st, err := rg.r.Stage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range p.All() {
				if run := st.Find(p.ID(i)); v != nil && run != nil && p.ID(i) == "fake[c]" {
					v.Res = run
				}
			}
			return st.Change(t.Context(), p, ids...)
		}
		err := change(part(t, w, map[string]string{"d": "1", "b": "*"}, "b>d"), "fake[b]")
		if err == nil || !strings.Contains(err.Error(), "fake[b]") {
			t.Errorf("what goes was named: %v", err)
		}
		err = change(part(t, w, map[string]string{"d": "1"}), "fake[a]")
		if by, ok := errors.AsType[*reactor.ReferredError](err); !ok || by.By != "fake[b]" {
			t.Errorf("a reference: %v", err)
		}
		drawn(t, rg.r, "a>b", "b!c")
		before := len(w.order())
		if err := change(part(t, w, map[string]string{"c": "2", "d": "1"}, "d>c"), "fake[b]"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		drawn(t, rg.r, "d>c")
		if got := strings.Join(w.order()[before:], ", "); strings.Contains(got, "init c") || !strings.Contains(got, "run d") {
			t.Errorf("the change did: %s", got)
		}
	})
}

// TestUpsertExclusive: of a kind that excludes itself, failing successors are told of together, and bring all old vertices back.
func TestUpsertExclusive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(three(t, w, "1", "1", "1"))
		rg.rest()
		no := func() error { return errors.New("no") }
		p := newDecl(t).add("a", &fake{w: w, Want: "2", initErr: no}).add("b", &fake{w: w, Want: "2"}).add("c", &fake{w: w, Want: "2", initErr: no})
		err := rg.r.Upsert(t.Context(), p.g)
		if faults, ok := errors.AsType[reactor.InitErrors](err); !ok || len(faults) != 2 || faults[0].Resource != "fake[a]" || faults[1].Resource != "fake[c]" {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		drawn(t, rg.r, "a>b", "b!c")
		for _, name := range []string{"a", "b", "c"} {
			if s := rg.state(name); s.State != resgraph.StateOK {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestUpsertCarriesValues: what others receive from a replaced sender comes from the new one, and what it has received is carried.
func TestUpsertCarriesValues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		say := func(text string) *sender {
			return &sender{fake{w: w, Want: text, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				return true, f.init.Send(sends{Out: text})
			}}}
		}
		got := map[string]string{}
		hear := func(want string) *fake {
			return &fake{w: w, Want: want, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				got[f.Name()] = f.Key
				return true, nil
			}}
		}
		rg.swap(newDecl(t).add("s", say("one")).add("r", hear("1"), "key=fake[s].out").edges("s>r"))
		rg.rest()
		if err := rg.r.Upsert(t.Context(), newDecl(t).add("s", say("two")).g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got["r"] != "two" {
			t.Errorf("it has received %q", got["r"])
		}
		p := newDecl(t).add("r", hear("2"), "key=fake[s].out")
		if err := rg.r.Upsert(t.Context(), p.g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got["r"] != "two" || w.count("s") != 2 {
			t.Errorf("it has received %q, and the sender ran %d times", got["r"], w.count("s"))
		}
		if err := rg.r.Delete(t.Context(), "fake[s]"); err == nil {
			t.Error("a sender was deleted that is received from")
		}
	})
}

// wanted is a graph as the property test declares it: what a vertex wants, and its edges by their owner.
type wanted struct {
	wants map[string]string
	edges map[[2]string]planned // by from and to
	t     *testing.T
	w     *stage

	whole *resgraph.Graph // the last one that was handed over whole, nil for none
	was   *wanted         // what it declares
}

type planned struct {
	by     graph.Owner
	notify bool
}

func (p *wanted) clone() *wanted {
	return &wanted{wants: maps.Clone(p.wants), edges: maps.Clone(p.edges), t: p.t, w: p.w, whole: p.whole, was: p.was}
}

// graph makes the graph of some vertices; the others are ends without a value.
func (p *wanted) graph(brings func(string) bool) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("plan")
	add := func(name string) int {
		if i, ok := g.Index("fake[" + name + "]"); ok {
			return i
		}
		var v *resgraph.Vertex
		if brings(name) {
			v = p.vertex(name)
		}
		i, err := g.Add("fake["+name+"]", v)
		if err != nil {
			p.t.Fatal(err)
		}
		return i
	}
	for _, name := range slices.Sorted(maps.Keys(p.wants)) {
		if brings(name) {
			add(name)
		}
	}
	keys := slices.SortedFunc(maps.Keys(p.edges), func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	for _, ends := range keys {
		e := p.edges[ends]
		own := e.by == graph.ByFrom && brings(ends[0]) || e.by == graph.ByTo && brings(ends[1]) ||
			e.by == graph.ByNeither && brings(ends[0]) && brings(ends[1])
		if !own {
			continue
		}
		if err := g.Connect(graph.Edge{From: add(ends[0]), To: add(ends[1]), Notify: e.notify, By: e.by}); err != nil {
			p.t.Fatal(err)
		}
	}
	return g
}

func (p *wanted) vertex(name string) *resgraph.Vertex {
	v := &resgraph.Vertex{Res: &fake{w: p.w, Want: p.wants[name]}}
	v.Res.SetKind("fake")
	v.Res.SetName(name)
	return v
}

// swap hands the graph over whole.
func (p *wanted) swap(r *reactor.Reactor) error {
	g := p.graph(func(string) bool { return true })
	if err := r.Swap(context.Background(), g); err != nil {
		return err
	}
	p.whole, p.was = g.Clone(), p.clone()
	return nil
}

// swapAlike hands the last whole graph over again, with other wants of some and with no other edges.
func (p *wanted) swapAlike(dice *rand.Rand, r *reactor.Reactor) (*wanted, error) {
	next, g := p.was.clone(), p.whole.Clone()
	for i, name := range slices.Sorted(maps.Keys(next.wants)) {
		if dice.IntN(3) == 0 {
			next.wants[name] = fmt.Sprint(dice.IntN(2))
		}
		g.SetValue(i, next.vertex(name))
	}
	next.whole, next.was = p.whole, p.was
	return next, r.Swap(context.Background(), g)
}

func (p *wanted) drawing() (ids, edges []string) {
	for name := range p.wants {
		ids = append(ids, "fake["+name+"]")
	}
	for ends, e := range p.edges {
		mark := map[bool]string{false: ">", true: "!"}[e.notify]
		edges = append(edges, "fake["+ends[0]+"]"+mark+"fake["+ends[1]+"]")
	}
	slices.Sort(ids)
	slices.Sort(edges)
	return ids, edges
}

// TestPartsMakeTheWhole: after any sequence of Upsert, Delete and Commit, refused ones included, the graph that runs is the one
// that would have been handed over whole.
func TestPartsMakeTheWhole(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		bubble(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 13))
			w := newWorld()
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			if seed%2 == 0 {
				if err := rg.r.DrawFresh(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			p := &wanted{wants: map[string]string{}, edges: map[[2]string]planned{}, t: t, w: w}
			for range 30 {
				next, err := p.step(dice, rg.r)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				p = next
				if dice.IntN(2) == 0 {
					synctest.Wait() // else it goes on in the middle of all that
				}
				ids, edges, err := rg.r.Drawing(t.Context())
				wantIDs, wantEdges := p.drawing()
				if err != nil || !slices.Equal(ids, wantIDs) || !slices.Equal(edges, wantEdges) {
					t.Fatalf("seed %d: %v\nhave %v %v\nwant %v %v", seed, err, ids, edges, wantIDs, wantEdges)
				}
			}
			time.Sleep(time.Minute)
			before := len(w.order())
			rg.swap(&decl{t, p.graph(func(string) bool { return true })})
			time.Sleep(time.Minute)
			if did := w.order()[before:]; len(did) != 0 || len(w.overlap) != 0 {
				t.Errorf("seed %d: the whole graph did %v, and %v overlapped", seed, did, w.overlap)
			}
			if c, err := rg.r.Counts(t.Context()); err != nil || c[resgraph.StateOK] != len(p.wants) {
				t.Errorf("seed %d: %v %v of %d", seed, c, err, len(p.wants))
			}
		})
	}
}

// step does one thing to the graph that runs, and returns what it should be then.
func (p *wanted) step(dice *rand.Rand, r *reactor.Reactor) (*wanted, error) {
	if p.whole != nil && dice.IntN(4) == 0 {
		return p.swapAlike(dice, r)
	}
	next := p.clone()
	some := map[string]bool{}
	for range 1 + dice.IntN(3) {
		some[string(rune('a'+dice.IntN(8)))] = true
	}
	if dice.IntN(4) == 0 {
		return p.delete(some, next, r)
	}
	for ends, e := range next.edges { // those of the part go
		from, to := some[ends[0]], some[ends[1]]
		if e.by == graph.ByFrom && from || e.by == graph.ByTo && to || e.by == graph.ByNeither && from && to {
			delete(next.edges, ends)
		}
	}
	names := slices.Sorted(maps.Keys(some))
	for _, name := range names {
		next.wants[name] = fmt.Sprint(dice.IntN(2))
	}
	all := slices.Sorted(maps.Keys(next.wants))
	for range dice.IntN(5) {
		one, other := names[dice.IntN(len(names))], all[dice.IntN(len(all))]
		ends := [2]string{one, other}
		e := planned{by: graph.ByFrom, notify: dice.IntN(2) == 0}
		if dice.IntN(2) == 0 {
			ends, e.by = [2]string{other, one}, graph.ByTo
		}
		if some[other] && dice.IntN(2) == 0 {
			e.by = graph.ByNeither
		}
		if _, there := next.edges[ends]; there || one == other {
			continue
		}
		next.edges[ends] = e
	}
	var err error
	if dice.IntN(5) == 0 {
		err = next.swap(r)
	} else {
		err = r.Upsert(context.Background(), next.graph(func(name string) bool { return some[name] }))
	}
	if next.cyclic() {
		if _, ok := errors.AsType[*graph.CycleError](err); !ok {
			return nil, fmt.Errorf("a cycle is taken: %v", err)
		}
		return p, nil
	}
	return next, err
}

func (p *wanted) cyclic() bool {
	_, err := p.graph(func(string) bool { return true }).Sort()
	return err != nil
}

func (p *wanted) delete(some map[string]bool, next *wanted, r *reactor.Reactor) (*wanted, error) {
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(some)) {
		if _, ok := p.wants[name]; ok {
			ids = append(ids, "fake["+name+"]")
			delete(next.wants, name)
		}
	}
	refers := false
	for ends, e := range p.edges {
		from, to := some[ends[0]], some[ends[1]]
		refers = refers || e.by == graph.ByFrom && !from && to || e.by == graph.ByTo && from && !to
		if from || to {
			delete(next.edges, ends)
		}
	}
	err := r.Delete(context.Background(), ids...)
	if refers {
		if _, ok := errors.AsType[*reactor.ReferredError](err); !ok {
			return nil, fmt.Errorf("a missing reference is taken: %v", err)
		}
		return p, nil
	}
	return next, err
}
