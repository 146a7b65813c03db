package reactor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// ticker is a fake whose Watch tells an event each time that its channel says so.
func ticker(w *stage) (*fake, chan<- struct{}) {
	c := make(chan struct{})
	return &fake{w: w, watch: func(ctx context.Context, f *fake) error {
		f.init.Running()
		for {
			select {
			case <-c:
				f.init.Event()
			case <-ctx.Done():
				return nil
			}
		}
	}}, c
}

// times notes when a check of a fake begins.
type times struct {
	w     *stage
	start time.Time
	at    []time.Duration
}

func noteTimes(f *fake) *times {
	n := &times{w: f.w, start: time.Now()}
	before := f.check
	f.check = func(ctx context.Context, f *fake, apply bool) (bool, error) {
		n.w.mu.Lock()
		n.at = append(n.at, time.Since(n.start).Round(time.Millisecond))
		n.w.mu.Unlock()
		if before != nil {
			return before(ctx, f, apply)
		}
		return true, nil
	}
	return n
}

func (n *times) want(t *testing.T, want ...time.Duration) {
	t.Helper()
	synctest.Wait()
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if !slices.Equal(n.at, want) {
		t.Errorf("runs at %v, want %v", n.at, want)
	}
}

// TestLimit: runs are counted, whatever caused them, and the one that has to wait
// is made once for all that asked meanwhile.
func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f, tick := ticker(newWorld())
		f.MetaParams().Limit, f.MetaParams().Burst = 0.5, 2
		n := noteTimes(f)
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		for range 10 {
			tick <- struct{}{}
			synctest.Wait()
		}
		if s := rg.state("a"); s.State != resgraph.StateWaiting || s.WaitsFor != "limit" {
			t.Errorf("it is %v, waiting for %q", s.State, s.WaitsFor)
		}
		time.Sleep(time.Minute)
		n.want(t, 0, 0, 2*time.Second)
	})
}

// TestLimitCountsRetries: the runs after a failure take from the limit too.
func TestLimitCountsRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f := &fake{w: newWorld(), check: func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }}
		m := f.MetaParams()
		m.Limit, m.Burst, m.Retry = 1, 1, 3
		n := noteTimes(f)
		rg.swap(newDecl(t).add("a", f))
		time.Sleep(time.Minute)
		n.want(t, 0, time.Second, 2*time.Second, 3*time.Second)
	})
}

// TestLimitEndsWithRun: who waits for a limit keeps neither a swap nor the end
// waiting.
func TestLimitEndsWithRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		f, tick := ticker(newWorld())
		f.MetaParams().Limit, f.MetaParams().Burst = 0.0001, 1
		rg.swap(newDecl(t).add("a", f).add("b", &fake{w: f.w}))
		rg.rest()
		tick <- struct{}{}
		synctest.Wait()
		start := time.Now()
		rg.swap(newDecl(t).add("b", &fake{w: f.w}))
		rg.rest()
		g, tick := ticker(f.w)
		g.MetaParams().Limit, g.MetaParams().Burst = 0.0001, 1
		rg.swap(newDecl(t).add("c", g))
		rg.rest()
		tick <- struct{}{}
		synctest.Wait()
		rg.close()
		if d := time.Since(start); d > time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestSettle: events are acted on when it has been quiet, and after ten times of
// it in any case.
func TestSettle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f, tick := ticker(newWorld())
		f.MetaParams().Settle = 2 * time.Second
		n := noteTimes(f)
		rg.swap(newDecl(t).add("a", f))
		rg.rest() // the first run waits for nothing
		for range 3 {
			tick <- struct{}{}
			time.Sleep(time.Second)
		}
		if s := rg.state("a"); s.State != resgraph.StateWaiting || s.WaitsFor != "settle" {
			t.Errorf("it is %v, waiting for %q", s.State, s.WaitsFor)
		}
		time.Sleep(7 * time.Second) // at 10 s
		n.want(t, 0, 4*time.Second)
		for range 22 { // never quiet
			tick <- struct{}{}
			time.Sleep(time.Second)
		}
		n.want(t, 0, 4*time.Second, 30*time.Second)
	})
}

