package modeltest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
)

// sheet is an object of the store on paper.
// A paper belongs to one run and one goroutine, as the runner does.
type sheet struct {
	fields map[string]any
	keys   map[string][][]any // by index, as they were when the object was kept
	order  int                // of the keeping
}

// Values of a key that no value of an object equals.
type mark string

// They stand for the sentinels of package model, which a paper must not share.
const (
	absent  mark = "absent" // found by all alone
	all     mark = "all"    // in a question: any value
	nowhere mark = "nowhere"
)

// keep puts an object into the store. The keys are made at once, since the faulty system never makes them again. A
// refused object leaves the object before in its place.
func (p *paper) keep(step map[string]any) told {
	at, fields, ok := p.part(step)
	if !ok {
		return told{}
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	if name := asText(asMap(step["obj"])["$var"]); name != "" {
		was := p.kept[at]
		p.twice[name] = was != nil && same(was.fields, fields)
	}
	s := &sheet{fields: fields, keys: map[string][][]any{}, order: len(p.kept)}
	for _, x := range p.indexes(at.model) {
		for _, path := range x.Paths {
			key, _, _ := strings.Cut(path, ".")
			if p.required(at.model, key) && fields[key] == nil {
				return told{code: model.Validation}
			}
		}
		keys, found := p.keys(at.model, fields, x.Paths, false)
		if !found && p.faulty {
			return told{code: model.RefNotFound}
		}
		s.keys[x.Name] = keys
	}
	p.kept[at] = s
	return fine
}

// indexes returns the indexes of a model, but for id.
func (p *paper) indexes(name string) []model.Index {
	m, err := p.r.models.get(name)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(m.Indexes(), func(x model.Index) bool { return x.Name == "id" })
}

// required reports whether no object is without a field.
func (p *paper) required(name, key string) bool {
	m, err := p.r.models.get(name)
	return err == nil && m.Field(key) != nil && m.Field(key).Required
}

// forget takes an object out of the store.
func (p *paper) forget(step map[string]any) told {
	at, _, ok := p.part(step)
	if !ok || p.kept[at] == nil {
		return told{}
	}
	delete(p.kept, at)
	return fine
}

// clear empties the store.
func (p *paper) clear(map[string]any) told {
	clear(p.kept)
	return fine
}

// fetches returns how many targets were looked for to make keys. A sound system looks into the store itself.
func (p *paper) fetches(step map[string]any) told {
	n := p.fetched
	p.fetched = 0
	switch {
	case step["op"] == "count_fetches":
		return fine
	case !p.faulty:
		n = 0
	}
	return told{got: outcome{"count": n}}
}

// stale reports whether the store has something else than a variable.
func (p *paper) stale(step map[string]any) told {
	name := asText(step["var"])
	again, known := p.twice[name]
	o := p.r.vars[name]
	if o == nil || !known {
		return told{}
	}
	now := p.kept[row{o.Model().Name(), o.ID()}]
	fields, _ := norm(o.Values()).(map[string]any)
	return told{got: outcome{"value": now == nil || !same(now.fields, fields) || again && p.faulty}}
}

// hits returns the ids that a question finds, as often as it finds them.
func (p *paper) hits(step map[string]any) (ids []string, of string, code model.Code) {
	at, like, ok := p.part(step)
	if !ok {
		return nil, "", model.UnknownModel
	}
	index, topic := asText(step["index"]), step["topic"]
	i := slices.IndexFunc(p.indexes(at.model), func(x model.Index) bool { return x.Name == index })
	if index != "" && i < 0 {
		return nil, "", model.UnknownIndex // id, or none: this paper has no opinion
	}
	wanted := [][]any{nil}
	if index != "" {
		paths := p.indexes(at.model)[i].Paths
		for _, path := range paths {
			key, _, _ := strings.Cut(path, ".")
			if p.faulty && p.required(at.model, key) && like[key] == nil {
				return nil, "", model.Validation
			}
		}
		if wanted, ok = p.keys(at.model, like, paths, true); !ok && p.faulty {
			return nil, "", model.RefNotFound
		}
	}
	for _, w := range wanted {
		for here, s := range p.kept {
			if here.model == at.model && (topic == nil || same(topic, s.fields["topic"])) && (index == "" || p.has(here, s, i, w)) {
				ids = append(ids, here.id)
			}
		}
	}
	slices.Sort(ids)
	return ids, at.model, ""
}

// has reports whether an object has a key that is asked for. The keys of a faulty system are those of the keeping.
func (p *paper) has(at row, s *sheet, index int, wanted []any) bool {
	x := p.indexes(at.model)[index]
	keys := s.keys[x.Name]
	if !p.faulty {
		keys, _ = p.keys(at.model, s.fields, x.Paths, false)
	}
	return slices.ContainsFunc(keys, func(key []any) bool {
		for i, w := range wanted {
			if w != all && (key[i] == absent || !same(w, key[i])) {
				return false
			}
		}
		return true
	})
}

// find answers with ids. The faulty system repeats an object for each key of the question that finds it.
func (p *paper) find(step map[string]any) told {
	ids, _, code := p.hits(step)
	switch {
	case code == model.UnknownModel || code == model.UnknownIndex:
		return told{}
	case code != "":
		return told{code: code}
	case !p.faulty:
		ids = slices.Compact(ids)
	}
	return told{got: outcome{"ids": append([]string{}, ids...)}}
}

// findOne answers with the only object. Without an index it is the object of that id.
func (p *paper) findOne(step map[string]any) told {
	if asText(step["index"]) == "" || step["fall_through"] == true {
		return told{}
	}
	ids, of, code := p.hits(step)
	switch {
	case code == model.UnknownModel || code == model.UnknownIndex:
		return told{}
	case code != "":
		return told{code: code}
	case !p.faulty:
		ids = slices.Compact(ids)
	}
	if len(ids) > 1 {
		return told{code: model.Multiple}
	}
	return p.only(of, ids)
}

// findFirst answers with the object of the smallest id.
func (p *paper) findFirst(step map[string]any) told {
	ids, of, code := p.hits(step)
	if code != "" {
		return told{}
	}
	return p.only(of, ids)
}

// only answers with the first of some objects, or with none.
func (p *paper) only(of string, ids []string) told {
	if len(ids) == 0 {
		return told{got: outcome{"obj": nil, "id": nil}}
	}
	return told{got: outcome{"obj": p.shown(of, p.kept[row{of, ids[0]}].fields), "id": ids[0]}}
}

// keys returns the product of the values at some paths. found is false where a target is absent.
func (p *paper) keys(name string, fields map[string]any, paths []string, query bool) (keys [][]any, found bool) {
	w := &walk{paper: p, query: query, found: true}
	keys = [][]any{nil}
	for _, path := range paths {
		var next [][]any
		for _, v := range w.object(name, fields, strings.Split(path, ".")) {
			for _, key := range keys {
				next = append(next, append(slices.Clone(key), v))
			}
		}
		keys = next
	}
	return keys, w.found
}

// walk collects the values at a path. query says that the object is a question.
type walk struct {
	*paper
	query, found bool
}

// none is the value of a field that is not set.
func (w *walk) none() []any {
	if w.query {
		return []any{all}
	}
	return []any{absent}
}

// object walks on in an object. Fields of mixins have no description in the scenario, and all of them are scalars.
func (w *walk) object(name string, fields map[string]any, steps []string) []any {
	f := w.r.fieldOf(name, steps[0])
	v := fields[steps[0]]
	if f == nil { // of a mixin
		f = &field{Type: "string"}
	}
	if v == nil && f.Default != nil && !w.query {
		v = norm(f.Default)
	}
	if list := slices.Contains([]string{"list", "reflist", "enumlist"}, f.Type); v == nil && list && w.faulty {
		return nil // an empty list has no keys, and asks for none
	}
	return w.value(f, v, steps[1:])
}

// value walks on in a value of a field.
func (w *walk) value(f *field, v any, steps []string) (out []any) {
	switch x := v.(type) {
	case nil:
		return w.none()
	case []any:
		if len(x) == 0 && !(w.faulty || w.query) {
			return w.none()
		}
		for _, item := range x {
			out = append(out, w.value(cmp.Or(f.Of, f), item, steps)...)
		}
		return slices.CompactFunc(out, same)
	case map[string]any:
		if f.Type == "nested" && len(steps) > 0 {
			return w.object(f.Model, x, steps)
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			out = append(out, w.value(cmp.Or(f.Of, f), x[key], steps)...)
		}
		return out
	}
	switch {
	case len(steps) == 0 || len(steps) == 1 && steps[0] == "id":
		return []any{v}
	case f.Type != "ref" && f.Type != "reflist":
		return w.none()
	}
	w.fetched++
	target := w.kept[row{f.Model, asText(v)}]
	if target == nil {
		w.found = false
		if w.query {
			return []any{nowhere}
		}
		return []any{absent}
	}
	return w.object(f.Model, target.fields, steps)
}
