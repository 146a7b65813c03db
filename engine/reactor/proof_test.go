package reactor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// leases is a World with one lease, which is the test's.
type leases struct {
	engine.World
	holds atomic.Bool
}

func (l *leases) Held(id string) engine.Lease {
	if id != "7" {
		return nil
	}
	return ownLease{l}
}

type ownLease struct{ *leases }

func (ownLease) ID() string                   { return "7" }
func (ownLease) Done() <-chan struct{}        { return nil }
func (l ownLease) Holds() bool                { return l.holds.Load() }
func (ownLease) Revoke(context.Context) error { return nil }
func (ownLease) Leave()                       {}

// TestFindingR1NoStartWithoutProof: no CheckApply begins while a lease that the resource needs does not surely hold, also not the second one of a
// run. The resource waits, and says for what; it runs again when the lease holds. One without a proof runs on.
func TestFindingR1NoStartWithoutProof(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		l := &leases{World: memory.New()}
		l.holds.Store(true)
		rg := newRig(t, reactor.Options{World: l, MaxChanges: reactor.Budget{Most: 1000, Within: time.Minute}})
		defer rg.close()
		f, tick := ticker(w)
		f.MetaParams().Proofs = []engine.Proof{{Lease: "7", Of: "the choice of this host by the schedule all/lead"}}
		var starts, outside atomic.Int64
		var lose atomic.Bool
		f.check = func(_ context.Context, _ *fake, apply bool) (bool, error) {
			starts.Add(1)
			if !l.holds.Load() {
				outside.Add(1)
			}
			if !apply && lose.Load() {
				l.holds.Store(false) // between the look and the repair
			}
			return false, nil
		}
		free, freeTick := ticker(w)
		rg.swap(newDecl(t).add("a", f).add("b", free))
		rg.rest()
		if starts.Load() != 2 { // a budget has it look first
			t.Fatalf("it began %d times", starts.Load())
		}
		lose.Store(true)
		tick <- struct{}{}
		synctest.Wait()
		if st := rg.state("a"); st.State != engine.StateWaiting || !strings.Contains(st.WaitsFor, "a lease that proves the choice of this host by the schedule all/lead") {
			t.Errorf("it is %+v", st)
		}
		if starts.Load() != 3 || outside.Load() != 0 {
			t.Errorf("it began %d times, %d of them without its lease", starts.Load(), outside.Load())
		}
		before := w.count("b")
		freeTick <- struct{}{}
		tick <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if starts.Load() != 3 || w.count("b") == before {
			t.Errorf("it began %d times, the other one %d", starts.Load(), w.count("b")-before)
		}
		lose.Store(false)
		l.holds.Store(true)
		rg.rest()
		if st := rg.state("a"); st.State != engine.StateOK || outside.Load() != 0 {
			t.Errorf("it is %+v, and began %d times without its lease", st, outside.Load())
		}
	})
}
