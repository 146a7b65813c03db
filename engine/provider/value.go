package provider

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// clone returns a copy of a value of a record that shares nothing with it that could
// be altered.
func clone(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int64, float64:
		return v
	case Record:
		return v.Clone()
	case puppettype.Sensitive:
		return puppettype.NewSensitive(clone(v.Reveal()))
	case []byte:
		return append([]byte(nil), v...)
	case puppettype.Map:
		out := make(puppettype.Map, len(v))
		for i, e := range v {
			out[i] = puppettype.Entry{Key: clone(e.Key), Value: clone(e.Value)}
		}
		return out
	}
	return schema.Clone(v)
}

// equal reports whether two values say the same. A number equals no text.
func equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return a == b
		}
	case bool:
		if b, ok := b.(bool); ok {
			return a == b
		}
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	}
	return schema.Equal(puppettype.Plain(a), puppettype.Plain(b))
}

// text returns a scalar as text.
func text(v any) string {
	switch v := puppettype.Plain(v).(type) {
	case nil:
		return ""
	case string:
		return v
	case schema.Secret:
		return v.Reveal()
	default:
		return fmt.Sprint(v)
	}
}

// same reports whether two records are the same, key by key.
func same(a, b Record) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		o, ok := b[k]
		if !ok || !equal(v, o) {
			return false
		}
	}
	return true
}
