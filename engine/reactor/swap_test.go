package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func only(log []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(log), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

func TestSwapIdenticalRunsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func() *decl {
			d := newDecl(t)
			for i := range 50 {
				d.add(fmt.Sprint(i), &fake{w: w, Want: "x"})
			}
			return d.edges("0>1", "1!2")
		}
		rg.swap(mk())
		rg.rest()
		before := len(w.order())
		rg.swap(mk())
		synctest.Wait()
		if log := w.order()[before:]; len(log) != 0 {
			t.Errorf("an identical graph did %v", log)
		}
		if s := rg.swaps[1]; s.Kept != 50 || s.Added+s.Changed+s.Removed != 0 || s.Generation != 2 {
			t.Errorf("swap %+v", s)
		}
	})
}

// TestSwapKeepsOneOfEach: of a resource that is declared anew, just the same, only the one
// that runs is kept in memory.
func TestSwapKeepsOneOfEach(t *testing.T) {
	w := newWorld()
	rg := newRig(t, reactor.Options{})
	defer rg.close()
	swap := func() weak.Pointer[fake] {
		res := &fake{w: w, Want: "x"}
		rg.swap(newDecl(t).add("a", res))
		return weak.Make(res)
	}
	first := swap()
	rg.rest()
	second := swap()
	for begin := time.Now(); second.Value() != nil && time.Since(begin) < time.Minute; runtime.Gosched() {
		runtime.GC() // once is not enough where the loop is still on its way back from the swap
	}
	if first.Value() == nil || second.Value() != nil {
		t.Errorf("the one that runs %v, the same declared anew %v", first.Value(), second.Value())
	}
}

// TestPanicOfInit: what panics in the first graph fails alone, and in later ones until it does
// not; in a graph after another one it refuses the graph.
func TestPanicOfInit(t *testing.T) {
	boom := func() error { panic("no such thing") }
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(want string, initErr func() error) *decl {
			bad := &fake{w: w, Want: want, initErr: initErr}
			return newDecl(t).add("bad", bad).add("after", &fake{w: w}).add("other", &fake{w: w, Want: want}).edges("bad>after", "other!bad")
		}
		check := func(runs int) {
			t.Helper()
			c := rg.rest()
			err := rg.state("bad").Err
			if c[resgraph.StateFailed] != 1 || c[resgraph.StateOK] != 1 || w.count("other") != runs || w.count("bad")+w.count("after") != 0 ||
				err == nil || !strings.Contains(err.Error(), "cannot be initialised") || strings.Contains(err.Error(), "fake[bad]") {
				t.Errorf("%v, %v, %v", c, w.order(), err)
			}
		}
		rg.swap(mk("1", boom))
		check(1)
		rg.swap(mk("2", boom))
		check(2)
		for _, err := range []error{rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[bad]"}), rg.r.Resume(t.Context(), "fake[bad]")} {
			if err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if s := rg.state("bad"); s.State != resgraph.StateFailed || w.count("bad") != 0 {
			t.Errorf("after a pause it is %s and has run %d times", s.State, w.count("bad"))
		}
		for len(rg.converged) > 0 { // the pause and its end
			<-rg.converged
		}
		rg.swap(mk("2", nil))
		if c := rg.rest(); c[resgraph.StateOK] != 3 || w.count("after") != 1 {
			t.Errorf("mended, %v", c)
		}
		if err := rg.r.Swap(t.Context(), mk("3", boom).g); err == nil || !strings.HasPrefix(err.Error(), "fake[bad]: cannot be initialised") {
			t.Errorf("a graph that breaks what went well is taken: %v", err)
		}
		synctest.Wait()
		for _, name := range []string{"bad", "after", "other"} {
			if s := rg.state(name); s.State != resgraph.StateOK {
				t.Errorf("in the end %s is %s", name, s.State)
			}
		}
		if n := len(only(w.order(), "cleanup bad")); n != 1 { // the one that was exchanged and came back
			t.Errorf("%d are cleaned up: %v", n, w.order())
		}
	})
}

func TestSwapTouchesOnlyWhatChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(want string) *decl {
			return newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w, Want: want}).add("c", &fake{w: w}).edges("a>b", "b>c")
		}
		rg.swap(mk("1"))
		rg.rest()
		before := len(w.order())
		d := mk("2")
		d.add("new", &fake{w: w})
		rg.swap(d)
		rg.rest()
		got := w.order()[before:]
		if n := len(only(got, "run ")); n != 2 || w.count("a") != 1 || w.count("c") != 1 {
			t.Errorf("did %v", got)
		}
		// b is exclusive: the old one is cleaned up before the new one is initialised.
		if slices.Index(got, "cleanup b") > slices.Index(got, "init b") {
			t.Errorf("order %v", got)
		}
		if s := rg.swaps[1]; s.Kept != 2 || s.Added != 1 || s.Changed != 1 {
			t.Errorf("swap %+v", s)
		}
	})
}

func TestSwapOverlappingInitsBeforeItStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		long := func(ctx context.Context, f *fake, _ bool) (bool, error) {
			select {
			case <-ctx.Done():
				time.Sleep(time.Second)
				f.w.note("cut " + f.Want)
			case <-time.After(time.Hour):
			}
			return true, nil
		}
		rg.swap(newDecl(t).add("x", &lapping{fake: fake{w: w, Want: "1", check: long}}))
		synctest.Wait()
		rg.swap(newDecl(t).add("x", &lapping{fake: fake{w: w, Want: "2"}}))
		rg.rest()
		want := []string{"init x", "run x", "init x", "cut 1", "cleanup x", "run x"}
		if got := w.order(); !slices.Equal(got, want) {
			t.Errorf("did %v, want %v", got, want)
		}
		if len(w.overlap) > 0 {
			t.Errorf("CheckApply overlapped: %v", w.overlap)
		}
	})
}

func TestSwapFailureLeavesTheOldGraph(t *testing.T) {
	bad := func() error { return errors.New("no init") }
	for name, mk := range map[string]func(w *stage) engine.Res{
		"new vertex":          func(w *stage) engine.Res { return &fake{w: w, initErr: bad} },
		"panic":               func(w *stage) engine.Res { return &fake{w: w, initErr: func() error { panic("boom") }} },
		"changed, exclusive":  func(w *stage) engine.Res { return &fake{w: w, Want: "2", initErr: bad} },
		"changed, overlapped": func(w *stage) engine.Res { return &lapping{fake: fake{w: w, Want: "2", initErr: bad}} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				ev := make(chan struct{})
				res := "x"
				if name == "new vertex" || name == "panic" {
					res = "y"
				}
				rg.swap(newDecl(t).add("x", &fake{w: w, Want: "1", watch: eventer(ev)}).add("z", &fake{w: w}))
				rg.rest()
				d := newDecl(t).add("z", &fake{w: w}).add(res, mk(w))
				err := rg.r.Swap(t.Context(), d.g)
				if err == nil || !strings.Contains(err.Error(), "fake["+res+"]") {
					t.Fatalf("Swap returned %v", err)
				}
				synctest.Wait()
				n := w.count("x")
				ev <- struct{}{}
				synctest.Wait()
				if rg.state("x").State != resgraph.StateOK || w.count("x") != n+1 {
					t.Errorf("the old vertex is %s, ran %d times more", rg.state("x").State, w.count("x")-n)
				}
				if _, err := rg.r.Counts(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSwapCycleIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}).edges("a>b", "b>a")
		if err := rg.r.Swap(t.Context(), d.g); err == nil || !strings.Contains(err.Error(), "fake[a]") {
			t.Errorf("Swap returned %v", err)
		}
	})
}

