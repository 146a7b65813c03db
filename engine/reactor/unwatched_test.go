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

// still is a fake that has nothing to watch. To call its Watch is a mistake.
type still struct {
	fake `yaml:",inline"`
}

func (*still) WatchesNothing() bool { return true }

func newStill(w *stage) *still {
	return &still{fake{w: w, watch: func(context.Context, *fake) error { panic("Watch was called of what has nothing to watch") }}}
}

// wantState checks how a vertex stands, and how often it ran.
func wantState(t *testing.T, rg *rig, w *stage, name string, s resgraph.State, runs int) {
	t.Helper()
	synctest.Wait()
	if got := rg.state(name); got.State != s || w.count(name) != runs {
		t.Errorf("%s is %s after %d runs, want %s after %d: %v", name, got.State, w.count(name), s, runs, got.Err)
	}
}

// TestLaw1NothingToWatch: it is ready from the start, runs in its place in the
// order, and then rests: without polls, sweeps and events that it may not give.
func TestLaw1NothingToWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: time.Minute})
		defer rg.close()
		slow := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			time.Sleep(10 * time.Second)
			f.init.Running()
			<-ctx.Done()
			return nil
		}}
		free, below := newStill(w), newStill(w)
		free.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Running()
			f.init.Event() // not in Watch, where it belongs
			return true, nil
		}
		start := time.Now()
		rg.swap(newDecl(t).add("slow", slow).add("free", free).add("below", below).edges("slow>below"))
		wantState(t, rg, w, "free", resgraph.StateOK, 1)
		wantState(t, rg, w, "below", resgraph.StateWaiting, 0)
		rg.rest()
		if d := time.Since(start); d < 10*time.Second || d > 20*time.Second {
			t.Errorf("converged after %s", d)
		}
		time.Sleep(time.Hour)
		wantState(t, rg, w, "free", resgraph.StateOK, 1)
		wantState(t, rg, w, "below", resgraph.StateOK, 1)
	})
}

// TestNothingToWatchUnderPoll is looked at as often as poll says.
func TestNothingToWatchUnderPoll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		p := newStill(w)
		p.MetaParams().Poll = time.Minute
		rg.swap(newDecl(t).add("p", p))
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if n := w.count("p"); n < 10 || n > 12 {
			t.Errorf("%d runs in ten minutes of polls of one minute", n)
		}
	})
}

func TestNothingToWatchIsPaused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		graph := func(want string) *decl {
			x := newStill(w)
			x.Want = want
			return newDecl(t).add("x", x)
		}
		rg.swap(graph("1"))
		wantState(t, rg, w, "x", resgraph.StateOK, 1)
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[x]"}); err != nil {
			t.Fatal(err)
		}
		rg.swap(graph("2"))
		wantState(t, rg, w, "x", resgraph.StatePaused, 1)
		if err := rg.r.Resume(t.Context(), "fake[x]"); err != nil {
			t.Fatal(err)
		}
		wantState(t, rg, w, "x", resgraph.StateOK, 2)
	})
}

// TestNothingToWatchIsTriedAgain: by retry, and by a graph where rewatch asks for
// it.
func TestNothingToWatchIsTriedAgain(t *testing.T) {
	for _, rewatch := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			w := newWorld()
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			graph := func() *decl {
				x := newStill(w)
				x.MetaParams().Retry, x.MetaParams().Rewatch = 2, rewatch
				x.check = always(false, errors.New("no"))
				return newDecl(t).add("x", x)
			}
			rg.swap(graph())
			wantState(t, rg, w, "x", resgraph.StateFailed, 3)
			rg.swap(graph())
			again := 3
			if rewatch {
				again = 6
			}
			wantState(t, rg, w, "x", resgraph.StateFailed, again)
		})
	}
}

// TestNothingToWatchReceives: each value is assigned and acted upon, one that is
// refused is a failure, and the next one mends it.
func TestNothingToWatchReceives(t *testing.T) {
	for _, field := range []string{"want", "free"} {
		bubble(t, func(t *testing.T) {
			w := newWorld()
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			ev, out := make(chan struct{}), "1"
			b := newStill(w)
			b.validate = func(f *fake) error {
				if f.Want+f.Free == "bad" {
					return errors.New("bad value")
				}
				return nil
			}
			rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, field+"=fake[a].out").edges("a>b"))
			wantState(t, rg, w, "b", resgraph.StateOK, 1)
			for _, step := range []struct {
				out   string
				state resgraph.State
				runs  int
			}{{"2", resgraph.StateOK, 2}, {"2", resgraph.StateOK, 2}, {"bad", resgraph.StateFailed, 2}, {"3", resgraph.StateOK, 3}} {
				out = step.out
				ev <- struct{}{}
				wantState(t, rg, w, "b", step.state, step.runs)
			}
			if got := b.Want + b.Free; got != "3" {
				t.Errorf("it holds %q", got)
			}
		})
	}
}

// TestNothingToWatchIsExchanged: by one that differs, by one that has something to
// watch and back; and when its successor refuses, it goes on.
func TestNothingToWatchIsExchanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		watched, other := &fake{w: w, Want: "2"}, newStill(w)
		other.Want = "3"
		for i, res := range []engine.Res{newStill(w), watched, other} {
			rg.swap(newDecl(t).add("x", res))
			wantState(t, rg, w, "x", resgraph.StateOK, i+1)
		}
		bad := newStill(w)
		bad.initErr = func() error { return errors.New("not now") }
		if err := rg.r.Swap(t.Context(), newDecl(t).add("x", bad).g); err == nil {
			t.Error("a graph was taken whose vertex cannot be initialised")
		}
		wantState(t, rg, w, "x", resgraph.StateOK, 4)
		rg.swap(newDecl(t))
		if list := only(w.order(), "init x"); len(list) != 5 {
			t.Errorf("did %v", w.order())
		}
		synctest.Wait()
		if list := w.order(); list[len(list)-1] != "cleanup x" {
			t.Errorf("at the end: %v", slices.Clip(list))
		}
	})
}

// TestNothingToWatchIsNotified, and passes that on.
func TestNothingToWatchIsNotified(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev, wrong := make(chan struct{}), false
		top := &fake{w: w, watch: eventer(ev), check: func(context.Context, *fake, bool) (bool, error) { return !wrong, nil }}
		d := newDecl(t).add("top", top)
		for i := range 3 {
			x := newStill(w)
			x.check = func(_ context.Context, f *fake, _ bool) (bool, error) { return !f.init.Refresh(), nil }
			d.add(fmt.Sprint(i), x)
		}
		rg.swap(d.edges("top!0", "0!1", "1!2"))
		rg.rest()
		wrong = true
		ev <- struct{}{}
		for i := range 3 {
			synctest.Wait()
			if list := rg.runs(fmt.Sprint(i)); len(list) != 2 || !list[1].Changed || !list[1].Refreshed {
				t.Errorf("runs of %d: %+v", i, list)
			}
		}
	})
}
