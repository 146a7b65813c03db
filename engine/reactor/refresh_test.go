package reactor_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// changer is a source that changes something at each event.
func changer(w *stage, ev <-chan struct{}) *fake {
	todo := false
	return &fake{w: w, watch: func(ctx context.Context, f *fake) error {
		f.init.Running()
		for {
			select {
			case <-ev:
				w.mu.Lock()
				todo = true
				w.mu.Unlock()
				f.init.Event()
			case <-ctx.Done():
				return nil
			}
		}
	}, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		ok := !todo
		todo = todo && !apply
		return ok, nil
	}}
}

// TestLaw7RefreshNeedsAnApply: a target that notifies others is asked first, and
// its answer that all is right does not stand for the refresh.
func TestLaw7RefreshNeedsAnApply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		acted := 0
		mid := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if apply && f.init.Refresh() {
				acted++
			}
			return true, nil
		}}
		rg.swap(newDecl(t).add("src", changer(w, ev)).add("mid", mid).add("end", &fake{w: w}).edges("src!mid", "mid!end"))
		rg.rest()
		ev <- struct{}{}
		synctest.Wait()
		if acted != 1 {
			t.Errorf("mid acted on the refresh %d times in CheckApply(true), want once", acted)
		}
		if n := rg.store.size(); n != 0 {
			t.Errorf("%d records left", n)
		}
	})
}

// TestLaw7RefreshesThatWaitDoNotPileUp: of one source one is kept, however often
// it changes while its target cannot act.
func TestLaw7RefreshesThatWaitDoNotPileUp(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		meta engine.MetaParams
		most int
	}{
		"noop":   {engine.MetaParams{Noop: &yes}, 1},
		"hidden": {engine.MetaParams{Hidden: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				ev := make(chan struct{})
				dst := &fake{w: w}
				dst.SetMetaParams(&c.meta)
				rg.swap(newDecl(t).add("src", changer(w, ev)).add("dst", dst).edges("src!dst"))
				rg.rest()
				for range 10 {
					ev <- struct{}{}
					synctest.Wait()
				}
				time.Sleep(time.Minute) // what nobody waits for is written down too
				if n := rg.store.size(); n != c.most {
					t.Errorf("%d records after ten changes, want %d", n, c.most)
				}
				rg.close()
			})
		})
	}
}

// TestLaw11UnknownEndsWithItsCause: what could not be told because of an ancestor
// is looked at again when that one is as wanted.
func TestLaw11UnknownEndsWithItsCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll, Sweep: -1})
		defer rg.close()
		ev := make(chan struct{})
		there := false
		up := &fake{w: w, watch: eventer(ev), check: func(context.Context, *fake, bool) (bool, error) { return there, nil }}
		down := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			if !there {
				return false, context.DeadlineExceeded
			}
			return true, nil
		}}
		rg.swap(newDecl(t).add("up", up).add("down", down).edges("up>down"))
		rg.rest()
		if s := rg.state("down"); s.State != resgraph.StateUnknown {
			t.Fatalf("down is %s", s.State)
		}
		there = true
		ev <- struct{}{}
		synctest.Wait()
		if s := rg.state("down"); s.State != resgraph.StateOK {
			t.Errorf("down is %s until %s", s.State, s.Until)
		}
	})
}

// TestLaw7RefreshWhileTheTargetActsOnTheOneBefore: the second one is neither lost
// nor taken for the first.
func TestLaw7RefreshWhileTheTargetActsOnTheOneBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		todo := true
		src := &fake{w: w, watch: eventer(ev), check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			ok := !todo
			if apply {
				time.Sleep(2 * time.Second)
				todo = false
			}
			return ok, nil
		}}
		refreshed := 0
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			if !f.init.Refresh() {
				return true, nil
			}
			time.Sleep(time.Second)
			refreshed++
			return false, nil
		}}
		rg.swap(newDecl(t).add("src", src).add("dst", dst).edges("src!dst"))
		time.Sleep(2500 * time.Millisecond) // dst acts on the first
		synctest.Wait()
		todo = true
		ev <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if refreshed != 2 || rg.store.size() != 0 {
			t.Errorf("refreshed %d times, %d records left", refreshed, rg.store.size())
		}
	})
}

// TestLaw7WhatIsOwedGoesWithTheEnd: nobody waits until the intent of a source has
// become a refresh; but the end of that refresh is not in the store before it, so
// that a crash leads to no second one.
func TestLaw7WhatIsOwedGoesWithTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		ev := make(chan struct{})
		var during []int
		dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			if f.init.Refresh() {
				during = append(during, rg.store.size())
			}
			return !f.init.Refresh(), nil
		}}
		rg.swap(newDecl(t).add("src", changer(w, ev)).add("dst", dst).edges("src!dst"))
		rg.rest()
		start := time.Now()
		for range 3 {
			ev <- struct{}{}
			synctest.Wait()
			if n := rg.store.size(); n != 0 {
				t.Errorf("%d records when all is done", n)
			}
		}
		if !slices.Equal(during, []int{1, 1, 1}) {
			t.Errorf("while it acts there are %v records, want one each time: the intent", during)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %s: a timer wrote it down", d)
		}
	})
}
