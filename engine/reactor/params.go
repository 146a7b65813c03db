package reactor

import (
	"cmp"
	"context"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Param is a parameter that a resource declares, without secrets.
type Param struct {
	Name  string
	Value any          // a plain value; nil where the parameter is received
	From  []schema.Ref // whom it is received from, in whole or in part
}

// Params returns the parameters that a resource declares, in the order of its kind, but for those at their zero value. The error is an
// *UnknownResourceError if the resource is not in the graph.
func (r *Reactor) Params(ctx context.Context, id string) (list []Param, err error) {
	var v *vertex
	from := map[string][]schema.Ref{}
	e := r.ask(ctx, func() {
		if v = r.loop.named(id); v == nil {
			err = &UnknownResourceError{id}
			return
		}
		for _, w := range v.wired().Wires() {
			key := topKey(w.Field)
			from[key] = append(from[key], w.From)
		}
	})
	if err = cmp.Or(e, err); err != nil {
		return nil, err
	}
	// A run alters no parameter but received ones, so the others can be read beside it.
	var values []engine.Change
	err = callsafe.Do("encoding it", func() error {
		for _, f := range v.abil.recvType.Fields {
			if from[f.Key] != nil {
				list = append(list, Param{Name: f.Key, From: from[f.Key]})
				continue
			}
			switch x, err := schema.Get(v.Res, f.Key); {
			case err != nil:
				return err
			case f.Role != schema.RoleReadOnly && (f.Type.Optional && x != nil || !isEmpty(x)):
				list, values = append(list, Param{Name: f.Key}), append(values, engine.Change{Field: f.Key, To: x})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = r.ask(ctx, func() { values = v.clean(values) })
	for i := range list {
		if list[i].From == nil && len(values) > 0 {
			list[i].Value, values = values[0].To, values[1:]
		}
	}
	return list, err
}

// isEmpty reports whether a plain value is the zero one of its type, or has no entries.
func isEmpty(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return reflect.ValueOf(x).IsZero()
}
