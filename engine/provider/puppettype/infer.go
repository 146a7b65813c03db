package puppettype

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// Infer returns the type of a value; an array has one type for all elements. The
// content of a Sensitive shows in general terms only.
func Infer(v any) *Type { return infer(settle(v)) }

// InferEach returns the type of a value in full: an array is a Tuple, a hash with text
// keys a Struct. The result is as large as the value, so only messages use it.
func InferEach(v any) *Type { return inferEach(settle(v)) }

// infer is Infer for a settled value.
func infer(v any) *Type {
	switch v := v.(type) {
	case []any:
		return inferList(v)
	case map[string]any, Map:
		return inferHash(v)
	}
	return inferOne(v)
}

// inferEach is InferEach for a settled value. Messages are made from this type, so it
// keeps the position of each element.
func inferEach(v any) *Type {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return emptyArray
		}
		t := &Type{kind: KindTuple}
		for _, item := range v {
			t.types = append(t.types, InferEach(item))
		}
		return t
	case map[string]any, Map:
		return inferMembers(v)
	case Version:
		return &Type{kind: KindSemVer, versions: []*VersionRange{exactRange(v)}}
	}
	return infer(v)
}

// inferOne is infer for a single value.
func inferOne(v any) *Type {
	switch v := v.(type) {
	case bool:
		return &Type{kind: KindBoolean, truth: &v}
	case int64:
		return &Type{kind: KindInteger, ints: exactly(v)}
	case *big.Int:
		return inferBig(v)
	case float64:
		return inferFloat(v)
	case string:
		return newLiteral(v)
	case *rubyre.Regexp:
		return &Type{kind: KindRegexp, patterns: []*rubyre.Regexp{v}}
	case time.Time:
		return &Type{kind: KindTimestamp, times: exactly(v)}
	case time.Duration:
		return &Type{kind: KindTimespan, ints: exactly(int64(v))}
	case *Type:
		return wrap(KindType, v)
	// Ruby's own name for the type, as Puppet shows it.
	case Symbol:
		return &Type{kind: KindRuntime, words: []string{"ruby", "Symbol"}}
	}
	if inner, ok := revealed(v); ok {
		return wrap(KindSensitive, inferSecret(Infer(inner)))
	}
	if k := kindOf(v); k != KindRuntime {
		return bare[k]
	}
	// A foreign value shows the name of its Go type, never its content.
	return &Type{kind: KindRuntime, words: []string{"go", fmt.Sprintf("%T", v)}}
}

// inferSecret is what shows of the type of a secret. A length or a word would tell a
// part of the secret. That a collection is empty is shown.
func inferSecret(t *Type) *Type {
	if t.Equal(emptyArray) || t.Equal(emptyHash) {
		return t
	}
	return t.general()
}

// inferBig makes the type of a whole number beyond 64 bits. It has no span, since spans
// have 64 bits; so the number itself is kept.
func inferBig(n *big.Int) *Type {
	if n.IsInt64() {
		return inferOne(n.Int64())
	}
	return &Type{kind: KindInteger, big: n}
}

// inferFloat leaves out the bound that infinity is by itself.
func inferFloat(f float64) *Type {
	s := exactly(f)
	switch {
	case math.IsInf(f, 1):
		s.hi = nil
	case math.IsInf(f, -1):
		s.lo = nil
	}
	return &Type{kind: KindFloat, floats: s}
}

// inferList makes one type for all elements. The common type is built from the left, as
// Puppet does, so the texts agree.
func inferList(list []any) *Type {
	if len(list) == 0 {
		return emptyArray
	}
	elem := Infer(list[0])
	for _, v := range list[1:] {
		elem = Common(elem, Infer(v))
	}
	return newArray(elem, sizeOf(len(list)))
}

// inferHash makes one type for all keys and one for all values. The keys are taken in
// sorted order, so that the common type does not depend on Go's order of maps.
func inferHash(v any) *Type {
	es, _ := entries(v)
	if len(es) == 0 {
		return emptyHash
	}
	key, elem := Infer(es[0].Key), Infer(es[0].Value)
	for _, e := range es[1:] {
		key, elem = Common(key, Infer(e.Key)), Common(elem, Infer(e.Value))
	}
	return newHash(key, elem, sizeOf(len(es)))
}

// inferMembers makes a Struct, or a Hash when a key is empty or no text.
func inferMembers(v any) *Type {
	es, _ := entries(v)
	if len(es) == 0 {
		return emptyHash
	}
	t := &Type{kind: KindStruct}
	var keys, values []*Type
	for _, e := range es {
		// Instead of a key that is not text the empty one is taken, which no Struct may
		// have.
		key, _ := settle(e.Key).(string)
		value := InferEach(e.Value)
		t.members = append(t.members, Member{Key: key, Type: value})
		keys, values = append(keys, InferEach(e.Key)), append(values, value)
	}
	if slices.ContainsFunc(t.members, func(m Member) bool { return m.Key == "" }) {
		return newHash(variantOf(keys...), variantOf(values...), sizeOf(len(es)))
	}
	return t
}

// sizeOf is the size of a collection of n elements.
func sizeOf(n int) *Size { return &Size{int64(n), int64(n)} }

// general returns t without the traces of single values: ranges, lengths, words.
// Messages use it to ask whether the bounds alone keep a value out.
func (t *Type) general() *Type {
	switch t.kind {
	case KindBoolean, KindInteger, KindFloat, KindString, KindTimespan, KindTimestamp, KindSemVer, KindRegexp, KindCollection:
		return bare[t.kind]
	case KindEnum:
		return stringType
	case KindArray:
		return newArray(t.elem.general(), nil)
	case KindHash:
		return newHash(t.key.general(), t.elem.general(), nil)
	}
	return t.mapped((*Type).general)
}

