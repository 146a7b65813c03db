package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Registry knows models by name and by table. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]*Model // with the nested ones
	tables map[string]*Model
	kinds  *engine.Registry
	made   map[string]kindModel // of kinds, by kind

	changed chan struct{} // closed by Replace
}

// NewRegistry returns a registry whose models are the kinds of a registry of resources, now and later, and the models
// that Add brings. kinds may be nil.
func NewRegistry(kinds *engine.Registry) *Registry {
	return &Registry{byName: map[string]*Model{}, tables: map[string]*Model{}, kinds: kinds, made: map[string]kindModel{}, changed: make(chan struct{})}
}

// Replace takes over the models and kinds of another registry, in the place of those before, and ends the channel of Changed.
// The holder of an earlier Model may go on with it; a question by name answers with the new one. The other registry must not be
// used afterwards.
func (r *Registry) Replace(by *Registry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName, r.tables, r.kinds = by.byName, by.tables, by.kinds
	close(r.changed)
	r.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next Replace. A reader that keeps objects asks for it before it reads them, and
// reads all anew when it is closed.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changed
}

// Kinds returns the kinds whose models the registry has at this moment; nil for none.
func (r *Registry) Kinds() *engine.Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.kinds
}

// Add makes a model with a table known, and the models that it nests. A name and a table stand for one model alone, since
// callers may say either. The error is a Registration.
func (r *Registry) Add(m *Model) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fits(m); err != nil {
		return err
	}
	r.add(m)
	return nil
}

// add makes a model known that fits. The caller holds the lock. A nested model is known by its name, so that events and
// stores find it; several models may nest it.
func (r *Registry) add(m *Model) {
	r.byName[m.Name()], r.tables[m.Table()] = m, m
	for _, n := range m.Embedded() {
		if r.byName[n.Name()] == nil {
			r.byName[n.Name()] = n
		}
	}
}

// fits returns why a model cannot be added. The caller holds the lock.
func (r *Registry) fits(m *Model) error {
	switch {
	case !m.FirstClass():
		return unfit("table", "model %q has no table, so no object of it can be kept alone; nest it in another model", m.Name())
	case strings.ContainsAny(m.Table(), "/:?#% "):
		return unfit("table", "table %q of model %q: a table has no slash, colon, space and none of ?#%%", m.Table(), m.Name())
	case r.byName[m.Name()] != nil:
		return unfit("model", "model %q is registered already", m.Name())
	case r.tables[m.Table()] != nil:
		return unfit("table", "model %q wants the table %q, which model %q has", m.Name(), m.Table(), r.tables[m.Table()].Name())
	case r.tables[m.Name()] != nil:
		return unfit("model", "model %q has the name of the table of model %q: choose another one", m.Name(), r.tables[m.Name()].Name())
	case r.byName[m.Table()] != nil:
		return unfit("table", "model %q wants the table %q, which is the name of another model", m.Name(), m.Table())
	case r.kinds != nil && r.kinds.Has(m.Table()):
		return unfit("table", "model %q wants the table %q, which is a kind of resource", m.Name(), m.Table())
	case r.kinds != nil && r.kinds.Has(m.Name()):
		return unfit("model", "model %q has the name of a kind of resource: choose another one", m.Name())
	}
	for _, n := range m.Embedded() {
		switch other := cmp.Or(r.byName[n.Name()], r.tables[n.Name()]); {
		case n.Name() == m.Name(), n.Name() == m.Table(), other != nil && other != n:
			return unfit("model", "model %q nests a model %q, and another model has this name", m.Name(), n.Name())
		}
	}
	return nil
}

// unfit makes a Registration about a part of a model.
func unfit(part, format string, args ...any) *Error {
	return &Error{Code: Registration, Field: part, Message: fmt.Sprintf(format, args...)}
}

// Model returns the model of that name or table, or an UnknownModel.
func (r *Registry) Model(nameOrTable string) (*Model, error) {
	r.mu.RLock()
	m, kinds := cmp.Or(r.byName[nameOrTable], r.tables[nameOrTable]), r.kinds
	r.mu.RUnlock()
	if m != nil {
		return m, nil
	}
	if kinds != nil && kinds.Has(nameOrTable) {
		return r.ofKind(kinds, nameOrTable)
	}
	return nil, &Error{
		Code: UnknownModel, Message: fmt.Sprintf("there is no table %q", nameOrTable),
		Suggestion: schema.Nearest(nameOrTable, r.Tables()),
	}
}

