package install

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// collect returns the resources that a graph collects. back brings the wishes of the graph before back.
func (in *Installer) collect(ctx context.Context, d *gapi.Declared) (found []collect.Collected, notes schema.Diagnostics, back func()) {
	before := in.Sharing.Exports.Wants()
	if len(d.Collects)+len(before) == 0 {
		return nil, nil, func() {}
	}
	in.Sharing.Exports.Want(ctx, in.Life, d.Collects)
	ids := collect.Own(in.Hostname, d).IDs()
	found, notes = in.Sharing.Exports.Declare(in.Registry(), func(id string) bool { return ids[id] })
	return found, notes, func() { in.Sharing.Exports.Want(ctx, in.Life, before) }
}

// with returns a graph with collected resources behind its own.
func with(host string, d *gapi.Declared, found []collect.Collected) *gapi.Declared {
	c := *collect.Own(host, d)
	c.Resources = slices.Clip(c.Resources)
	for _, f := range found {
		c.Resources = append(c.Resources, f.Declaration)
	}
	return &c
}

// Recollect follows the exports of other hosts until ctx ends.
func (in *Installer) Recollect(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.Sharing.Exports.News():
		}
		if in.enter(ctx) != nil {
			return
		}
		in.collectNow(ctx)
		in.leave()
	}
}

// collectNow brings the graph to the exports of this moment, at the cost of the changes. The caller holds using.
func (in *Installer) collectNow(ctx context.Context) {
	if len(in.Sharing.Exports.Wants()) == 0 {
		return
	}
	found, notes := in.Sharing.Exports.Declare(in.Registry(), func(id string) bool {
		return !in.collected.Has(id) && in.parts.Load().Find(id) != nil
	})
	notes = append(notes, in.collectSome(ctx, in.collected.Changed(found))...)
	if err := in.withdraw(ctx, in.collected.Gone(found)); err != nil && ctx.Err() == nil {
		in.Log.Warn("resources that other hosts export no longer stay in the graph", slog.Any("error", err))
	}
	in.warn(in.collected.Untold(notes))
}

// collectSome puts collected resources into the running graph. A faulty resource is put aside, and its running form stays.
func (in *Installer) collectSome(ctx context.Context, changed []collect.Collected) (notes schema.Diagnostics) {
	if len(changed) == 0 || ctx.Err() != nil {
		return nil
	}
	aside := map[string]schema.Diagnostics{}
	err := in.bring(ctx, with(in.Hostname, &gapi.Declared{Noop: in.noop}, changed), nil, aside, func(string, schema.Diagnostic) bool { return true })
	rest, notes := collect.Without(changed, aside)
	if err == nil {
		in.collected.Add(rest)
		return notes
	}
	for _, f := range rest {
		notes = append(notes, f.LeftOut(err.Error()))
	}
	return notes
}

// withdraw takes collected resources out of the graph that runs. If MaxRemovals holds that, Resume lets it go.
func (in *Installer) withdraw(ctx context.Context, gone []string) error {
	if ctx.Err() != nil {
		return nil
	}
	in.held.CompareAndSwap(in.withdrawn, nil) // the removal is tried again below
	in.withdrawn = nil
	if len(gone) == 0 {
		return nil
	}
	err := in.staged(ctx, func(st *reactor.Stage) error { return in.remove(ctx, st, gone) })
	if why, held := errors.AsType[*reactor.RemovalsError](err); held {
		in.withdrawn = heldBy(why, true)
		in.held.Store(in.withdrawn)
	}
	if err == nil {
		in.collected.Remove(gone)
	}
	return err
}

// warn tells of findings.
func (in *Installer) warn(list schema.Diagnostics) {
	if len(list) > 0 {
		in.Warned(list)
	}
}
