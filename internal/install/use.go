package install

import (
	"context"
	"errors"
	"maps"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// put is an optional resource that was put aside. It is tried again with each part.
type put struct {
	gapi.Declaration
	why schema.Diagnostics
}

// use puts a declared graph into effect, and tells its frontend of that: a part alone where that is enough, else the whole graph.
// The caller holds using.
func (in *Installer) use(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	before := in.origin.Load()
	in.comesFrom(d)
	if err = apart.Call("a method", func() (err error) { warnings, err = in.useNow(ctx, d, input); return err }); err != nil {
		in.origin.Store(before)
	}
	return warnings, err
}

func (in *Installer) useNow(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	before := in.last.Load()
	whole := d == nil || d.Part == nil || d.Part.All || !in.follows || input != in.input || in.kinds != in.Registry() || in.judgedBy != in.Policy() || d.Noop != in.noop
	if !whole {
		err = in.usePart(ctx, d)
		whole = errors.Is(err, errWhole)
	}
	if whole {
		warnings, err = in.useWhole(ctx, d, input)
	}
	if d != nil && d.Done != nil {
		_, held := errors.AsType[*reactor.RemovalsError](err)
		d.Done(gapi.Outcome{Aside: in.reasons(), Err: err, Held: held, Left: in.left(before)})
	}
	if whole && err == nil && d.Part != nil {
		in.parts.Load().Prepare() // parts of it will come
	}
	return warnings, err
}

// left returns what has left the graph since a swap.
func (in *Installer) left(since *reactor.Swap) (list []gapi.Left) {
	if now := in.last.Load(); now != since {
		for _, l := range now.Leaving {
			list = append(list, gapi.Left(l))
		}
	}
	return list
}

// reasons says why resources were put aside.
func (in *Installer) reasons() map[string]schema.Diagnostics {
	all := make(map[string]schema.Diagnostics, len(in.aside))
	for id, p := range in.aside {
		all[id] = p.why
	}
	return all
}

// useWhole puts a whole graph into effect, with the resources that it collects, and without the optional ones that are at fault.
// Each round leaves out the ones that are at fault, so it ends. On an error the collected resources are those of before.
func (in *Installer) useWhole(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	if d == nil {
		return in.useAs(ctx, nil, input)
	}
	parts := d.Part != nil
	d = d.Complete()
	found, notes, back := in.collect(ctx, d)
	aside := map[string]schema.Diagnostics{}
	for rest := with(in.Hostname, d, found); ; {
		warnings, err = in.useAs(ctx, rest, input)
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
	in.collected.Replace(found)
	in.warn(in.collected.Untold(notes))
	in.aside = map[string]put{}
	in.keepAside(d.Resources, aside)
	in.elsewhere = map[string]bool{}
	if parts {
		in.keepElsewhere(d.Resources)
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

// errWhole says that a part has to be put into effect with the whole graph.
var errWhole = errors.New("the whole graph is asked for")

// usePart puts a part into effect, at its own cost. The resources aside are tried again. It returns errWhole
// where the whole graph might come out otherwise:
//
//   - A resource that runs is at fault, or something depends on a resource that goes.
//   - A new fault may concern a resource that is not in the part.
//   - Another host, or another frontend, has brought a resource of the same name.
//   - A resource has a target, or had one: it runs under the id of the target.
func (in *Installer) usePart(ctx context.Context, d *gapi.Declared) error {
	p := in.parts.Load()
	part := &gapi.Declared{Name: d.Name, Noop: d.Noop, Authored: d.Authored, Thorough: d.Thorough}
	changed := make(map[string]*gapi.Declaration, len(d.Part.Resources))
	for i := range d.Part.Resources {
		r := &d.Part.Resources[i]
		if !in.plain(r) {
			return errWhole
		}
		changed[r.ID()] = r
		part.Resources = append(part.Resources, *r)
	}
	left := maps.Clone(in.aside) // without another try
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
	for id, r := range in.aside {
		if _, ok := left[id]; ok && p.Find(id) == nil {
			delete(left, id)
			if changed[id] == nil {
				part.Resources = append(part.Resources, r.Declaration)
			}
		}
	}
	tried := part.Resources
	aside := map[string]schema.Diagnostics{}
	err := in.bring(ctx, part, remove, aside, func(id string, why schema.Diagnostic) bool {
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
	in.aside = left
	in.keepAside(tried, aside)
	if len(in.Sharing.Exports.Wants()) > 0 {
		in.Sharing.Exports.Signal() // a name may have become free
	}
	return nil
}

// plain reports whether a resource of a part may run under the id that it has, and is not the one of another place.
func (in *Installer) plain(r *gapi.Declaration) bool {
	id := r.ID()
	_, aside := in.aside[id]
	return !in.collected.Has(id) && !in.elsewhere[id] && !(aside && in.parts.Load().Find(id) != nil) && gapi.Qualified(in.kinds, *r).Name == r.Name
}

// keepElsewhere notes which of the resources of a whole graph, whose parts come next, run under another id than their own.
func (in *Installer) keepElsewhere(list []gapi.Declaration) {
	for i := range list {
		if r := &list[i]; gapi.Qualified(in.kinds, *r).Name != r.Name {
			in.elsewhere[r.ID()] = true
		}
	}
}

// keepAside notes which of some resources were put aside.
func (in *Installer) keepAside(list []gapi.Declaration, aside map[string]schema.Diagnostics) {
	if len(aside) == 0 {
		return
	}
	for i := range list {
		if id := list[i].ID(); aside[id] != nil && list[i].Optional {
			in.aside[id] = put{list[i], aside[id]}
		}
	}
}

// bring puts a part into effect, without the optional resources that are at fault, which it adds to aside. may says whether one
// may be put aside; if not, the error is errWhole, and nothing has changed.
func (in *Installer) bring(ctx context.Context, part *gapi.Declared, remove []string, aside map[string]schema.Diagnostics, may func(id string, why schema.Diagnostic) bool) error {
	for len(part.Resources)+len(remove) > 0 {
		err := in.staged(ctx, func(st *reactor.Stage) error { return in.upsert(ctx, st, part, remove...) })
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
