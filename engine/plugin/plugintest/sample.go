package plugintest

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// sample returns inputs with every required property. Optional ones are left out: a provider may have rules between them that
// no schema says.
func sample(t *schema.Type, name string) protocol.Bag {
	out := protocol.Bag{}
	for _, f := range t.Fields {
		if f.Required && f.Role != schema.RoleReadOnly {
			out[f.Key] = sampleOf(f.Type, name)
		}
	}
	return out
}

// sampleOf returns a value of a type. A pattern or a format needs inputs of the caller.
func sampleOf(t *schema.Type, name string) any {
	switch t.Kind {
	case schema.KindBool:
		return true
	case schema.KindInt:
		if t.Min != nil {
			return *t.Min
		}
		return int64(1)
	case schema.KindFloat:
		if t.FloatMin != nil {
			return *t.FloatMin
		}
		return 1.5
	case schema.KindDuration:
		return "1s"
	case schema.KindSize:
		return int64(1024)
	case schema.KindMode:
		return "0644"
	case schema.KindRef:
		return t.Target + "[" + name + "]"
	case schema.KindList:
		return []any{sampleOf(t.Elem, name)}
	case schema.KindMap:
		return map[string]any{append(slices.Clip(t.Enum), "key")[0]: sampleOf(t.Elem, name)}
	case schema.KindStruct:
		return map[string]any(sample(t, name))
	}
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	return name
}

// with returns a copy of a bag with another value for a key; nil for none.
func with(b protocol.Bag, key string, v any) protocol.Bag {
	c := maps.Clone(b)
	if c[key] = v; v == nil {
		delete(c, key)
	}
	return c
}
