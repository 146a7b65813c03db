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

// put is an optional resource that was put aside. It is tried again with each part.
type put struct {
	gapi.Declaration
	why schema.Diagnostics
}

// use puts a declared graph into effect, and tells its frontend of that: a part alone where that is enough, else the whole graph.
// The caller holds using.
func (s *session) use(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	whole := d == nil || d.Part == nil || d.Part.All || !s.follows || input != s.input || s.kinds != s.e.registry() || d.Noop != s.noop
	if !whole {
		err = s.usePart(ctx, d)
		whole = errors.Is(err, errWhole)
	}
	if whole {
		warnings, err = s.useWhole(ctx, d, input)
	}
	if d != nil && d.Done != nil {
		_, held := errors.AsType[*reactor.RemovalsError](err)
		d.Done(gapi.Outcome{Aside: s.reasons(), Err: err, Held: held})
	}
	if whole && err == nil && d.Part != nil {
		s.parts.Load().Prepare() // parts of it will come
	}
	return warnings, err
}

// reasons says why resources were put aside.
func (s *session) reasons() map[string]schema.Diagnostics {
	all := make(map[string]schema.Diagnostics, len(s.aside))
	for id, p := range s.aside {
		all[id] = p.why
	}
	return all
}

// useWhole puts a whole graph into effect, with the resources that it collects, and without the optional ones that are at fault.
func (s *session) useWhole(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	if d == nil {
		return s.useAs(ctx, nil, input)
	}
	parts := d.Part != nil
	d = d.Complete()
	found, notes, back := s.collect(ctx, d)
	aside := map[string]schema.Diagnostics{}
	for rest := with(s.hostname, d, found); ; {
		warnings, err = s.useAs(ctx, rest, input)
		next := gapi.PutAside(rest, faultsIn(err), aside)
		if next == nil {
			break
		}
		rest = next
	}
	if err != nil {
		back()
		return warnings, err
	}
	found, more := collect.Without(found, aside)
	notes = append(notes, more...)
	s.collected.Replace(found)
	s.warn(s.collected.Untold(notes))
	s.aside = map[string]put{}
	s.keepAside(d.Resources, aside)
	s.elsewhere = map[string]bool{}
	if parts {
		s.keepElsewhere(d.Resources)
	}
	return append(notes, warnings...), nil
}

// faultsIn returns the findings about single resources in an error.
func faultsIn(err error) schema.Diagnostics {
	if found, ok := errors.AsType[schema.Diagnostics](err); ok {
		return found
	}
	refused, _ := errors.AsType[reactor.InitErrors](err)
	found := make(schema.Diagnostics, len(refused))
	for i, f := range refused {
		found[i] = schema.Diagnostic{Resource: f.Resource, Message: "it can't be initialised: " + f.Err.Error()}
	}
	return found
}

