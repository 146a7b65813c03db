package modeltest

import (
	"errors"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// objectSteps are about objects in variables.
type objectSteps struct{ *runner }

// all returns the steps by operation.
func (r objectSteps) all() map[string]operation {
	return map[string]operation{
		"new": r.opNew, "struct": r.opStruct, "set": r.opSet, "append": r.opAppend, "get": r.opGet, "set_fields": r.opSetFields,
		"merge": r.opMerge, "copy": r.opCopy, "equal": r.opEqual, "roundtrip": r.opRoundtrip, "validate": r.opValidate,
		"stale": r.opStale, "method": r.opMethod, "fetch": r.opFetch,
	}
}

// opNew makes an object and keeps it in a variable.
func (r objectSteps) opNew(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}

// opStruct shows a variable, with defaults.
func (r objectSteps) opStruct(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	plain, err := o.Plain()
	return outcome{"struct": r.formed(o.Model().Name(), norm(plain))}, err
}

// opSet gives a field of a variable another value, or null.
func (r objectSteps) opSet(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	key := asText(step["field"])
	if o, err = o.With(key, r.value(r.fieldOf(o.Model().Name(), key), step["value"], true)); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opAppend adds to a list of a variable. A nested object must be of the model that the field names.
func (r objectSteps) opAppend(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	key := asText(step["field"])
	list, _ := o.Get(key).([]any)
	item := r.value(elemOf(r.fieldOf(o.Model().Name(), key)), step["value"], true)
	if o, err = o.With(key, append(slices.Clone(list), item)); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opGet reads a path, through references too. A range of ports has min and max.
func (r objectSteps) opGet(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	path := asText(step["path"])
	if key, end, ok := cutLast(path); ok && (end == "min" || end == "max") {
		if f := r.fieldOf(o.Model().Name(), key); f != nil && f.Type == "portrange" {
			pair, _ := asMap(r.shown(o))[key].([]any)
			if len(pair) != 2 {
				return outcome{"value": nil}, nil
			}
			return outcome{"value": pair[map[string]int{"min": 0, "max": 1}[end]]}, nil
		}
	}
	v, err := r.views[asText(step["var"])].Get(r.ctx, path)
	return outcome{"value": v}, err
}

// cutLast cuts a path before its last step.
func cutLast(path string) (before, after string, ok bool) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// opSetFields returns the mask.
func (r objectSteps) opSetFields(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return outcome{"fields": list(o.Mask())}, nil
}

// list makes an empty list of nil, as the format has it.
func list(ids []string) []string { return append([]string{}, ids...) }

// opMerge merges a part into a variable.
func (r objectSteps) opMerge(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	part, err := r.object(step["with"])
	if err != nil {
		return nil, err
	}
	o, changed := o.Merge(part)
	r.keep(asText(step["var"]), o)
	return outcome{"changed": list(changed)}, nil
}

// opCopy copies a variable. Objects never change, so a deep copy is the same.
func (r objectSteps) opCopy(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}

// opEqual compares two variables.
func (r objectSteps) opEqual(step map[string]any) (outcome, error) {
	a, err := r.variable(step["a"])
	b, err2 := r.variable(step["b"])
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return outcome{"equal": a.Equal(b)}, nil
}

// opRoundtrip writes a variable as JSON and reads it again.
func (r objectSteps) opRoundtrip(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	again, err := o.Model().Parse("roundtrip", text)
	if err != nil {
		return nil, err
	}
	return outcome{"equal": schema.Equal(norm(o), norm(again)), "struct": r.shown(again)}, nil
}

// opValidate asks for required fields.
func (r objectSteps) opValidate(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return done, o.Check()
}

// opStale asks whether the store has something else now. An object that the store never had is not out of date.
func (r objectSteps) opStale(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return outcome{"value": r.put[asText(step["var"])] && r.store.Stale(o)}, nil
}

// opMethod applies an operation of the model in memory.
func (r objectSteps) opMethod(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	name := asText(step["name"])
	op := o.Model().Operations()[name]
	args := map[string]any{}
	for i, v := range asList(step["args"]) {
		if i < len(op.Args) {
			args[op.Args[i].Key] = r.value(nil, v, true)
		}
	}
	if o, err = o.Do(name, args); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opFetch reads an object of the database into a variable.
func (r objectSteps) opFetch(step map[string]any) (outcome, error) {
	lean, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	o, err := r.nb.Get(r.ctx, lean.Model(), lean.ID())
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}