// TestSettleIsNoDelayForOthers: a refresh does not wait for quiet.
func TestSettleIsNoDelayForOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		src, tick := ticker(w)
		first := true
		src.check = func(context.Context, *fake, bool) (bool, error) { ok := first; first = false; return ok, nil }
		dst := &fake{w: w}
		dst.MetaParams().Settle = time.Hour
		n := noteTimes(dst)
		rg.swap(newDecl(t).add("src", src).add("dst", dst).edges("src!dst"))
		rg.rest()
		tick <- struct{}{}
		n.want(t, 0, 0)
	})
}

// TestDelayMax: with it the delay doubles up to it, less a random part of at most
// half.
func TestDelayMax(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f := &fake{w: newWorld(), check: func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }}
		m := f.MetaParams()
		m.Retry, m.Delay, m.DelayMax = 6, time.Second, 8*time.Second
		n := noteTimes(f)
		rg.swap(newDecl(t).add("a", f))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(n.at) != 7 {
			t.Fatalf("runs at %v", n.at)
		}
		same := true
		for i, most := range []time.Duration{1, 2, 4, 8, 8, 8} {
			most *= time.Second
			d := n.at[i+1] - n.at[i]
			if d < most/2-time.Millisecond || d > most+time.Millisecond {
				t.Errorf("wait %d is %s, of %s at most", i, d, most)
			}
			same = same && d == most
		}
		if same {
			t.Error("nothing is left to chance")
		}
	})
}

// TestReset: retries carry over to a resource that is declared anew, but not with
// reset.
func TestReset(t *testing.T) {
	for _, reset := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			w := newWorld()
			bad := func(want string) *fake {
				f := &fake{w: w, Want: want, check: func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }}
				f.MetaParams().Retry, f.MetaParams().Reset = 3, reset
				return f
			}
			rg.swap(newDecl(t).add("a", bad("1")))
			time.Sleep(time.Second)
			rg.swap(newDecl(t).add("a", bad("2")))
			time.Sleep(time.Second)
			want := 4 + 1
			if reset {
				want = 4 + 4
			}
			if got := w.count("a"); got != want {
				t.Errorf("reset %t: %d runs, want %d", reset, got, want)
			}
		})
	}
}

// TestRewatch: who has failed for good is tried again by an equal graph only if it
// says so, whether its Watch or its check has failed.
func TestRewatch(t *testing.T) {
	for _, rewatch := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			w := newWorld()
			graph := func() *decl {
				watch := &fake{w: w, watch: func(context.Context, *fake) error { w.note("watch"); return errors.New("no") }}
				check := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }}
				watch.MetaParams().Rewatch, check.MetaParams().Rewatch = rewatch, rewatch
				return newDecl(t).add("watch", watch).add("check", check)
			}
			rg.swap(graph())
			rg.rest()
			rg.swap(graph())
			synctest.Wait()
			want := 1
			if rewatch {
				want = 2
			}
			watched := 0
			for _, s := range w.order() {
				if s == "watch" {
					watched++
				}
			}
			if watched != want || w.count("check") != want {
				t.Errorf("rewatch %t: %d watches, %d checks, want %d", rewatch, watched, w.count("check"), want)
			}
			if s := rg.state("check"); s.State != resgraph.StateFailed {
				t.Errorf("it is %s", s.State)
			}
		})
	}
}

// TestRealize: a graph without a vertex takes effect only after the vertex has
// been brought about, or has failed for good.
func TestRealize(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails int // before it succeeds
		retry int
		runs  int
		after time.Duration
	}{
		{"comes about", 0, 0, 1, time.Minute},
		{"comes about at last", 2, 2, 3, 3*time.Minute + 2*time.Second},
		{"fails for good", 5, 1, 2, 2*time.Minute + time.Second},
	} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			w := newWorld()
			fails := c.fails
			f := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
					return false, ctx.Err()
				}
				fails--
				if fails >= 0 {
					return false, errors.New("not yet")
				}
				return true, nil
			}}
			m := f.MetaParams()
			m.Realize, m.Retry, m.Delay = true, c.retry, time.Second
			rg.swap(newDecl(t).add("a", f))
			start := time.Now()
			rg.swap(newDecl(t).add("b", &fake{w: w}))
			if d := time.Since(start); d != c.after || w.count("a") != c.runs {
				t.Errorf("%s: the swap took %s, want %s, after %d runs", c.name, d, c.after, w.count("a"))
			}
			rg.rest()
			start = time.Now() // once was enough
			rg.swap(newDecl(t))
			if d := time.Since(start); d != 0 {
				t.Errorf("%s: the next swap took %s", c.name, d)
			}
		})
	}
}

