package schema

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
)

// Difference is one place where two values of a type differ.
type Difference struct {
	Path     string // as in a graph: content, env.TOKEN
	Field    *Field // the top-level field that the place is in
	From, To any    // as EncodeAll gives them, a Secret where it must not be shown; nil for absent
}

// String returns "path: from -> to", secrets redacted.
func (d Difference) String() string { return fmt.Sprintf("%s: %v -> %v", d.Path, d.From, d.To) }

// Diff returns where a and b differ, in the order of the fields and then of the keys.
// Both are pointers to the struct that t describes, or plain values of it. It goes down
// into structs and maps; a list differs as a whole. Lists and maps are compared by
// content and nil as empty, except where the type is optional. A value that cannot be
// encoded differs from everything. Two structs are compared without encoding their
// equal parts. It alters neither value. Where a struct differs, the cost is that of its
// parts that differ.
func Diff(t *Type, a, b any) []Difference {
	av, bv := sideOf(a), sideOf(b) // a value without one is seen by plain
	if t.describes(av, bv) {
		return diffStruct(t, av, bv)
	}
	pa, erra := plain(a, true, 0)
	pb, errb := plain(b, true, 0)
	if erra != nil || errb != nil {
		return []Difference{{From: fmt.Sprintf("%T", a), To: fmt.Sprintf("%T", b)}}
	}
	var dr differ
	dr.plain(t, pa, pb)
	return dr.found
}

// Differing yields the top-level fields that Diff finds, in order, and costs less: what differs is not encoded. It yields nil where the
// values differ as a whole.
func Differing(t *Type, a, b any) iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		if av, bv := sideOf(a), sideOf(b); t.describes(av, bv) {
			for _, f := range t.Fields {
				if !same(f.Type, fieldOf(av, f), fieldOf(bv, f)) && !yield(f) {
					return
				}
			}
			return
		}
		var last *Field
		for i, d := range Diff(t, a, b) {
			if (i == 0 || d.Field != last) && !yield(d.Field) {
				return
			}
			last = d.Field
		}
	}
}

// describes reports whether t is the type of two structs in Go.
func (t *Type) describes(a, b reflect.Value) bool {
	return t.Kind == KindStruct && a.IsValid() && b.IsValid() && a.Type() == t.Go && b.Type() == t.Go
}

// differ collects differences; its path is that of the values in hand.
type differ struct {
	path  []seg
	field *Field
	found []Difference
}

// diffStruct compares the Go sides field by field, and encodes only fields that differ.
func diffStruct(t *Type, a, b reflect.Value) []Difference {
	var dr differ
	for _, f := range t.Fields {
		av, bv := fieldOf(a, f), fieldOf(b, f)
		if same(f.Type, av, bv) {
			continue
		}
		dr.field = f
		dr.path = append(dr.path[:0], seg{key: f.Key})
		from, erra := encoder{all: true}.value(f.Type, av, 0)
		to, errb := encoder{all: true}.value(f.Type, bv, 0)
		before := len(dr.found)
		if erra == nil && errb == nil {
			dr.plain(f.Type, from, to)
		}
		// One of them cannot be encoded, or plain values do not show the difference.
		if len(dr.found) == before { // seen by the Go types only
			dr.report(f.Type, from, to)
		}
	}
	return dr.found
}

// plain compares plain values. It goes down where both sides are maps; else the place
// differs as a whole.
func (dr *differ) plain(t *Type, a, b any) {
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	switch {
	case t.Kind == KindStruct && aok && bok:
		for _, f := range t.linked().Fields {
			if len(dr.path) == 0 {
				dr.field = f
			}
			dr.entry(f.Type, f.Key, am[f.Key], bm[f.Key])
		}
	case t.Kind == KindMap && aok && bok:
		keys := slices.AppendSeq(slices.Collect(maps.Keys(am)), maps.Keys(bm))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			av, inA := am[key]
			bv, inB := bm[key]
			// A key with a null is there, and differs from a key that is absent.
			if inA != inB {
				dr.path = append(dr.path, seg{key: key})
				dr.report(t.Elem, av, bv)
				dr.path = dr.path[:len(dr.path)-1]
				continue
			}
			dr.entry(t.Elem, key, av, bv)
		}
	case !equalPlain(a, b) && !(t.blank(a) && t.blank(b)):
		dr.report(t, a, b)
	}
}

// entry compares one key, with its path.
func (dr *differ) entry(t *Type, key string, a, b any) {
	dr.path = append(dr.path, seg{key: key})
	dr.plain(t, a, b)
	dr.path = dr.path[:len(dr.path)-1]
}

// blank reports whether v is absent or empty where the type does not keep them
// apart.
func (t *Type) blank(v any) bool {
	return v == nil && !t.Optional || v != nil && equalPlain(v, t.empty()) && !t.Optional
}

// report keeps a difference, with secrets covered before anything else sees them.
func (dr *differ) report(t *Type, from, to any) {
	dr.found = append(dr.found, Difference{
		Path: formatPath(dr.path), Field: dr.field,
		From: t.guard(from), To: t.guard(to),
	})
}

// guard returns v with everything that t calls secret as a Secret. It alters lists and
// maps in place, so v must be a value of this package's own.
func (t *Type) guard(v any) any {
	if t.Secret {
		return hush(v)
	}
	switch x := v.(type) {
	case []any:
		if t.Kind == KindList {
			for i := range x {
				x[i] = t.Elem.guard(x[i])
			}
		}
	case map[string]any:
		for key := range x {
			if f := t.Field(key); t.Kind == KindStruct && f != nil {
				x[key] = f.Type.guard(x[key])
			} else if t.Kind == KindMap {
				x[key] = t.Elem.guard(x[key])
			}
		}
	}
	return v
}
