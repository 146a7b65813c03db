package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// bubble runs f in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func always(ok bool, err error) func(context.Context, *fake, bool) (bool, error) {
	return func(context.Context, *fake, bool) (bool, error) { return ok, err }
}

// eventer returns a Watch that sends an event for each receive from c.
func eventer(c <-chan struct{}) func(context.Context, *fake) error {
	return func(ctx context.Context, f *fake) error {
		f.init.Running()
		for {
			select {
			case <-c:
				f.init.Event()
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func TestLaw1NoRunBeforeRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		slow := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			time.Sleep(time.Second)
			f.w.note("armed")
			f.init.Running()
			<-ctx.Done()
			return nil
		}}
		// a pokes: its changes notify slow long before slow is armed.
		poke := &fake{w: w, check: always(false, nil)}
		rg.swap(newDecl(t).add("poke", poke).add("slow", slow).edges("poke!slow"))
		synctest.Wait()
		if s := rg.state("slow"); s.State != resgraph.StateStarting {
			t.Errorf("slow is %s", s.State)
		}
		rg.rest()
		log := w.order()
		if slices.Index(log, "armed") > slices.Index(log, "run slow") {
			t.Errorf("ran before its watch was armed: %v", log)
		}
	})
}

func TestLaw1StartTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{StartTimeout: 3 * time.Second})
		defer rg.close()
		mute := &fake{w: w, watch: func(ctx context.Context, _ *fake) error { <-ctx.Done(); return nil }}
		rg.swap(newDecl(t).add("mute", mute).add("other", &fake{w: w}))
		c := rg.rest()
		if c[resgraph.StateFailed] != 1 || c[resgraph.StateOK] != 1 {
			t.Errorf("counts %v", c)
		}
		if err := rg.state("mute").Err; err == nil || !strings.Contains(err.Error(), "3s") {
			t.Errorf("error %v", err)
		}
		if w.count("mute") != 0 {
			t.Error("it ran")
		}
	})
}

func TestLaw1PollNeedsNoWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		p := &fake{w: w, watch: func(context.Context, *fake) error { panic("Watch was called under poll") }}
		p.MetaParams().Poll = time.Minute
		rg.swap(newDecl(t).add("p", p))
		rg.rest()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if n := w.count("p"); n < 10 || n > 12 {
			t.Errorf("%d runs in ten minutes of polls of one minute", n)
		}
	})
}

func TestLaw2FailedAncestorBlocksDirtyOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		evTop, evLeaf := make(chan struct{}), make(chan struct{})
		bad := false
		top := &fake{w: w, watch: eventer(evTop), check: func(context.Context, *fake, bool) (bool, error) {
			if bad {
				return false, errors.New("broken")
			}
			return true, nil
		}}
		rg.swap(newDecl(t).add("top", top).add("mid", &fake{w: w}).
			add("leaf", &fake{w: w, watch: eventer(evLeaf)}).edges("top>mid", "mid>leaf"))
		rg.rest()
		bad = true
		evTop <- struct{}{}
		rg.rest()
		if s := rg.state("leaf"); s.State != resgraph.StateOK {
			t.Errorf("a clean leaf below a failure is %s", s.State)
		}
		evLeaf <- struct{}{}
		synctest.Wait()
		if s := rg.state("leaf"); s.State != resgraph.StateBlocked || s.BlockedBy != "fake[top]" {
			t.Errorf("a dirty leaf below a failure is %s by %q", s.State, s.BlockedBy)
		}
		bad = false
		evTop <- struct{}{}
		synctest.Wait()
		if s := rg.state("leaf"); s.State != resgraph.StateOK || w.count("leaf") != 2 || w.count("mid") != 1 {
			t.Errorf("after the mending: %s, runs of leaf %d, of mid %d", s.State, w.count("leaf"), w.count("mid"))
		}
	})
}

func TestLaw3EventDuringRunLeadsToOneMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		f := &fake{w: w, watch: eventer(ev), check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(time.Second)
			return true, nil
		}}
		rg.swap(newDecl(t).add("f", f))
		time.Sleep(500 * time.Millisecond)
		for range 1000 {
			ev <- struct{}{}
		}
		rg.rest()
		if n := w.count("f"); n != 2 {
			t.Errorf("%d runs for a thousand events during one run, want 2", n)
		}
	})
}

