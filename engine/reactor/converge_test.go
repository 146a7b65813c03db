package reactor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

// slowToTell is a host whose events come when they are asked for, and late then.
type slowToTell struct {
	*simulate.Host
	paths []string
}

func (h *slowToTell) Hear(context.Context) {
	time.Sleep(time.Second)
	for _, p := range h.paths {
		h.Touch(p)
	}
	h.paths = nil
	time.Sleep(time.Millisecond) // their Watches say so meanwhile
}

// TestConvergedHasHeard: a graph is not converged before the reactor has heard of what its own runs have done.
func TestConvergedHasHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &slowToTell{Host: simulate.NewHost(), paths: []string{"/made"}}
		w := newWorld()
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		reads := &fake{w: w}
		reads.watch = watching(nil, "/made")
		makes := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			f.init.Change(engine.Change{Field: "x"})
			return false, nil
		}}
		rg.swap(newDecl(t).add("makes", makes).add("reads", reads))
		rg.rest()
		if n := w.count("reads"); n != 2 {
			t.Errorf("it is at rest after %d runs of the reader", n)
		}
	})
}

// hesitant is a host that takes long to tell: a second call that comes a millisecond after the first ends with it.
type hesitant struct {
	*simulate.Host
	calls atomic.Int32
}

func (h *hesitant) Hear(context.Context) {
	time.Sleep(time.Second - time.Duration(h.calls.Add(1)-1)*time.Millisecond)
}

// TestHearsInTurn: what happens while the host is asked is asked for, too, and the graph comes to rest.
func TestHearsInTurn(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T) {
			h := &hesitant{Host: simulate.NewHost()}
			rg := newRig(t, reactor.Options{Host: h})
			defer rg.close()
			f := &fake{w: newWorld(), check: func(_ context.Context, f *fake, apply bool) (bool, error) {
				f.init.Change(engine.Change{Field: "x"})
				return false, nil
			}}
			rg.swap(newDecl(t).add("f", f))
			time.Sleep(time.Millisecond)
			f.init.Event()
			rg.rest()
			if n := h.calls.Load(); n != 2 {
				t.Errorf("the host was asked %d times", n)
			}
		})
	}
}

// TestLeavingDoesNotReturn: what leaves and does not return keeps the rest of the graph from no rest.
func TestLeavingDoesNotReturn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		release := make(chan struct{})
		defer close(release)
		stuck := &fake{w: w, watch: func(_ context.Context, f *fake) error {
			f.init.Running()
			<-release
			return nil
		}}
		rg.swap(newDecl(t).add("stays", &fake{w: w}).add("stuck", stuck))
		rg.rest()
		rg.swap(newDecl(t).add("stays", &fake{w: w}))
		rg.rest()
	})
}
