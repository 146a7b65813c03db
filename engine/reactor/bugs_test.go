package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// The tests named TestBugNN are those of docs/development/bugs.md: each is of a
// mistake that an engine of this kind has made, and says how it was seen failing
// when the same mistake was made here.

// atOnce calls f, which must return before any time has passed.
func atOnce(t *testing.T, what string, f func() error) {
	t.Helper()
	done, start := make(chan error, 1), time.Now()
	go func() { done <- f() }()
	select {
	case err := <-done:
		if d := time.Since(start); d > 0 || err != nil {
			t.Errorf("%s took %s and returned %v", what, d, err)
		}
	case <-time.After(time.Hour):
		t.Fatalf("%s hangs", what)
	}
}

// changeTo is a Swap to the graph.
func (rg *rig) changeTo(d *decl) func() error {
	return func() error { return rg.r.Swap(rg.t.Context(), d.g) }
}

// everySecond is a Watch that has something to tell every second.
func everySecond(ctx context.Context, f *fake) error {
	f.init.Running()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// end is the end of Run.
func (rg *rig) end() error {
	rg.stop()
	return <-rg.done
}

// TestBug01_EventDuringRunIsKept: an event that comes while a long CheckApply
// runs, which has looked already, leads to another one.
//
// Seen failing with: sched/events.go, soil: x.set(again) left out.
func TestBug01_EventDuringRunIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		ev := make(chan struct{})
		var now, seen atomic.Int64
		f := &fake{w: w, watch: eventer(ev), check: func(context.Context, *fake, bool) (bool, error) {
			looked := now.Load()
			time.Sleep(time.Hour)
			seen.Store(looked)
			return true, nil
		}}
		rg.swap(newDecl(t).add("f", f))
		for range 5 {
			time.Sleep(10 * time.Minute)
			now.Add(1)
			ev <- struct{}{}
		}
		rg.rest()
		if seen.Load() != now.Load() || w.count("f") != 2 {
			t.Errorf("at rest it has seen change %d of %d, in %d runs", seen.Load(), now.Load(), w.count("f"))
		}
	})
}

// TestBug02_NoRunBeforeWatchIsReady: neither a refresh, nor a value, nor a vertex
// that goes on after a failed swap is a reason to check before Watch is armed.
//
// Seen failing with: refresh.go, notifyAll: r.ready(t) in place of r.event(t);
// wire.go, tryAssign: r.ready(v) whatever the state of the Watch; watch.go, open:
// r.ready(v) after startWatch.
func TestBug02_NoRunBeforeWatchIsReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{StartTimeout: time.Hour})
		defer rg.close()
		ev := make(chan struct{})
		value := 0
		parent := &sender{fake{w: w, watch: eventer(ev), check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if apply {
				value++
			}
			return false, f.init.Send(sends{Out: fmt.Sprint(value)})
		}}}
		var armed atomic.Bool
		mk := func() *fake {
			return &fake{w: w, watch: func(ctx context.Context, f *fake) error {
				defer armed.Store(false)
				time.Sleep(time.Minute)
				armed.Store(true)
				f.init.Running()
				<-ctx.Done()
				return nil
			}, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if !armed.Load() {
					t.Errorf("checked with the value %q while Watch is not armed", f.Free)
				}
				return true, nil
			}}
		}
		graph := func(child *fake) *decl {
			return newDecl(t).add("parent", parent).add("child", child, "free=fake[parent].out").edges("parent!child")
		}
		rg.swap(graph(mk()))
		for range 5 {
			time.Sleep(10 * time.Second)
			ev <- struct{}{}
		}
		rg.rest()
		bad := mk()
		bad.Want, bad.initErr = "other", func() error { return errors.New("no") }
		if err := rg.r.Swap(t.Context(), graph(bad).g); err == nil {
			t.Fatal("the swap took effect")
		}
		for range 5 {
			time.Sleep(10 * time.Second)
			ev <- struct{}{}
		}
		rg.rest()
		if n := w.count("child"); n < 2 || rg.state("child").State != resgraph.StateOK {
			t.Errorf("the child is %s after %d runs", rg.state("child").State, n)
		}
	})
}