// collect returns the resources that a graph collects. back brings the wishes of the graph before back.
func (s *session) collect(ctx context.Context, d *gapi.Declared) (found []collect.Collected, notes schema.Diagnostics, back func()) {
	before := s.sharing.Exports.Wants()
	if len(d.Collects)+len(before) == 0 {
		return nil, nil, func() {}
	}
	s.sharing.Exports.Want(ctx, s.life, d.Collects)
	ids := collect.Own(s.hostname, d).IDs()
	found, notes = s.sharing.Exports.Declare(s.e.registry(), func(id string) bool { return ids[id] })
	return found, notes, func() { s.sharing.Exports.Want(ctx, s.life, before) }
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

// errWhole says that a part has to be put into effect with the whole graph.
var errWhole = errors.New("the whole graph is asked for")

// usePart puts a part into effect, at its own cost. The resources aside are tried again. It returns errWhole
// where the whole graph might come out otherwise:
//
//   - A resource that runs is at fault, or something depends on a resource that goes.
//   - A new fault may concern a resource that is not in the part.
//   - Another host, or another frontend, has brought a resource of the same name.
//   - A resource has a target, or had one: it runs under the id of the target.
func (s *session) usePart(ctx context.Context, d *gapi.Declared) error {
	p := s.parts.Load()
	part := &gapi.Declared{Name: d.Name, Noop: d.Noop, Authored: d.Authored, Thorough: d.Thorough}
	changed := make(map[string]*gapi.Declaration, len(d.Part.Resources))
	for i := range d.Part.Resources {
		r := &d.Part.Resources[i]
		if !s.plain(r) {
			return errWhole
		}
		changed[r.ID()] = r
		part.Resources = append(part.Resources, *r)
	}
	left := maps.Clone(s.aside) // without another try
	var remove []string
	for _, id := range d.Part.Removed {
		if _, aside := left[id]; aside {
			delete(left, id)
		} else if p.Find(id) != nil {
			remove = append(remove, id)
		} else {
			return errWhole // it runs under another id, as one with a target does
		}
	}
	for id, r := range s.aside {
		if _, ok := left[id]; ok && p.Find(id) == nil {
			delete(left, id)
			if changed[id] == nil {
				part.Resources = append(part.Resources, r.Declaration)
			}
		}
	}
	tried := part.Resources
	aside := map[string]schema.Diagnostics{}
	err := s.bring(ctx, part, remove, aside, func(id string, why schema.Diagnostic) bool {
		r := changed[id]
		return p.Find(id) == nil && (r == nil || len(r.Before)+len(r.Notify)+len(why.Related) == 0)
	})
	_, held := errors.AsType[*reactor.RemovalsError](err)
	switch {
	case held, ctx.Err() != nil, errors.Is(err, reactor.ErrStopped):
		return err
	case err != nil:
		return errWhole
	}
	s.aside = left
	s.keepAside(tried, aside)
	if len(s.sharing.Exports.Wants()) > 0 {
		s.sharing.Exports.Signal() // a name may have become free
	}
	return nil
}

// plain reports whether a resource of a part may run under the id that it has, and is not the one of another place.
func (s *session) plain(r *gapi.Declaration) bool {
	id := r.ID()
	_, aside := s.aside[id]
	return !s.collected.Has(id) && !s.elsewhere[id] && !(aside && s.parts.Load().Find(id) != nil) && gapi.Qualified(s.kinds, *r).Name == r.Name
}

// keepElsewhere notes which of the resources of a whole graph, whose parts come next, run under another id than their own.
func (s *session) keepElsewhere(list []gapi.Declaration) {
	for i := range list {
		if r := &list[i]; gapi.Qualified(s.kinds, *r).Name != r.Name {
			s.elsewhere[r.ID()] = true
		}
	}
}

// keepAside notes which of some resources were put aside.
func (s *session) keepAside(list []gapi.Declaration, aside map[string]schema.Diagnostics) {
	if len(aside) == 0 {
		return
	}
	for i := range list {
		if id := list[i].ID(); aside[id] != nil && list[i].Optional {
			s.aside[id] = put{list[i], aside[id]}
		}
	}
}

// bring puts a part into effect, without the optional resources that are at fault, which it adds to aside. may says whether one
// may be put aside; if not, the error is errWhole, and nothing has changed.
func (s *session) bring(ctx context.Context, part *gapi.Declared, remove []string, aside map[string]schema.Diagnostics, may func(id string, why schema.Diagnostic) bool) error {
	for len(part.Resources)+len(remove) > 0 {
		err := s.staged(ctx, func(st *reactor.Stage) error { return s.upsert(ctx, st, part, remove...) })
		if err == nil {
			return nil
		}
		if part = gapi.PutAside(part, faultsIn(err), aside); part == nil {
			return err
		}
		for id, why := range aside {
			if !may(id, why[0]) {
				return errWhole
			}
		}
	}
	return nil
}

// warn tells of findings.
func (s *session) warn(list schema.Diagnostics) {
	if len(list) > 0 {
		s.e.tell(Event{Kind: EventWarned, Warnings: list})
	}
}

// recollect follows the exports of other hosts until ctx ends.
func (s *session) recollect(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.sharing.Exports.News():
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
	if len(s.sharing.Exports.Wants()) == 0 {
		return
	}
	found, notes := s.sharing.Exports.Declare(s.e.registry(), func(id string) bool {
		return !s.collected.Has(id) && s.parts.Load().Find(id) != nil
	})
	notes = append(notes, s.collectSome(ctx, s.collected.Changed(found))...)
	if err := s.leave(ctx, s.collected.Gone(found)); err != nil && ctx.Err() == nil {
		s.opt.Logger.Warn("resources that other hosts export no longer stay in the graph", slog.Any("error", err))
	}
	s.warn(s.collected.Untold(notes))
}

// collectSome puts collected resources into the running graph. A faulty resource is put aside, and its running form stays.
func (s *session) collectSome(ctx context.Context, changed []collect.Collected) (notes schema.Diagnostics) {
	if len(changed) == 0 || ctx.Err() != nil {
		return nil
	}
	aside := map[string]schema.Diagnostics{}
	err := s.bring(ctx, with(s.hostname, &gapi.Declared{Noop: s.noop}, changed), nil, aside, func(string, schema.Diagnostic) bool { return true })
	rest, notes := collect.Without(changed, aside)
	if err == nil {
		s.collected.Add(rest)
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
	s.e.heldGraph.CompareAndSwap(s.withdrawn, nil) // the removal is tried again below
	s.withdrawn = nil
	if len(gone) == 0 {
		return nil
	}
	err := s.staged(ctx, func(st *reactor.Stage) error { return s.remove(ctx, st, gone) })
	if why, held := errors.AsType[*reactor.RemovalsError](err); held {
		s.withdrawn = heldBy(why, true)
		s.e.heldGraph.Store(s.withdrawn)
	}
	if err == nil {
		s.collected.Remove(gone)
	}
	return err
}
