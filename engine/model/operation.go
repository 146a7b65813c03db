package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Do applies an operation of the model in memory. The stored object changes at Update. Every argument needs its name,
// and an unknown one is an UnknownField. An unknown operation is an UnknownCall.
func (o *Object) Do(operation string, args map[string]any) (*Object, error) {
	op, ok := o.model.operations[operation]
	if !ok {
		names := slices.Sorted(maps.Keys(o.model.operations))
		e := o.model.fault(UnknownCall, o.id, operation, "there is no operation %q; the operations are: %s", operation, strings.Join(names, ", "))
		e.Suggestion = schema.Nearest(operation, names)
		return nil, e
	}
	for _, a := range op.Args {
		if a.Required && args[a.Key] == nil {
			return nil, o.model.fault(Validation, o.id, a.Key, "the operation %s needs the argument %s", operation, a.Key)
		}
	}
	for name := range args {
		if !slices.ContainsFunc(op.Args, func(a Field) bool { return a.Key == name }) {
			return nil, o.model.fault(UnknownField, o.id, name, "the operation %s has no argument %s", operation, name)
		}
	}
	return op.Run(o, args)
}

// SetField returns an operation that gives a field the value of its argument, whose name is that of the field.
func SetField(key string) Operation {
	return Operation{
		Doc: "Sets " + key + ".", Args: []Field{{Key: key, Type: anything, Required: true}},
		Run: func(o *Object, args map[string]any) (*Object, error) { return o.With(key, args[key]) },
	}
}

// AddTo returns an operation that adds its argument to a list, where it is not in it already.
func AddTo(key string) Operation {
	return Operation{
		Doc: "Adds a value to " + key + ".", Args: []Field{{Key: "value", Type: anything, Required: true}},
		Run: func(o *Object, args map[string]any) (*Object, error) { return o.alter(key, args["value"], true) },
	}
}

// RemoveFrom returns an operation that takes its argument out of a list. An object is found by its id alone.
func RemoveFrom(key string) Operation {
	return Operation{
		Doc: "Takes a value out of " + key + ".", Args: []Field{{Key: "value", Type: anything, Required: true}},
		Run: func(o *Object, args map[string]any) (*Object, error) { return o.alter(key, args["value"], false) },
	}
}

// addListOperations adds the operations add and remove, which take the field as an argument.
func addListOperations(all map[string]Operation) {
	args := []Field{{Key: "field", Type: &schema.Type{Kind: schema.KindString}, Required: true}, {Key: "value", Type: anything, Required: true}}
	for name, add := range map[string]bool{"add": true, "remove": false} {
		if _, own := all[name]; own {
			continue
		}
		doc := "Takes a value out of a field that is a list."
		if add {
			doc = "Adds a value to a field that is a list."
		}
		all[name] = Operation{Doc: doc, Args: args, Run: func(o *Object, args map[string]any) (*Object, error) {
			return o.alter(fmt.Sprint(args["field"]), args["value"], add)
		}}
	}
}

// alter adds a value to a list, or takes it out. It returns o where there is nothing to do, so nothing is written.
func (o *Object) alter(key string, value any, add bool) (*Object, error) {
	f := o.model.byKey[key]
	if f == nil || f.Type.Kind != schema.KindList {
		return nil, o.model.fault(UnknownField, o.id, key, "%s has no list %q", o.model.Label(), key)
	}
	if named, ok := value.(map[string]any); ok && !add && f.Nested != nil && len(named) == 1 && named["id"] != nil {
		value = named["id"]
	}
	list, _ := o.Get(key).([]any)
	if id, ok := value.(string); ok && !add && f.Nested != nil {
		return o.remove(key, list, func(have any) bool {
			fields, _ := have.(map[string]any)
			return fields["id"] == id
		})
	}
	one, err := o.model.New(map[string]any{key: []any{value}})
	if err != nil {
		return nil, err
	}
	item := one.fields[key].([]any)[0]
	same := func(have any) bool { return schema.Equal(have, item) }
	switch {
	case !add:
		return o.remove(key, list, same)
	case slices.ContainsFunc(list, same):
		return o, nil
	}
	return o.With(key, append(slices.Clone(list), item))
}

// remove takes the elements that match out of a list, and returns o where none does.
func (o *Object) remove(key string, list []any, match func(any) bool) (*Object, error) {
	left := slices.DeleteFunc(slices.Clone(list), match)
	if len(left) == len(list) {
		return o, nil
	}
	return o.With(key, left)
}
