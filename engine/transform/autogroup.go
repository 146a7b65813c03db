package transform

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// AutoGroup is the step that lets resources of one kind run as one vertex: the
// owner keeps its id, the others leave the graph and are run by it as its members
// (engine.GroupableRes). Their edges become edges of the owner; parallel ones are
// one, which notifies if one of them did.
//
// Only vertices at the same distance from the beginning of the graph, on the
// longest path, are grouped. So the dependents of the last one cannot be needs of
// the first one. Between those there is no path, and between groups of those no
// cycle. They also have in common: the group key, whom they notify and who notifies
// them, and the metaparameters that MetaRules names. A vertex that receives a
// value, or sends a received one, stays alone. Where all that holds, GroupCmp
// decides.
func AutoGroup() Step {
	return Step{Name: "autogroup", Apply: autoGroup}
}

// autoGroup puts each candidate into the first group that takes it, in the order of the graph. So equal graphs have equal groups.
func autoGroup(ctx context.Context, g *resgraph.Graph, n *Notes) (*resgraph.Graph, error) {
	s := &grouping{g: g, n: n, buckets: map[bucket][]*group{}}
	candidates := s.candidates()
	if len(candidates) < 2 {
		return g, nil
	}
	levels, err := levelsOf(g)
	if err != nil {
		return nil, err
	}
	for at, c := range candidates {
		if at%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.place(c, levels[c.v])
	}
	return s.contract(), nil
}

// grouping is one run of AutoGroup.
type grouping struct {
	g       *resgraph.Graph
	n       *Notes
	senders map[string]bool
	buckets map[bucket][]*group
	groups  []*group // those of more than one
}

// bucket is what the members of a group have in common.
type bucket struct {
	kind, key string
	level     int32
	notify    string
	meta      metaKey
}

// group is an owner and its members, by index.
type group struct {
	owner   int32
	members []int32
	meta    *engine.MetaParams // their metaparameters, combined
}

// candidate is a vertex that may be grouped.
type candidate struct {
	v   int32
	res engine.GroupableRes
	key string
}

// candidates returns the vertices that may be grouped.
func (s *grouping) candidates() (list []candidate) {
	s.senders = map[string]bool{}
	for _, v := range s.g.All() {
		for _, w := range v.Recv {
			s.senders[w.From.ID()] = true
		}
	}
	for i, v := range s.g.All() {
		r, ok := engine.As[engine.GroupableRes](v.Res)
		if !ok {
			continue
		}
		if why := s.alone(i, v); why != nil {
			if s.n.All {
				s.n.Explain(NotGrouped, why.String, s.g.ID(i))
			}
		} else if key := s.groupKey(r); key != "" {
			list = append(list, candidate{int32(i), r, key})
		}
	}
	return list
}

// reason is why a vertex stays alone.
type reason string

func (r reason) String() string { return string(r) }

// alone says why a vertex stays alone, whatever the others are; nil if it may be
// grouped. The text is made where it is read: a large graph has many that stay alone.
func (s *grouping) alone(i int, v *resgraph.Vertex) fmt.Stringer {
	switch {
	case len(v.Special().Group) > 0:
		return reason("it is a group already")
	case v.Special().Once:
		return reason("it only undoes what has left the graph")
	case len(v.Recv) > 0:
		return reason("it receives a value")
	case len(s.senders) > 0 && s.senders[s.g.ID(i)]:
		return reason("a value that it sends is received")
	}
	if rule := keepsAlone(engine.MetaOf(v.Res)); rule != nil {
		return rule
	}
	return nil
}

// groupKey asks for the key; a panic is none.
func (s *grouping) groupKey(r engine.GroupableRes) string {
	key, err := groupKeyOf(r)
	if err != nil {
		s.n.Tell(Skipped, err.Error(), r.String())
	}
	return key
}

// groupKeyOf asks a resource for its key, empty for none. One without a key of its own that refuses itself has none: it is compared with no other.
func groupKeyOf(r engine.GroupableRes) (key string, err error) {
	if err := callsafe.Do("GroupKey", func() error { key = r.GroupKey(); return nil }); err != nil || key != engine.GroupByCmp {
		return key, err
	}
	err = callsafe.Do("GroupCmp", func() error { return r.GroupCmp(r) })
	if err == nil {
		return key, nil
	}
	if _, panicked := err.(*callsafe.PanicError); !panicked { // as guarded has made it
		err = nil
	}
	return "", err
}

// maxTried bounds how many groups of one bucket a vertex is compared with, the
// latest ones, so that a kind whose GroupCmp refuses all does not cost a square.
// Where GroupCmp alone decides, one bucket has what keys would keep apart.
const (
	maxTried      = 16
	maxTriedByCmp = 1024
)

