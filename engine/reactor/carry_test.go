package reactor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestRefusedValueBeforeRunning: that the watches are armed does not end the
// failure.
func TestRefusedValueBeforeRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		ev, out := make(chan struct{}), "1"
		b := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			time.Sleep(10 * time.Second)
			f.init.Running()
			<-ctx.Done()
			return nil
		}, validate: func(f *fake) error {
			if f.Free == "bad" {
				return errors.New("bad value")
			}
			return nil
		}}
		rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, "free=fake[a].out").edges("a>b"))
		synctest.Wait()
		out = "bad"
		ev <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateFailed || w.count("b") != 0 {
			t.Errorf("b is %s after %d runs", s.State, w.count("b"))
		}
	})
}

// TestSwapCarriesTheTriesOfAWatch as it carries those of CheckApply.
func TestSwapCarriesTheTriesOfAWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(want string) *decl {
			f := &fake{w: w, Want: want, watch: func(context.Context, *fake) error {
				w.note("watch")
				return errors.New("lost")
			}}
			f.SetMetaParams(&engine.MetaParams{Retry: 1})
			return newDecl(t).add("x", f)
		}
		rg.swap(mk("1"))
		time.Sleep(time.Minute)
		rg.swap(mk("2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(only(w.order(), "watch")); n != 3 {
			t.Errorf("Watch was called %d times, want twice and once after the swap", n)
		}
	})
}

// TestSwapKeepsTheSecretsThatWereSent out of what the new vertex says.
func TestSwapKeepsTheSecretsThatWereSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(want string, err error) *decl {
			s := &sender{fake{w: w, Want: want, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if err != nil {
					return false, err
				}
				return true, f.init.Send(sends{Secret: schema.NewSecret("canary")})
			}}}
			return newDecl(t).add("a", s)
		}
		rg.swap(mk("1", nil))
		rg.rest()
		rg.swap(mk("2", errors.New("no canary")))
		rg.rest()
		if s := rg.state("a"); s.Err == nil || strings.Contains(s.Err.Error(), "canary") {
			t.Errorf("a says %v", s.Err)
		}
	})
}

// TestSwapReplacesWhatCouldNotBeBroughtBack even by the same declaration.
func TestSwapReplacesWhatCouldNotBeBroughtBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		broken := false
		mk := func(want string) *decl {
			return newDecl(t).add("x", &fake{w: w, Want: want, initErr: func() error {
				if broken {
					return errors.New("no init")
				}
				return nil
			}})
		}
		rg.swap(mk("1"))
		rg.rest()
		broken = true
		if err := rg.r.Swap(t.Context(), mk("2").g); err == nil {
			t.Fatal("the swap took effect")
		}
		synctest.Wait()
		if s := rg.state("x"); s.State != resgraph.StateFailed || s.Err == nil {
			t.Errorf("x is %s: %v", s.State, s.Err)
		}
		broken = false
		rg.swap(mk("1"))
		synctest.Wait()
		if s := rg.state("x"); s.State != resgraph.StateOK || w.count("x") != 2 {
			t.Errorf("x is %s after %d runs: %v", s.State, w.count("x"), s.Err)
		}
	})
}

// TestSwapOfOneThatWaitsForItsPredecessor: while it is exchanged, the end of that
// one does not start it.
func TestSwapOfOneThatWaitsForItsPredecessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		slow := func() error { time.Sleep(time.Second); return nil }
		rg.swap(newDecl(t).add("x", &lapping{fake: fake{w: w, Want: "1", cleanup: slow}}))
		rg.rest()
		rg.swap(newDecl(t))
		second := &lapping{fake: fake{w: w, Want: "2", check: func(context.Context, *fake, bool) (bool, error) {
			t.Error("the one that was exchanged ran")
			return true, nil
		}}}
		second.SetMetaParams(&engine.MetaParams{Poll: time.Hour})
		rg.swap(newDecl(t).add("x", second))
		rg.swap(newDecl(t).add("x", &fake{w: w, Want: "3", initErr: func() error { time.Sleep(time.Minute); return nil }}))
		synctest.Wait()
		if s := rg.state("x"); s.State != resgraph.StateOK {
			t.Errorf("x is %s", s.State)
		}
	})
}

// TestSharedCountsRightOverAFailedExchange: a notification that comes meanwhile
// is not counted for what was closed.
func TestSharedCountsRightOverAFailedExchange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		ev := make(chan struct{})
		mk := func(want string, init func() error) *decl {
			x := &sharing{fake: fake{w: w, Want: want, initErr: init}, key: "k", value: &commons{w: w}}
			src := changer(w, ev)
			return newDecl(t).add("src", src).add("x", x).edges("src!x")
		}
		rg.swap(mk("1", nil))
		rg.rest()
		synctest.Wait()
		go func() { time.Sleep(time.Second); ev <- struct{}{} }()
		late := func() error { time.Sleep(time.Minute); return errors.New("no init") }
		if err := rg.r.Swap(t.Context(), mk("2", late).g); err == nil {
			t.Fatal("the swap took effect")
		}
		rg.rest()
		synctest.Wait()
		log := slices.DeleteFunc(w.order(), func(s string) bool { return s != "begin" && s != "end" })
		if want := []string{"begin", "end", "begin", "end"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

// TestLaw7NumbersGoOnAfterARestart: a refresh is not taken for one that an earlier
// process has left.
func TestLaw7NumbersGoOnAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		store := &memStore{recs: map[string]map[string][]byte{"refresh": {"fake[dst]\x00fake[src]\x001": {1}}}}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		ev := make(chan struct{})
		refreshed := 0
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			if !f.init.Refresh() {
				return true, nil
			}
			time.Sleep(time.Second)
			refreshed++
			return false, nil
		}}
		rg.swap(newDecl(t).add("src", changer(w, ev)).add("dst", dst).edges("src!dst"))
		synctest.Wait() // dst acts on what was left
		ev <- struct{}{}
		rg.rest()
		synctest.Wait()
		if refreshed != 2 || store.size() != 0 {
			t.Errorf("refreshed %d times, %d records left", refreshed, store.size())
		}
	})
}

// TestLaw13SemaphoresInAnyOrder: two that want the same ones never wait for each
// other.
func TestLaw13SemaphoresInAnyOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		res := func(d time.Duration, semas ...string) *fake {
			f := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
				return true, nil
			}}
			f.SetMetaParams(&engine.MetaParams{Sema: semas})
			return f
		}
		d := newDecl(t).add("holds y", res(10*time.Second, "y")).add("gate 1", res(time.Second)).add("gate 2", res(2*time.Second))
		d.add("y x", res(0, "y", "x")).add("x y", res(0, "x", "y"))
		rg.swap(d.edges("gate 1>y x", "gate 2>x y"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if c, err := rg.r.Counts(t.Context()); err != nil || c[resgraph.StateOK] != 5 {
			t.Errorf("counts %v, %v", c, err)
		}
	})
}