// TestBug03_WatchRestartWaitsForTheRun: a Watch that fails while CheckApply runs
// starts again only when that has ended, and costs it no retry.
//
// Seen failing with: due.go, startWatch: the look at v.inRun left out;
// watch.go, watchFailed: v.retries++ in place of v.watchTries++.
func TestBug03_WatchRestartWaitsForTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Quiet: time.Minute})
		defer rg.close()
		var starts, running atomic.Int64
		f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			if running.Load() > 0 {
				t.Error("Watch starts beside CheckApply")
			}
			f.init.Running()
			if starts.Add(1) == 1 {
				time.Sleep(time.Second)
				return errors.New("lost")
			}
			<-ctx.Done()
			return nil
		}, check: func(context.Context, *fake, bool) (bool, error) {
			running.Add(1)
			defer running.Add(-1)
			time.Sleep(10 * time.Second)
			if w.count("f") == 2 {
				return false, errors.New("for once")
			}
			return true, nil
		}}
		f.MetaParams().Retry = 1
		rg.swap(newDecl(t).add("f", f))
		rg.rest()
		if s := rg.state("f"); starts.Load() != 2 || w.count("f") != 3 || s.State != resgraph.StateOK {
			t.Errorf("%d Watches, %d runs, %s: %v; want 2, 3, ok", starts.Load(), w.count("f"), s.State, s.Err)
		}
	})
}

// TestBug04_EndlessRetryCanBeStopped: what fails for ever and without a delay
// keeps neither a pause, nor a swap, nor the end from coming. It spins, so this
// takes real time.
//
// Seen failing with: run.go, attend: attend called again and again while it fails
// and retry is -1.
func TestBug04_EndlessRetryCanBeStopped(t *testing.T) {
	w := newWorld()
	rg := newRig(t, reactor.Options{})
	var calm atomic.Bool
	defer calm.Store(true)
	mk := func(want string) *decl {
		f := &fake{w: w, Want: want, check: func(context.Context, *fake, bool) (bool, error) {
			if calm.Load() {
				return true, nil
			}
			return false, errors.New("no")
		}}
		f.MetaParams().Retry = -1
		return newDecl(t).add("f", f).add("other", &fake{w: w, Want: want})
	}
	soon := func(what string, f func() error) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- f() }()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s hangs", what)
		}
	}
	rg.swap(mk("1"))
	for w.count("f") < 100 {
		time.Sleep(time.Millisecond)
	}
	soon("a pause", func() error { return rg.r.Pause(t.Context(), reactor.Pause{}) })
	soon("going on", func() error { return rg.r.Resume(t.Context(), "") })
	soon("a swap", rg.changeTo(mk("2")))
	for n := w.count("f") + 100; w.count("f") < n; {
		time.Sleep(time.Millisecond)
	}
	soon("the end", rg.end)
}

