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

// say makes a sender that sends what *out holds, at first and at each event.
func say(w *stage, ev <-chan struct{}, out *string) *sender {
	s := &sender{fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
		return true, f.init.Send(sends{Out: *out})
	}}}
	s.watch = eventer(ev)
	return s
}

// strictWatch counts how many Watches of one resource go on at once.
func strictWatch(t *testing.T, then func(ctx context.Context, n int) error) func(context.Context, *fake) error {
	n, now := 0, 0
	return func(ctx context.Context, f *fake) error {
		n++
		now++
		defer func() { now-- }()
		if now > 1 {
			t.Errorf("%d Watches of %s at once", now, f)
		}
		f.init.Running()
		return then(ctx, n)
	}
}

// TestValueWhileAWatchWaitsForItsRestart: the value starts the Watch at once, and
// the delayed start is off.
func TestValueWhileAWatchWaitsForItsRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev, out := make(chan struct{}), "1"
		b := &fake{w: w}
		b.watch = strictWatch(t, func(ctx context.Context, n int) error {
			if n == 1 {
				time.Sleep(time.Second)
				return errors.New("lost")
			}
			<-ctx.Done()
			return nil
		})
		b.SetMetaParams(&engine.MetaParams{Retry: -1, Delay: time.Minute})
		rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, "want=fake[a].out").edges("a>b"))
		rg.rest()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateFailed {
			t.Fatalf("b is %s", s.State)
		}
		out = "2"
		ev <- struct{}{}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateOK || b.Want != "2" {
			t.Errorf("b is %s with %q", s.State, b.Want)
		}
	})
}

// TestRefusedValueOfAFieldWithoutRestart: the Watch goes on, the vertex is failed
// whatever its Watch says, and the next good value ends that.
func TestRefusedValueOfAFieldWithoutRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev, out := make(chan struct{}), "1"
		own := make(chan struct{})
		b := &fake{w: w, watch: eventer(own), validate: func(f *fake) error {
			if f.Free == "bad" {
				return errors.New("bad value")
			}
			return nil
		}}
		rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, "free=fake[a].out").edges("a>b"))
		rg.rest()
		out = "bad"
		ev <- struct{}{}
		synctest.Wait()
		own <- struct{}{}
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateFailed || w.count("b") != 1 {
			t.Fatalf("b is %s after %d runs", s.State, w.count("b"))
		}
		out = "3"
		ev <- struct{}{}
		synctest.Wait()
		if s := rg.state("b"); s.State != resgraph.StateOK || b.Free != "3" || w.count("b") != 2 {
			t.Errorf("b is %s with %q after %d runs", s.State, b.Free, w.count("b"))
		}
	})
}

// TestRefusedValueEndsARetry: a retry that was on its way does not bring a vertex
// to life whose value was refused, and the graph comes to rest.
func TestRefusedValueEndsARetry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		ev, out := make(chan struct{}), "1"
		b := &fake{w: w, check: always(false, errors.New("no")), validate: func(f *fake) error {
			if f.Want == "bad" {
				return errors.New("bad value")
			}
			return nil
		}}
		b.SetMetaParams(&engine.MetaParams{Retry: -1, Delay: time.Minute})
		rg.swap(newDecl(t).add("a", say(w, ev, &out)).add("b", b, "want=fake[a].out").edges("a>b"))
		rg.rest()
		out = "bad"
		ev <- struct{}{}
		time.Sleep(time.Hour)
		synctest.Wait()
		s := rg.state("b")
		if s.State != resgraph.StateFailed || s.Err == nil || !strings.Contains(s.Err.Error(), "bad value") || s.RetryIn != 0 {
			t.Errorf("b is %+v", s)
		}
	})
}

// TestSwapSuspendedVertexThatSaysRunning: what its Watch still says at its end
// does not start a run of a vertex that is being exchanged.
func TestSwapSuspendedVertexThatSaysRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		old := &fake{w: w, Want: "1", watch: func(ctx context.Context, f *fake) error {
			<-ctx.Done()
			f.init.Running()
			return nil
		}, cleanup: func() error { time.Sleep(time.Second); return nil }}
		rg.swap(newDecl(t).add("x", old))
		synctest.Wait()
		rg.swap(newDecl(t).add("x", &fake{w: w, Want: "2"}))
		rg.rest()
		if want, got := []string{"init x", "cleanup x", "init x", "run x"}, w.order(); !slices.Equal(got, want) {
			t.Errorf("did %v, want %v", got, want)
		}
	})
}