// place puts a vertex into a group that takes it, or makes it one of its own.
func (s *grouping) place(c candidate, level int32) {
	b := bucket{kind: c.res.Kind(), key: c.key, level: level, notify: s.notify(int(c.v)), meta: metaKeyOf(engine.MetaOf(c.res))}
	groups := s.buckets[b]
	var by engine.Res // the owner that refused it last
	var why error
	tried := maxTried
	if c.key == engine.GroupByCmp {
		tried = maxTriedByCmp
	}
	for _, gr := range groups[max(0, len(groups)-tried):] {
		owner := s.g.Value(int(gr.owner)).Res.(engine.GroupableRes)
		if why = s.refusal(owner, c.res); why == nil {
			s.join(gr, c.v)
			return
		}
		by = owner
	}
	s.buckets[b] = append(groups, &group{owner: c.v})
	if by != nil {
		s.n.Explain(NotGrouped, func() string { return "not with " + by.String() + ": " + why.Error() }, s.g.ID(int(c.v)))
	}
}

// refusal asks the owner of a group why a resource may not become a member; nil
// if it may.
func (s *grouping) refusal(owner, res engine.GroupableRes) error {
	err := callsafe.Do("GroupCmp", func() error { return owner.GroupCmp(res) })
	if _, panicked := err.(*callsafe.PanicError); panicked { // as guarded has made it
		s.n.Tell(Skipped, err.Error(), owner.String())
	}
	return err
}

func (s *grouping) join(gr *group, v int32) {
	if len(gr.members) == 0 {
		s.groups = append(s.groups, gr)
		gr.meta = engine.MetaOf(s.g.Value(int(gr.owner)).Res)
	}
	gr.members = append(gr.members, v)
	gr.meta = mergeMeta(gr.meta, engine.MetaOf(s.g.Value(int(v)).Res))
}

// notify is the same for vertices that are notified by the same ones and notify
// the same ones: a group is notified as a whole, and notifies as a whole.
func (s *grouping) notify(v int) string {
	var b strings.Builder
	for e := range s.g.InEdges(v) {
		if e.Notify {
			b.WriteString("<" + strconv.Itoa(e.From))
		}
	}
	for e := range s.g.OutEdges(v) {
		if e.Notify {
			b.WriteString(">" + strconv.Itoa(e.To))
		}
	}
	return b.String()
}

// levelsOf returns for each vertex the number of edges on the longest path to it.
func levelsOf(g *resgraph.Graph) ([]int32, error) {
	order, err := g.Sort()
	if err != nil {
		return nil, err
	}
	level := make([]int32, g.Len())
	for _, v := range order {
		for _, w := range g.Succ(v) {
			level[w] = max(level[w], level[v]+1)
		}
	}
	return level, nil
}

// contract returns the graph in which each group is its owner.
func (s *grouping) contract() *resgraph.Graph {
	if len(s.groups) == 0 {
		return s.g
	}
	to := make([]int, s.g.Len()) // by old index: the new one
	groupOf := make(map[int32]*group, len(s.groups))
	member := make([]bool, s.g.Len())
	for _, gr := range s.groups {
		groupOf[gr.owner] = gr
		for _, m := range gr.members {
			member[m] = true
		}
	}
	c := graph.New[*resgraph.Vertex](s.g.Name)
	c.Grow(s.g.Len(), s.g.EdgeCount())
	for i, v := range s.g.All() {
		if member[i] {
			continue
		}
		if gr := groupOf[int32(i)]; gr != nil {
			v = s.own(gr)
		}
		to[i], _ = c.Add(s.g.ID(i), v) // ids are unique
	}
	for _, gr := range s.groups {
		for _, m := range gr.members {
			to[m] = to[gr.owner]
		}
	}
	for e := range s.g.Edges() {
		e.From, e.To = to[e.From], to[e.To]
		_ = c.Connect(e) // never an edge to itself: the ends have different levels
	}
	return c
}

// own makes the vertex of a group, and tells its owner.
func (s *grouping) own(gr *group) *resgraph.Vertex {
	owner := *s.g.Value(int(gr.owner))
	ids := []string{s.g.ID(int(gr.owner))}
	var group []*resgraph.Vertex
	var members []engine.Res
	for _, m := range gr.members {
		v := s.g.Value(int(m))
		group = append(group, v)
		members = append(members, v.Res)
		ids = append(ids, s.g.ID(int(m)))
	}
	alone := *owner.Res.MetaParams()
	owner.Res.SetMetaParams(gr.meta)
	owner.Res.(engine.GroupableRes).SetGroup(slices.Clip(members))
	s.n.Explain(Grouped, func() string { return strconv.Itoa(len(ids)) + " of kind " + owner.Res.Kind() + " run as one" }, ids...)
	owner.Alter(func(x *resgraph.Special) { x.Group, x.Alone = group, &alone })
	return &owner
}