// TestBug05_NoWaitHoldsASwapOrTheEnd: whatever a vertex waits for an hour for, it
// can be replaced, and the engine can end, at once.
//
// Seen failing with: run.go, attend: a sleep of v.meta.Delay after a failure;
// watch.go, watch: the same; sema.go, acquire: ctx.Done not looked at; pace.go,
// putOff: a sleep in place of Defer.
func TestBug05_NoWaitHoldsASwapOrTheEnd(t *testing.T) {
	hour := func(f *fake) *fake {
		f.MetaParams().Retry, f.MetaParams().Delay = -1, time.Hour
		return f
	}
	for name, mk := range map[string]func(w *stage) *fake{
		"retry": func(w *stage) *fake { return hour(&fake{w: w, check: always(false, errors.New("no"))}) },
		"retry of Watch": func(w *stage) *fake {
			return hour(&fake{w: w, watch: func(context.Context, *fake) error { return errors.New("no") }})
		},
		"poll": func(w *stage) *fake {
			f := &fake{w: w}
			f.MetaParams().Poll = time.Hour
			return f
		},
		"semaphore": func(w *stage) *fake {
			f := &fake{w: w}
			f.MetaParams().Sema = []string{"s"}
			return f
		},
		"limit": func(w *stage) *fake {
			f := &fake{w: w, watch: everySecond}
			f.MetaParams().Limit, f.MetaParams().Burst = 1.0/3600, 1
			return f
		},
		"settle": func(w *stage) *fake {
			f := &fake{w: w, watch: everySecond}
			f.MetaParams().Settle = time.Hour
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Sweep: -1})
				holder := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
					<-ctx.Done()
					return false, ctx.Err()
				}}
				holder.MetaParams().Sema = []string{"s"}
				graph := func(want string) *decl {
					f := mk(w)
					f.Want = want
					return newDecl(t).add("holder", holder).add("f", f)
				}
				rg.swap(newDecl(t).add("holder", holder))
				synctest.Wait()
				for i := range 3 {
					atOnce(t, "a swap", rg.changeTo(graph(fmt.Sprint(i))))
					synctest.Wait()
					time.Sleep(time.Minute)
				}
				atOnce(t, "the end", rg.end)
			})
		})
	}
}

// TestBug06_SwapOfADeadVertex: one that has failed for good is replaced as
// promptly as any other.
//
// Seen failing with: swap.go, stopOld: tellIdle left out.
func TestBug06_SwapOfADeadVertex(t *testing.T) {
	for name, f := range map[string]fake{
		"CheckApply": {check: always(false, errors.New("no"))},
		"Watch":      {watch: func(context.Context, *fake) error { return errors.New("no") }},
		"panic":      {check: func(context.Context, *fake, bool) (bool, error) { panic("boom") }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				f.w = w
				dead := f // a copy
				rg.swap(newDecl(t).add("f", &dead))
				if c := rg.rest(); c[resgraph.StateFailed] != 1 {
					t.Fatalf("counts %v", c)
				}
				atOnce(t, "the swap", rg.changeTo(newDecl(t).add("f", &fake{w: w, Want: "2"})))
				if c := rg.rest(); c[resgraph.StateOK] != 1 {
					t.Errorf("counts %v", c)
				}
			})
		})
	}
}

// TestBug07_FailureWhileSuspended: a swap suspends a vertex and cannot bring it
// back. More swaps, and the end, find it dead and go on.
//
// Seen failing with: swap.go, tellIdle: the look whether somebody waits
// (v.idle != nil) left out.
func TestBug07_FailureWhileSuspended(t *testing.T) {
	for name, last := range map[string]bool{"end": true, "replace": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				inits := 0
				once := func() error {
					if inits++; inits > 1 {
						return errors.New("only once")
					}
					return nil
				}
				rg.swap(newDecl(t).add("f", &fake{w: w, Want: "1", initErr: once}).add("z", &fake{w: w}))
				rg.rest()
				for i := range 3 {
					bad := &fake{w: w, Want: fmt.Sprint("bad", i), initErr: func() error { return errors.New("no") }}
					err := rg.r.Swap(t.Context(), newDecl(t).add("f", bad).add("z", &fake{w: w}).g)
					if err == nil {
						t.Fatal("the swap took effect")
					}
					synctest.Wait()
					if s := rg.state("f"); s.State != resgraph.StateFailed || !strings.Contains(fmt.Sprint(s.Err), "only once") {
						t.Errorf("f is %s: %v", s.State, s.Err)
					}
				}
				if !last {
					atOnce(t, "the swap", rg.changeTo(newDecl(t).add("f", &fake{w: w, Want: "1"}).add("z", &fake{w: w})))
					synctest.Wait()
					if s := rg.state("f"); s.State != resgraph.StateOK {
						t.Errorf("f is %s: %v", s.State, s.Err)
					}
				}
				atOnce(t, "the end", rg.end)
			})
		})
	}
}

