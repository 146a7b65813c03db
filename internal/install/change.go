package install

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
)

// staged does something to the graph that runs, within a stage of its own, which ends with the return. The caller holds using.
func (in *Installer) staged(ctx context.Context, do func(*reactor.Stage) error) error {
	st, err := in.Reactor.Stage(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	return do(st)
}

// upsert puts a declared part into effect, and removes some vertices.
func (in *Installer) upsert(ctx context.Context, st *reactor.Stage, d *gapi.Declared, remove ...string) error {
	draft := in.drafts.NewPart(in.Registry(), d, &running{in.parts.Load(), st, remove})
	if g := draft.Graph(); g != nil {
		in.limit(g)
		st.Compare(g)
	}
	part, diags := draft.Check(st.SameAt)
	if part, diags = gapi.CheckMachine(part, diags, func() engine.Machine { return host.MachineAt(in.Host) }, st.SameAt); part == nil {
		return diags
	}
	if part, diags = in.judge(in.Policy(), part, diags, st.SameAt); part == nil {
		return diags
	}
	if len(diags) > 0 {
		in.Warned(diags)
	}
	for _, id := range remove {
		if i, ok := part.Index(id); ok && part.Value(i) != nil {
			return schema.Diagnostics{{Resource: id, Pos: part.Value(i).Pos, Message: id + " is in the part, and is to be removed by it: it can't be both"}}
		}
	}
	if err := in.mayRemove(st, part, remove); err != nil {
		return err
	}
	return in.alter(ctx, st, part, remove...)
}

// remove removes vertices.
func (in *Installer) remove(ctx context.Context, st *reactor.Stage, ids []string) error {
	if err := in.mayRemove(st, nil, ids); err != nil {
		return err
	}
	return in.alter(ctx, st, nil, ids...)
}

// mayRemove refuses to remove unknown resources, and resources that others refer to. A part may alter those others.
func (in *Installer) mayRemove(st *reactor.Stage, part *resgraph.Graph, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if st.Find(id) == nil && in.parts.Load().Find(id) == nil {
			return &reactor.UnknownResourceError{Resource: id}
		}
	}
	if in.refers == nil {
		in.refers = gapi.NewReferrers(in.parts.Load().Declared())
	}
	return reactor.NewReferredErrors(in.refers.To(ids, func(by string) bool {
		if part == nil {
			return false
		}
		i, ok := part.Index(by)
		return ok && part.Value(i) != nil
	}))
}

// alter puts a part into effect, and removes some vertices.
func (in *Installer) alter(ctx context.Context, st *reactor.Stage, part *resgraph.Graph, remove ...string) error {
	p := in.parts.Load()
	c, err := p.Change(ctx, in.Host, part, remove...)
	if err != nil {
		return err
	}
	if err := reactor.NewReferredErrors(c.Referrers()); err != nil {
		return err
	}
	// A part that closes a cycle with an automatic edge goes the way of the whole graph, which leaves such edges out.
	if c.Whole == "" {
		c.Notes.Log(ctx, in.Log)
		err = st.Change(ctx, c.Part, c.Remove...)
		if _, cyclic := errors.AsType[*graph.CycleError](err); !cyclic {
			return in.altered(c, err)
		}
	}
	return in.wholly(ctx, st, p.Whole(c))
}

// altered notes that a part is in effect, if it is.
func (in *Installer) altered(c *transform.Change, err error) error {
	if err != nil {
		return err
	}
	p := in.parts.Load()
	p.Take(c)
	brought := make(map[string]*resgraph.Vertex, c.Part.Len())
	for id, v := range c.Brought() {
		in.refers.Set(id, v.Res)
		in.memory.Forget(id)
		brought[id] = v
	}
	for _, id := range c.Remove {
		in.refers.Set(id, nil)
		in.memory.Forget(id)
	}
	in.Sharing.Publisher.Part(brought, c.Remove)
	in.tellGraph(false)
	return nil
}

// wholly puts the whole graph into effect with a part that needs that, in the place of the stage of the part. The caller holds using.
func (in *Installer) wholly(ctx context.Context, st *reactor.Stage, g *resgraph.Graph) error {
	if _, err := g.Sort(); err != nil {
		return err
	}
	st, err := st.Again(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	if err := in.commit(ctx, st, g, in.noop, transform.Known{}); err != nil {
		return err
	}
	in.tellGraph(false)
	return nil
}

// running is the graph that runs, for a part of it, while a stage is held. It lacks the resources that the part removes.
type running struct {
	*transform.Parts
	st   *reactor.Stage
	goes []string
}

// Find implements gapi.Running.
func (r *running) Find(id string) *resgraph.Vertex {
	if slices.Contains(r.goes, id) {
		return nil
	}
	return r.Parts.Find(id)
}

// Receivers implements gapi.Running.
func (r *running) Receivers(id string) []string {
	return slices.DeleteFunc(r.st.Receivers(id), func(by string) bool { return slices.Contains(r.goes, by) })
}

// Sharing implements gapi.Running.
func (r *running) Sharing(u autoedge.UID) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range r.Parts.Sharing(u) {
			if !slices.Contains(r.goes, id) && !yield(id) {
				return
			}
		}
	}
}