func TestSwapRemovesWhatLeft(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{StateDir: dir})
		defer rg.close()
		var kept string
		rg.swap(newDecl(t).add("x", &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (ok bool, err error) {
			kept, err = f.init.VarDir("a/../b")
			return true, err
		}}))
		rg.rest()
		if _, err := os.Stat(kept); err != nil || filepath.Base(kept) != "b" {
			t.Fatalf("VarDir %s: %v", kept, err)
		}
		rg.swap(newDecl(t).add("y", &fake{w: w}))
		rg.rest()
		synctest.Wait()
		if _, err := os.Stat(filepath.Dir(kept)); !os.IsNotExist(err) {
			t.Errorf("the state folder of what left is still there: %v", err)
		}
		if n := len(only(w.order(), "cleanup x")); n != 1 {
			t.Errorf("%d cleanups", n)
		}
	})
}

func TestSwapCarriesRefreshAndRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(want string, works bool) *decl {
			src := &fake{w: w, check: func() func(context.Context, *fake, bool) (bool, error) {
				done := false
				return func(_ context.Context, _ *fake, apply bool) (bool, error) {
					was := done
					done = done || apply
					return was, nil
				}
			}()}
			dst := &fake{w: w, Want: want, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if !works {
					return false, errors.New("cannot")
				}
				f.w.note(fmt.Sprint("refresh ", f.init.Refresh()))
				return true, nil
			}}
			return newDecl(t).add("src", src).add("dst", dst).edges("src!dst")
		}
		rg.swap(mk("1", false))
		rg.rest()
		rg.swap(mk("2", true)) // src is equal and kept, dst is replaced
		rg.rest()
		if got := only(w.order(), "refresh "); !slices.Equal(got, []string{"refresh true"}) {
			t.Errorf("%v: a pending refresh was lost in the swap", got)
		}
	})
}

func TestSwapLongRunElsewhereDelaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		long := func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			select {
			case <-ctx.Done():
				t.Error("a run that the swap does not touch was cut")
			case <-time.After(time.Hour):
			}
			return true, nil
		}
		rg.swap(newDecl(t).add("long", &fake{w: w, check: long}).add("x", &fake{w: w, Want: "1"}))
		synctest.Wait()
		start := time.Now()
		rg.swap(newDecl(t).add("long", &fake{w: w, check: long}).add("x", &fake{w: w, Want: "2"}))
		synctest.Wait()
		if time.Since(start) > 0 || w.count("x") != 2 {
			t.Errorf("took %s, x ran %d times", time.Since(start), w.count("x"))
		}
		rg.rest()
	})
}

func TestSwapEndsARetryWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		bad := &fake{w: w, Want: "1", check: always(false, errors.New("no"))}
		bad.MetaParams().Retry, bad.MetaParams().Delay = -1, time.Hour
		rg.swap(newDecl(t).add("x", bad))
		rg.rest()
		start := time.Now()
		rg.swap(newDecl(t).add("x", &fake{w: w, Want: "2"}))
		c := rg.rest()
		if time.Since(start) > 0 || c[resgraph.StateOK] != 1 {
			t.Errorf("took %s: %v", time.Since(start), c)
		}
	})
}

func TestSwapStormEndsRight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		for i := range 200 {
			d := newDecl(t)
			for v := range 10 {
				name := fmt.Sprint(v)
				switch {
				case (i+v)%4 == 0: // left out
				case v%2 == 0:
					d.add(name, &lapping{fake: fake{w: w, Want: fmt.Sprint(i / 3)}})
				default:
					d.add(name, &fake{w: w, Want: fmt.Sprint(i / 5)})
				}
			}
			rg.swap(d)
		}
		rg.rest()
		rg.close()
		if len(w.overlap) > 0 {
			t.Errorf("overlaps %v", w.overlap)
		}
		inits, cleanups := len(only(w.order(), "init ")), len(only(w.order(), "cleanup "))
		if inits != cleanups {
			t.Errorf("%d inits, %d cleanups", inits, cleanups)
		}
	})
}

// emitter returns a CheckApply that sends what get returns.
func emitter(get func() sends) func(context.Context, *fake, bool) (bool, error) {
	return func(_ context.Context, f *fake, _ bool) (bool, error) { return true, f.init.Send(get()) }
}

func newSender(w *stage, get func() sends) *sender { return &sender{fake{w: w, check: emitter(get)}} }

