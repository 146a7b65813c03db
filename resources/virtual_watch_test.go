package resources

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// asideHost is a host that must not be asked on the stack of a Watch.
type asideHost struct {
	engine.Host
	t     *testing.T
	asked atomic.Int32
}

// asideOf puts one before the host of a resource.
func asideOf(t *testing.T, init *engine.Init) *asideHost {
	t.Helper()
	h := &asideHost{Host: init.Host, t: t}
	init.Host = h
	t.Cleanup(func() {
		if h.asked.Load() < 2 {
			t.Error("the host was not asked: the test shows nothing")
		}
	})
	return h
}

func (h *asideHost) check() {
	h.asked.Add(1)
	if slices.ContainsFunc(callers(), func(f string) bool { return strings.HasSuffix(f, ".(*Backed).WatchBy") }) {
		h.t.Errorf("called on the stack of the Watch, which grows by that:\n%s", strings.Join(callers(), "\n"))
	}
}

// callers returns the names of the functions that run on this stack.
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

func (h *asideHost) Watch(ctx context.Context, paths []string, o engine.WatchOptions) (engine.Subscription, error) {
	h.check()
	return h.Host.Watch(ctx, paths, o)
}

func (h *asideHost) Bus(ctx context.Context, which engine.BusKind) (engine.Bus, error) {
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

func (h *asideHost) WatchFacts(ctx context.Context) (engine.Subscription, error) {
	h.check()
	return h.Host.WatchFacts(ctx)
}

// TestWatchOnlyWaits: whatever the Watch of a virtual kind has to ask, at its start, after an event and when
// another backend is the right one, it asks on another stack. Its own would stay as large as that has made it.
func TestWatchOnlyWaits(t *testing.T) {
	t.Run("svc", func(t *testing.T) {
		r := newSvcRig(t, SvcRes{})
		asideOf(t, r.res.Handle())
		kindtest.Want(t, r.fake, r.res, "")
		kindtest.Watching(t, r.fake, r.res)
		r.Add("web.service", systemdtest.Unit{})
		r.fake.WaitEvent(t)
	})
	t.Run("svc, another backend", func(t *testing.T) {
		r, f, host := watchedBy(t, engine.Facts{Init: "sysv"}, SvcRes{State: svcRunning})
		asideOf(t, r.Handle())
		kindtest.Watching(t, f, r)
		host.SetFacts(engine.Facts{Init: "openrc"})
		f.WaitEvent(t)
	})
	resync := func(t *testing.T, f *enginetest.Fake, init *engine.Init, r engine.Res) {
		t.Helper()
		host := f.Host()
		asideOf(t, init)
		kindtest.Watching(t, f, r)
		if host.Resync() == 0 {
			t.Error("nothing is subscribed to")
		}
		f.WaitEvent(t)
	}
	t.Run("pkg", func(t *testing.T) {
		r := pkgOf(t)
		f := kindtest.Begin(t, "pkg", r)
		resync(t, f, r.Handle(), r)
	})
	t.Run("user", func(t *testing.T) {
		dir := t.TempDir()
		accountsBelow(t, dir)
		r := madeUser(t, UserRes{Root: dir, ManageHome: true})
		f := kindtest.Begin(t, "user", r)
		resync(t, f, r.Handle(), r)
	})
	t.Run("group", func(t *testing.T) {
		dir := t.TempDir()
		accountsBelow(t, dir)
		made, err := engine.DefaultRegistry().New("group")
		kindtest.Must(t, err)
		r := made.(*GroupRes)
		r.Root = dir
		f := kindtest.Begin(t, "group", r)
		resync(t, f, r.Handle(), r)
	})
}

// comesBack is followed only when it is there.
type comesBack struct {
	*SvcRes
	away error
}

func (r *comesBack) Follow(context.Context, *virtualkind.Chosen) error { return r.away }

// TestAgain: what is away is followed again when it has come back, and has the thing looked at; it is tried so often,
// then it is why the Watch fails. What was lost meanwhile is lost until then.
func TestAgain(t *testing.T) {
	r := &comesBack{SvcRes: svcOf(t, svcOn(t, withSystemd), "web", SvcRes{})}
	f := kindtest.Begin(t, "svc", r.SvcRes)
	f.Init().Running()
	c := virtualkind.Choosing(&r.Backed, r.VirtualKind(), r, nil)
	defer c.Every(0)
	fails := func() {
		t.Helper()
		events := f.EventCount()
		for n := range virtualkind.AgainTries {
			if err := c.Again(t.Context()); err != nil || !c.Lost() || c.Ticks() == nil || f.EventCount() > events {
				t.Fatalf("after %d times: %v; lost: %t, tried again: %t, %d events", n, err, c.Lost(), c.Ticks() != nil, f.EventCount())
			}
		}
	}
	r.away = io.EOF
	fails()
	r.away = nil
	if err := c.Again(t.Context()); err != nil || c.Lost() || f.EventCount() != 1 {
		t.Errorf("%v, lost: %t, %d events", err, c.Lost(), f.EventCount())
	}
	r.away = io.EOF
	fails()
	if err := c.Again(t.Context()); err != io.EOF {
		t.Errorf("%v after so many times", err)
	}
}
