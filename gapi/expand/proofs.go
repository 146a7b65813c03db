package expand

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// # What only a lease proves
//
// An expression that calls scheduled has read that this machine is chosen, which is so only as long as its lease holds. The resource around it
// carries the lease, and the engine starts no run of it without. The following depends on a lease:
//
//   - A resource whose condition, loop, parameter or default has called scheduled.
//   - All resources of a module whose entry of use has, and what reads an output of such a module.
//   - The whole graph, where an include or a layer of data has. It is made again when the lease has ended, so this holds nothing up.

// Proved is a key that Expand adds to a resource that depends on leases. Its value is the list of their proofs. No author writes this key.
const Proved = "\x00proved"

// proofs are those that something depends on, each once. One without a lease is of an answer that the store has not given: what depends
// on that is unknown in a plan.
type proofs []world.Proof

// with returns all proofs of both. It alters neither.
func (p proofs) with(more ...world.Proof) proofs {
	for _, m := range more {
		if !slices.Contains(p, m) {
			p = append(slices.Clip(p), m)
		}
	}
	return p
}

// apart has do compute a part of the graph, and returns the proofs that the part has read.
func (g *Graph) apart(do func()) (read proofs) {
	before := g.proved
	g.proved = nil
	do()
	read, g.proved = g.proved, before
	return read
}

// noteUnread notes that the part in hand has asked for something of the store that is not known. Only a plan has to say so: elsewhere the
// graph is made again when the store answers.
func (g *Graph) noteUnread(unread bool, what string) {
	if unread && g.opts.Blind {
		g.proved = g.proved.with(world.Proof{Of: what})
	}
}

// proofsOf notes those of the modules whose outputs an expression reads.
func (g *Graph) proofsOf(p *expr.Program) {
	for _, in := range p.Reads() {
		if in.Name != "module" {
			continue
		}
		for _, i := range g.instancesOf(in.Field) {
			if len(i.proofs) > 0 {
				g.proved = g.proved.with(i.proofs...)
			}
		}
	}
}

// instancesOf returns the instance of a name, or all where the name is empty.
func (g *Graph) instancesOf(name string) []*Instance {
	if name == "" {
		return g.instances
	}
	if i := g.named[name]; i != nil {
		return []*Instance{i}
	}
	return nil
}

// Proofs are those on which all of the graph depends, also the documents that have nothing to compute. Expand has put them into the others.
func (g *Graph) Proofs() []world.Proof {
	return slices.DeleteFunc(slices.Clone(g.proofs), func(p world.Proof) bool { return p.Lease == "" })
}

// Unread says on what all of the graph depends that could not be read; empty for nothing.
func (g *Graph) Unread() string { return unreadOf(g.proofs) }

func unreadOf(read proofs) string {
	for _, p := range read {
		if p.Lease == "" {
			return p.Of
		}
	}
	return ""
}

// prove marks a resource that depends on proofs. It may be marked already.
func prove(item *schema.Node, read proofs) *schema.Node {
	if len(read) == 0 || item.Kind != schema.NodeMap {
		return item
	}
	list := &schema.Node{Kind: schema.NodeList, Pos: item.Pos}
	for _, p := range read {
		if p.Lease == "" {
			continue
		}
		text := func(s string) *schema.Node {
			return &schema.Node{Kind: schema.NodeString, Quoted: true, Text: s, Pos: item.Pos}
		}
		list.Items = append(list.Items, &schema.Node{Kind: schema.NodeMap, Pos: item.Pos, Pairs: []schema.Pair{
			{Key: "lease", Pos: item.Pos, Value: text(p.Lease)}, {Key: "of", Pos: item.Pos, Value: text(p.Of)},
		}})
	}
	out := *item
	out.Pairs = slices.Clip(item.Pairs)
	if len(list.Items) > 0 {
		out.Pairs = append(out.Pairs, schema.Pair{Key: Proved, Pos: item.Pos, Value: list})
	}
	if what := unreadOf(read); what != "" && item.Get(Unread) == nil {
		out.Pairs = append(out.Pairs, schema.Pair{Key: Unread, Pos: item.Pos, Value: &schema.Node{Kind: schema.NodeString, Quoted: true, Text: what, Pos: item.Pos}})
	}
	return &out
}
