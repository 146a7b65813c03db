package reactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// Removals bounds how many resources a new graph may remove without being told to: a graph that
// removes more than Most, and more than Share of the vertices, is held. Only fields above zero
// count; the zero value sets no bound.
type Removals struct {
	Most  int
	Share float64 // from above 0 to 1
}

// DefaultRemovals is met only by a mass deletion.
var DefaultRemovals = Removals{Most: 10, Share: 0.33}

// ParseRemovals reads a number, a share as in 20%, both as in 10,20%, or off.
func ParseRemovals(s string) (r Removals, err error) {
	if s == "off" {
		return r, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		share, ok := strings.CutSuffix(part, "%")
		if ok && r.Share > 0 || !ok && r.Most > 0 {
			return Removals{}, fmt.Errorf("%q has two bounds of one sort: write a number as 10, a share as 20%%, both as 10,20%%, or off", s)
		}
		if ok {
			r.Share, err = strconv.ParseFloat(share, 64)
			r.Share /= 100
			if err != nil || !(r.Share > 0 && r.Share <= 1) {
				return Removals{}, fmt.Errorf("%q must be above 0%% and at most 100%%", part)
			}
		} else if r.Most, err = strconv.Atoi(part); err != nil || r.Most < 1 {
			return Removals{}, fmt.Errorf("%q is no bound of removals: write a number as 10, a share as 20%%, both as 10,20%%, or off", s)
		}
	}
	return r, nil
}

// String writes the bound as ParseRemovals reads it.
func (r Removals) String() string {
	var parts []string
	if r.Most > 0 {
		parts = append(parts, strconv.Itoa(r.Most))
	}
	if r.Share > 0 {
		parts = append(parts, strconv.FormatFloat(r.Share*100, 'f', -1, 32)+"%")
	}
	if len(parts) == 0 {
		return "off"
	}
	return strings.Join(parts, ",")
}

// meets reports whether n removals out of so many are too many.
func (r Removals) meets(n, of int) bool {
	return (r.Most > 0 || r.Share > 0) && n > r.Most && float64(n) > r.Share*float64(of)
}

// RemovalsError is the error of a Swap that would remove too many vertices. The old graph
// goes on, until AcceptRemovals was called and the new one is swapped in again.
type RemovalsError struct {
	Removed []string // in the order of the old graph
	Of      int      // vertices of the old graph
	Start   bool     // the old graph is that of an earlier process: nothing runs meanwhile
	Asked   string   // a vertex that leaves only when somebody agrees (leaving: ask); empty where there are too many alone
}

func (e *RemovalsError) Error() string {
	const most = 5
	names := strings.Join(e.Removed[:min(most, len(e.Removed))], ", ")
	if more := len(e.Removed) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if e.Asked != "" && e.Start {
		return fmt.Sprintf("held: it lacks %d of the %d resources that were in effect before this start (%s), and %s had leaving: ask; nothing runs meanwhile; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names, e.Asked)
	}
	if e.Asked != "" {
		return fmt.Sprintf("held: it removes %d of %d resources (%s), and %s has leaving: ask; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names, e.Asked)
	}
	if e.Start {
		return fmt.Sprintf("held: it lacks %d of the %d resources that were in effect before this start (%s), more than --max-removals allows; nothing runs meanwhile; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names)
	}
	return fmt.Sprintf("held: it removes %d of %d resources (%s), more than --max-removals allows; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names)
}

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

// asks reports whether v leaves only when somebody agrees.
func asks(v *vertex) bool { return v.meta.Leaving == engine.LeavingAsk }

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
		for _, id := range v.membership.members {
			if s.named(id) == nil {
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
		var ids []string
		for _, m := range d.Special().Group {
			ids = append(ids, m.Res.String())
		}
		if len(ids)+len(v.membership.members) > 0 {
			v.membership.own().members = ids
		}
		l.members += len(ids)
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
