package collect

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Standing knows which collected resources the graph in effect has, and it remembers the findings that its user was told. The zero value is for a graph
// without any. It is for one goroutine at a time.
type Standing struct {
	prints map[string]string // by id; see Collected.Print
	told   map[string]string // by id: the last warning about a resource that is left out
}

// Has reports whether the resource of an id was collected.
func (s *Standing) Has(id string) bool {
	_, ok := s.prints[id]
	return ok
}

// Changed returns the resources that are new, or not as they were when they took effect.
func (s *Standing) Changed(found []Collected) []Collected {
	return slices.DeleteFunc(slices.Clone(found), func(f Collected) bool { return s.prints[f.ID] == f.Print })
}

// Gone returns the sorted ids of the resources in effect that no host exports any more.
func (s *Standing) Gone(found []Collected) []string {
	gone := maps.Clone(s.prints)
	for _, f := range found {
		delete(gone, f.ID)
	}
	return slices.Sorted(maps.Keys(gone))
}

// Replace notes that a whole graph is in effect, with these collected resources. Every finding may be told again.
func (s *Standing) Replace(found []Collected) {
	s.prints, s.told = map[string]string{}, map[string]string{}
	s.Add(found)
}

// Add notes that resources have come into the graph, or have taken another form there.
func (s *Standing) Add(found []Collected) {
	if s.prints == nil {
		s.prints = map[string]string{}
	}
	for _, f := range found {
		s.prints[f.ID] = f.Print
	}
}

// Remove notes that resources have left the graph.
func (s *Standing) Remove(ids []string) {
	for _, id := range ids {
		delete(s.prints, id)
	}
}

// Untold returns the findings that were not told since the last whole graph, and takes them for told.
func (s *Standing) Untold(notes schema.Diagnostics) (list schema.Diagnostics) {
	if s.told == nil {
		s.told = map[string]string{}
	}
	for _, n := range notes {
		if s.told[n.Resource] != n.Message {
			s.told[n.Resource] = n.Message
			list = append(list, n)
		}
	}
	return list
}

// Without returns the resources that were not put aside, and a warning about each of the others. aside says why, by id.
func Without(found []Collected, aside map[string]schema.Diagnostics) (rest []Collected, notes schema.Diagnostics) {
	for _, f := range found {
		why, out := aside[f.ID]
		if !out {
			rest = append(rest, f)
			continue
		}
		notes = append(notes, f.LeftOut(why[0].Message))
	}
	return rest, notes
}
