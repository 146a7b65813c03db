package kindtest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
)

// asideHost is a host that must not be asked on the stack of a Watch. A Watch that
// asks the host by calls of itself grows its stack with each resync, for as long as
// the engine runs.
type asideHost struct {
	engine.Host
	t     *testing.T
	asked atomic.Int32
}

// Aside puts a host before the one of a resource. It fails the test if it is asked
// on the stack of a Watch, and if it is not asked at all. It has to be put in before
// the Watch begins. Two calls are the least: one for the first subscription, one for
// the next.
func Aside(t *testing.T, init *engine.Init) {
	t.Helper()
	h := &asideHost{Host: init.Host, t: t}
	init.Host = h
	t.Cleanup(func() {
		if h.asked.Load() < 2 {
			t.Error("the host was not asked: the test shows nothing")
		}
	})
}

// check counts a call, and fails the test if WatchBy is among the callers.
func (h *asideHost) check() {
	h.asked.Add(1)
	if slices.ContainsFunc(callers(), func(f string) bool { return strings.HasSuffix(f, ".(*Backed).WatchBy") }) {
		h.t.Errorf("called on the stack of the Watch, which grows by that:\n%s", strings.Join(callers(), "\n"))
	}
}

// callers returns the names of the functions that run on this stack. The innermost
// stands first. Stacks of more than 256 functions are cut.
func callers() (names []string) {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return names
		}
	}
}

// The methods that a Watch may ask are checked, and passed on as they are.
func (h *asideHost) Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	h.check()
	return h.Host.Watch(ctx, paths, o)
}

func (h *asideHost) Bus(ctx context.Context, which bus.Kind) (bus.Bus, error) {
	h.check()
	return h.Host.Bus(ctx, which)
}

func (h *asideHost) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	h.check()
	return h.Host.Command(ctx, c)
}

func (h *asideHost) Facts() engine.Facts {
	h.check()
	return h.Host.Facts()
}

func (h *asideHost) WatchFacts(ctx context.Context) (events.Subscription, error) {
	h.check()
	return h.Host.WatchFacts(ctx)
}

// Resynced watches a resource, tells its host that events were lost, and waits for
// the event. Nothing is asked on the stack of the Watch. It is a law of all kinds
// that watch by a backend: after lost events they subscribe anew, and look again.
func Resynced(t *testing.T, f *enginetest.Fake, init *engine.Init, r engine.Res) {
	t.Helper()
	host := f.Host()
	Aside(t, init)
	Watching(t, f, r)
	if host.Resync() == 0 {
		t.Error("nothing is subscribed to")
	}
	f.WaitEvent(t)
}
