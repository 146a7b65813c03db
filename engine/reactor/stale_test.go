package reactor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestValueDuringARetryWaitVoidsTheRetry: a value starts a run at once, so the
// retry that was waited for is none any more: it counts no further try, and
// gives no later run a cause.
func TestValueDuringARetryWaitVoidsTheRetry(t *testing.T) {
	for name, last := range map[string]error{"failed for good": errors.New("no"), "well": nil} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				ev, own, out := make(chan struct{}), make(chan struct{}), "1"
				b := &fake{w: w, watch: eventer(own)}
				b.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
					if f.Free == "1" {
						return false, errors.New("no")
					}
					return true, last
				}
				b.SetMetaParams(&engine.MetaParams{Retry: 1, Delay: time.Minute})
				rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, "free=fake[a].out").edges("a>b"))
				rg.rest()
				time.Sleep(10 * time.Second)
				out = "2"
				ev <- struct{}{}
				synctest.Wait()
				if s := rg.state("b"); w.count("b") != 2 || s.RetryIn != 0 {
					t.Fatalf("after the value: %d runs, %+v", w.count("b"), s)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := w.count("b"); n != 2 {
					t.Errorf("%d runs, want 2: the one that failed, and one with the value", n)
				}
				own <- struct{}{}
				synctest.Wait()
				runs := rg.runs("b")
				if ts := runs[len(runs)-1].Triggers; len(ts) != 1 || ts[0].Cause != reactor.CauseEvent {
					t.Errorf("the event's run was caused by %+v", ts)
				}
			})
		})
	}
}

// TestRetryAtTheFirstMoment: what is due at once is done at once, also at the
// moment at which the reactor was made.
func TestRetryAtTheFirstMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		a := newStill(w)
		a.check = func(context.Context, *fake, bool) (bool, error) {
			if w.count("a") == 1 {
				return false, errors.New("not yet")
			}
			return true, nil
		}
		a.SetMetaParams(&engine.MetaParams{Retry: 1})
		rg.swap(newDecl(t).add("a", a))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := w.count("a"); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
	})
}

// TestSemaphoreByNameAndCount: disk and disk:1 are one semaphore.
func TestSemaphoreByNameAndCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t)
		for name, sema := range map[string]string{"a": "disk", "b": "disk:1", "c": "disk:01"} {
			f := slowGate(w)
			f.SetMetaParams(&engine.MetaParams{Sema: []string{sema}})
			d.add(name, f)
		}
		rg.swap(d)
		rg.rest()
		if w.most != 1 {
			t.Errorf("%d at once hold a semaphore for one", w.most)
		}
	})
}

// TestBrokenBatchMemberFailsAlone: law 9 for what a member is told before its run.
func TestBrokenBatchMemberFailsAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t).add("gate", slowGate(w))
		for _, n := range []string{"a", "b", "c"} {
			d.add(n, &touchy{batched{fake: fake{w: w}, group: "g", batch: allOK}, n == "b"})
		}
		c := func() reactor.Counts { rg.swap(d.edges("gate>a", "gate>b", "gate>c")); return rg.rest() }()
		if c[resgraph.StateFailed] != 1 || c[resgraph.StateOK] != 3 {
			t.Errorf("states %v", c)
		}
		if s := rg.state("b"); s.State != resgraph.StateFailed {
			t.Errorf("b is %s", s.State)
		}
	})
}

// touchy is a batched fake of which one method panics.
type touchy struct {
	batched
	panics bool
}

func (p *touchy) SetRefresh(bool) {
	if p.panics {
		panic("boom")
	}
}