// TestRealizeEndsWithRun: a Swap that waits ends with its context and with Run,
// and the old graph goes on.
func TestRealizeEndsWithRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		w := newWorld()
		never := &fake{w: w, watch: func(ctx context.Context, _ *fake) error { <-ctx.Done(); return nil }}
		never.MetaParams().Realize = true
		rg.swap(newDecl(t).add("a", never).add("b", &fake{w: w}))
		if s, err := rg.r.Snapshot(t.Context()); err != nil || len(s.Awaits) > 0 {
			t.Errorf("no swap waits for %v, %v", s.Awaits, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := rg.r.Swap(ctx, newDecl(t).g); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the swap: %v", err)
		}
		if s := rg.state("a"); s.State != resgraph.StateStarting {
			t.Errorf("it is %s", s.State)
		}
		done := make(chan error)
		go func() { done <- rg.r.Swap(t.Context(), newDecl(t).g) }()
		synctest.Wait()
		if s, err := rg.r.Snapshot(t.Context()); err != nil || !slices.Equal(s.Awaits, []string{"fake[a]"}) {
			t.Errorf("the swap waits for %v, %v", s.Awaits, err)
		}
		rg.close()
		if err := <-done; !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("the swap: %v", err)
		}
	})
}

// TestDriftReport: nothing is ever altered, whatever the flags say, and what
// follows is told.
func TestDriftReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		f, tick := ticker(w)
		f.check = func(_ context.Context, f *fake, apply bool) (bool, error) {
			if apply {
				t.Error("it was altered")
			}
			f.init.Change(engine.Change{Field: "want", From: "a", To: "b"})
			return false, nil
		}
		no := false
		f.MetaParams().Drift, f.MetaParams().Noop = engine.DriftReport, &no
		after := &fake{w: w}
		rg.swap(newDecl(t).add("a", f).add("after", after).edges("a>after"))
		c := rg.rest()
		if c[resgraph.StateWouldChange] != 1 || c[resgraph.StateOK] != 1 {
			t.Errorf("counts %v", c)
		}
		tick <- struct{}{}
		synctest.Wait()
		runs := rg.runs("a")
		last := runs[len(runs)-1]
		if len(runs) != 2 || !last.Noop || len(last.Changes) != 1 || last.Class != reactor.Corrective {
			t.Errorf("the last of %d runs is %+v", len(runs), last)
		}
	})
}

// TestOnce: it rests after its first success, and not before.
func TestOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		f, tick := ticker(w)
		fails := 1
		f.check = func(context.Context, *fake, bool) (bool, error) {
			if fails--; fails >= 0 {
				return false, errors.New("not yet")
			}
			return false, nil
		}
		d := newDecl(t).add("a", f)
		d.g.Value(0).Alter(func(s *resgraph.Special) { s.Once = true })
		rg.swap(d)
		rg.rest()
		for range 3 {
			tick <- struct{}{}
			synctest.Wait()
		}
		if n := w.count("a"); n != 2 {
			t.Errorf("%d runs, want one that fails and one that succeeds", n)
		}
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Errorf("it is %s", s.State)
		}
	})
}

// TestRealizeOnce: what has been brought about before keeps no graph waiting while it
// is looked at again.
func TestRealizeOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f, tick := ticker(newWorld())
		f.MetaParams().Realize = true
		slow := false
		f.check = func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			if slow {
				<-ctx.Done()
			}
			return true, ctx.Err()
		}
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		slow = true
		tick <- struct{}{}
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := rg.r.Swap(ctx, newDecl(t).g); err != nil || time.Since(start) != 0 {
			t.Errorf("the swap took %s: %v", time.Since(start), err)
		}
	})
}