func TestLaw4WatchRestartsAfterTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		starts := 0
		f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			starts++
			if starts > 1 && f.w.running["f"] > 0 {
				t.Error("Watch restarted beside a CheckApply")
			}
			f.init.Running()
			if starts == 1 {
				time.Sleep(time.Second)
				return errors.New("watch broke")
			}
			<-ctx.Done()
			return nil
		}, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(5 * time.Second)
			return true, nil
		}}
		f.MetaParams().Retry = 1
		rg.swap(newDecl(t).add("f", f))
		rg.rest()
		if starts != 2 || w.count("f") != 2 || len(w.overlap) > 0 {
			t.Errorf("starts %d, runs %d, overlaps %v", starts, w.count("f"), w.overlap)
		}
	})
}

func TestLaw7RefreshUntilSuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Quiet: 10 * time.Second})
		defer rg.close()
		changed := true
		src := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			if !changed {
				return true, nil
			}
			if apply {
				changed = false
			}
			return false, nil
		}}
		var seen []bool
		fails := 2
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			seen = append(seen, f.init.Refresh())
			if f.init.Refresh() && fails > 0 {
				fails--
				return false, errors.New("not yet")
			}
			return true, nil
		}}
		dst.MetaParams().Retry = 5
		dst.MetaParams().Delay = time.Second
		other := &fake{w: w}
		rg.swap(newDecl(t).add("src", src).add("dst", dst).add("other", other).edges("src!dst", "src>other"))
		rg.rest()
		if want := []bool{true, true, true}; !slices.Equal(seen, want) {
			t.Errorf("Refresh was %v, want %v", seen, want)
		}
		if n := rg.store.size(); n != 0 {
			t.Errorf("%d records are left in the store", n)
		}
	})
}

func TestLaw7NothingIsWrittenOnACleanMachine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(newDecl(t).add("src", &fake{w: w}).add("dst", &fake{w: w}).edges("src!dst"))
		rg.rest()
		if rg.store.n != 0 {
			t.Errorf("%d commits", rg.store.n)
		}
	})
}

func TestLaw7StoreThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.store.fail = errors.New("disk full")
		applied := false
		src := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			applied = applied || apply
			return false, nil
		}}
		rg.swap(newDecl(t).add("src", src).add("dst", &fake{w: w}).edges("src!dst"))
		rg.rest()
		if s := rg.state("src"); applied || s.State != resgraph.StateFailed {
			t.Errorf("applied %t, state %s", applied, s.State)
		}
	})
}

func TestLaw7IntentLeftByADeadProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		store := &memStore{}
		_ = store.Commit(t.Context(), []records.Write{{Table: "intent", Key: "fake[src]", Value: []byte{1}}})
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		var seen []bool
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			seen = append(seen, f.init.Refresh())
			return true, nil
		}}
		rg.swap(newDecl(t).add("src", &fake{w: w}).add("dst", dst).edges("src!dst"))
		rg.rest()
		if !slices.Equal(seen, []bool{true}) || store.size() != 0 {
			t.Errorf("Refresh was %v, %d records left", seen, store.size())
		}
	})
}

func TestLaw7FailedApplyStillNotifies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		applies := 0
		src := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			switch {
			case applies > 0:
				return true, nil
			case apply:
				applies++
				return false, errors.New("half done")
			default:
				return false, nil
			}
		}}
		src.MetaParams().Retry = 1
		refreshed := false
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			refreshed = refreshed || f.init.Refresh()
			return true, nil
		}}
		rg.swap(newDecl(t).add("src", src).add("dst", dst).edges("src!dst"))
		for rg.state("src").State != resgraph.StateOK {
			time.Sleep(time.Second)
		}
		rg.rest()
		if !refreshed {
			t.Error("what a failed apply changed was not told")
		}
	})
}

