package reactor_test

import (
	"context"
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
