package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Outcome says what became of a graph that a frontend has yielded. It is given to Declared.Done.
type Outcome struct {
	// Aside has all optional resources that are put aside, by id, with the reasons. It is not altered any more.
	Aside map[string]schema.Diagnostics
	Err   error // nil where the graph is in effect
	Held  bool  // the graph waits for an operator who lets it go, and is then judged again; Err says why
}

// PutAside returns a copy of a graph without the optional resources that findings of Build are about. Optional resources
// that depend on those are left out, too. It returns nil where there is none: then the rest of the graph is at fault. It adds
// the reasons to aside, by id. A caller builds the copy, and calls PutAside again while that finds faults. It does not
// alter d.
func PutAside(d *Declared, found schema.Diagnostics, aside map[string]schema.Diagnostics) *Declared {
	a := &asider{optional: map[string]*Declaration{}, aside: aside, now: map[string]bool{}}
	for i := range d.Resources {
		if r := &d.Resources[i]; r.Optional {
			a.optional[idOf(r.Kind, r.Name)] = r
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
	aside    map[string]schema.Diagnostics
	now      map[string]bool // the ids that this call puts aside
}

// put puts a resource aside if it is optional.
func (a *asider) put(id string, why schema.Diagnostic) {
	if a.optional[id] != nil {
		a.now[id] = true
		a.aside[id] = append(a.aside[id], why)
	}
}

// dependents puts aside the resources that come after one of those, or receive from it.
func (a *asider) dependents() {
	after := map[string][]string{} // by id: the ids that depend on it
	for id, r := range a.optional {
		for _, ref := range slices.Concat(r.Depend, r.Listen) {
			to := refID(ref.Ref)
			after[to] = append(after[to], id)
		}
		for _, ref := range slices.Concat(r.Before, r.Notify) {
			after[id] = append(after[id], refID(ref.Ref))
		}
		for _, v := range r.Recv {
			to := refID(v.From)
			after[to] = append(after[to], id)
		}
	}
	todo := make([]string, 0, len(a.now))
	for id := range a.now {
		todo = append(todo, id)
	}
	for slices.Sort(todo); len(todo) > 0; todo = todo[1:] {
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
			if a.now[idOf(r.Kind, r.Name)] {
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
	gone := func(r RefDecl) bool { return a.aside[refID(r.Ref)] != nil }
	if !slices.ContainsFunc(refs, gone) {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), gone)
}

func refID(r schema.Ref) string { return idOf(r.Kind, r.Name) }

func idOf(kind, name string) string { return schema.Ref{Kind: strings.ToLower(kind), Name: name}.ID() }
