// Package params gives the parameters of a resource as a graph would declare them.
package params

import (
	"fmt"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Of returns the parameters of a resource that differ from the defaults of its kind, and the required
// ones, as plain values. Decoded into a new resource of the kind, they give r again.
func Of(r engine.Res) (map[string]any, error) {
	t, err := schema.TypeOf(r)
	if err != nil {
		return nil, err
	}
	if reflect.TypeOf(r).Kind() != reflect.Pointer {
		return nil, fmt.Errorf("a %T is no pointer", r)
	}
	var base any = r.Default()
	if base == nil || reflect.ValueOf(base).Kind() == reflect.Pointer && reflect.ValueOf(base).IsNil() {
		base = t.New()
	}
	m, err := schema.EncodeChanged(r, base)
	if err != nil {
		return nil, err
	}
	for _, f := range t.Fields {
		if _, ok := m[f.Key]; ok || !f.Required {
			continue
		}
		if m[f.Key], err = schema.Get(r, f.Key); err != nil {
			return nil, err
		}
	}
	return m, nil
}
