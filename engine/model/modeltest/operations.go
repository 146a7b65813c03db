package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
)

// outcome has the values that a step gives, by the words of the format.
type outcome = map[string]any

// operation does a step. Its errors have the codes of the format.
type operation func(step map[string]any) (outcome, error)

// operations returns those of the format.
func (r *runner) operations() map[string]operation {
	all := map[string]operation{}
	for _, part := range []interface{ all() map[string]operation }{
		objectSteps{r}, modelSteps{r}, storeSteps{r}, eventSteps{r}, databaseSteps{r}, driverSteps{r},
	} {
		maps.Copy(all, part.all())
	}
	return all
}

var done = outcome{"ok": true}

// model returns the model of a step or of an object in it.
func (r *runner) model(name string) (*model.Model, error) {
	if m, err := r.reg.Model(name); err == nil {
		return m, nil
	}
	return r.models.get(name)
}

// object makes the object of a step: of a model, of a variable, or, for a class, one without fields.
func (r *runner) object(v any) (*model.Object, error) {
	desc := asMap(v)
	switch {
	case desc["$var"] != nil:
		return r.variable(desc["$var"])
	case desc["$class"] != nil:
		m, err := r.model(asText(desc["$class"]))
		if err != nil {
			return nil, err
		}
		return m.New(nil)
	}
	m, err := r.model(asText(desc["$m"]))
	if err != nil {
		return nil, err
	}
	return m.New(r.fields(m.Name(), desc, false))
}

// variable returns the object in a variable.
func (r *runner) variable(name any) (*model.Object, error) {
	o := r.vars[asText(name)]
	if o == nil {
		return nil, fmt.Errorf("there is no variable %v", name)
	}
	return o, nil
}

// fields turns the fields of a description into values for New, in nested descriptions too. With typed set, nested objects are Objects.
func (r *runner) fields(name string, desc map[string]any, typed bool) map[string]any {
	out := map[string]any{}
	for key, v := range desc {
		if key != "$m" {
			out[key] = r.value(r.fieldOf(name, key), v, typed)
		}
	}
	return out
}

// fieldOf returns the description of a field, of a base's too; nil for one of a mixin.
func (r *runner) fieldOf(name, key string) *field {
	def := r.s.Models[name]
	if def == nil {
		return nil
	}
	if f := def.Fields[key]; f != nil {
		return f
	}
	for _, base := range def.Bases {
		if f := r.fieldOf(base, key); f != nil {
			return f
		}
	}
	return nil
}

// value turns a value of the format into one for New. Objects in references stay Objects, so that New can refuse one of
// another model. Ranges of ports become text.
func (r *runner) value(f *field, v any, typed bool) any {
	desc, isMap := v.(map[string]any)
	reference := f != nil && (f.Type == "ref" || f.Type == "reflist")
	switch {
	case isMap && desc["$var"] != nil:
		o, _ := r.variable(desc["$var"])
		return o
	case isMap && desc["$m"] != nil && (reference || typed):
		o, err := r.object(desc)
		if err != nil {
			return desc
		}
		return o
	case isMap && desc["$m"] != nil:
		return r.fields(asText(desc["$m"]), desc, typed)
	case isMap:
		out := map[string]any{}
		for key, item := range desc {
			out[key] = r.value(elemOf(f), item, typed)
		}
		return out
	}
	list, isList := v.([]any)
	if isList && f != nil && f.Type == "portrange" {
		return portText(list)
	}
	if isList {
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = r.value(elemOf(f), item, typed)
		}
		return out
	}
	return lower(v)
}

// elemOf returns the description of the elements of a field.
func elemOf(f *field) *field {
	if f == nil || f.Of == nil {
		return f
	}
	return f.Of
}

// portText writes a list as the notation of a range has it: 1-2.
func portText(list []any) string {
	var text strings.Builder
	for i, v := range list {
		if i > 0 {
			text.WriteString("-")
		}
		text.WriteString(fmt.Sprint(v))
	}
	return text.String()
}

// shown turns an object into its form in the format.
func (r *runner) shown(o *model.Object) any {
	if o == nil {
		return nil
	}
	return r.formed(o.Model().Name(), norm(o))
}

// formed writes ranges of ports as lists.
func (r *runner) formed(name string, v any) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for key, value := range fields {
		f := r.fieldOf(name, key)
		if text, ok := value.(string); ok && f != nil && f.Type == "portrange" {
			var low, high int
			_, _ = fmt.Sscanf(text, "%d-%d", &low, &high)
			fields[key] = []any{low, high}
		}
	}
	return fields
}

// keep keeps an object in a variable, with a new View.
func (r *runner) keep(name string, o *model.Object) {
	r.vars[name] = o
	r.views[name] = model.NewView(r.ctx, o, r.reg, nearest{r.store, r.nb})
}

// found turns NotFound into nothing: in the format, an absent object is null.
func (r *runner) found(o *model.Object, err error) (outcome, error) {
	if model.CodeOf(err) == model.NotFound {
		return outcome{"obj": nil, "id": nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return outcome{"obj": r.shown(o), "id": o.ID()}, nil
}

// ids returns the ids of objects, sorted.
func ids(list []*model.Object) []string {
	out := []string{}
	for _, o := range list {
		out = append(out, o.ID())
	}
	slices.Sort(out)
	return out
}
