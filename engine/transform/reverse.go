package transform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/graph"
)

// The subjects of a note of Reverse, besides EdgeAdded and EdgeLeftOut.
const (
	Reversing   = "reversing"    // the vertex undoes a resource that has left the graph
	NotReversed = "not reversed" // a thing that has left the graph stays as it is
	reverseName = "reverse"      // of the step and the edges
	noRecords   = "reading what was kept for reverse: "
)

// Undoing says where Reverse finds what it needs.
type Undoing struct {
	Store    records.Store    // the images that the reactor has kept; only read
	Registry *engine.Registry // makes the kinds
	Noop     bool             // the graph as a whole only looks, so nothing is undone either

	byRecords bool // what was kept alone gives the order: the graph has no automatic edges
}

// Reverse is the step that undoes resources that have left the graph. For each id
// with a kept record that the graph does not have, it adds a vertex of that id. The
// vertex brings back the state before the first change. The vertex does so once
// (Special.Once); when it has succeeded the reactor forgets the record, and the next
// graph is without it.
//
// Two resources are undone in the opposite order of theirs. A remaining
// vertex that came after the one that has left comes before the undoing: it shall
// need the old one no longer. A remaining vertex that came before it comes after,
// so that it is still as it was during the undoing. These edges give way in this
// order, the last ones first, where they would close a cycle.
//
// It stands behind AutoEdge, since its vertices have their order already, and
// before AutoGroup, since the members of a group are not vertices any more.
//
// A resource can't be undone if its kind is not there any more or its record is
// damaged. That costs nothing else: there is a note, and the record is left for a
// better day. The same holds for a Store that can't be read.
func Reverse(o Undoing) Step {
	return Step{Name: reverseName, Apply: o.apply}
}

// apply adds the vertices of the resources that have left. It works on a copy: where the context ends, the given graph is as it was.
func (o Undoing) apply(ctx context.Context, g *resgraph.Graph, n *Notes) (*resgraph.Graph, error) {
	left := o.left(ctx, g, n)
	if len(left) == 0 {
		return g, context.Cause(ctx)
	}
	c := g.Clone()
	added := o.add(ctx, c, left, n)
	if ctx.Err() != nil || len(added) == 0 {
		return g, context.Cause(ctx)
	}
	edges := wanted(c, added)
	if !o.byRecords {
		edges = append(edges, asked(ctx, c, added, edges)...)
	}
	return ordered(c, edges, n), context.Cause(ctx)
}

// left returns the records of resources that are not in the graph, by id.
func (o Undoing) left(ctx context.Context, g *resgraph.Graph, n *Notes) map[string]*reversal.Reversal {
	left := map[string]*reversal.Reversal{}
	for rec, err := range o.Store.Records(ctx, reversal.Table) {
		if err != nil {
			n.Tell(NotReversed, noRecords+err.Error())
			return nil
		}
		if _, ok := g.Index(rec.Key); ok {
			continue
		}
		rev, err := reversal.Decode(rec)
		if err == nil && rev.Why != "" {
			err = errors.New(rev.Why)
		}
		if err != nil {
			n.Tell(NotReversed, err.Error(), rec.Key)
			continue
		}
		left[rec.Key] = rev
	}
	return left
}

// add adds the vertices, in the order of their ids, and returns the record of each
// by its index.
func (o Undoing) add(ctx context.Context, c *resgraph.Graph, left map[string]*reversal.Reversal, n *Notes) map[int]*reversal.Reversal {
	added := map[int]*reversal.Reversal{}
	later, ok := o.later(ctx, left, n)
	if !ok {
		return nil
	}
	seen := 0
	for rec, err := range o.Store.Records(ctx, reversal.TableImage) {
		if err != nil {
			n.Tell(NotReversed, noRecords+err.Error())
			return nil
		}
		rev := left[rec.Key]
		if rev == nil {
			continue
		}
		seen++
		v, err := o.undo(rec, rev, later[rec.Key])
		if err != nil {
			n.Tell(NotReversed, err.Error(), rec.Key)
			continue
		}
		if i, err := c.Add(rec.Key, v); err == nil {
			added[i] = rev
			n.Explain(Reversing, func() string { return "it has left the graph" }, rec.Key)
		}
	}
	if seen < len(left) {
		n.Tell(NotReversed, fmt.Sprintf("of %d resources that have left, what was there before is lost", len(left)-seen))
	}
	return added
}

// later returns the wishes after the first change of resources that have left.
// Resources whose wishes can't be read are taken out of left.
func (o Undoing) later(ctx context.Context, left map[string]*reversal.Reversal, n *Notes) (list map[string]*reversal.Wanted, ok bool) {
	list = map[string]*reversal.Wanted{}
	for rec, err := range o.Store.Records(ctx, reversal.TableWanted) {
		if err != nil {
			n.Tell(NotReversed, noRecords+err.Error())
			return nil, false
		}
		if left[rec.Key] == nil {
			continue
		}
		w, err := reversal.DecodeWanted(rec)
		if err != nil {
			n.Tell(NotReversed, err.Error(), rec.Key)
			delete(left, rec.Key)
			continue
		}
		list[rec.Key] = w
	}
	return list, true
}

// undo makes the vertex that brings an image back. It runs once (Special.Once), and keeps the marks of secrets that the resource had.
func (o Undoing) undo(rec records.Record, rev *reversal.Reversal, later *reversal.Wanted) (*resgraph.Vertex, error) {
	img, err := reversal.DecodeImage(rec)
	if err != nil {
		return nil, err
	}
	if later != nil {
		img.Later(later)
	}
	res, err := lifecycle.Undo(img, rev, o.Registry.New, o.Noop)
	if err != nil {
		return nil, err
	}
	v := &resgraph.Vertex{Res: res}
	v.Alter(func(s *resgraph.Special) { s.Once, s.Secret = true, img.Secret })
	return v, nil
}

