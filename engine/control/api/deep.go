package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// maxDeep bounds how many objects a deep answer has.
const maxDeep = 1000

// deep returns an object with all that it refers to, near or far, by table[id].
func (a *API) deep(ctx context.Context, o *model.Object) (any, error) {
	found := map[string]*model.Object{}
	for todo := []*model.Object{o}; len(todo) > 0; todo = todo[1:] {
		for _, ref := range a.references(todo[0]) {
			name := ref.m.Table() + "[" + ref.id + "]"
			if _, known := found[name]; known || ref.m == o.Model() && ref.id == o.ID() {
				continue
			}
			target, err := a.nb.Get(ctx, ref.m, ref.id)
			if model.CodeOf(err) == model.NotFound {
				continue // it may come later
			}
			if err != nil {
				return nil, problem(err)
			}
			if found[name] = target; len(found) > maxDeep {
				return nil, httpd.NewProblem(http.StatusUnprocessableEntity, "the object refers to more than %d others", maxDeep).WithHint("read them one by one")
			}
			todo = append(todo, target)
		}
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	doc := map[string]json.RawMessage{} // as they are written: a number of 64 bits keeps its digits
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc["references"], err = json.Marshal(found); err != nil {
		return nil, err
	}
	return doc, nil
}

// reference is the name of an object in another one.
type reference struct {
	m     *model.Model
	id    string
	field string // of the object that has the reference
}

// references returns the objects that an object names.
func (a *API) references(o *model.Object) (all []reference) {
	for _, f := range o.Model().Fields() {
		if v := o.Get(f.Key); v != nil {
			before := len(all)
			if senders, ok := v.(map[string]any); ok && f.Key == "recv" && o.Model().Kind() != "" {
				a.sendersIn(senders, &all)
			}
			a.referencesIn(f, f.Type, v, &all)
			for i := before; i < len(all); i++ {
				all[i].field = f.Key
			}
		}
	}
	return all
}

// sendersIn looks for the resources that an object of a kind receives values from.
func (a *API) sendersIn(recv map[string]any, all *[]reference) {
	for _, field := range slices.Sorted(maps.Keys(recv)) {
		text, _ := recv[field].(string)
		if ref, err := schema.ParseRef(text); err == nil {
			a.refer(ref.Kind, ref.Name, all)
		}
	}
}

// referencesIn looks for references in a part of a field.
func (a *API) referencesIn(f *model.Field, t *schema.Type, v any, all *[]reference) {
	switch v := v.(type) {
	case schema.Ref:
		a.refer(v.Kind, v.Name, all)
	case string:
		if f.Target != "" && t.Kind == schema.KindString {
			a.refer(f.Target, v, all)
		}
	case []any:
		for _, item := range v {
			a.referencesIn(f, t.Elem, item, all)
		}
	case map[string]any:
		for key, item := range v {
			switch {
			case f.Nested != nil && t.Kind == schema.KindStruct:
				if inner := f.Nested.Field(key); inner != nil && item != nil {
					a.referencesIn(inner, inner.Type, item, all)
				}
			case t.Elem != nil:
				a.referencesIn(f, t.Elem, item, all)
			}
		}
	}
}

// refer adds a reference to an object that can be read on its own. A name without a table is skipped: such a target may be
// a resource of the graph.
func (a *API) refer(table, id string, all *[]reference) {
	if m, err := a.nb.Registry().Model(table); err == nil && m.FirstClass() {
		*all = append(*all, reference{m: m, id: id})
	}
}
