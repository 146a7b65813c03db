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

// half is a batch in which what right names is right, what bad names cannot be looked at, and all else takes an hour
// to be made right.
func half(right map[string]bool, bad string) func(context.Context, bool, []engine.Res) []engine.Outcome {
	return func(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
		outs := make([]engine.Outcome, len(members))
		if apply {
			select {
			case <-time.After(10 * time.Minute):
			case <-ctx.Done():
			}
		}
		for i, m := range members {
			switch {
			case m.Name() == bad:
				outs[i].Err = errors.New("cannot be looked at")
			case right[m.Name()]:
				outs[i].OK = true
			default:
				m.(*batched).init.Change(engine.Change{Field: "state"})
				right[m.Name()] = apply
			}
		}
		return outs
	}
}

// TestFindingB4RightMembersDoNotWait: what is right becomes ok at once, also the lead of the batch, and what
// depends on it goes on, while the others take their time. The number of slots does not matter.
func TestFindingB4RightMembersDoNotWait(t *testing.T) {
	for _, right := range []string{"a", "b", "c"} {
		for _, parallel := range []int{1, 8} {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Parallel: parallel, Host: newSlowHost()})
				defer rg.close()
				batch := half(map[string]bool{right: true}, "bad")
				d := newDecl(t)
				for _, n := range []string{"a", "b", "bad", "c"} {
					d.add(n, &batched{fake: fake{w: w}, group: "g", batch: batch})
				}
				rg.swap(d.add("below", &fake{w: w}).edges(right + ">below"))
				time.Sleep(time.Second)
				if s := rg.state(right).State; s != resgraph.StateOK {
					t.Errorf("%s, which is right, is %s", right, s)
				}
				if s := rg.state("bad").State; s != resgraph.StateFailed {
					t.Errorf("bad, which cannot be looked at, is %s", s)
				}
				if parallel > 1 && w.count("below") != 1 {
					t.Errorf("what depends on %s ran %d times", right, w.count("below"))
				}
				got := only(w.order(), "batch ")
				rest := slices.DeleteFunc([]string{"a", "b", "c"}, func(n string) bool { return n == right })
				if want := []string{"batch [a b bad c] false", "batch [" + rest[0] + " " + rest[1] + "] true"}; !slices.Equal(got, want) {
					t.Errorf("batches %q, want %q", got, want)
				}
				time.Sleep(11 * time.Minute)
				for _, n := range rest {
					if runs := rg.runs(n); len(runs) != 1 || !runs[0].Changed {
						t.Errorf("%s: %+v", n, runs)
					}
				}
				if w.count("below") != 1 {
					t.Errorf("what depends on %s ran %d times", right, w.count("below"))
				}
			})
		}
	}
}

// TestFindingB4SerialBesideItsBatch: a member whose run has ended early is not run again beside the rest of its batch,
// may leave the graph, and an event leads to one more run after that.
func TestFindingB4SerialBesideItsBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		batch := half(map[string]bool{"a": true, "b": true}, "")
		events := make(chan struct{})
		d := func(names ...string) *decl {
			d := newDecl(t)
			for _, n := range names {
				f := fake{w: w}
				if n == "a" {
					f.watch = eventer(events)
				}
				d.add(n, &batched{fake: f, group: "g", batch: batch})
			}
			return d
		}
		rg.swap(d("a", "b", "c", "d"))
		time.Sleep(time.Second)
		events <- struct{}{}
		time.Sleep(time.Second)
		if n := w.count("a"); n != 1 {
			t.Errorf("a ran %d times while its batch runs", n)
		}
		rg.swap(d("a", "c", "d"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if n := w.count("a"); n != 2 {
			t.Errorf("a ran %d times, want once more for the event", n)
		}
		if s := rg.state("c").State; s != resgraph.StateOK {
			t.Errorf("c is %s", s)
		}
	})
}

// TestFindingB4EndsWhileTheRestRuns: the end of Run cuts what is left of the batch, and no worker is left.
func TestFindingB4EndsWhileTheRestRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		batch := half(map[string]bool{"a": true}, "")
		d := newDecl(t)
		for _, n := range []string{"a", "b", "c"} {
			d.add(n, &batched{fake: fake{w: w}, group: "g", batch: batch})
		}
		rg.swap(d)
		time.Sleep(time.Second)
		start := time.Now()
		rg.close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}