func TestLaw9PanicIsOneVertexsFailure(t *testing.T) {
	for _, method := range []string{"Watch", "CheckApply", "return"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Quiet: time.Second})
				defer rg.close()
				f := &fake{w: w}
				switch method {
				case "Watch":
					f.watch = func(context.Context, *fake) error { panic("boom") }
				case "CheckApply":
					f.check = func(context.Context, *fake, bool) (bool, error) { panic("boom") }
				case "return":
					f.watch = func(_ context.Context, f *fake) error { f.init.Running(); return nil }
				}
				rg.swap(newDecl(t).add("f", f).add("below", &fake{w: w}).add("beside", &fake{w: w}).edges("f>below"))
				c := rg.rest()
				if method == "return" {
					// below may have run before the Watch returned.
					if c[resgraph.StateFailed] != 1 {
						t.Errorf("counts %v", c)
					}
					return
				}
				if c[resgraph.StateFailed] != 1 || c[resgraph.StateBlocked] != 1 || c[resgraph.StateOK] != 1 {
					t.Errorf("counts %v", c)
				}
				if err := rg.state("f").Err; !strings.Contains(fmt.Sprint(err), "boom") {
					t.Errorf("error %v", err)
				}
				if by := rg.state("below").BlockedBy; by != "fake[f]" {
					t.Errorf("blocked by %q", by)
				}
			})
		})
	}
}

func TestLaw11Noop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll})
		defer rg.close()
		never := func(ok bool) func(context.Context, *fake, bool) (bool, error) {
			return func(_ context.Context, f *fake, apply bool) (bool, error) {
				if apply {
					t.Errorf("%s was applied", f.Name())
				}
				if f.init.Refresh() {
					f.init.Change(engine.Change{Verb: engine.Refreshed})
					return false, nil
				}
				return ok, nil
			}
		}
		errs := &fake{w: w, check: always(false, errors.New("needs a"))}
		no := false
		forced := &fake{w: w, check: never(false)}
		forced.MetaParams().Noop = &no
		reported := &fake{w: w, check: never(false)}
		reported.MetaParams().Drift = engine.DriftReport
		rg.swap(newDecl(t).add("a", &fake{w: w, check: never(false)}).
			add("refreshed", &fake{w: w, check: never(true)}).
			add("twice", &fake{w: w, check: never(true)}).
			add("plain", &fake{w: w, check: never(true)}).
			add("errs", errs).add("below", &fake{w: w}).add("lone", &fake{w: w, check: always(false, errors.New("bad"))}).
			add("forced", forced).add("perhaps", &fake{w: w, check: never(true)}).add("after", &fake{w: w, check: never(true)}).
			add("reported", reported).add("never", &fake{w: w, check: never(true)}).
			edges("reported!never", "a!refreshed", "refreshed!twice", "a>plain", "a>errs", "errs>below", "errs!perhaps", "perhaps!after"))
		rg.rest()
		for name, want := range map[string]resgraph.State{
			"a": resgraph.StateWouldChange, "refreshed": resgraph.StateWouldChange, "twice": resgraph.StateWouldChange,
			"plain": resgraph.StateOK, "errs": resgraph.StateUnknown, "below": resgraph.StateOK,
			"lone": resgraph.StateFailed, "forced": resgraph.StateWouldChange,
			"perhaps": resgraph.StateUnknown, "after": resgraph.StateUnknown,
			"reported": resgraph.StateWouldChange, "never": resgraph.StateOK, // a drift that is only reported refreshes nobody
		} {
			if s := rg.state(name); s.State != want {
				t.Errorf("%s is %s, want %s", name, s.State, want)
			}
		}
		if s := rg.state("errs"); s.Until != "fake[a]" {
			t.Errorf("errs is unknown until %q", s.Until)
		}
		if rg.store.n != 0 {
			t.Errorf("%d commits under noop", rg.store.n)
		}
	})
}

func TestLaw11ExplicitFalseWinsOverDefault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopDefault})
		defer rg.close()
		no, applied := false, map[string]bool{}
		note := func(_ context.Context, f *fake, apply bool) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			applied[f.Name()] = apply
			return !apply, nil
		}
		real := &fake{w: w, check: note}
		real.MetaParams().Noop = &no
		rg.swap(newDecl(t).add("real", real).add("silent", &fake{w: w, check: note}))
		rg.rest()
		if !applied["real"] || applied["silent"] {
			t.Errorf("applied: %v", applied)
		}
	})
}

