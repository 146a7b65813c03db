package puppettype

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// Type is a set of values. It is immutable; Parse, Infer and Common make it. A field
// that its kind does not use is zero. Types share their parts.
type Type struct {
	kind     Kind
	elem     *Type       // of Array, Hash (its values), Optional, NotUndef, Sensitive, Type, Iterable, Init; nil where bare
	key      *Type       // of Hash
	types    []*Type     // of Variant, Tuple, Callable
	members  []Member    // of Struct
	words    []string    // of Enum, sorted; of Class its name; of Resource its type and title; of Runtime both names
	fold     bool        // of Enum: case counts nothing
	value    *string     // of String: the only value
	truth    *bool       // of Boolean: the only value
	size     *Size       // of String, Collection, Array, Hash, Tuple, Callable
	ints     span[int64] // of Integer; of Timespan in nanoseconds
	big      *big.Int    // of Integer: the only value, where Infer saw one beyond 64 bits
	floats   span[float64]
	times    span[time.Time]
	patterns []*rubyre.Regexp // of Pattern, Regexp
	versions []*VersionRange
}

// Member is one key of a Struct. Optional[key] and a type that takes undef both make
// the key optional.
type Member struct {
	Key      string
	Optional bool // the key may be missing
	Type     *Type
}

// Kind returns the head of the type.
func (t *Type) Kind() Kind { return t.kind }

// Elem returns the one type inside of t: of an Array's elements, a Hash's values, an
// Optional and so on. It is nil where none is given.
func (t *Type) Elem() *Type { return t.elem }

// Key returns the type of a Hash's keys, else nil.
func (t *Type) Key() *Type { return t.key }

// Types returns the types of a Variant, a Tuple or a Callable. The caller must not
// alter the list.
func (t *Type) Types() []*Type { return t.types }

// Members returns the keys of a Struct. The caller must not alter the list.
func (t *Type) Members() []Member { return t.members }

// Words returns the words of an Enum in alphabetical order. The caller must not
// alter the list.
func (t *Type) Words() []string { return t.words }

// Holds reports whether the type is written with one of the kind: Sensitive is held by
// Hash[String, Sensitive[String]], and not by Any. An alias holds nothing but itself,
// because only the written text counts.
func (t *Type) Holds(k Kind) bool {
	if t == nil {
		return false
	}
	in := func(t *Type) bool { return t.Holds(k) }
	return t.kind == k || in(t.elem) || in(t.key) || slices.ContainsFunc(t.types, in) ||
		slices.ContainsFunc(t.members, func(m Member) bool { return in(m.Type) })
}

// Plain types, shared.
var (
	bare       = bareTypes()
	anyType    = bare[KindAny]
	unitType   = bare[KindUnit]
	undefType  = bare[KindUndef]
	stringType = bare[KindString]
	emptyArray = &Type{kind: KindArray, elem: unitType, size: &Size{}}
	emptyHash  = &Type{kind: KindHash, key: unitType, elem: unitType, size: &Size{}}
	oneChar    = &Type{kind: KindString, size: &Size{1, 1}}
	intType    = bare[KindInteger]
)

// bareTypes makes the type of each kind without parameters. They are shared, so that a
// comparison with one is often a comparison of pointers.
func bareTypes() [numKinds]*Type {
	var out [numKinds]*Type
	for k := range out {
		out[k] = &Type{kind: Kind(k)}
	}
	// A bare Array or Hash has elements of type Any, so that no reader meets a nil.
	out[KindArray].elem = out[KindAny]
	out[KindHash].key, out[KindHash].elem = out[KindAny], out[KindAny]
	return out
}

// dataAlias and richAlias are what Data and RichData stand for.
var dataAlias, richAlias = aliases()

// aliases writes out Data and RichData. Each refers to itself by the bare type, so the
// walk over them ends where the value does.
func aliases() (data, rich *Type) {
	self := bare[KindData]
	data = newOptional(variantOf(bare[KindScalarData], newHash(stringType, self, nil), newArray(self, nil)))
	self = bare[KindRichData]
	key := variantOf(stringType, bare[KindNumeric])
	rich = newOptional(variantOf(bare[KindScalar], bare[KindSemVerRange], bare[KindBinary], bare[KindSensitive], bare[KindType],
		bare[KindURI], bare[KindDefault], newHash(key, self, nil), newArray(self, nil)))
	return data, rich
}

// resolved returns the type that an alias stands for, else t.
func (t *Type) resolved() *Type {
	switch t.kind {
	case KindData:
		return dataAlias
	case KindRichData:
		return richAlias
	}
	return t
}

// isAlias reports whether t stands for a longer type that refers to t again.
func (t *Type) isAlias() bool { return t.kind == KindData || t.kind == KindRichData }

// isBare reports whether t is its kind without parameters. The pointer is compared
// first; a type of another maker is compared by its parts.
func (t *Type) isBare() bool { return t == bare[t.kind] || t.Equal(bare[t.kind]) }

// newArray makes an Array in canonical form: an empty one has no type of elements, and one
// without parameters is the bare type.
func newArray(elem *Type, size *Size) *Type {
	switch {
	case size != nil && size.empty():
		return emptyArray
	case size == nil && elem.kind == KindAny:
		return bare[KindArray]
	}
	return &Type{kind: KindArray, elem: elem, size: size}
}

// newHash is newArray for a Hash.
func newHash(key, elem *Type, size *Size) *Type {
	switch {
	case size != nil && size.empty():
		return emptyHash
	case size == nil && key.kind == KindAny && elem.kind == KindAny:
		return bare[KindHash]
	}
	return &Type{kind: KindHash, key: key, elem: elem, size: size}
}