// Check returns the faults between registered models: a reference to no model, and a path of an index without a field
// behind the reference. Models come in any order, so Add cannot tell. A program calls Check when it has added all.
func (r *Registry) Check() error {
	r.mu.RLock()
	all := slices.Collect(maps.Values(r.byName))
	r.mu.RUnlock()
	slices.SortFunc(all, func(a, b *Model) int { return cmp.Compare(a.Name(), b.Name()) })
	var errs []error
	for _, m := range all {
		err := r.checkTargets(m, nil)
		if err == nil {
			err = r.checkPaths(m)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkTargets returns the references of m to no model, but for those to the expected ones.
func (r *Registry) checkTargets(m *Model, expected map[string]bool) error {
	var errs []error
	for _, f := range m.fields {
		if f.Target == "" || expected[f.Target] {
			continue
		}
		if _, err := r.Model(f.Target); err != nil {
			e := unfit("fields."+f.Key, "model %q: the field %s refers to %q, and there is no such model or table", m.Name(), f.Key, f.Target)
			e.Suggestion = schema.Nearest(f.Target, r.names())
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// checkPaths returns the paths of indexes that end behind a reference at no field, or at a secret.
func (r *Registry) checkPaths(m *Model) error {
	var errs []error
	for _, x := range m.indexes {
		for _, path := range x.Paths {
			switch t, err := r.typeAt(m, path); {
			case err != nil:
				errs = append(errs, unfit("indexes."+x.Name, "model %q: the index %s has the path %s, and there is no such field behind the reference", m.Name(), x.Name, path))
			case t.Secret:
				errs = append(errs, unfit("indexes."+x.Name, "model %q: the index %s would show the secret %s", m.Name(), x.Name, path))
			}
		}
	}
	return errors.Join(errs...)
}

// names returns the names and tables that Model knows.
func (r *Registry) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append(slices.Collect(maps.Keys(r.byName)), slices.Collect(maps.Keys(r.tables))...)
}

// Tables returns the tables of all models, kinds too, sorted.
func (r *Registry) Tables() []string {
	r.mu.RLock()
	all, kinds := slices.Collect(maps.Keys(r.tables)), r.kinds
	r.mu.RUnlock()
	if kinds != nil {
		all = append(all, kinds.Kinds()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// All returns the models with a table, by table. Kinds that cannot be described are left out; Model says why.
func (r *Registry) All() (all []*Model) {
	for _, table := range r.Tables() {
		if m, err := r.Model(table); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// Deps returns the models that m names by references, sorted by name. References inside of nested models count as
// m's own, or, where nested is true, the nested models count themselves. A reference to no model is left out.
func (r *Registry) Deps(m *Model, nested bool) (deps []*Model) {
	add := func(d *Model) {
		if d != nil && !slices.Contains(deps, d) {
			deps = append(deps, d)
		}
	}
	for _, f := range m.fields {
		if f.Target != "" {
			target, _ := r.Model(f.Target)
			add(target)
		}
		if at := innermost(f.Type); at.Kind == schema.KindRef && at.Target != "" {
			target, _ := r.Model(at.Target)
			add(target)
		}
		switch {
		case f.Nested == nil:
		case nested && !f.Nested.spec.Plain:
			add(f.Nested)
		default:
			for _, d := range r.Deps(f.Nested, nested) {
				add(d)
			}
		}
	}
	slices.SortFunc(deps, func(a, b *Model) int { return cmp.Compare(a.Name(), b.Name()) })
	return deps
}

// Order returns the models so that each comes after the models that it names, with the nested ones where nested is true.
// A cycle is an error with its path. The models of kinds are left out: their references are edges between objects.
func (r *Registry) Order(nested bool) ([]*Model, error) {
	r.mu.RLock()
	todo := slices.Collect(maps.Values(r.byName))
	r.mu.RUnlock()
	slices.SortFunc(todo, func(a, b *Model) int { return cmp.Compare(a.Name(), b.Name()) })
	o := &ordering{r: r, nested: nested, state: map[*Model]int{}}
	for _, m := range todo {
		if m.FirstClass() || nested && !m.spec.Plain {
			if err := o.visit(m, nil); err != nil {
				return nil, err
			}
		}
	}
	return o.done, nil
}

// ordering is a walk in depth over the references.
type ordering struct {
	r      *Registry
	nested bool
	state  map[*Model]int // 1 while its references are visited, 2 afterwards
	done   []*Model
}

// visit adds a model behind all that it refers to. A reference to a kind orders nothing, since its objects may come later.
func (o *ordering) visit(m *Model, path []string) error {
	path = append(path, m.Name())
	switch o.state[m] {
	case 2:
		return nil
	case 1:
		return &Error{Code: Cycle, Message: "models refer to each other in a circle: " + strings.Join(path[slices.Index(path, m.Name()):], " -> ")}
	}
	o.state[m] = 1
	for _, d := range o.r.Deps(m, o.nested) {
		if d.spec.Kind != "" {
			continue
		}
		if err := o.visit(d, path); err != nil {
			return err
		}
	}
	o.state[m] = 2
	o.done = append(o.done, m)
	return nil
}