// mapped returns t with f applied to each type inside. t stays as it is; the copy is
// made canonical again, since f may have made alternatives equal.
func (t *Type) mapped(f func(*Type) *Type) *Type {
	if t.elem == nil && t.key == nil && len(t.types) == 0 && len(t.members) == 0 {
		return t
	}
	c := *t
	if c.elem != nil {
		c.elem = f(c.elem)
	}
	if c.key != nil {
		c.key = f(c.key)
	}
	c.types = apply(t.types, f)
	c.members = apply(t.members, func(m Member) Member { return Member{m.Key, m.Optional, f(m.Type)} })
	switch c.kind {
	case KindVariant:
		return variantOf(c.types...)
	case KindArray:
		return newArray(c.elem, c.size)
	case KindHash:
		return newHash(c.key, c.elem, c.size)
	}
	return &c
}

// apply returns the list with f applied to each element, in a list of its own; nil stays
// nil, so that Equal sees no difference.
func apply[T any](in []T, f func(T) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// Common returns a narrow type that has all values of both. It tries the two
// themselves, then a type of their kind. Then it tries the named unions from small to
// large, and Any at last.
func Common(t, o *Type) *Type {
	switch {
	case t.kind == KindUnit:
		return o
	case o.kind == KindUnit, t.assignable(o):
		return t
	case o.assignable(t):
		return o
	case t.kind == KindUndef || t.kind == KindOptional:
		return optionalCommon(t, o)
	case o.kind == KindUndef || o.kind == KindOptional:
		return optionalCommon(o, t)
	}
	if c := commonOfKind(t, o); c != nil {
		return c
	}
	for _, k := range []Kind{KindNumeric, KindScalarData, KindScalar, KindData, KindRichData} {
		if bare[k].assignable(t) && bare[k].assignable(o) {
			return bare[k]
		}
	}
	return anyType
}

// optionalCommon is Common where t is Undef or Optional.
func optionalCommon(t, o *Type) *Type {
	if t.elem != nil {
		o = Common(t.elem, o)
	}
	if o.mayBeUndef() {
		return o
	}
	return newOptional(o)
}

// commonOfKind joins two types of one kind, texts, or collections of one sort; nil where it
// cannot.
func commonOfKind(t, o *Type) *Type {
	switch {
	case texts.has(t.kind) && texts.has(o.kind):
		return commonText(t, o)
	case t.listed() && o.listed():
		return newArray(Common(reduce(t), reduce(o)), nil)
	case t.hashed() && o.hashed():
		a, b := t.keyed(), o.keyed()
		return newHash(Common(a.key, b.key), Common(a.elem, b.elem), nil)
	case t.kind != o.kind:
		return nil
	}
	switch t.kind {
	case KindInteger, KindTimespan:
		if t.big == nil && o.big == nil {
			return &Type{kind: t.kind, ints: t.ints.join(o.ints, cmp.Compare)}
		}
	case KindFloat:
		return &Type{kind: t.kind, floats: t.floats.join(o.floats, cmp.Compare)}
	case KindTimestamp:
		return &Type{kind: t.kind, times: t.times.join(o.times, time.Time.Compare)}
	case KindVariant:
		return variantOf(t, o)
	case KindSensitive, KindType, KindIterable:
		return wrap(t.kind, Common(t.elem.orAny(), o.elem.orAny()))
	case KindResource:
		if t.words[0] == o.words[0] {
			return &Type{kind: KindResource, words: t.words[:1]}
		}
	case KindBoolean, KindInit, KindNotUndef, KindStruct:
		return nil
	}
	return bare[t.kind]
}

// listed reports whether values of t are lists.
func (t *Type) listed() bool { return t.kind == KindArray || t.kind == KindTuple }

// hashed reports whether values of t are hashes.
func (t *Type) hashed() bool { return t.kind == KindHash || t.kind == KindStruct }

// keyed returns a type of hashes as a Hash, so that two of them have keys and values to
// join.
func (t *Type) keyed() *Type {
	if t.kind == KindStruct {
		return t.asHash()
	}
	return t
}

// reduce returns the common type of a list's elements.
func reduce(t *Type) *Type {
	if t.kind == KindArray {
		return t.elem
	}
	if len(t.types) == 0 {
		return anyType
	}
	elem := t.types[0]
	for _, next := range t.types[1:] {
		elem = Common(elem, next)
	}
	return elem
}

// commonText joins types of text. Words stay words, and expressions stay expressions; a
// mixture is a String of the lengths of both, or of any length.
func commonText(t, o *Type) *Type {
	a, b := t.asEnum(), o.asEnum()
	switch {
	// Case counts nothing in the result if it counts nothing in one of them.
	case a != nil && b != nil:
		return newEnum(slices.Concat(a.words, b.words), a.fold || b.fold)
	case t.kind == KindPattern && o.kind == KindPattern:
		return &Type{kind: KindPattern, patterns: slices.Concat(t.patterns, o.patterns)}
	case t.kind == KindPattern || o.kind == KindPattern:
		return stringType
	}
	size := t.lengths().join(o.lengths())
	return &Type{kind: KindString, size: &size}
}

// asEnum returns the words that a text type lists, nil if it does not.
func (t *Type) asEnum() *Type {
	switch {
	case t.kind == KindEnum:
		return t
	case t.value != nil:
		return newEnum([]string{*t.value}, false)
	}
	return nil
}