// TestSwapOfABatchMemberLeavesTheOthers: the run that they have in common goes on.
func TestSwapOfABatchMemberLeavesTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		slow := func(ctx context.Context, _ bool, ms []engine.Res) []engine.Outcome {
			outs := make([]engine.Outcome, len(ms))
			for i := range outs {
				outs[i].OK = true
				select {
				case <-ctx.Done():
					outs[i].Err = ctx.Err()
				case <-time.After(time.Minute):
				}
			}
			return outs
		}
		mk := func(names ...string) *decl {
			d := newDecl(t).add("gate", slowGate(w))
			for _, n := range names {
				d.add(n, &batched{fake: fake{w: w}, group: "g", batch: slow}).edges("gate>" + n)
			}
			return d
		}
		rg.swap(mk("a", "b", "c"))
		time.Sleep(2 * time.Second)
		rg.swap(mk("a", "b"))
		c := rg.rest()
		if c[resgraph.StateOK] != 3 || w.count("a") != 1 || w.count("b") != 1 {
			t.Errorf("counts %v, a ran %d times: %v", c, w.count("a"), rg.state("a").Err)
		}
		// When all of them go, the run is cut.
		rg.swap(mk("d", "e"))
		time.Sleep(2 * time.Second)
		start := time.Now()
		rg.swap(newDecl(t))
		rg.close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the run of a batch that left went on for %s", took)
		}
	})
}

// TestSwapOfASourceThatRuns: what the old one changed, or was about to, refreshes
// although the new one finds everything right.
func TestSwapOfASourceThatRuns(t *testing.T) {
	for name, cut := range map[string]bool{"ended well": false, "cut": true} {
		for kind, lap := range map[string]bool{"overlapping": true, "exclusive": false} {
			t.Run(name+", "+kind, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := newWorld()
					rg := newRig(t, reactor.Options{})
					defer rg.close()
					right := false
					check := func(ctx context.Context, _ *fake, apply bool) (bool, error) {
						if right || !apply {
							return right, nil
						}
						right = true
						time.Sleep(time.Second)
						if cut {
							return false, ctx.Err()
						}
						return false, nil
					}
					refreshed := 0
					mk := func(want string) *decl {
						src := fake{w: w, Want: want, check: check}
						var res engine.Res = &src
						if lap {
							res = &lapping{fake: fake{w: w, Want: want, check: check}}
						}
						return newDecl(t).add("src", res).add("dst", &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
							if f.init.Refresh() {
								refreshed++
								return false, nil
							}
							return true, nil
						}}).edges("src!dst")
					}
					rg.swap(mk("1"))
					synctest.Wait()
					rg.swap(mk("2"))
					rg.rest()
					if refreshed != 1 {
						t.Errorf("refreshed %d times", refreshed)
					}
					if n := rg.store.size(); n != 0 {
						t.Errorf("%d records left", n)
					}
				})
			})
		}
	}
}

// TestFailedExchangeOfAPolledVertexThatIgnoresItsEnd: it goes on as before: polled,
// with nothing said of a failure.
func TestFailedExchangeOfAPolledVertexThatIgnoresItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		old := &fake{w: w, Want: "1", watch: func(ctx context.Context, f *fake) error {
			t.Error("Watch of a polled vertex was called")
			<-ctx.Done()
			return nil
		}, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			time.Sleep(time.Minute)
			return true, ctx.Err()
		}}
		old.SetMetaParams(&engine.MetaParams{Poll: time.Hour})
		rg.swap(newDecl(t).add("x", old))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n := &fake{w: w, Want: "2"}
		if err := rg.r.Swap(ctx, newDecl(t).add("x", n).g); err == nil {
			t.Fatal("the swap took effect")
		}
		rg.rest()
		for _, r := range rg.runs("x") {
			if r.State != resgraph.StateOK {
				t.Errorf("told of %s: %v", r.State, r.Err)
			}
		}
		if w.count("x") != 2 {
			t.Errorf("ran %d times, want the one that was cut and another", w.count("x"))
		}
	})
}

// TestSwapKeepsTheTaint: what was received from a secret is one in the new vertex
// too.
func TestSwapKeepsTheTaint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(free string) *decl {
			s := &sender{fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				return true, f.init.Send(sends{Secret: schema.NewSecret("canary")})
			}}}
			b := &fake{w: w, Free: free, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				return false, errors.New("cannot use " + f.Want)
			}}
			return newDecl(t).add("a", s).add("b", b, "want=fake[a].secret").edges("a>b")
		}
		rg.swap(mk("1"))
		rg.rest()
		rg.swap(mk("2"))
		rg.rest()
		for _, r := range rg.runs("b") {
			if r.Err == nil || strings.Contains(r.Err.Error(), "canary") {
				t.Errorf("b says %v", r.Err)
			}
		}
		if len(rg.runs("b")) != 2 {
			t.Errorf("%d runs of b", len(rg.runs("b")))
		}
	})
}

// TestStopStartsNoWatch: the last run of a sender gives a value to a receiver
// whose Watch waited for it.
func TestStopStartsNoWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		s := &sender{fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			time.Sleep(time.Second)
			return true, f.init.Send(sends{Out: "x"})
		}}}
		watched := false
		b := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			watched = true
			<-ctx.Done()
			return nil
		}}
		rg.swap(newDecl(t).add("a", s).add("b", b, "want=fake[a].out").edges("a>b"))
		synctest.Wait()
		rg.stop()
		select {
		case err := <-rg.done:
			if err != nil || watched {
				t.Errorf("Run returned %v; a Watch was started: %t", err, watched)
			}
		case <-time.After(time.Hour):
			t.Error("Run did not return")
			rg.r.Abandon()
			<-rg.done
		}
	})
}
