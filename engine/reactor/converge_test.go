package reactor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosting"
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

// lateFirst is a host whose first two answers wake who watches. The first one ends late.
type lateFirst struct {
	*simulate.Host
	calls atomic.Int32
}

func (h *lateFirst) Hear(context.Context) {
	n := h.calls.Add(1)
	if n <= 2 {
		h.Touch("/made")
		time.Sleep(time.Millisecond)
	}
	if n == 1 {
		time.Sleep(time.Second)
	}
}

// TestHearsInTurn: the graph comes to rest, also where the host is asked for what has happened while it was asked.
func TestHearsInTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &lateFirst{Host: simulate.NewHost()}
		w := newWorld()
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		reads := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			switch n := w.count("reads"); {
			case n == 2: // in the first answer
				f.init.Change(engine.Change{Field: "x"})
				return false, nil
			case n > 2: // until both have ended
				time.Sleep(1500 * time.Millisecond)
			}
			return true, nil
		}}
		reads.watch = watching(nil, "/made")
		rg.swap(newDecl(t).add("reads", reads))
		rg.rest()
	})
}

// busyWriter is a host with another process that writes twice.
type busyWriter struct {
	*simulate.Host
	writes int
}

func (h *busyWriter) Writing(context.Context, string) bool { return h.writes > 0 }

func (h *busyWriter) Hear(context.Context) {
	if h.writes > 0 {
		h.writes--
		h.Touch("/made")
		time.Sleep(time.Millisecond) // its Watch says so meanwhile
	}
}

// TestNotConvergedWhileLeft: a graph is not converged while a resource leaves something to another process, however often.
func TestNotConvergedWhileLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &busyWriter{Host: simulate.NewHost(), writes: 2}
		w := newWorld()
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		left := false
		writes := &fake{w: w, check: func(ctx context.Context, f *fake, apply bool) (bool, error) {
			left = f.init.Host.(hosting.Writers).Writing(ctx, "/made")
			return true, nil
		}}
		writes.watch = watching(nil, "/made")
		rg.swap(newDecl(t).add("writes", writes))
		rg.rest()
		if n := w.count("writes"); n != 3 || left {
			t.Errorf("it is at rest after %d runs, the last of them left it: %t", n, left)
		}
	})
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