// TestBug08_RemovalAfterAResume: a vertex that a swap suspended and gave back is
// alive, and can be removed then, or while it is suspended.
//
// Seen failing with: swap.go, resume: v.suspended set to true.
func TestBug08_RemovalAfterAResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		no := func() error { return errors.New("no") }
		tries := 0
		rg.swap(newDecl(t).add("f", &fake{w: w, Want: "1", watch: eventer(ev)}).add("dead", &fake{w: w, Want: "1", initErr: func() error {
			if tries++; tries > 1 {
				return errors.New("only once")
			}
			return nil
		}}))
		rg.rest()
		bad := newDecl(t).add("dead", &fake{w: w, Want: "2"}).add("f", &fake{w: w, Want: "2", initErr: no})
		if err := rg.r.Swap(t.Context(), bad.g); err == nil {
			t.Fatal("the swap took effect")
		}
		rg.rest()
		n := w.count("f")
		ev <- struct{}{}
		synctest.Wait()
		if w.count("f") != n+1 {
			t.Errorf("an event after the failed swap led to %d runs", w.count("f")-n)
		}
		atOnce(t, "the removal", rg.changeTo(newDecl(t).add("z", &fake{w: w})))
		synctest.Wait()
		if c, err := rg.r.Counts(t.Context()); err != nil || c != (reactor.Counts{resgraph.StateOK: 1}) {
			t.Errorf("counts %v, %v", c, err)
		}
		if i, c := only(w.order(), "init f"), only(w.order(), "cleanup f"); len(i) != 3 || len(c) != 2 {
			t.Errorf("%d inits of f, %d cleanups", len(i), len(c)) // one init was the bad one's
		}
	})
}

// TestBug09_SuspendAndResumeKeepInStep: after any number of swaps that fail, a
// vertex runs as it should, and what it says of itself is of now.
//
// Seen failing with: swap.go, resume: r.open(v) left out.
func TestBug09_SuspendAndResumeKeepInStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		var broken atomic.Bool
		steps := make(chan func(*fake) error)
		f := &fake{w: w, Want: "1", watch: func(ctx context.Context, f *fake) error {
			f.init.Running()
			select {
			case step := <-steps:
				return step(f)
			case <-ctx.Done():
				return nil
			}
		}, check: func(context.Context, *fake, bool) (bool, error) {
			if broken.Load() {
				return false, errors.New("broken")
			}
			return true, nil
		}}
		f.MetaParams().Retry = 2
		rg.swap(newDecl(t).add("f", f))
		failed := func() {
			t.Helper()
			bad := &fake{w: w, Want: "2", initErr: func() error { return errors.New("no") }}
			if err := rg.r.Swap(t.Context(), newDecl(t).add("f", bad).g); err == nil {
				t.Fatal("the swap took effect")
			}
			synctest.Wait()
		}
		expect := func(want resgraph.State, text string) {
			t.Helper()
			if s := rg.state("f"); s.State != want || text != "" && !strings.Contains(fmt.Sprint(s.Err), text) {
				t.Fatalf("f is %s: %v; want %s: %s", s.State, s.Err, want, text)
			}
		}
		for range 3 {
			broken.Store(true)
			failed()
			expect(resgraph.StateFailed, "broken")
			broken.Store(false)
			failed()
			expect(resgraph.StateOK, "")
		}
		steps <- func(*fake) error { return errors.New("first") }
		synctest.Wait()
		failed()
		expect(resgraph.StateOK, "")
		steps <- func(*fake) error { return errors.New("second") }
		synctest.Wait()
		expect(resgraph.StateOK, "")
		steps <- func(*fake) error { return nil }
		synctest.Wait()
		expect(resgraph.StateFailed, "Watch returned although nobody told it to end")
	})
}

