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
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// leases is a World with two leases, which are the test's.
type leases struct {
	world.World
	holds atomic.Bool
	other atomic.Bool // whether a second one holds
}

func (l *leases) Held(id string) world.Lease {
	switch {
	case id == "7":
		return ownLease{&l.holds}
	case id == "8":
		return ownLease{&l.other}
	}
	return nil
}

type ownLease struct{ holds *atomic.Bool }

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
		f.MetaParams().Proofs = []world.Proof{{Lease: "7", Of: "the choice of this host by the schedule all/lead"}}
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
		if st := rg.state("a"); st.State != resgraph.StateWaiting || !strings.Contains(st.WaitsFor, "a lease that proves the choice of this host by the schedule all/lead") {
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
		if st := rg.state("a"); st.State != resgraph.StateOK || outside.Load() != 0 {
			t.Errorf("it is %+v, and began %d times without its lease", st, outside.Load())
		}
	})
}

// provedSends is what a resource sends by a lease of this host.
type provedSends struct {
	Out   string `yaml:"out"`
	Free  string `yaml:"free"`
	lease string
}

func (s provedSends) SentProof(key string) (world.Proof, bool) {
	return world.Proof{Lease: s.lease, Of: "the choice of this host"}, s.lease != "" && key == "out"
}

// provedSender sends whatever it is told.
type provedSender struct {
	fake
	next atomic.Pointer[provedSends]
}

func (*provedSender) Sends() any           { return provedSends{} }
func (*provedSender) Cmp(engine.Res) error { return nil }
func (s *provedSender) CheckApply(context.Context, bool) (bool, error) {
	return true, s.init.Send(*s.next.Load())
}

// provedBatch receives a value, and runs with others in one call.
type provedBatch struct {
	fake `yaml:",inline"`
	runs *atomic.Int64
}

func (*provedBatch) GroupKey() string     { return "k" }
func (*provedBatch) Cmp(engine.Res) error { return nil }
func (b *provedBatch) CheckApplyBatch(_ context.Context, _ bool, members []engine.Res) []engine.Outcome {
	outs := make([]engine.Outcome, len(members))
	for i, m := range members {
		m.(*provedBatch).runs.Add(1)
		outs[i].OK = true
	}
	return outs
}

func (b *provedBatch) CheckApply(context.Context, bool) (bool, error) {
	b.runs.Add(1)
	return true, nil
}

// TestFindingR1ReceivedProofs: who has received a value that a lease proves, or one that was made of it, begins no run without the lease, alone or in
// one call with others. The same value by another lease lets all of them go on, and counts as no other value. A value that needs no lease
// holds nothing up.
func TestFindingR1ReceivedProofs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		l := &leases{World: memory.New()}
		l.holds.Store(true)
		rg := newRig(t, reactor.Options{World: l})
		defer rg.close()
		s := &provedSender{}
		send, sendTick := ticker(w)
		s.fake = *send
		s.watch = send.watch
		s.next.Store(&provedSends{Out: "mine", Free: "free", lease: "7"})
		near := &relay{fake: fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return true, f.init.Send(sends{Out: "of " + f.Want})
		}}}
		var farRuns atomic.Int64
		var changed atomic.Bool
		far, farTick := ticker(w)
		far.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
			farRuns.Add(1)
			changed.Store(f.Recv()["free"].Changed)
			return true, nil
		}
		free, freeTick := ticker(w)
		var batched, alone atomic.Int64
		withIt, itTick := ticker(w)
		withOut, outTick := ticker(w)
		withIt.check, withOut.check = nil, nil
		rg.swap(newDecl(t).add("send", s).add("near", near, "want=fake[send].out").add("far", far, "free=fake[near].out").add("free", free, "free=fake[send].free").
			add("with", &provedBatch{fake: *withIt, runs: &batched}, "free=fake[send].out").add("without", &provedBatch{fake: *withOut, runs: &alone}))
		rg.rest()
		if farRuns.Load() == 0 || batched.Load() == 0 || far.Free != "of mine" {
			t.Fatalf("they ran %d and %d times, with %q", farRuns.Load(), batched.Load(), far.Free)
		}
		l.holds.Store(false)
		was, wasBatched, wasAlone, wasFree := farRuns.Load(), batched.Load(), alone.Load(), w.count("free")
		for _, tick := range []chan<- struct{}{farTick, freeTick, itTick, outTick} {
			tick <- struct{}{}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if farRuns.Load() != was || batched.Load() != wasBatched {
			t.Errorf("without the lease they ran %d and %d times more", farRuns.Load()-was, batched.Load()-wasBatched)
		}
		if st := rg.state("far"); st.State != resgraph.StateWaiting || !strings.Contains(st.WaitsFor, "a lease that proves the choice of this host") {
			t.Errorf("it is %+v", st)
		}
		if alone.Load() == wasAlone || w.count("free") == wasFree {
			t.Errorf("what needs no lease ran %d and %d times", alone.Load()-wasAlone, w.count("free")-wasFree)
		}
		// The same value by another lease, that holds.
		l.other.Store(true)
		s.next.Store(&provedSends{Out: "mine", Free: "free", lease: "8"})
		sendTick <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := rg.state("far"); st.State != resgraph.StateOK || farRuns.Load() == was || changed.Load() {
			t.Errorf("by the other lease it is %+v after %d runs, changed %t", st, farRuns.Load()-was, changed.Load())
		}
		if rg.state("with").State != resgraph.StateOK || batched.Load() == wasBatched {
			t.Errorf("by the other lease the one of the batch is %+v", rg.state("with"))
		}
		// A value that needs none.
		l.other.Store(false)
		s.next.Store(&provedSends{Out: "theirs", Free: "free"})
		sendTick <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := rg.state("far"); st.State != resgraph.StateOK || far.Free != "of theirs" {
			t.Errorf("without the choice it is %+v with %q", st, far.Free)
		}
	})
}