// TestLaw11InitSaysNoop: the handle says that nothing is ever applied, whatever the
// reason; and a vertex for which that changes gets another one.
func TestLaw11InitSaysNoop(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name  string
		opt   reactor.Noop
		noop  *bool
		drift engine.Drift
		want  bool
	}{
		{"nothing", 0, nil, "", false},
		{"the flag", reactor.NoopAll, &no, "", true},
		{"the default", reactor.NoopDefault, nil, "", true},
		{"against the default", reactor.NoopDefault, &no, "", false},
		{"the metaparameter", 0, &yes, "", true},
		{"drift", 0, &no, engine.DriftReport, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Noop: tc.opt})
				defer rg.close()
				f := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
					if apply && f.init.Noop {
						t.Error("applied, though the handle says that nothing is")
					}
					return !apply, nil
				}}
				f.MetaParams().Noop, f.MetaParams().Drift = tc.noop, tc.drift
				rg.swap(newDecl(t).add("f", f))
				rg.rest()
				if f.init.Noop != tc.want || f.init.Child(&fake{}).Noop != tc.want {
					t.Errorf("Noop is %t, of a child %t", f.init.Noop, f.init.Child(&fake{}).Noop)
				}
			})
		})
	}
}

func TestLaw11NoopChangesAtASwap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		noop := []bool{false, true, true, false}
		var got []bool
		for i := range noop {
			f := &lapping{fake: fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
				got = append(got, f.init.Noop)
				if apply == f.init.Noop {
					t.Errorf("in graph %d apply is %t", i, apply)
				}
				return true, nil
			}}}
			f.MetaParams().Noop = &noop[i]
			rg.swap(newDecl(t).add("f", f))
			synctest.Wait()
		}
		if want := []bool{false, true, false}; !slices.Equal(got, want) { // the third one goes on in place of the second
			t.Errorf("Noop was %v, want %v", got, want)
		}
	})
}

func TestLaw12FailedConvergesThroughRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Quiet: 10 * time.Second})
		defer rg.close()
		bad := &fake{w: w, check: always(false, errors.New("no"))}
		bad.MetaParams().Retry = -1
		bad.MetaParams().Delay = time.Second
		start := time.Now()
		rg.swap(newDecl(t).add("bad", bad).add("below", &fake{w: w}).edges("bad>below"))
		c := rg.rest()
		if c[resgraph.StateFailed] != 1 || c[resgraph.StateBlocked] != 1 {
			t.Errorf("counts %v", c)
		}
		if d := time.Since(start); d < 10*time.Second || d > 12*time.Second {
			t.Errorf("converged after %s", d)
		}
		if s := rg.state("bad"); s.RetryIn <= 0 || s.RetryIn > time.Second {
			t.Errorf("next retry in %s", s.RetryIn)
		}
	})
}

func TestLaw12BusyHoldsConvergence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			done := f.init.Busy()
			f.init.Running()
			time.Sleep(time.Minute)
			done()
			done()
			<-ctx.Done()
			return nil
		}}
		start := time.Now()
		rg.swap(newDecl(t).add("f", f))
		rg.rest()
		if d := time.Since(start); d < time.Minute {
			t.Errorf("converged after %s although busy for a minute", d)
		}
	})
}

func TestLaw12NeverConvergesWhileChanging(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Quiet: 5 * time.Second})
		defer rg.close()
		f := &fake{w: w, check: always(false, nil)}
		f.MetaParams().Poll = time.Second
		rg.swap(newDecl(t).add("f", f))
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case <-rg.converged:
			t.Error("converged although it changes every second")
		default:
		}
		if n := rg.state("f").Changed; n < 50 {
			t.Errorf("changed %d times", n)
		}
	})
}