// TestBug10_NothingNewRunsDuringASwap: not before all of the new graph could be
// initialised, and not before the one of the same name has left.
//
// Seen failing with: swap.go, initNow: CheckApply called after Init; commit.go,
// commit: every fresh vertex opened, whatever its v.before.
func TestBug10_NothingNewRunsDuringASwap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		slow := &lapping{fake: fake{w: w, Want: "1", check: func(ctx context.Context, f *fake, _ bool) (bool, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			time.Sleep(time.Minute)
			w.note("left f")
			return false, ctx.Err()
		}}}
		rg.swap(newDecl(t).add("f", slow))
		synctest.Wait()
		before := len(w.order())
		watched := func(ctx context.Context, f *fake) error {
			w.note("watch " + f.Name())
			f.init.Running()
			<-ctx.Done()
			return nil
		}
		late := &fake{w: w, watch: watched, initErr: func() error {
			time.Sleep(time.Minute)
			w.note("swapped")
			return nil
		}}
		rg.swap(newDecl(t).add("a", &fake{w: w, watch: watched}).
			add("f", &lapping{fake: fake{w: w, Want: "2", watch: watched}}).
			add("z", late).edges("a>z", "f>z"))
		rg.rest()
		got := w.order()[before:]
		at := func(s string) int { return slices.Index(got, s) }
		if swapped := at("swapped"); swapped < 0 || at("watch a") < swapped || at("run a") < swapped {
			t.Errorf("a was watched or checked during the swap: %v", got)
		}
		if left := at("left f"); left < 0 || at("watch f") < left || at("run f") < left {
			t.Errorf("f was watched or checked before the old f had left: %v", got)
		}
	})
}

// TestBug11_RunsCanBeInterrupted: the first word ends what listens to its
// context; the second one no longer waits for what does not.
//
// Seen failing with: run.go, checkApply: context.WithoutCancel(ctx) given to
// CheckApply; reactor.go, drain: r.quit not looked at.
func TestBug11_RunsCanBeInterrupted(t *testing.T) {
	for method, mk := range map[string]func(w *stage, wait func(context.Context)) *fake{
		"CheckApply": func(w *stage, wait func(context.Context)) *fake {
			return &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) { wait(ctx); return false, ctx.Err() }}
		},
		"Watch": func(w *stage, wait func(context.Context)) *fake {
			return &fake{w: w, watch: func(ctx context.Context, f *fake) error { f.init.Running(); wait(ctx); return nil }}
		},
	} {
		t.Run(method+" that listens", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{})
				rg.swap(newDecl(t).add("f", mk(newWorld(), func(ctx context.Context) { <-ctx.Done() })))
				synctest.Wait()
				atOnce(t, "the end", rg.end)
			})
		})
		t.Run(method+" that is deaf", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				rg := newRig(t, reactor.Options{})
				rg.swap(newDecl(t).add("f", mk(newWorld(), func(context.Context) { <-release })))
				synctest.Wait()
				if who := rg.abandon(); !slices.Equal(who, []string{"fake[f]"}) {
					t.Errorf("named %v", who)
				}
				close(release)
			})
		})
	}
}

// TestBug12_WordsBeforeTheStart: a graph may come, Abandon be called and the
// context end before Run begins. None of that is forgotten.
//
// Seen failing with: reactor.go, Run: r.quit made anew at its start; close(r.started)
// put before r.ctx is set (a race).
func TestBug12_WordsBeforeTheStart(t *testing.T) {
	for name, early := range map[string]bool{"ended": true, "abandoned": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				r, err := reactor.New(reactor.Options{Host: nullHost{}, World: nullWorld{}, Store: &memStore{}, Sweep: -1})
				if err != nil {
					t.Fatal(err)
				}
				release := make(chan struct{})
				deaf := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { <-release; return true, nil }}
				swapped, ended := make(chan error, 1), make(chan error, 1)
				go func() { swapped <- r.Swap(context.Background(), newDecl(t).add("f", deaf).g) }()
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				r.Abandon()
				if early {
					cancel()
				}
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				cancel()
				synctest.Wait()
				select {
				case err := <-ended:
					_, abandoned := errors.AsType[*reactor.AbandonedError](err)
					if early && err != nil || !early && !abandoned {
						t.Errorf("Run returned %v", err)
					}
				default:
					t.Error("Run hangs")
				}
				if err := <-swapped; early != errors.Is(err, reactor.ErrStopped) {
					t.Errorf("Swap returned %v", err)
				}
				close(release)
			})
		})
	}
}
