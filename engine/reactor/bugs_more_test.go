package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestBug20_LimitsAreInSeconds: a limit lets runs through at its rate, to the
// second and below it, owes nothing for events that were merged, and lets burst
// runs through at once after a rest.
//
// Seen failing with: pace.go, wait: the wait multiplied by time.Millisecond once
// more; ReserveN in place of AllowN (each event that has to wait costs a run).
func TestBug20_LimitsAreInSeconds(t *testing.T) {
	for _, c := range []struct {
		limit float64
		burst int
		want  []time.Duration
	}{
		{5, 1, []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond}},
		{5, 3, []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond}},
		{0.1, 1, []time.Duration{0, 10 * time.Second}},
	} {
		t.Run(fmt.Sprintf("%v a second, %d at once", c.limit, c.burst), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				ev := make(chan struct{})
				var at []time.Duration
				start := time.Now()
				f := &fake{w: newWorld(), watch: eventer(ev), check: func(context.Context, *fake, bool) (bool, error) {
					at = append(at, time.Since(start).Round(time.Millisecond))
					return true, nil
				}}
				f.MetaParams().Limit, f.MetaParams().Burst = c.limit, c.burst
				rg.swap(newDecl(t).add("f", f))
				for range 45 {
					time.Sleep(10 * time.Millisecond)
					ev <- struct{}{}
				}
				time.Sleep(time.Hour)
				ev <- struct{}{}
				synctest.Wait()
				want := append(slices.Clone(c.want), time.Hour+450*time.Millisecond)
				if !slices.Equal(at, want) {
					t.Errorf("ran at %v, want %v", at, want)
				}
			})
		})
	}
}

// TestBug21_NotConvergedWhileSomethingIsDue: however long it takes, and whatever
// it waits for.
//
// Seen failing with: converge.go, settle: AtRest not asked; sched/ask.go, Pending:
// the deferred left out, and the starting.
func TestBug21_NotConvergedWhileSomethingIsDue(t *testing.T) {
	slowly := func(context.Context, *fake, bool) (bool, error) {
		time.Sleep(time.Minute)
		return true, nil
	}
	lazy := func(ctx context.Context, f *fake) error {
		time.Sleep(time.Minute)
		f.init.Running()
		<-ctx.Done()
		return nil
	}
	for name, mk := range map[string]func(w *stage) *decl{
		"a run": func(w *stage) *decl { return newDecl(t).add("f", &fake{w: w, check: slowly}) },
		"below a run": func(w *stage) *decl {
			return newDecl(t).add("f", &fake{w: w, check: slowly}).add("g", &fake{w: w}).edges("f>g")
		},
		"a start": func(w *stage) *decl { return newDecl(t).add("f", &fake{w: w, watch: lazy}) },
		"a value": func(w *stage) *decl {
			s := &sender{fake{w: w, check: func(ctx context.Context, f *fake, apply bool) (bool, error) {
				_, _ = slowly(ctx, f, apply)
				return true, f.init.Send(sends{Out: "x"})
			}}}
			return newDecl(t).add("f", s).add("g", &fake{w: w}, "want=fake[f].out").edges("f>g")
		},
		"a semaphore": func(w *stage) *decl {
			d := newDecl(t)
			for _, name := range []string{"f", "g"} {
				f := &fake{w: w, check: slowly}
				f.MetaParams().Sema = []string{"s"}
				d.add(name, f)
			}
			return d
		},
		"a limit": func(w *stage) *decl {
			f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
				f.init.Running()
				time.Sleep(time.Second)
				f.init.Event()
				<-ctx.Done()
				return nil
			}}
			f.MetaParams().Limit, f.MetaParams().Burst = 1.0/60, 1
			return newDecl(t).add("f", f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Sweep: -1, Quiet: 5 * time.Second, StartTimeout: time.Hour})
				defer rg.close()
				start := time.Now()
				rg.swap(mk(w))
				rg.rest()
				if d := time.Since(start); d < time.Minute || d > 3*time.Minute {
					t.Errorf("converged after %s", d)
				}
			})
		})
	}
}

// TestBug22_WaitingIsNoSuccess: a vertex whose retry is due waits while an
// ancestor runs. That neither counts for its retries nor lets others go on.
//
// Seen failing with: sched/ready.go, tryStart: what finds an obstacle is made
// clean, and ok, in place of parked.
func TestBug22_WaitingIsNoSuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1, Quiet: time.Hour})
		defer rg.close()
		gate := &fake{w: w, watch: everySecond, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(700 * time.Millisecond)
			return true, nil
		}}
		bad := &fake{w: w, check: always(false, errors.New("no"))}
		m := bad.MetaParams()
		m.Retry, m.RetryReset, m.Delay = 4, true, 1200*time.Millisecond // due while gate runs
		rg.swap(newDecl(t).add("gate", gate).add("bad", bad).add("below", &fake{w: w}).edges("gate>bad", "bad>below"))
		rg.rest()
		var attempts []int
		for _, r := range rg.runs("bad") {
			attempts = append(attempts, r.Attempt)
		}
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %v, want %v", attempts, want)
		}
		if s := rg.state("below"); s.State != resgraph.StateBlocked || w.count("below") > 0 {
			t.Errorf("below is %s after %d runs", s.State, w.count("below"))
		}
	})
}