// TestChangeOfAReplacedVertexRefreshesTheNewTargets: its run ends after a graph took
// effect in which its successor notifies somebody else, who is refreshed.
func TestChangeOfAReplacedVertexRefreshesTheNewTargets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		old := &lapping{fake: fake{w: w, Want: "1", check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if w.count("a") == 1 || !apply {
				return w.count("a") == 1, nil
			}
			time.Sleep(time.Minute) // whatever the context says
			return false, nil
		}}}
		ev := make(chan struct{})
		old.watch = eventer(ev)
		rg.swap(newDecl(t).add("a", old).add("t", &fake{w: w}).edges("a!t"))
		rg.rest()
		ev <- struct{}{}
		synctest.Wait()
		next := func(want string, to ...string) *decl {
			d := newDecl(t).add("a", &lapping{fake: fake{w: w, Want: want}}).add("t", &fake{w: w}).add("u", &fake{w: w})
			return d.edges(to...)
		}
		rg.swap(next("2", "a>t", "a!u"))
		time.Sleep(time.Hour)
		synctest.Wait()
		refreshed := func(name string) (n int) {
			for _, r := range rg.runs(name) {
				if r.Refreshed {
					n++
				}
			}
			return n
		}
		if n := refreshed("u"); n != 1 {
			t.Errorf("u was refreshed %d times, want once", n)
		}
		if rg.store.size() != 0 {
			t.Errorf("%d records are left", rg.store.size())
		}
	})
}

// slowStore takes a while for each commit.
type slowStore struct {
	memStore
	takes time.Duration
}

func (s *slowStore) Commit(ctx context.Context, ws []records.Write) error {
	time.Sleep(s.takes)
	return s.memStore.Commit(ctx, ws)
}

func (s *slowStore) has(table, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.recs[table][key]
	return ok
}

// TestPauseThatIsProlongedAtItsEnd: the end of the first pause, while the second one is
// being recorded, does not take the record of the second one away.
func TestPauseThatIsProlongedAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &slowStore{takes: 2 * time.Second}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: newWorld()}))
		rg.rest()
		for _, long := range []time.Duration{10 * time.Second, time.Hour} {
			if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]", Until: time.Now().Add(long)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(9 * time.Second) // a second before the first one ends
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := rg.state("a"); s.State != resgraph.StatePaused || !store.has("pause", "fake[a]") {
			t.Errorf("it is %s; recorded: %t", s.State, store.has("pause", "fake[a]"))
		}
	})
}

// TestPauseAndResumeAtOnce: what is in effect in the end is what is recorded.
func TestPauseAndResumeAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &slowStore{takes: time.Second}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: newWorld()}))
		rg.rest()
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]"}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]", Reason: "longer"}) })
		time.Sleep(time.Second / 2) // it is being recorded
		wg.Go(func() { _ = rg.r.Resume(t.Context(), "fake[a]") })
		wg.Wait()
		time.Sleep(time.Minute)
		if s := rg.state("a"); (s.State == resgraph.StatePaused) != store.has("pause", "fake[a]") {
			t.Errorf("it is %s; recorded: %t", s.State, store.has("pause", "fake[a]"))
		}
	})
}

// TestRetryOfWhatWasToldToGoOn: who says that a held vertex may change something means
// until it has.
func TestRetryOfWhatWasToldToGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: 24 * time.Hour}})
		defer rg.close()
		applied := 0
		b := &fake{w: w}
		b.check = func(_ context.Context, _ *fake, apply bool) (bool, error) {
			if !apply {
				return applied > 1, nil
			}
			if applied++; applied == 1 {
				return false, errors.New("not yet")
			}
			return false, nil
		}
		b.SetMetaParams(&engine.MetaParams{Retry: 1, Delay: time.Minute})
		first := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) { return w.count("a") > 2, nil }}
		rg.swap(newDecl(t).add("a", first).add("b", b).edges("a>b"))
		rg.rest()
		if s := rg.state("b"); s.State != resgraph.StateHeld {
			t.Fatalf("b is %s", s.State)
		}
		if err := rg.r.Resume(t.Context(), "fake[b]"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateOK || applied != 2 {
			t.Errorf("b is %s after it was applied %d times", s.State, applied)
		}
	})
}
