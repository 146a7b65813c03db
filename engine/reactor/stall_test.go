package reactor_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// stalled is a fake that waits for something outside as long as busy is set.
type stalled struct {
	*fake
	busy atomic.Bool
	tick chan<- struct{}
}

func newStalled(again time.Duration) *stalled {
	f, tick := ticker(newWorld())
	s := &stalled{fake: f, tick: tick}
	s.busy.Store(true)
	f.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
		if s.busy.Load() {
			f.init.Change(engine.Change{Field: "state", From: "stopped", To: "running"})
			return false, &failure.WaitError{For: "the job stop of web.service", Again: again}
		}
		return true, nil
	}
	return s
}

// TestFindingB3WaitIsNoFailure: a resource that waits for something outside is waiting, and says for what; it has not
// failed, no retry is counted, the graph has not converged, dependents wait for it, and an event ends the wait.
func TestFindingB3WaitIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		s := newStalled(time.Hour)
		below := &fake{w: s.w}
		rg.swap(newDecl(t).add("a", s.fake).add("b", below).edges("a>b"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := rg.state("a"); st.State != resgraph.StateWaiting || st.WaitsFor != "the job stop of web.service" || st.Err != nil {
			t.Errorf("it is %+v", st)
		}
		if st := rg.state("b"); st.State != resgraph.StateWaiting || st.BlockedBy != "fake[a]" {
			t.Errorf("below it is %+v", st)
		}
		if len(rg.converged) != 0 || s.w.count("a") != 1 || s.w.count("b") != 0 {
			t.Errorf("converged %d times after %v", len(rg.converged), s.w.order())
		}
		s.busy.Store(false)
		s.tick <- struct{}{}
		rg.rest()
		if st := rg.state("a"); st.State != resgraph.StateOK || st.Changed != 0 || s.w.count("a") != 2 || s.w.count("b") != 1 {
			t.Errorf("it is %+v after %v", st, s.w.order())
		}
		rg.mu.Lock()
		defer rg.mu.Unlock()
		for _, run := range rg.ran {
			if run.State != resgraph.StateOK || run.Changed || run.Attempt > 0 {
				t.Errorf("a run was told: %+v", run)
			}
		}
	})
}

// TestFindingB3WaitAfterItWasWell: a resource that was ok, and now waits for something outside before it can be repaired, is not
// as wanted: it counts as waiting, and the exit code is that of a graph that has not come to rest.
func TestFindingB3WaitAfterItWasWell(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		s := newStalled(time.Hour)
		s.busy.Store(false)
		rg.swap(newDecl(t).add("a", s.fake).add("b", &fake{w: s.w}))
		rg.rest()
		s.busy.Store(true)
		s.tick <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		rest := rg.standing()
		if rest.Code() != 5 || rest.Converged || rest.Early || rest.Counts[resgraph.StateWaiting] != 1 || rest.Counts[resgraph.StateOK] != 1 {
			t.Errorf("it stands at %+v, code %d", rest, rest.Code())
		}
		if st := rg.state("a"); st.Rest != resgraph.StateWaiting {
			t.Errorf("it is %+v", st)
		}
		s.busy.Store(false)
		s.tick <- struct{}{}
		rg.rest()
		if rest := rg.standing(); rest.Code() != 0 || !rest.Converged {
			t.Errorf("after it: %+v", rest)
		}
	})
}

// TestFindingB3EventWhileItLooks: an event that comes while the resource looks, and finds that it has to wait, may be the end of
// the obstacle: it is looked at again soon, whatever time the wait names.
func TestFindingB3EventWhileItLooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		s := newStalled(24 * time.Hour)
		looks := s.check
		s.check = func(ctx context.Context, f *fake, apply bool) (bool, error) {
			ok, err := looks(ctx, f, apply)
			time.Sleep(time.Second)
			return ok, err
		}
		rg.swap(newDecl(t).add("a", s.fake))
		synctest.Wait()
		s.busy.Store(false)
		s.tick <- struct{}{}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if st := rg.state("a"); st.State != resgraph.StateOK || s.w.count("a") != 2 {
			t.Errorf("after %d looks it is %+v", s.w.count("a"), st)
		}
	})
}

// TestFindingB3WaitLooksAgain: it is looked at again after its time, and what had asked for the run is still said to
// have asked for it. A wait that lasts is told once to the log, and once more when it is long.
func TestFindingB3WaitLooksAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		rg := newRig(t, reactor.Options{Sweep: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer rg.close()
		s := newStalled(10 * time.Second)
		rg.swap(newDecl(t).add("a", s.fake))
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.w.count("a"); n < 340 || n > 380 {
			t.Errorf("%d looks in an hour", n)
		}
		s.busy.Store(false)
		time.Sleep(11 * time.Second)
		rg.rest()
		if text := log.String(); strings.Count(text, "outside of the graph") != 2 || strings.Count(text, "level=WARN") != 1 {
			t.Errorf("the log says:\n%s", text)
		}
		rg.mu.Lock()
		defer rg.mu.Unlock()
		if len(rg.ran) == 0 || len(rg.ran[0].Triggers) == 0 || rg.ran[0].Triggers[0].Cause != reactor.CauseGraph || rg.ran[0].Waited < time.Hour {
			t.Errorf("it was told: %+v", rg.ran)
		}
	})
}

// TestFindingB3WaitEndsWithAnything: neither a swap, nor the end, nor a pause is kept waiting.
func TestFindingB3WaitEndsWithAnything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		s := newStalled(time.Hour)
		rg.swap(newDecl(t).add("a", s.fake).add("b", &fake{w: s.w}))
		synctest.Wait()
		start := time.Now()
		rg.swap(newDecl(t).add("b", &fake{w: s.w}))
		rg.rest()
		rg.swap(newDecl(t).add("c", newStalled(time.Hour).fake))
		synctest.Wait()
		rg.close()
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestFindingB3WaitUnderNoop: where nothing may be altered nothing is awaited.
func TestFindingB3WaitUnderNoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll})
		defer rg.close()
		s := newStalled(time.Hour)
		rg.swap(newDecl(t).add("a", s.fake))
		rg.rest()
		if st := rg.state("a"); st.State != resgraph.StateWouldChange {
			t.Errorf("it is %+v", st)
		}
	})
}

// TestFindingB3WaitTakesNoBudget: a run that only waits has changed nothing, and keeps its refresh.
func TestFindingB3WaitTakesNoBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}})
		defer rg.close()
		s := newStalled(time.Second)
		inner, changed := s.check, false
		s.check = func(ctx context.Context, f *fake, apply bool) (bool, error) {
			switch {
			case s.busy.Load() && apply:
				return inner(ctx, f, apply)
			case !changed:
				f.init.Change(engine.Change{Field: "state", From: "stopped", To: "running"})
				changed = apply
				return false, nil
			}
			return true, nil
		}
		rg.swap(newDecl(t).add("a", s.fake))
		time.Sleep(time.Minute)
		s.busy.Store(false)
		time.Sleep(time.Minute)
		rg.rest()
		if st := rg.state("a"); st.State != resgraph.StateOK || st.Changed != 1 {
			t.Errorf("it is %+v", st)
		}
	})
}
