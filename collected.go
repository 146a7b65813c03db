package mgmt

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// use puts a declared graph into effect, with the resources that it collects. A collected resource that
// cannot be built is left out, and the graph goes on. The caller holds using.
func (s *session) use(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	c := s.importer
	if d == nil || len(d.Collects)+len(c.wants) == 0 {
		return s.useAs(ctx, d, input)
	}
	before := c.wants
	c.want(ctx, s.life, d.Collects)
	defer func() {
		if err != nil { // the graph before goes on, with what it collects
			c.want(ctx, s.life, before)
		}
	}()
	c.opt.Registry = s.e.registry()
	own := collect.Own(c.opt.Host, d)
	ids := declaredIDs(own)
	found, notes := collect.Declare(c.opt, c.wants, c.known(), func(id string) bool { return ids[id] })
	for {
		warnings, err = s.useAs(ctx, with(own, found), input)
		rest, more := c.leaveOut(found, err)
		if len(rest) == len(found) {
			break
		}
		found, notes = rest, append(notes, more...)
	}
	if err != nil {
		return warnings, err
	}
	c.inEffect, c.told = prints(found), map[string]string{}
	s.warn(c.unsaid(notes))
	return append(notes, warnings...), nil
}

// declaredIDs returns the ids that a graph declares.
func declaredIDs(d *gapi.Declared) map[string]bool {
	ids := make(map[string]bool, len(d.Resources))
	for i := range d.Resources {
		r := &d.Resources[i]
		kind, name := r.Kind, r.Name
		if r.Res != nil && kind == "" {
			kind = r.Res.Kind()
		}
		if r.Res != nil && name == "" {
			name = r.Res.Name()
		}
		ids[schema.Ref{Kind: strings.ToLower(kind), Name: name}.ID()] = true
	}
	return ids
}

// with returns a graph with collected resources behind its own.
func with(d *gapi.Declared, found []collect.Collected) *gapi.Declared {
	c := *d
	c.Resources = slices.Clip(c.Resources)
	for _, f := range found {
		c.Resources = append(c.Resources, f.Declaration)
	}
	return &c
}

func prints(found []collect.Collected) map[string]string {
	m := make(map[string]string, len(found))
	for _, f := range found {
		m[f.ID] = f.Print
	}
	return m
}

// leaveOut returns the collected resources without those to which an error is due: the ones that it names, else all
// that are not in effect yet. Without such a resource the error is that of the graph itself.
func (c *importer) leaveOut(found []collect.Collected, err error) (rest []collect.Collected, notes schema.Diagnostics) {
	if err == nil {
		return found, nil
	}
	if _, held := errors.AsType[*reactor.RemovalsError](err); held || errors.Is(err, context.Canceled) || errors.Is(err, reactor.ErrStopped) {
		return found, nil
	}
	named := map[string]string{}
	ds, _ := errors.AsType[schema.Diagnostics](err)
	for _, d := range ds {
		if d.Severity == schema.Error && named[d.Resource] == "" {
			named[d.Resource] = d.Message
		}
	}
	bad := func(f collect.Collected) string { return named[f.ID] }
	if !slices.ContainsFunc(found, func(f collect.Collected) bool { return bad(f) != "" }) {
		bad = func(f collect.Collected) string {
			if c.inEffect[f.ID] == f.Print {
				return ""
			}
			return err.Error()
		}
	}
	for _, f := range found {
		why := bad(f)
		if why == "" {
			rest = append(rest, f)
			continue
		}
		notes = append(notes, schema.Diagnostic{Severity: schema.Warning, Pos: f.Pos, Resource: f.ID,
			Message: f.ID + " of the host " + f.From + " is left out: " + why})
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
	notes = append(notes, s.bring(ctx, changed)...)
	gone := maps.Clone(c.inEffect)
	for _, f := range found {
		delete(gone, f.ID)
	}
	if err := s.leave(ctx, slices.Sorted(maps.Keys(gone))); err != nil && ctx.Err() == nil {
		s.opt.Logger.Warn("resources that other hosts export no longer stay in the graph", slog.Any("error", err))
	}
	s.warn(c.unsaid(notes))
}

// bring puts collected resources into the graph that runs: all at once, and one by one where that fails.
func (s *session) bring(ctx context.Context, changed []collect.Collected) (notes schema.Diagnostics) {
	if len(changed) == 0 || ctx.Err() != nil {
		return nil
	}
	part := with(&gapi.Declared{Noop: s.noop}, changed)
	err := s.staged(ctx, func(st *reactor.Stage) error { return s.upsert(ctx, st, part) })
	if err == nil {
		maps.Copy(s.importer.inEffect, prints(changed))
		return nil
	}
	if len(changed) == 1 {
		_, notes = s.importer.leaveOut(changed, err)
		return notes
	}
	for _, f := range changed {
		notes = append(notes, s.bring(ctx, []collect.Collected{f})...)
	}
	return notes
}

// leave takes collected resources out of the graph that runs. If MaxRemovals holds that, Resume lets it go.
func (s *session) leave(ctx context.Context, gone []string) error {
	if len(gone) == 0 || ctx.Err() != nil {
		return nil
	}
	err := s.staged(ctx, func(st *reactor.Stage) error { return s.remove(ctx, st, gone) })
	if why, held := errors.AsType[*reactor.RemovalsError](err); held {
		s.e.heldGraph.Store(heldBy(why, true))
	}
	if err == nil {
		for _, id := range gone {
			delete(s.importer.inEffect, id)
		}
	}
	return err
}

// staged does something to the graph that runs. The caller holds using.
func (s *session) staged(ctx context.Context, do func(*reactor.Stage) error) error {
	st, err := s.reactor.Stage(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	return do(st)
}