// TestBug23_RemovalWhileNeighboursPoke: refreshes and values for a vertex that has
// left, and whatever its own goroutines still say, concern nobody.
//
// Seen failing with: refresh.go, notifyAll: the look whether t is nil left out;
// reactor.go, news: v.gone and v.watchState not looked at before r.event (whoever
// has the slot runs).
func TestBug23_RemovalWhileNeighboursPoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		parent := func(round int) *sender {
			return &sender{fake{w: w, Want: fmt.Sprint(round / 4), watch: everySecond, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				time.Sleep(time.Minute)
				return false, f.init.Send(sends{Out: fmt.Sprint(w.count("parent"))})
			}}}
		}
		for round := range 10 {
			left := &fake{w: w}
			name := fmt.Sprint("kid", round)
			rg.swap(newDecl(t).add("parent", parent(round)).add(name, left, "free=fake[parent].out").edges("parent!" + name))
			time.Sleep(5 * time.Minute) // parent runs all the time
			rg.swap(newDecl(t).add("parent", parent(round)))
			time.Sleep(5 * time.Minute)
			rg.swap(newDecl(t).add("parent", parent(round)).add("heir", &fake{w: w}))
			synctest.Wait()
			n := w.count("heir")
			left.init.Running() // what its goroutines say comes late
			left.init.Event()
			left.init.Change(engine.Change{})
			_ = left.init.Send(sends{})
			left.init.Busy()()
			synctest.Wait()
			if w.count("heir") != n {
				t.Errorf("what %s says is taken for the word of another vertex", name)
			}
		}
	})
}

// TestBug24_DistinctSemaphoresAtOnce: many vertices take and give back semaphores
// of their own, and some in common, while the state of all is asked for.
//
// Seen failing with: sema.go, get: s.mu not locked (a race, or concurrent map
// writes); acquire: the names not sorted (they wait for each other for ever).
func TestBug24_DistinctSemaphoresAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1, Parallel: 16})
		d := newDecl(t)
		for i := range 64 {
			f := &fake{w: w, watch: everySecond, check: func(context.Context, *fake, bool) (bool, error) {
				time.Sleep(time.Millisecond)
				return true, nil
			}}
			common := []string{"x:2", "y:2", "z:2"}
			f.MetaParams().Sema = []string{fmt.Sprint("own", i), common[i%3], common[(i+1)%3]}
			d.add(fmt.Sprint(i), f)
		}
		rg.swap(d)
		for range 20 {
			time.Sleep(500 * time.Millisecond)
			if _, err := rg.r.Statuses(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 64 {
			if n := w.count(fmt.Sprint(i)); n < 9 {
				t.Errorf("%d ran %d times in ten seconds", i, n)
			}
		}
		rg.close()
		if w.most > 6 {
			t.Errorf("%d at once, although each takes two of six", w.most)
		}
	})
}

// TestBug25_FailureInASwapLeavesTheOldGraph: whichever vertex cannot be
// initialised, what ran runs on, and the next graph takes effect.
//
// Seen failing with: swap.go, exchangeAll: s.restart left out; swap: s.undo left
// out after initAll.
func TestBug25_FailureInASwapLeavesTheOldGraph(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		ev := map[string]chan struct{}{}
		names := []string{"a", "b", "c"}
		for _, n := range names {
			ev[n] = make(chan struct{})
		}
		mk := func(want, broken string) *decl {
			d := newDecl(t).add("new"+want, &fake{w: w})
			for _, n := range names {
				f := &fake{w: w, Want: want, watch: eventer(ev[n])}
				if n == broken {
					f.initErr = func() error { return errors.New("no") }
				}
				if n == "b" {
					d.add(n, &lapping{fake: *f})
				} else {
					d.add(n, f)
				}
			}
			return d.edges("new"+want+">a", "a>b", "b>c")
		}
		rg.swap(mk("1", ""))
		rg.rest()
		for _, broken := range names {
			if err := rg.r.Swap(t.Context(), mk("2", broken).g); err == nil {
				t.Fatal("the swap took effect")
			}
			synctest.Wait()
			for _, n := range names {
				before := w.count(n)
				ev[n] <- struct{}{}
				synctest.Wait()
				if s := rg.state(n); s.State != resgraph.StateOK || w.count(n) == before {
					t.Errorf("%s broken: %s is %s: %v; it ran %d times for an event", broken, n, s.State, s.Err, w.count(n)-before)
				}
			}
		}
		rg.swap(mk("3", ""))
		synctest.Wait()
		if c, err := rg.r.Counts(t.Context()); err != nil || c != (reactor.Counts{resgraph.StateOK: 4}) {
			t.Errorf("counts %v, %v", c, err)
		}
		rg.close()
		inits, cleanups := len(only(w.order(), "init ")), len(only(w.order(), "cleanup "))
		if failed := len(names); inits != cleanups+failed {
			t.Errorf("%d inits, of which %d failed, and %d cleanups", inits, failed, cleanups)
		}
	})
}

// TestBug26_IdenticalSwapWritesNothing: what is recorded for a vertex is not taken
// away and put back because the same graph comes again.
//
// Seen failing with: commit.go, commit: what the store keeps for every vertex of
// s.all forgotten, and noted again.
func TestBug26_IdenticalSwapWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		mk := func() *decl {
			changed := false
			src := &sender{fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
				was := changed
				changed = changed || apply
				return was, f.init.Send(sends{Out: "value"})
			}}}
			bad := &fake{w: w, check: always(false, errors.New("no"))}
			bad.MetaParams().Retry = 1
			exported := &fake{w: w}
			exported.MetaParams().Export = []string{"*"}
			return newDecl(t).add("src", src).add("bad", bad).add("exported", exported).
				add("dst", &fake{w: w}, "want=fake[src].out").edges("src!bad", "src>dst")
		}
		rg.swap(mk())
		rg.rest()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := rg.store.commits()
		if rg.store.size() == 0 {
			t.Error("there is no record of the pending refresh")
		}
		for range 5 {
			rg.swap(mk())
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if n := rg.store.commits() - before; n > 0 {
			t.Errorf("five identical graphs led to %d commits", n)
		}
	})
}

func (s *memStore) commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}
