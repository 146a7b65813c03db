package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// Outcome says what became of a graph that a frontend has yielded. It is given to Declared.Done.
type Outcome struct {
	// Aside has all optional resources that are put aside, by id, with the reasons. It is not altered any more.
	Aside map[string]schema.Diagnostics
	Err   error  // nil where the graph is in effect
	Left  []Left // the resources that have left with it
	Held  bool   // the graph waits for an operator who lets it go, and is then judged again; Err says why
}

// Left is a resource that has left the graph.
type Left struct {
	Resource string // its id
	Undone   bool   // its state before the first change is brought back; else its work stays as it is
}

// PutAside returns a copy of a graph without the optional resources that findings of Build are about. Optional resources
// that depend on those are left out, too. It returns nil where there is none: then the rest of the graph is at fault. It adds
// the reasons to aside, by id. A caller builds the copy, and calls PutAside again while that finds faults. It does not
// alter d.
func PutAside(d *Declared, found schema.Diagnostics, aside map[string]schema.Diagnostics) *Declared {
	if found.Err() == nil {
		return nil
	}
	a := &asider{optional: map[string]*Declaration{}, own: map[string]string{}, required: map[string]bool{}, aside: aside, now: map[string]bool{}}
	for i := range d.Resources {
		r := &d.Resources[i]
		id, inGraph := r.ID(), qualifiedID(r)
		if r.Optional {
			a.optional[id], a.own[inGraph] = r, id
		} else {
			a.required[id], a.required[inGraph] = true, true
		}
	}
	for _, f := range found {
		if f.Severity == schema.Error {
			a.put(f.Resource, f)
		}
	}
	if len(a.now) == 0 {
		return nil
	}
	a.dependents()
	rest := *d
	rest.Resources = a.rest(d.Resources)
	return &rest
}

// asider is one call of PutAside.
type asider struct {
	optional map[string]*Declaration // by id
	own      map[string]string       // the ids of those, by the ids that they have in a graph
	required map[string]bool         // the ids of the resources that are not optional
	aside    map[string]schema.Diagnostics
	now      map[string]bool // the ids that this call puts aside
}

// put puts a resource aside if it is optional.
func (a *asider) put(id string, why schema.Diagnostic) {
	id = a.name(id)
	if a.optional[id] != nil {
		a.now[id] = true
		a.aside[id] = append(a.aside[id], why)
	}
}

// name returns the id of an optional resource that has another id in a graph, because of its target. Other ids stay as they are.
func (a *asider) name(id string) string {
	if a.optional[id] == nil && a.own[id] != "" {
		return a.own[id]
	}
	return id
}

// stays reports whether a resource that is not optional has an id, or the one that an optional resource has in a graph.
func (a *asider) stays(id string) bool {
	r := a.optional[id]
	return a.required[id] || r != nil && a.required[qualifiedID(r)]
}

// dependents puts aside the resources that come after one of those, or receive from it.
func (a *asider) dependents() {
	after := map[string][]string{} // by id: the ids that depend on it
	for id, r := range a.optional {
		for _, ref := range slices.Concat(r.Depend, r.Listen) {
			to := a.name(refID(ref.Ref))
			after[to] = append(after[to], id)
		}
		for _, ref := range slices.Concat(r.Before, r.Notify) {
			after[id] = append(after[id], a.name(refID(ref.Ref)))
		}
		for _, v := range r.Recv {
			to := a.name(refID(v.From))
			after[to] = append(after[to], id)
		}
	}
	todo := make([]string, 0, len(a.now))
	for id := range a.now {
		todo = append(todo, id)
	}
	for slices.Sort(todo); len(todo) > 0; todo = todo[1:] {
		if a.stays(todo[0]) {
			continue // those that depend on it have the other one
		}
		slices.Sort(after[todo[0]])
		for _, id := range after[todo[0]] {
			if r := a.optional[id]; r != nil && !a.now[id] {
				a.put(id, schema.Diagnostic{Pos: r.Pos, Resource: id, Message: "it depends on " + todo[0] + ", which is put aside"})
				todo = append(todo, id)
			}
		}
	}
}

// rest returns the resources that stay. Edges that they declare to resources that went are left out.
func (a *asider) rest(all []Declaration) []Declaration {
	out := make([]Declaration, 0, len(all)-len(a.now))
	for _, r := range all {
		if r.Optional {
			if a.now[r.ID()] {
				continue
			}
			r.Before, r.Notify = a.without(r.Before), a.without(r.Notify)
		}
		out = append(out, r)
	}
	return out
}

// without returns the references that lead to a resource that is not aside.
func (a *asider) without(refs []RefDecl) []RefDecl {
	gone := func(r RefDecl) bool {
		id := a.name(refID(r.Ref))
		return a.aside[id] != nil && !a.stays(id)
	}
	if !slices.ContainsFunc(refs, gone) {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), gone)
}

// qualifiedID is the id that a declaration has in a graph if its kind has targets.
func qualifiedID(r *Declaration) string {
	id, on := r.ID(), targetOf(r)
	if ref, err := schema.ParseRef(id); err == nil && on != "" {
		return idOf(ref.Kind, targets.Qualify(ref.Name, on))
	}
	return id
}

func refID(r schema.Ref) string { return idOf(r.Kind, r.Name) }

func idOf(kind, name string) string { return schema.Ref{Kind: strings.ToLower(kind), Name: name}.ID() }
