package puppettype

import (
	"cmp"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// Assignable reports whether every value of o is one of t. It is never wrongly true. It
// may be false where seeing it takes more than a comparison part by part, as with the
// union of two ranges. The cost may be the product of the alternatives on both sides,
// at each level. The depth is at most 64, since Parse allows no more.
func (t *Type) Assignable(o *Type) bool { return t.assignable(o) }

// assignable first takes unions apart on the right side, since each of their parts must
// fit. Only then it looks at the left side, where one part is enough. The order is a law:
// the other way round would lose unions of unions.
func (t *Type) assignable(o *Type) bool {
	switch {
	// Equal types are assignable without a look inside, which makes the relation
	// reflexive.
	case t.kind == KindAny, t.kind == KindUnit, o.kind == KindUnit, t.Equal(o):
		return true
	// RichData has all of Data. That is said here, since the walk over both would meet
	// itself without end.
	case o.isAlias():
		return t.kind == KindRichData || t.assignable(o.resolved())
	case o.kind == KindVariant:
		return each(o.types, t.assignable)
	case o.kind == KindOptional:
		return t.assignable(undefType) && (o.elem == nil || t.assignable(o.elem))
	case o.kind == KindNotUndef && o.elem != nil:
		if p := o.elem.present(); p.kind != KindNotUndef {
			return t.assignable(p)
		}
		if t.assignable(o.elem) { // which has all that o has, and perhaps undef
			return true
		}
	}
	return t.takes(o)
}

// takes is assignable for an o that holds no union.
func (t *Type) takes(o *Type) bool {
	switch t.kind {
	case KindData, KindRichData:
		return t.resolved().assignable(o)
	// One alternative must take all of o. A union of ranges that only together cover o
	// is not seen.
	case KindVariant:
		return slices.ContainsFunc(t.types, func(alt *Type) bool { return alt.assignable(o) })
	case KindOptional:
		return o.kind == KindUndef || t.elem != nil && t.elem.assignable(o)
	case KindNotUndef:
		return !o.mayBeUndef() && (t.elem == nil || t.elem.assignable(o))
	case KindInit:
		return t.makes(o)
	case KindScalarData:
		return scalarData.has(o.kind)
	case KindScalar:
		return scalar.has(o.kind)
	case KindNumeric:
		return kinds(KindInteger, KindFloat, KindNumeric).has(o.kind)
	case KindCatalogEntry:
		return kinds(KindCatalogEntry, KindClass, KindResource).has(o.kind)
	case KindString, KindEnum, KindPattern:
		return texts.has(o.kind) && t.takesText(o)
	case KindCollection, KindArray, KindHash, KindTuple, KindStruct:
		return t.takesCollection(o)
	// An o that may yield no elements at all, such as a negative number, has no item.
	case KindIterable:
		item := o.item()
		return item != nil && (t.elem == nil || t.elem.assignable(item))
	}
	return t.kind == o.kind && t.takesSame(o)
}

// takesSame compares the parameters of two types of one kind.
func (t *Type) takesSame(o *Type) bool {
	switch t.kind {
	case KindBoolean:
		return t.truth == nil || same(t.truth, o.truth)
	// A bound of 64 bits says nothing of numbers beyond, unless it is open at that end.
	case KindInteger:
		if o.big != nil || t.big != nil {
			return o.big != nil && t.hasBig(o.big)
		}
		return t.ints.covers(o.ints, cmp.Compare)
	case KindTimespan:
		return t.ints.covers(o.ints, cmp.Compare)
	case KindFloat:
		return t.floats.covers(o.floats, cmp.Compare)
	case KindTimestamp:
		return t.times.covers(o.times, time.Time.Compare)
	// Two equal expressions are equal types, and were found before.
	case KindRegexp:
		return len(t.patterns) == 0
	case KindSemVer:
		return t.coversVersions(o)
	case KindSensitive, KindType:
		return t.elem == nil || t.elem.assignable(o.elem.orAny())
	// The words of t have to be the first words of o: Resource['file'] has every
	// File['/etc'].
	case KindClass, KindResource, KindRuntime:
		return len(t.words) <= len(o.words) && slices.Equal(t.words, o.words[:len(t.words)])
	}
	return t.isBare()
}

// makes reports whether an Init makes its type of every value of o. It asks for the
// kind of value alone, where Accepts asks for the value itself.
func (t *Type) makes(o *Type) bool {
	switch {
	case t.elem == nil:
		return bare[KindRichData].assignable(o)
	case t.elem.assignable(o):
		return true
	case o.value != nil:
		return t.initAccepts(*o.value)
	}
	switch t.elem.kind {
	case KindString:
		return t.elem.isBare()
	case KindInteger, KindFloat, KindNumeric:
		return kinds(KindBoolean, KindInteger, KindFloat, KindNumeric, KindTimestamp, KindTimespan).has(o.kind)
	case KindBoolean:
		return kinds(KindInteger, KindFloat, KindNumeric).has(o.kind)
	}
	return false
}

// orAny returns t, or Any for nil: the content of a bare holder.
func (t *Type) orAny() *Type {
	if t == nil {
		return anyType
	}
	return t
}

// each reports whether is holds for all types; it does for none. So a union of no types
// is assignable to every type.
func each(types []*Type, is func(*Type) bool) bool {
	return !slices.ContainsFunc(types, func(t *Type) bool { return !is(t) })
}

// mayBeUndef reports whether undef is, or may be, a value of t.
func (t *Type) mayBeUndef() bool { return t.accepts(nil) }

// present returns t without undef; NotUndef itself where that has no other name.
// Assignability needs it: NotUndef of a union is compared as the union without undef, so
// that no case is written twice.
func (t *Type) present() *Type {
	switch t.kind {
	case KindAny, KindUnit:
		return bare[KindNotUndef]
	case KindUndef:
		return bare[KindVariant]
	case KindData, KindRichData:
		return t.resolved().present()
	case KindOptional, KindNotUndef:
		if t.elem == nil {
			return variantOrBare(t.kind)
		}
		return t.elem.present()
	case KindVariant:
		var alts []*Type
		for _, alt := range t.types {
			alts = append(alts, alt.present())
		}
		return variantOf(alts...)
	}
	if t.mayBeUndef() {
		return wrap(KindNotUndef, t)
	}
	return t
}

// variantOrBare is what is left of a bare Optional or NotUndef without undef.
func variantOrBare(k Kind) *Type {
	if k == KindOptional {
		return bare[KindVariant]
	}
	return bare[KindNotUndef]
}

// takesText compares the types of text.
// A Pattern is compared by its alternatives as they are written. Whether one expression
// finds all that another one finds is not decided here.
func (t *Type) takesText(o *Type) bool {
	if o.kind == KindEnum && !o.fold {
		return !slices.ContainsFunc(o.words, func(w string) bool { return !t.holdsText(w) })
	}
	// A type of one text is compared by that text, with every type of texts.
	if o.value != nil {
		return t.holdsText(*o.value)
	}
	switch t.kind {
	// The lengths of a Pattern are not known, so only a String without bounds takes it.
	case KindString:
		return t.value == nil && (t.size == nil || o.kind != KindPattern && t.size.covers(o.lengths()) || t.size.covers(anySize))
	case KindEnum:
		return t.fold && o.kind == KindEnum && !slices.ContainsFunc(o.words, func(w string) bool { return !t.hasWord(w) })
	}
	if len(t.patterns) == 0 {
		return true
	}
	return o.kind == KindPattern && len(o.patterns) > 0 && !slices.ContainsFunc(o.patterns, func(p *rubyre.Regexp) bool {
		return !slices.ContainsFunc(t.patterns, p.Equal)
	})
}

// count returns how many elements or entries a collection takes. ok is false for all
// other types.
func (t *Type) count() (s Size, ok bool) {
	switch t.kind {
	case KindCollection, KindArray, KindHash:
		return t.size.or(), true
	case KindTuple:
		return t.tupleSize(), true
	case KindStruct:
		return t.structSize(), true
	}
	return Size{}, false
}

// takesCollection compares collections: the sizes first, since a collection of the wrong
// size never fits, then the contents by the kind of t.
func (t *Type) takesCollection(o *Type) bool {
	mine, _ := t.count()
	theirs, ok := o.count()
	if !ok || !mine.covers(theirs) {
		return false
	}
	switch t.kind {
	case KindCollection:
		return true
	case KindArray, KindTuple:
		return t.takesElements(o, theirs)
	case KindHash:
		return t.takesEntries(o, theirs)
	}
	return t.takesMembers(o, theirs)
}

// takesElements compares arrays and tuples position by position.
func (t *Type) takesElements(o *Type, size Size) bool {
	if o.kind != KindArray && o.kind != KindTuple {
		return false
	}
	// The last type of a Tuple repeats, so the longer list of types is enough to
	// compare. Positions that no value of o has do not count.
	positions := min(size.Max, int64(max(1, len(t.types), len(o.types))))
	for i := range int(positions) {
		if !t.element(i).assignable(o.element(i)) {
			return false
		}
	}
	return true
}

// element returns the type of element i of an Array or a Tuple.
func (t *Type) element(i int) *Type {
	if t.kind == KindArray {
		return t.elem
	}
	return t.at(i)
}

// takesEntries compares a Hash with a Hash or a Struct. The empty hash is in every Hash
// that may be empty, whatever its types are.
func (t *Type) takesEntries(o *Type, size Size) bool {
	switch {
	case o.kind != KindHash && o.kind != KindStruct:
		return false
	case size.empty():
		return true
	case o.kind == KindHash:
		return t.key.assignable(o.key) && t.elem.assignable(o.elem)
	}
	return !slices.ContainsFunc(o.members, func(m Member) bool {
		return !t.key.accepts(m.Key) || !t.elem.assignable(m.Type)
	})
}

// takesMembers compares structs key by key. A key that may be missing in o must be allowed
// to miss in t.
func (t *Type) takesMembers(o *Type, size Size) bool {
	if o.kind != KindStruct {
		return o.kind == KindHash && size.empty() // of other hashes the keys are not known
	}
	for _, m := range o.members {
		mine := t.member(m.Key)
		if mine == nil || m.Optional && !mine.Optional || !mine.Type.assignable(m.Type) {
			return false
		}
	}
	// A key that t demands must be a member of o. Whether it may be missing there was
	// compared above.
	return !slices.ContainsFunc(t.members, func(m Member) bool { return !m.Optional && o.member(m.Key) == nil })
}

// item returns the type of the elements that a value of t yields, or nil when the
// value may be without elements.
// The type is only that of a value which always has elements to yield: a negative Integer
// cannot be gone through.
func (t *Type) item() *Type {
	switch t.kind {
	case KindString, KindEnum, KindPattern:
		return oneChar
	case KindInteger:
		if t.ints.lo != nil && *t.ints.lo >= 0 {
			return intType
		}
	case KindCollection:
		return anyType
	case KindIterable:
		return t.elem.orAny()
	case KindArray:
		return t.elem
	case KindTuple:
		if len(t.types) == 0 {
			return anyType
		}
		return variantOf(t.types[:min(int64(len(t.types)), t.tupleSize().Max)]...)
	// An entry is yielded as a list of its key and its value.
	case KindHash:
		return &Type{kind: KindTuple, types: []*Type{t.key, t.elem}}
	case KindStruct:
		h := t.asHash()
		return &Type{kind: KindTuple, types: []*Type{h.key, h.elem}}
	case KindType:
		if t.elem != nil && (t.elem.kind == KindEnum || t.elem.kind == KindInteger && t.elem.ints.lo != nil && t.elem.ints.hi != nil) {
			return t.elem
		}
	}
	return nil
}

// asHash returns the Hash that has all values of a Struct.
func (t *Type) asHash() *Type {
	if len(t.members) == 0 {
		return emptyHash
	}
	keys, values := make([]*Type, len(t.members)), make([]*Type, len(t.members))
	for i, m := range t.members {
		keys[i], values[i] = newLiteral(m.Key), m.Type
	}
	size := t.structSize()
	return newHash(variantOf(keys...), variantOf(values...), &size)
}
