package install

import (
	"context"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
)

// useAs builds a declared graph with the kinds of this moment, and puts it into effect. input is where it
// comes from; see Options.Input. The caller holds using.
func (in *Installer) useAs(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	kinds := in.Registry()
	draft := in.drafts.NewDraft(kinds, d)
	st, err := in.Reactor.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Drop()
	if g := draft.Graph(); g != nil {
		in.limit(g)
		st.Compare(g)
	}
	g, diags := draft.Check(st.SameAt)
	if g, diags = gapi.CheckMachine(g, diags, func() engine.Machine { return host.MachineAt(in.Host) }, st.SameAt); g == nil {
		return nil, diags
	}
	policy := in.Policy()
	if g, diags = in.judge(policy, g, diags, st.SameAt); g == nil {
		return nil, diags
	}
	if len(diags) > 0 {
		in.Warned(diags)
	}
	if err := in.commit(ctx, st, g, d.Noop, transform.Known{Same: st.SameAt, UIDs: draft.UIDs}); err != nil {
		return nil, err
	}
	// From here on the graph is in effect, and no error may follow.
	moved := input != in.input
	in.input, in.kinds, in.judgedBy = input, kinds, policy
	in.tellGraph(moved)
	return diags, nil
}

// judge has a policy judge a checked graph or part. What runs as it is declared was judged before, unless by another policy.
func (in *Installer) judge(p reactor.Policy, g *resgraph.Graph, ds schema.Diagnostics, same func(i int) bool) (*resgraph.Graph, schema.Diagnostics) {
	if in.judgedBy != p {
		same = nil
	}
	return Judge(p, g, ds, same)
}

// Judge adds what a policy, which may be nil, says of a graph to the findings about it. With an error among them there is no graph.
func Judge(p reactor.Policy, g *resgraph.Graph, ds schema.Diagnostics, same func(i int) bool) (*resgraph.Graph, schema.Diagnostics) {
	if p == nil || g == nil {
		return g, ds
	}
	ds = append(ds[:len(ds):len(ds)], p.Graph(g, same)...)
	if ds.Err() != nil {
		return nil, ds
	}
	return g, ds
}

// commit puts a checked graph into effect. noop says that it only looks. The caller holds using, and tells of the graph.
func (in *Installer) commit(ctx context.Context, st *reactor.Stage, g *resgraph.Graph, noop bool, known transform.Known) error {
	t, err := transform.Compile(ctx, g, transform.Options{
		NoAutoEdges: in.NoAutoEdges, NoAutoGroup: in.NoAutoGroup, Memory: &in.memory, Host: in.Host, Known: known,
		Undoing: transform.Undoing{Store: in.Store, Registry: in.Registry(), Noop: noop},
	})
	if err != nil {
		return err
	}
	t.Log(ctx, in.Log)
	if err := st.Commit(ctx, t.Grouped); err != nil {
		return err
	}
	in.memory.Keep()
	in.partsOf(t)
	in.refers, in.noop = nil, noop
	in.Sharing.Publisher.Whole(t.Base)
	return nil
}

// partsOf opens a whole graph to changes of its parts.
func (in *Installer) partsOf(t transform.Compiled) {
	m := &in.memory
	if in.NoAutoEdges {
		m = nil
	}
	p := t.Parts(m)
	if before := in.parts.Load(); before != nil && before.Prepared() {
		p.Prepare() // parts, and looks, will come: none of them waits for the index
	}
	in.parts.Store(p)
}

// tellGraph tells of a graph, or a part, that has taken effect. Moved says that it comes from another input than the one before.
func (in *Installer) tellGraph(moved bool) {
	p := in.parts.Load()
	if (in.renamed.Swap(false) || moved) && in.Effect != nil {
		in.Effect.Keep(func() ineffect.Names { return ineffect.Names{All: p.IDs(), Asking: p.Asking()} }, in.input)
	}
	in.Loaded(p.Graph)
}

// limit makes every resource take the semaphore of Options.Sema, and what Options.Leaving says where it says nothing.
func (in *Installer) limit(g *resgraph.Graph) {
	if in.Sema == 0 && in.Leaving == "" {
		return
	}
	for _, v := range g.All() {
		if v == nil {
			continue // of a part
		}
		m := v.Res.MetaParams()
		if in.Sema > 0 {
			m.Sema = append(slices.Clip(m.Sema), "all resources:"+strconv.Itoa(in.Sema))
		}
		m.Leave(in.Leaving)
	}
}