func TestSendRecv(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		out := "one"
		src := newSender(w, func() sends { return sends{Out: out} })
		src.watch = eventer(ev)
		watches := 0
		var got []string
		dst := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			watches++
			f.w.note("watch " + f.Want)
			f.init.Running()
			<-ctx.Done()
			return nil
		}, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			s := f.init.Recv()["Want"]
			if s != f.init.Recv()["want"] {
				t.Error("the Go name is no alias")
			}
			got = append(got, fmt.Sprintf("%s from %s.%s changed %t", f.Want, s.Res, s.Key, s.Changed))
			return true, nil
		}}
		rg.swap(newDecl(t).add("dst", dst, "want=fake[src].out").add("src", src).edges("src>dst"))
		rg.rest()
		ev <- struct{}{} // sends an equal value
		synctest.Wait()
		out = "two"
		ev <- struct{}{}
		synctest.Wait()
		want := []string{"one from fake[src].out changed true", "two from fake[src].out changed true"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if w := only(w.order(), "watch "); !slices.Equal(w, []string{"watch one", "watch two"}) {
			t.Errorf("%v: the Watch must start with the value, and again with each other one", w)
		}
	})
}

func TestSendRecvNoWatchSkipsTheRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		out := "one"
		src := newSender(w, func() sends { return sends{Out: out} })
		src.watch = eventer(ev)
		starts := 0
		dst := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			starts++
			f.init.Running()
			<-ctx.Done()
			return nil
		}}
		rg.swap(newDecl(t).add("dst", dst, "free=fake[src].out").add("src", src).edges("src>dst"))
		rg.rest()
		out = "two"
		ev <- struct{}{}
		synctest.Wait()
		if starts != 1 || w.count("dst") != 2 || dst.Free != "two" {
			t.Errorf("%d starts of Watch, %d runs, value %q", starts, w.count("dst"), dst.Free)
		}
	})
}

func TestSendRecvMissing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		silent := &sender{fake{w: w}}
		dst := &fake{w: w}
		rg.swap(newDecl(t).add("dst", dst, "want=fake[src].out").add("src", silent).edges("src>dst"))
		c := rg.rest()
		if c[resgraph.StateFailed] != 1 || w.count("dst") != 0 {
			t.Errorf("counts %v, runs %d", c, w.count("dst"))
		}
		if err := rg.state("dst").Err; !strings.Contains(fmt.Sprint(err), "fake[src]") {
			t.Errorf("error %v", err)
		}
	})
}

func TestSendRecvUnknownUnderNoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll})
		defer rg.close()
		src := &sender{fake{w: w, check: always(false, nil)}}
		rg.swap(newDecl(t).add("dst", &fake{w: w}, "want=fake[src].out").add("src", src).
			add("below", &fake{w: w}).edges("src>dst", "dst>below"))
		rg.rest()
		s := rg.state("dst")
		if s.State != resgraph.StateUnknown || s.Until != "fake[src]" || w.count("dst") != 0 {
			t.Errorf("%+v, %d runs", s, w.count("dst"))
		}
		if rg.state("below").State != resgraph.StateOK {
			t.Error("what is below an unknown is still checked")
		}
		if r := rg.runs("dst"); len(r) != 1 || len(r[0].Changes) != 1 || r[0].Changes[0].To != any(engine.Unknown) {
			t.Errorf("runs %+v", r)
		}
	})
}

func TestSendRecvRefusedValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		out := "good"
		src := newSender(w, func() sends { return sends{Out: out} })
		src.watch = eventer(ev)
		dst := &fake{w: w, validate: func(f *fake) error {
			if f.Want == "bad" {
				return errors.New("it is bad")
			}
			return nil
		}}
		rg.swap(newDecl(t).add("dst", dst, "want=fake[src].out").add("src", src).edges("src>dst"))
		rg.rest()
		set := func(s string) { out = s; ev <- struct{}{}; synctest.Wait() }
		set("bad")
		if s := rg.state("dst"); s.State != resgraph.StateFailed || !strings.Contains(s.Err.Error(), "it is bad") {
			t.Errorf("%+v", s)
		}
		if dst.Want != "good" {
			t.Errorf("the old value did not return: %q", dst.Want)
		}
		set("better")
		if s := rg.state("dst"); s.State != resgraph.StateOK || dst.Want != "better" {
			t.Errorf("%+v with %q", s, dst.Want)
		}
	})
}

