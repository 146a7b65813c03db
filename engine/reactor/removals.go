package reactor

import (
	"cmp"
	"context"
	"slices"
)

// checkRemovals refuses a graph that removes too much, unless that was accepted. It runs
// before anything is initialised.
func (s *swap) checkRemovals() error {
	r := s.r
	accepted := s.st.accepted
	if accepted == nil {
		accepted = r.accepted.Swap(nil)
	}
	of, start := len(r.loop.byIndex)+r.loop.members, r.loop.generation == 0
	if s.left = s.leavers(); start {
		of = len(r.opt.InEffect)
	}
	asked := s.asked()
	if asked == "" && !r.removals.Load().meets(len(s.left), of) {
		return nil
	}
	removed := make([]string, len(s.left))
	for i, l := range s.left {
		removed[i] = l.Resource
	}
	if accepted != nil && isSubset(removed, *accepted) {
		return nil
	}
	return &RemovalsError{Removed: removed, Of: of, Start: start, Asked: asked}
}

// asked returns the first vertex that leaves only when somebody agrees.
func (s *swap) asked() string {
	for _, l := range s.left {
		if v := s.r.loop.named(l.Resource); v != nil && asks(v) || slices.Contains(s.r.opt.Asking, l.Resource) {
			return l.Resource
		}
	}
	return ""
}

// leavers returns the resources that this graph does not have any more: those of the graph that runs, or the names that an earlier
// process has left. A vertex that only undoes another one has left before.
func (s *swap) leavers() (list []Leaving) {
	if s.r.loop.generation == 0 {
		for _, id := range s.r.opt.InEffect {
			if v := s.named(id); v == nil || v.once {
				list = append(list, Leaving{id, v != nil})
			}
		}
		return s.outside(list)
	}
	gone := slices.DeleteFunc(slices.Clone(s.leaving), func(v *vertex) bool { return v.once })
	undone := map[*vertex]bool{}
	for _, v := range s.fresh {
		if old := s.r.loop.named(v.ID); old != nil && reverts(old, v) {
			gone = append(gone, old)
			undone[old] = true
		}
	}
	slices.SortFunc(gone, func(a, b *vertex) int { return cmp.Compare(a.index, b.index) })
	for _, v := range gone {
		list = append(list, Leaving{v.ID, undone[v]})
	}
	if !s.part { // a change of a group comes with a whole graph
		list = append(list, s.ungrouped()...)
	}
	return s.outside(list)
}

// ungrouped returns the members of the groups that run which are no vertices of the new graph.
func (s *swap) ungrouped() (list []Leaving) {
	if s.r.loop.members == 0 {
		return nil
	}
	for _, v := range s.r.loop.byIndex {
		for _, m := range v.membership.members {
			if id := m.Res.String(); s.named(id) == nil {
				list = append(list, Leaving{Resource: id})
			}
		}
	}
	return list
}

// noteMembers notes what the groups of a whole graph run.
func (s *swap) noteMembers() {
	l := &s.r.loop
	l.members = 0
	for i, d := range s.g.All() {
		v := s.all[i]
		members := d.Special().Group
		if len(members)+len(v.membership.members) > 0 {
			v.membership.own().members = members
		}
		l.members += len(members)
	}
}

// outside leaves out what has gone into a group, and is there as its member.
func (s *swap) outside(list []Leaving) []Leaving {
	if len(list) == 0 {
		return nil
	}
	members := map[string]bool{}
	for _, v := range s.g.All() {
		if v == nil {
			continue // of a part
		}
		for _, m := range v.Special().Group {
			members[m.Res.String()] = true
		}
	}
	return slices.DeleteFunc(list, func(l Leaving) bool { return members[l.Resource] })
}

// isSubset reports whether all ids are among others. Both may be as many as the graph has vertices.
func isSubset(ids, others []string) bool {
	among := make(map[string]struct{}, len(others))
	for _, id := range others {
		among[id] = struct{}{}
	}
	return !slices.ContainsFunc(ids, func(id string) bool { _, ok := among[id]; return !ok })
}

// AcceptRemovals lets the next Swap remove these vertices, however many they are. A Swap that
// removes other vertices too is held again. It does not block. Callable from any goroutine.
func (r *Reactor) AcceptRemovals(_ context.Context, removed []string) { r.accepted.Store(&removed) }

// reverts reports whether a fresh vertex only undoes an old one, which is a removal of it.
func reverts(old, fresh *vertex) bool { return fresh.once && !old.once }

// named returns the vertex of the new graph with an id, nil if there is none.
func (s *swap) named(id string) *vertex {
	if i, ok := s.g.Index(id); ok {
		return s.all[i]
	}
	return nil
}
