package nspawn

import (
	"context"
	"fmt"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// Read returns the container as it is. A container that only has an image is stopped.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	l, err := r.look(ctx)
	if err != nil || l.nothing() {
		return nil, err
	}
	got := r.other(r.Name())
	got.State, got.Startup = l.state(), l.startup()
	if r.Settings != nil || l.settings != "" {
		got.Settings = &l.settings
	}
	return got, nil
}

// other returns a container of another name on the same machine.
func (r *Res) other(name string) *Res {
	c := &Res{init: r.init, root: r.root, kind: r.kind, locks: r.locks}
	c.SetKind(r.Kind())
	c.SetName(name)
	return c
}

// List yields all that have an image or run.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		names, err := r.names(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			got, err := r.other(name).Read(ctx)
			if (got != nil || err != nil) && !yield(got, err) {
				return
			}
		}
	}
}

func (r *Res) names(ctx context.Context) ([]string, error) {
	m, err := openMachined(ctx, r.init.Host)
	if err != nil {
		return nil, err
	}
	return m.names(ctx)
}

// Reversed returns the resource that brings back the state before, as far as this resource manages
// it. A container that was not there is stopped; its image has another owner.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	was, ok := before.(*Res)
	switch {
	case before == nil:
		was = &Res{State: svc.Stopped, Startup: svc.Disabled}
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case r.Force:
		return nil, fmt.Errorf("%s: what was in the image is gone", r)
	}
	undo := r.other(r.Name())
	undo.init, undo.State = nil, was.State
	if r.Startup != "" || r.absent() {
		undo.Startup = was.Startup
	}
	if r.hasSettings() {
		undo.Settings = new("")
		if was.Settings != nil {
			undo.Settings = was.Settings
		}
	}
	if undo.State == svc.Running && undo.Startup == svc.Masked {
		undo.State = svc.Stopped // it ran before it was masked, and cannot be started now
	}
	return undo, nil
}
