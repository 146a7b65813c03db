package svc

import (
	"context"
	"io"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// TestWatchOnlyWaits: whatever the Watch of a virtual kind has to ask, at its start, after an event and when
// another backend is the right one, it asks on another stack. Its own would stay as large as that has made it.
func TestWatchOnlyWaits(t *testing.T) {
	t.Run("svc", func(t *testing.T) {
		r := newSvcRig(t, Res{})
		kindtest.Aside(t, r.res.Handle())
		kindtest.Want(t, r.fake, r.res, "")
		kindtest.Watching(t, r.fake, r.res)
		r.Add("web.service", systemdtest.Unit{})
		r.fake.WaitEvent(t)
	})
	t.Run("svc, another backend", func(t *testing.T) {
		r, f, host := watchedBy(t, engine.Facts{Init: "sysv"}, Res{State: Running})
		kindtest.Aside(t, r.Handle())
		kindtest.Watching(t, f, r)
		host.SetFacts(engine.Facts{Init: "openrc"})
		f.WaitEvent(t)
	})
}

// comesBack is followed only when it is there.
type comesBack struct {
	*Res
	away error
}

func (r *comesBack) Follow(context.Context, *virtualkind.Chosen) error { return r.away }

// TestAgain: what is away is followed again when it has come back, and has the thing looked at; it is tried so often,
// then it is why the Watch fails. What was lost meanwhile is lost until then.
func TestAgain(t *testing.T) {
	r := &comesBack{Res: of(t, on(t, withSystemd), "web", Res{})}
	f := kindtest.Begin(t, "svc", r.Res)
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