// order is an edge that Reverse wants.
type order struct {
	from, to int
	reason   string
}

// The classes of wanted edges, the most wanted first.
const (
	undoneReversed = "what is undone is so in the opposite order"
	beforeUndo     = "it came after, and shall need that no longer"
	afterUndo      = "it came before, and is still as it was then"
	samePlace      = "it takes the place of what is undone"
	stillUsed      = "it uses what is undone, which may have to wait"
	byNeed         = "one of them needs the other one"
)

// wanted returns the edges, the most wanted first. At least one end of each is an
// added vertex, so the graph has none of them yet.
func wanted(c *resgraph.Graph, added map[int]*reversal.Reversal) []order {
	var classes [3][]order
	seen := map[[2]int]bool{}
	want := func(class, from, to int, reason string) {
		if key := [2]int{from, to}; from != to && !seen[key] {
			seen[key] = true
			classes[class] = append(classes[class], order{from, to, reason})
		}
	}
	for x := range c.Len() {
		rev := added[x]
		if rev == nil {
			continue
		}
		for _, i := range indices(c, rev.After) {
			if added[i] != nil {
				want(0, x, i, undoneReversed)
			} else {
				want(2, x, i, afterUndo)
			}
		}
		for _, i := range indices(c, rev.Before) {
			if added[i] != nil {
				want(0, i, x, undoneReversed)
			} else {
				want(1, i, x, beforeUndo)
			}
		}
	}
	return slices.Concat(classes[:]...)
}

// asked returns the edges between what is undone and what was not there with it: known has those of what was.
func asked(ctx context.Context, c *resgraph.Graph, added map[int]*reversal.Reversal, known []order) []order {
	a := &edgeQueries{g: c, n: &Notes{}, index: newIndex(c)}
	edgeable := a.edgeable()
	for x := range added {
		if _, ok := engine.As[engine.EdgeableRes](c.Value(x).Res); ok {
			a.index.part[x], a.index.gone[x] = true, a.leaving(int32(x), c.Value(x).Res)
			edgeable = append(edgeable, int32(x))
		}
	}
	slices.Sort(edgeable)
	a.answers = newAnswers(c, a.index.seed)
	a.describeAll(edgeable)
	a.askAll(ctx, edgeable)
	seen := map[[2]int]bool{}
	for _, e := range known {
		seen[[2]int{e.from, e.to}], seen[[2]int{e.to, e.from}] = true, true
	}
	var list []order
	want := func(from, to int, reason string) {
		if !seen[[2]int{from, to}] {
			seen[[2]int{from, to}], seen[[2]int{to, from}] = true, true
			list = append(list, order{from, to, reason})
		}
	}
	budget := maxCompared
	for _, in := range a.index.list {
		for _, th := range in.things {
			if added[int(th.vertex)] == nil {
				continue
			}
			i := int32(-1)
			err := callsafe.Do("IFF", func() (err error) {
				i, err = a.index.find(th.uid, th.sum, th.vertex, &budget)
				return err
			})
			if err == nil && i >= 0 && added[int(i)] == nil {
				want(int(th.vertex), int(i), samePlace)
			}
		}
	}
	for _, w := range a.wanted {
		from, to := int(w.from), int(w.to)
		switch {
		case added[from] == nil && added[to] == nil:
		case added[from] != nil && w.asker == w.to && a.index.gone[from] && !a.index.gone[to]:
			want(to, from, stillUsed)
		default:
			want(from, to, byNeed)
		}
	}
	return list
}

// indices returns the vertices that are still in the graph. The others have left for good, and need no order.
func indices(c *resgraph.Graph, ids []string) []int {
	var list []int
	for _, id := range ids {
		if i, ok := c.Index(id); ok {
			list = append(list, i)
		}
	}
	return list
}

// ordered returns the graph with the edges, but for edges that would close a cycle
// with more wanted ones.
func ordered(c *resgraph.Graph, edges []order, n *Notes) *resgraph.Graph {
	whole := joined(c, edges)
	if _, err := whole.Sort(); err != nil {
		edges = admissible(c, core(whole), edges, n)
		whole = joined(c, edges)
	}
	for _, e := range edges {
		n.Explain(EdgeAdded, func() string { return e.reason }, c.ID(e.from), c.ID(e.to))
	}
	return whole
}

// admissible takes the edges one after the other and leaves out edges that would
// close a cycle; on says which vertices could be on one.
func admissible(c *resgraph.Graph, on []bool, edges []order, n *Notes) []order {
	s := newSeeker(c, on)
	var taken []order
	for _, e := range edges {
		from, to := int32(e.from), int32(e.to)
		if on[from] && on[to] {
			if why := s.refusal(edgeRequest{from: from, to: to}); why != "" {
				n.Tell(EdgeLeftOut, e.reason+", but "+why, c.ID(e.from), c.ID(e.to))
				continue
			}
			s.add(from, to)
		}
		taken = append(taken, e)
	}
	return taken
}

func joined(c *resgraph.Graph, edges []order) *resgraph.Graph {
	whole := c.Clone()
	whole.Grow(0, len(edges))
	for _, e := range edges {
		_ = whole.Connect(graph.Edge{From: e.from, To: e.to, Name: reverseName, Implied: true}) // the ends are there, and are two
	}
	return whole
}
