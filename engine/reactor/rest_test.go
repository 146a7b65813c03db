package reactor_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

func (rg *rig) standing() reactor.Rest {
	rg.t.Helper()
	s, err := rg.r.Snapshot(rg.t.Context())
	if err != nil {
		rg.t.Fatal(err)
	}
	return s.Rest
}

// TestFindingC2StatesAtRest: what has failed counts as failed while it is tried again,
// and what it blocks as blocked; before the first end of anything the code is not 0.
func TestFindingC2StatesAtRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		fails := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(10 * time.Second)
			return false, errors.New("no")
		}}
		fails.MetaParams().Retry, fails.MetaParams().Delay = -1, time.Second
		rg.swap(newDecl(t).add("fails", fails).add("below", &fake{w: w}).add("well", &fake{w: w}).edges("fails>below"))
		synctest.Wait()
		if rest := rg.standing(); rest.Code() != 5 || !rest.Early || rest.Converged {
			t.Errorf("before the first end: %+v, code %d", rest, rest.Code())
		}
		for second := range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			if second < 11 {
				continue
			}
			rest := rg.standing()
			if rest.Code() != 4 || !rest.Converged || rest.Counts[resgraph.StateFailed] != 1 || rest.Counts[resgraph.StateBlocked] != 1 || rest.Counts[resgraph.StateOK] != 1 {
				t.Fatalf("after %d s: %+v, code %d", second, rest, rest.Code())
			}
			if s := rg.state("fails"); s.Rest != resgraph.StateFailed || s.Err == nil {
				t.Fatalf("after %d s: %+v", second, s)
			}
			if s := rg.state("below"); s.Rest != resgraph.StateBlocked {
				t.Fatalf("after %d s: %+v", second, s)
			}
		}
	})
}

// TestFindingC2CheckOfWhatIsWell: a check that goes on leaves what was well as it was,
// and the graph at rest.
func TestFindingC2CheckOfWhatIsWell(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		var slow atomic.Bool
		f := &fake{w: newWorld(), check: func(context.Context, *fake, bool) (bool, error) {
			if slow.Load() {
				time.Sleep(time.Hour)
			}
			return true, nil
		}}
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		slow.Store(true)
		f.init.Event()
		synctest.Wait()
		if rest, s := rg.standing(), rg.state("a"); rest.Code() != 0 || !rest.Converged || s.State != resgraph.StateRunning || s.Rest != resgraph.StateOK {
			t.Errorf("%+v, %+v", rest, s)
		}
	})
}

// altersFor returns a resource that is well at first, and after an event is altered for
// an hour, or until its context ends.
func altersFor(w *stage, down *atomic.Bool) *fake {
	return &fake{w: w, check: func(ctx context.Context, f *fake, apply bool) (bool, error) {
		if !down.Load() {
			return true, nil
		}
		f.init.Change(engine.Change{Field: "x", From: "a", To: "b"})
		if !apply {
			return false, nil
		}
		select {
		case <-time.After(time.Hour):
			down.Store(false)
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}}
}

// TestFindingC3ApplyIsNotConverged: a graph in which something is being altered is not
// at rest, and is again when that has ended.
func TestFindingC3ApplyIsNotConverged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		var down atomic.Bool
		f := altersFor(newWorld(), &down)
		rg.swap(newDecl(t).add("a", f).add("b", &fake{w: newWorld()}))
		rg.rest()
		down.Store(true)
		f.init.Event()
		synctest.Wait()
		if rest := rg.standing(); rest.Code() != 5 || rest.Converged || rest.Counts[resgraph.StateRunning] != 1 {
			t.Errorf("while it is altered: %+v, code %d", rest, rest.Code())
		}
		rg.rest()
		if rest := rg.standing(); rest.Code() != 0 || !rest.Converged {
			t.Errorf("after it: %+v", rest)
		}
	})
}

// TestFindingC3CutOff: the end of Run in the middle of a change is a failure of that
// resource, which is named; what was only looked at has not failed.
func TestFindingC3CutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		var down atomic.Bool
		f := altersFor(w, &down)
		looks := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			if !down.Load() {
				return true, nil
			}
			<-ctx.Done()
			return false, context.Cause(ctx)
		}}
		rg.swap(newDecl(t).add("a", f).add("looks", looks).add("b", &fake{w: w}))
		rg.rest()
		down.Store(true)
		f.init.Event()
		looks.init.Event()
		synctest.Wait()
		rg.close()
		rest, cut := rg.r.Final()
		if !slices.Equal(cut, []string{"fake[a]"}) || rest.Converged || rest.Code() != 4 || rest.Counts[resgraph.StateFailed] != 1 || rest.Counts[resgraph.StateOK] != 2 {
			t.Errorf("Final %+v, code %d, cut off %v", rest, rest.Code(), cut)
		}
		runs := rg.runs("a")
		if _, ok := errors.AsType[*reactor.CutError](runs[len(runs)-1].Err); !ok {
			t.Errorf("the last run: %+v", runs[len(runs)-1])
		}
	})
}

// TestFindingC3EndedInTime: a change that comes to its end though Run was told to stop
// is none that was cut off.
func TestFindingC3EndedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		var down atomic.Bool
		f := &fake{w: newWorld(), check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if !down.Load() {
				return true, nil
			}
			f.init.Change(engine.Change{Field: "x", From: "a", To: "b"})
			time.Sleep(time.Minute)
			return false, nil
		}}
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		down.Store(true)
		f.init.Event()
		synctest.Wait()
		rg.close()
		if rest, cut := rg.r.Final(); len(cut) > 0 || rest.Code() != 0 || rest.Counts[resgraph.StateOK] != 1 {
			t.Errorf("Final %+v, cut off %v", rest, cut)
		}
	})
}

// TestFindingC3RetriesStayAtRest: the retries of what has failed leave the graph at
// rest, also where they begin to alter something: law 12.
func TestFindingC3RetriesStayAtRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f := &fake{w: newWorld(), check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Change(engine.Change{Field: "x", From: "a", To: "b"})
			time.Sleep(5 * time.Second)
			return false, errors.New("no")
		}}
		f.MetaParams().Retry, f.MetaParams().Delay = -1, time.Second
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		for range 30 {
			time.Sleep(time.Second)
			synctest.Wait()
			if rest := rg.standing(); !rest.Converged || rest.Code() != 4 {
				t.Fatalf("%+v", rest)
			}
		}
	})
}