// wrap makes a type that holds one other, or none.
func wrap(k Kind, elem *Type) *Type {
	if elem == nil || elem.kind == KindAny && (k == KindNotUndef || k == KindSensitive) {
		return bare[k]
	}
	return &Type{kind: k, elem: elem}
}

// newOptional makes the type of all values of elem and of undef.
func newOptional(elem *Type) *Type { return wrap(KindOptional, elem) }

// newLiteral makes the type of one text. It prints as String; messages show the text
// itself.
func newLiteral(s string) *Type { return &Type{kind: KindString, value: &s} }

// newEnum sorts the words and drops repetitions, so that equal sets print the same.
func newEnum(words []string, fold bool) *Type {
	return &Type{kind: KindEnum, words: slices.Compact(slices.Sorted(slices.Values(words))), fold: fold}
}

// variantOf flattens variants and drops repetitions; of one type it makes that. The
// order of the first appearance stays. The cost is the square of the alternatives,
// which Parse bounds by the length of the text.
func variantOf(types ...*Type) *Type {
	var flat []*Type
	add := func(t *Type) {
		if !slices.ContainsFunc(flat, t.Equal) {
			flat = append(flat, t)
		}
	}
	for _, t := range types {
		if t.kind == KindVariant {
			for _, alt := range t.types {
				add(alt)
			}
			continue
		}
		add(t)
	}
	if len(flat) == 1 {
		return flat[0]
	}
	return &Type{kind: KindVariant, types: flat}
}

// lengths returns the sizes that a text type allows. Lengths are in characters. An Enum
// has those from its shortest to its longest word.
func (t *Type) lengths() Size {
	switch {
	case t.kind == KindEnum && len(t.words) > 0:
		s := Size{math.MaxInt64, 0}
		for _, w := range t.words {
			n := int64(utf8.RuneCountInString(w))
			s = Size{min(s.Min, n), max(s.Max, n)}
		}
		return s
	case t.value != nil:
		n := int64(utf8.RuneCountInString(*t.value))
		return Size{n, n}
	}
	return t.size.or()
}

// tupleSize returns how many elements a Tuple takes. A bare Tuple takes any number.
func (t *Type) tupleSize() Size {
	switch {
	case t.size != nil:
		return *t.size
	case len(t.types) == 0:
		return anySize
	}
	n := int64(len(t.types))
	return Size{n, n}
}

// at returns the type of a Tuple's element i; the last one repeats.
func (t *Type) at(i int) *Type {
	if len(t.types) == 0 {
		return anyType
	}
	return t.types[min(i, len(t.types)-1)]
}

// structSize returns how many keys a Struct takes.
func (t *Type) structSize() Size {
	s := Size{0, int64(len(t.members))}
	for _, m := range t.members {
		if !m.Optional {
			s.Min++
		}
	}
	return s
}

// member returns the one of a key, or nil. It searches in order, since a Struct has few
// members.
func (t *Type) member(key string) *Member {
	for i := range t.members {
		if t.members[i].Key == key {
			return &t.members[i]
		}
	}
	return nil
}

// keyType is the type of the key of a Member.
func (m Member) keyType() *Type {
	if m.Optional {
		return newOptional(newLiteral(m.Key))
	}
	return newLiteral(m.Key)
}

// Equal reports whether t and o are written the same. So two types with the same values
// may differ, as with Integer[1] and NotUndef[Integer[1]].
func (t *Type) Equal(o *Type) bool {
	switch {
	case t == o:
		return true
	case t == nil || o == nil || t.kind != o.kind:
		return false
	}
	return t.elem.Equal(o.elem) && t.key.Equal(o.key) &&
		slices.EqualFunc(t.types, o.types, (*Type).Equal) && slices.EqualFunc(t.members, o.members, Member.equal) &&
		slices.Equal(t.words, o.words) && t.fold == o.fold &&
		same(t.value, o.value) && same(t.truth, o.truth) && same(t.size, o.size) &&
		t.ints.equal(o.ints, cmp.Compare) && sameBig(t.big, o.big) && t.floats.equal(o.floats, cmp.Compare) && t.times.equal(o.times, time.Time.Compare) &&
		slices.EqualFunc(t.patterns, o.patterns, (*rubyre.Regexp).Equal) && slices.EqualFunc(t.versions, o.versions, (*VersionRange).Equal)
}

// equal compares members as Equal does types.
func (m Member) equal(o Member) bool {
	return m.Key == o.Key && m.Optional == o.Optional && m.Type.Equal(o.Type)
}

// sameBig compares by value; nil is only equal to nil.
func sameBig(a, b *big.Int) bool {
	return a == b || a != nil && b != nil && a.Cmp(b) == 0
}

// same compares what two pointers point to; nil is only equal to nil.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// hasWord reports whether an Enum holds s.
func (t *Type) hasWord(s string) bool {
	for _, w := range t.words {
		if w == s || t.fold && foldEqual(w, s) {
			return true
		}
	}
	return false
}

// foldEqual compares without regard to the case of ASCII letters, as Ruby does.
func foldEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// lower changes ASCII letters only: Puppet folds no others.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// matchesAny reports whether a Pattern takes s. Each expression is searched for, and
// need not match the whole text. A bare Pattern takes every text.
func (t *Type) matchesAny(s string) bool {
	if len(t.patterns) == 0 {
		return true
	}
	for _, p := range t.patterns {
		if p.Match(s) {
			return true
		}
	}
	return false
}