func TestLaw13RetryTimeoutAndMerging(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		var at []time.Duration
		start := time.Now()
		f := &fake{w: w, watch: eventer(ev), check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			at = append(at, time.Since(start))
			<-ctx.Done()
			return false, ctx.Err()
		}}
		m := f.MetaParams()
		m.Retry, m.Delay, m.Timeout = 2, 10*time.Second, time.Second
		rg.swap(newDecl(t).add("f", f))
		time.Sleep(5 * time.Second)
		ev <- struct{}{} // merges with the retry
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []time.Duration{0, 11 * time.Second, 22 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("ran at %v, want %v", at, want)
		}
		if err := rg.state("f").Err; !strings.Contains(fmt.Sprint(err), "timed out after 1s") {
			t.Errorf("error %v", err)
		}
		runs := rg.runs("f")
		if len(runs) != 3 || runs[2].Attempt != 2 || runs[2].Retry {
			t.Errorf("runs %+v", runs)
		}
	})
}

// TestLaw13TimeoutByTheClock: the metaparameter timeout counts by the clock of the options, in which an hour passes at once.
func TestLaw13TimeoutByTheClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := enginetest.NewClock()
		rg := newRig(t, reactor.Options{Clock: clock})
		defer rg.close()
		f := &fake{w: newWorld(), check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		}}
		f.MetaParams().Timeout = time.Hour
		rg.swap(newDecl(t).add("f", f))
		time.Sleep(2 * time.Hour) // of the machine
		synctest.Wait()
		if runs := rg.runs("f"); len(runs) != 0 {
			t.Errorf("the time of the machine has ended it: %+v", runs)
		}
		clock.Advance(time.Hour)
		synctest.Wait()
		if err := rg.state("f").Err; !strings.Contains(fmt.Sprint(err), "timed out after 1h") {
			t.Errorf("error %v", err)
		}
	})
}

func TestLaw13ExitDuringALongDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		f := &fake{w: w, check: always(false, errors.New("no"))}
		f.MetaParams().Retry, f.MetaParams().Delay = -1, time.Hour
		rg.swap(newDecl(t).add("f", f))
		rg.rest()
		start := time.Now()
		rg.swap(newDecl(t).add("f", f)) // an identical one
		rg.close()
		if d := time.Since(start); d > 0 {
			t.Errorf("swap and exit took %s", d)
		}
	})
}

func TestLaw13EndlessRetryWithoutDelayStillStops(t *testing.T) {
	w := newWorld()
	rg := newRig(t, reactor.Options{})
	f := &fake{w: w, check: always(false, errors.New("no"))}
	f.MetaParams().Retry = -1
	rg.swap(newDecl(t).add("f", f))
	for w.count("f") < 100 {
		time.Sleep(time.Millisecond)
	}
	rg.close()
}

func TestLaw13Semaphores(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 100})
		d := newDecl(t)
		for i := range 8 {
			f := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
				time.Sleep(10 * time.Second)
				return true, nil
			}}
			f.MetaParams().Sema = []string{"s:2"}
			d.add(fmt.Sprint(i), f)
		}
		start := time.Now()
		rg.swap(d)
		rg.rest()
		if took := time.Since(start); took != 40*time.Second || w.most != 2 {
			t.Errorf("took %s, at most %d at once", took, w.most)
		}
		rg.close()
	})
}

func TestLaw15Abandon(t *testing.T) {
	release := make(chan struct{})
	bubble(t, func(t *testing.T) {
		release = make(chan struct{})
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		deaf := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { <-release; return true, nil }}
		rg.swap(newDecl(t).add("deaf", deaf).add("fine", &fake{w: w}))
		synctest.Wait()
		rg.stop()
		synctest.Wait()
		rg.r.Abandon()
		rg.r.Abandon()
		err := <-rg.done
		ab, ok := errors.AsType[*reactor.AbandonedError](err)
		if !ok || !slices.Equal(ab.Resources, []string{"fake[deaf]"}) {
			t.Errorf("Run returned %v", err)
		}
		close(release)
	})
}

func TestBoundOnParallelRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 3})
		defer rg.close()
		d := newDecl(t)
		for i := range 20 {
			d.add(fmt.Sprint(i), &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
				time.Sleep(time.Second)
				return true, nil
			}})
		}
		rg.swap(d)
		rg.rest()
		if w.most != 3 {
			t.Errorf("%d at once, want 3", w.most)
		}
	})
}
