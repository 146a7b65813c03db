package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/graph"
)

// ReferredError is the error of a Delete of a vertex that a remaining one needs.
type ReferredError struct {
	Resource string // to be deleted
	By       string // it has declared an edge to the resource, or receives from it
}

func (e *ReferredError) Error() string {
	return fmt.Sprintf("%s can't be deleted, because %s refers to it; delete both, or change %s first", e.Resource, e.By, e.By)
}

// ReferredErrors are all vertices of a Delete that remaining ones need, each once.
type ReferredErrors []*ReferredError

// NewReferredErrors takes the vertices that are to be deleted, each with one that needs it. It returns nil for none.
func NewReferredErrors(all iter.Seq2[string, string]) error {
	var list ReferredErrors
	seen := map[string]bool{}
	for gone, by := range all {
		if !seen[gone] {
			seen[gone] = true
			list = append(list, &ReferredError{Resource: gone, By: by})
		}
	}
	if list == nil {
		return nil
	}
	return list
}

// Error implements error.
func (e ReferredErrors) Error() string {
	list := make([]string, len(e))
	for i, one := range e {
		list[i] = one.Error()
	}
	return strings.Join(list, "; ")
}

// Unwrap returns the errors of the resources.
func (e ReferredErrors) Unwrap() []error {
	list := make([]error, len(e))
	for i, err := range e {
		list[i] = err
	}
	return list
}

// checkEnds refuses a part whose edges lead nowhere, or that brings something which goes.
func (s *swap) checkEnds(goes map[string]bool) error {
	var errs []error
	for i, decl := range s.g.All() {
		id := s.g.ID(i)
		switch {
		case goes[id]:
			errs = append(errs, fmt.Errorf("%s can't be deleted by a change that names it: delete it by another one", id))
		case decl == nil && s.r.loop.named(id) == nil:
			errs = append(errs, &UnknownResourceError{id})
		}
	}
	for e := range s.g.Edges() {
		if s.g.Value(e.From) == nil && s.g.Value(e.To) == nil {
			errs = append(errs, fmt.Errorf("the edge from %s to %s has no end that the part brings: bring the resource that declares it", s.g.ID(e.From), s.g.ID(e.To)))
		}
	}
	return errors.Join(errs...)
}

// checkReferred refuses to remove vertices that a remaining one has declared an edge to, or receives from.
func (s *swap) checkReferred(ctx context.Context, goes map[string]bool) error {
	if len(s.leaving) == 0 {
		return nil
	}
	var referred error
	err := s.r.do(ctx, func() {
		referred = NewReferredErrors(func(yield func(gone, by string) bool) {
			for _, v := range s.leaving {
				if by := s.referrer(v, goes); by != "" && !yield(v.ID, by) {
					return
				}
			}
		})
	})
	return cmp.Or(err, referred)
}

// try finds out whether the part closes a cycle, before anything of it is initialised. Without edges it closes none: those of
// other vertices to the ones that it replaces stay as they were.
func (s *swap) try(ctx context.Context) (err error) {
	if s.g.EdgeCount() == 0 {
		return nil
	}
	e := s.r.do(ctx, func() {
		l := &s.r.loop
		removed, _ := s.oldOnes()
		taken := l.takeSlots(s.fresh)
		err = s.cycle(s.redraw(removed, taken).Try(l.m))
		s.giveBack(taken)
	})
	return errors.Join(e, err)
}

// cycle names the vertices of a cycle that a part would close.
func (s *swap) cycle(err error) error {
	c, ok := errors.AsType[*sched.CycleError](err)
	if !ok {
		return err
	}
	named := &graph.CycleError{}
	for _, slot := range append(c.Path, c.Path[0]) {
		named.Path = append(named.Path, s.at(slot).ID)
	}
	return named
}

// at returns the vertex that is in a slot after the change.
func (s *swap) at(slot int32) *vertex {
	for _, v := range s.fresh {
		if v.slot == slot {
			return v
		}
	}
	return s.r.loop.bySlot[slot]
}

// enterPart puts the vertices of a part in their places.
func (s *swap) enterPart() {
	l := &s.r.loop
	for i, decl := range s.g.All() {
		v := s.all[i]
		if decl != nil {
			l.failures.places.note(v, decl)
		}
		switch old := l.named(v.ID); {
		case decl == nil, old == v:
			continue
		case old != nil:
			v.index = old.index
			l.byIndex[v.index] = v
		default:
			v.index = int32(len(l.byIndex))
			l.byIndex = append(l.byIndex, v)
		}
		l.names.put(v)
	}
	for _, v := range s.leaving { // the last one takes its place
		last := len(l.byIndex) - 1
		l.byIndex[v.index] = l.byIndex[last]
		l.byIndex[v.index].index = v.index
		l.byIndex[last] = nil
		l.byIndex = l.byIndex[:last]
		l.names.remove(v.ID)
		delete(l.failures.places, v.ID)
	}
}
