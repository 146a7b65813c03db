package puppettype

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Default is the value that is written as the word default.
type Default struct{}

// Symbol is a name that a Ruby program passes as such. Only Any and Runtime take
// it; the symbols undef and default are the values of these names.
type Symbol string

// URI is a value of the type of that name.
type URI string

// Map is a Hash whose keys need not be text, in the order of the source. Keys are not
// repeated. The package never alters a Map that it was given.
type Map []Entry

// Entry is one entry of a Map.
type Entry struct{ Key, Value any }

// All yields the keys and values, in their order.
func (m Map) All() iter.Seq2[any, any] {
	return func(yield func(key, value any) bool) {
		for _, e := range m {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Sensitive wraps a value that must not be shown; it prints as schema.Redacted. The
// pointer keeps it comparable, whatever it wraps. The zero value wraps undef.
type Sensitive struct{ value *any }

// NewSensitive wraps v. Text is better a schema.Secret, which is the same to every
// type here and known to the rest of the program.
func NewSensitive(v any) Sensitive { return Sensitive{&v} }

// Reveal returns the wrapped value. The caller must not show it.
func (s Sensitive) Reveal() any {
	if s.value == nil {
		return nil
	}
	return *s.value
}

// String returns schema.Redacted.
func (s Sensitive) String() string { return schema.Redacted }

// Format prints it redacted under every verb. So %#v and %x do not show it either.
func (s Sensitive) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(schema.Redacted)) }

// MarshalText writes schema.Redacted; it serves JSON and YAML too.
func (s Sensitive) MarshalText() ([]byte, error) { return []byte(schema.Redacted), nil }

// LogValue logs schema.Redacted.
func (s Sensitive) LogValue() slog.Value { return slog.StringValue(schema.Redacted) }

// revealed returns the content of a Sensitive or a Secret.
func revealed(v any) (inner any, ok bool) {
	switch v := v.(type) {
	case Sensitive:
		return v.Reveal(), true
	case schema.Secret:
		return v.Reveal(), true
	}
	return nil, false
}

// settle returns v as one of the Go types that the package works on. A value of
// that type is returned as it is, without allocation.
func settle(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []any, map[string]any, Default, Map, Sensitive, schema.Secret,
		time.Time, time.Duration, Version, []byte, URI:
		return v
	case *big.Int:
		return settlePointer(v)
	case *rubyre.Regexp:
		return settlePointer(v)
	case *VersionRange:
		return settlePointer(v)
	case *Type:
		return settlePointer(v)
	case Symbol:
		return settleSymbol(v)
	// Beyond int64 it becomes a *big.Int, so that no value wraps around.
	case uint64:
		if v > math.MaxInt64 {
			return new(big.Int).SetUint64(v)
		}
		return int64(v)
	}
	return settleOther(reflect.ValueOf(v))
}

// settlePointer makes a nil pointer undef.
func settlePointer[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// settleSymbol makes values of the two symbols that stand for them in Ruby.
func settleSymbol(s Symbol) any {
	switch s {
	case "undef":
		return nil
	case "default":
		return Default{}
	}
	return s
}

// settleOther takes the further types that providers in Go hand over. Lists and maps
// are copied on one level only; their elements are settled when they are met.
func settleOther(rv reflect.Value) any {
	switch {
	case rv.CanInt():
		return rv.Int()
	case rv.CanUint():
		return settle(rv.Uint())
	case rv.CanFloat():
		return rv.Float()
	}
	switch rv.Kind() {
	case reflect.Bool:
		return rv.Bool()
	case reflect.String:
		return rv.String()
	case reflect.Slice:
		out := make([]any, rv.Len())
		for i := range out {
			out[i] = rv.Index(i).Interface()
		}
		return out
	case reflect.Map:
		return settleMap(rv)
	}
	return rv.Interface()
}

// settleMap copies a map whose keys are text. Any other map stays a foreign value, since a
// Hash with numbers as keys must say their order, as a Map does.
func settleMap(rv reflect.Value) any {
	if rv.Type().Key().Kind() != reflect.String {
		return rv.Interface()
	}
	out := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		out[it.Key().String()] = it.Value().Interface()
	}
	return out
}

// entries returns the entries of a hash, text keys in order; ok is false for other
// values. v is settled.
func entries(v any) (es []Entry, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		es = make([]Entry, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			es = append(es, Entry{key, v[key]})
		}
		return es, true
	case Map:
		return v, true
	}
	return nil, false
}
