package mgmt

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

func prints(found []collect.Collected) map[string]string {
	m := make(map[string]string, len(found))
	for _, f := range found {
		m[f.ID] = f.Print
	}
	return m
}

// leftOut says which of the collected resources were put aside, and returns the others.
func leftOut(found []collect.Collected, aside map[string]schema.Diagnostics) (rest []collect.Collected, notes schema.Diagnostics) {
	for _, f := range found {
		why, out := aside[f.ID]
		if !out {
			rest = append(rest, f)
			continue
		}
		notes = append(notes, f.LeftOut(why[0].Message))
	}
	return rest, notes
}

// unsaid returns the notes that were not told since the last whole graph.
func (c *importer) unsaid(notes schema.Diagnostics) (list schema.Diagnostics) {
	for _, n := range notes {
		if c.told[n.Resource] != n.Message {
			c.told[n.Resource] = n.Message
			list = append(list, n)
		}
	}
	return list
}

// warn tells of findings.
func (s *session) warn(list schema.Diagnostics) {
	if len(list) > 0 {
		s.e.stream.tell(Event{Kind: EventWarned, Warnings: list})
	}
}

// recollect follows the exports of other hosts until ctx ends.
func (s *session) recollect(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.importer.news:
		}
		if s.enter(ctx) != nil {
			return
		}
		s.collectNow(ctx)
		<-s.using
	}
}

// collectNow brings the graph to the exports of this moment, at the cost of the changes. The caller holds using.
func (s *session) collectNow(ctx context.Context) {
	c := s.importer
	if len(c.wants) == 0 || c.opt.Registry == nil {
		return
	}
	c.opt.Registry = s.e.registry()
	found, notes := collect.Declare(c.opt, c.wants, c.known(), func(id string) bool {
		_, mine := c.inEffect[id]
		return !mine && s.parts.Load().Find(id) != nil
	})
	changed := slices.DeleteFunc(slices.Clone(found), func(f collect.Collected) bool { return c.inEffect[f.ID] == f.Print })
	notes = append(notes, s.collectSome(ctx, changed)...)
	gone := maps.Clone(c.inEffect)
	for _, f := range found {
		delete(gone, f.ID)
	}
	if err := s.leave(ctx, slices.Sorted(maps.Keys(gone))); err != nil && ctx.Err() == nil {
		s.opt.Logger.Warn("resources that other hosts export no longer stay in the graph", slog.Any("error", err))
	}
	s.warn(c.unsaid(notes))
}

// collectSome puts collected resources into the running graph. A faulty resource is put aside, and its running form stays.
func (s *session) collectSome(ctx context.Context, changed []collect.Collected) (notes schema.Diagnostics) {
	if len(changed) == 0 || ctx.Err() != nil {
		return nil
	}
	aside := map[string]schema.Diagnostics{}
	err := s.bring(ctx, with(s.importer.opt.Host, &gapi.Declared{Noop: s.noop}, changed), nil, aside, func(string, schema.Diagnostic) bool { return true })
	rest, notes := leftOut(changed, aside)
	if err == nil {
		maps.Copy(s.importer.inEffect, prints(rest))
		return notes
	}
	for _, f := range rest {
		notes = append(notes, f.LeftOut(err.Error()))
	}
	return notes
}

// leave takes collected resources out of the graph that runs. If MaxRemovals holds that, Resume lets it go.
func (s *session) leave(ctx context.Context, gone []string) error {
	if ctx.Err() != nil {
		return nil
	}
	s.e.heldGraph.CompareAndSwap(s.importer.held, nil) // the removal is tried again below
	s.importer.held = nil
	if len(gone) == 0 {
		return nil
	}
	err := s.staged(ctx, func(st *reactor.Stage) error { return s.remove(ctx, st, gone) })
	if why, held := errors.AsType[*reactor.RemovalsError](err); held {
		s.importer.held = heldBy(why, true)
		s.e.heldGraph.Store(s.importer.held)
	}
	if err == nil {
		for _, id := range gone {
			delete(s.importer.inEffect, id)
		}
	}
	return err
}