func TestSendRecvSurvivesSwaps(t *testing.T) {
	for _, name := range []string{"replace receiver", "replace sender"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				mk := func(srcWant, dstFree string) *decl {
					src := newSender(w, func() sends { return sends{Out: "v"} })
					src.Want = srcWant
					return newDecl(t).add("dst", &fake{w: w, Free: dstFree}, "want=fake[src].out").add("src", src).edges("src>dst")
				}
				rg.swap(mk("1", "1"))
				rg.rest()
				if name == "replace receiver" {
					rg.swap(mk("1", "2"))
				} else {
					rg.swap(mk("2", "1"))
				}
				c := rg.rest()
				if c[resgraph.StateOK] != 2 {
					t.Errorf("counts %v", c)
				}
				want := map[string][2]int{"replace receiver": {1, 2}, "replace sender": {2, 1}}[name]
				if got := [2]int{w.count("src"), w.count("dst")}; got != want {
					t.Errorf("runs of sender and receiver %v, want %v", got, want)
				}
			})
		})
	}
}

func TestWiringIsAChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(key string) *decl {
			src := newSender(w, func() sends { return sends{Out: "text", Num: 7} })
			return newDecl(t).add("dst", &fake{w: w}, "want=fake["+key+"].out").
				add("src", src).add("other", newSender(w, func() sends { return sends{Out: "else"} })).edges("src>dst", "other>dst")
		}
		rg.swap(mk("src"))
		rg.rest()
		d := mk("other")
		rg.swap(d)
		rg.rest()
		if w.count("src") != 1 || w.count("other") != 1 || w.count("dst") != 2 {
			t.Errorf("runs: src %d other %d dst %d", w.count("src"), w.count("other"), w.count("dst"))
		}
		if got := d.g.Value(0).Res.(*fake).Want; got != "else" {
			t.Errorf("received %q", got)
		}
	})
}

func TestSecretIsRedactedEverywhere(t *testing.T) {
	const canary = "canary-9f3c"
	bubble(t, func(t *testing.T) {
		w := newWorld()
		log := &strings.Builder{}
		rg := newRig(t, reactor.Options{Logger: textLogger(log)})
		src := newSender(w, func() sends { return sends{Secret: schema.NewSecret(canary)} })
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			if f.Want != canary || f.Env["TOKEN"] != canary {
				t.Errorf("received %q and %q", f.Want, f.Env["TOKEN"])
			}
			if !f.init.Recv()["want"].Secret {
				t.Error("it is not told that the value is secret")
			}
			f.init.Logf("got %s", f.Want)
			f.init.Log.With("a", f.Want).WithGroup("g").Info("got "+f.Want, "b", f.Want, "c", struct{ X string }{f.Want})
			f.init.Change(engine.Change{Field: "want", From: "old", To: f.Want})
			f.init.Change(engine.Change{Field: "other", To: []any{"with " + f.Want}})
			f.init.Change(engine.Change{Field: "env.TOKEN", To: f.Want})
			return false, nil
		}}
		bad := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return false, fmt.Errorf("cannot use %q", f.Want)
		}}
		rg.swap(newDecl(t).add("dst", dst, "want=fake[src].secret", "env.TOKEN=fake[src].secret").
			add("bad", bad, "want=fake[src].secret").add("src", src).edges("src>dst", "src>bad"))
		rg.rest()
		out := fmt.Sprintf("%+v %v %s", rg.ran, rg.state("bad").Err, log)
		rg.close()
		if strings.Contains(out, canary) {
			t.Errorf("the secret is in: %s", out)
		}
		if strings.Contains(out, "old") {
			t.Errorf("what a secret field held before is in: %s", out)
		}
		if !strings.Contains(out, schema.Redacted) {
			t.Errorf("nothing was redacted in %s", out)
		}
	})
}
