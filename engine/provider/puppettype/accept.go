package puppettype

import (
	"cmp"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Accepts reports whether v is a value of t. It does not allocate for a scalar, and
// does not alter v. The cost grows with the value, times the alternatives of the
// Variants around it. Nothing is converted: the text '1' is not an Integer, as in a
// catalog of Puppet.
func (t *Type) Accepts(v any) bool { return t.accepts(settle(v)) }

// accepts is Accepts for a settled value.
func (t *Type) accepts(v any) bool {
	switch t.kind {
	// Unit is the type of the elements of an empty collection, so no value ever comes
	// to it.
	case KindAny, KindUnit:
		return true
	case KindUndef:
		return v == nil
	case KindOptional:
		return v == nil || t.elem != nil && t.elem.accepts(v)
	case KindNotUndef:
		return v != nil && (t.elem == nil || t.elem.accepts(v))
	case KindVariant:
		return t.anyAccepts(v)
	case KindInit:
		return t.initAccepts(v)
	case KindIterable:
		return t.iterates(v)
	case KindScalarData:
		return scalarData.has(kindOf(v))
	case KindScalar:
		return scalar.has(kindOf(v))
	// The aliases do not go through their written form; see isData.
	case KindData:
		return isData(v)
	case KindRichData:
		return isRichData(v)
	}
	return t.holds(v)
}

// anyAccepts reports whether one alternative of a Variant takes v. A bare Variant has no
// alternative, so it takes nothing.
func (t *Type) anyAccepts(v any) bool {
	for _, alt := range t.types {
		if alt.accepts(v) {
			return true
		}
	}
	return false
}

// holds is accepts for the kinds that have values of their own.
func (t *Type) holds(v any) bool {
	switch v := v.(type) {
	case bool:
		return t.kind == KindBoolean && (t.truth == nil || *t.truth == v)
	// An Integer with big has one value, and that is beyond 64 bits.
	case int64:
		return t.kind == KindNumeric || t.kind == KindInteger && t.big == nil && t.ints.has(v, cmp.Compare)
	case *big.Int:
		return t.kind == KindNumeric || t.kind == KindInteger && t.hasBig(v)
	// NaN is unequal to itself, and is of no type of numbers. Infinity is a Float.
	case float64:
		return t.kind == KindNumeric && v == v || t.kind == KindFloat && hasFloat(t.floats, v)
	case string:
		return t.holdsText(v)
	case []any:
		return t.holdsList(v)
	case map[string]any:
		return t.holdsHash(len(v)) && t.holdsEntries(v)
	case Map:
		return t.holdsHash(len(v)) && t.holdsMap(v)
	case time.Time:
		return t.kind == KindTimestamp && t.times.has(v, time.Time.Compare)
	case time.Duration:
		return t.kind == KindTimespan && t.ints.has(int64(v), cmp.Compare)
	case Version:
		return t.kind == KindSemVer && t.hasVersion(v)
	// A Regexp with an expression has that one value; it does not search in text.
	case *rubyre.Regexp:
		return t.kind == KindRegexp && (len(t.patterns) == 0 || t.patterns[0].Equal(v))
	case *Type:
		return t.kind == KindType && (t.elem == nil || t.elem.Assignable(v))
	// The content may be of any Go type, so Accepts settles it first.
	case schema.Secret:
		return t.kind == KindSensitive && t.elem.orAny().acceptsText(v.Reveal())
	case Sensitive:
		return t.kind == KindSensitive && t.elem.orAny().Accepts(v.Reveal())
	}
	if t.kind == KindRuntime {
		return t.assignable(infer(v))
	}
	return t.kind == kindOf(v)
}

// acceptsText is accepts for a string, which most types need not box.
func (t *Type) acceptsText(s string) bool {
	if texts.has(t.kind) {
		return t.holdsText(s)
	}
	return t.accepts(s)
}

// holdsText is holds for a string. A length counts characters, not bytes, as Ruby does for
// text in UTF-8.
func (t *Type) holdsText(s string) bool {
	switch t.kind {
	case KindString:
		return (t.value == nil || *t.value == s) && (t.size == nil || t.size.has(int64(utf8.RuneCountInString(s))))
	case KindEnum:
		return t.hasWord(s)
	case KindPattern:
		return t.matchesAny(s)
	}
	return false
}

// holdsList is holds for a list: first the number of elements, which costs nothing, then
// each element against the type of its position.
func (t *Type) holdsList(list []any) bool {
	switch t.kind {
	case KindCollection, KindArray:
		if !t.size.or().has(int64(len(list))) {
			return false
		}
	case KindTuple:
		if !t.tupleSize().has(int64(len(list))) {
			return false
		}
	default:
		return false
	}
	// A Collection says nothing of its elements, so all of them pass.
	for i, v := range list {
		if t.kind == KindArray && !t.elem.Accepts(v) || t.kind == KindTuple && !t.at(i).Accepts(v) {
			return false
		}
	}
	return true
}

// holdsHash reports whether t takes a hash of n entries. A Struct counts its keys
// later, with the walk over its members.
func (t *Type) holdsHash(n int) bool {
	switch t.kind {
	case KindCollection, KindHash:
		return t.size.or().has(int64(n))
	}
	return t.kind == KindStruct
}

// holdsEntries checks the keys and values of a hash. A Struct takes exactly its
// members: the count at the end finds keys that it does not know, without a second
// walk.
func (t *Type) holdsEntries(m map[string]any) bool {
	switch t.kind {
	case KindHash:
		for key, v := range m {
			if !t.key.accepts(key) || !t.elem.Accepts(v) {
				return false
			}
		}
	case KindStruct:
		found := 0
		for i := range t.members {
			v, ok := m[t.members[i].Key]
			if ok && !t.members[i].Type.Accepts(v) || !ok && !t.members[i].Optional {
				return false
			}
			if ok {
				found++
			}
		}
		return found == len(m)
	}
	return true
}

// holdsMap is holdsEntries for a hash whose keys need not be text. A Struct takes such a
// hash only where all keys are text after all.
func (t *Type) holdsMap(m Map) bool {
	switch t.kind {
	case KindHash:
		for _, e := range m {
			if !t.key.Accepts(e.Key) || !t.elem.Accepts(e.Value) {
				return false
			}
		}
	case KindStruct:
		byKey, ok := m.texts()
		return ok && t.holdsEntries(byKey)
	}
	return true
}

// texts returns m with text keys, if it has no others.
func (m Map) texts() (map[string]any, bool) {
	out := make(map[string]any, len(m))
	for _, e := range m {
		key, ok := settle(e.Key).(string)
		if !ok {
			return nil, false
		}
		out[key] = e.Value
	}
	return out, true
}

// kindOf returns the kind of the narrowest type that a settled value has.
// The order of the cases does not matter: each Go type is of one kind. A value of a
// foreign Go type is Runtime.
func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return KindUndef
	case bool:
		return KindBoolean
	case int64, *big.Int:
		return KindInteger
	case float64:
		return KindFloat
	case string:
		return KindString
	case []any:
		return KindArray
	case map[string]any, Map:
		return KindHash
	case Default:
		return KindDefault
	case *rubyre.Regexp:
		return KindRegexp
	case time.Time:
		return KindTimestamp
	case time.Duration:
		return KindTimespan
	case Version:
		return KindSemVer
	case *VersionRange:
		return KindSemVerRange
	case []byte:
		return KindBinary
	case URI:
		return KindURI
	case *Type:
		return KindType
	}
	if _, ok := revealed(v); ok {
		return KindSensitive
	}
	return KindRuntime
}

// isData reports whether a settled value is of the alias Data at every depth. It is
// written out, since a walk over the alias would compare each level with four
// alternatives.
func isData(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return all(v, isData)
	case map[string]any:
		for _, item := range v {
			if !isData(settle(item)) {
				return false
			}
		}
		return true
	case Map:
		byKey, ok := v.texts()
		return ok && isData(byKey)
	}
	return scalarData.has(kindOf(v))
}

// isRichData is isData for RichData: every value but those of other programs, in hashes
// whose keys are text or numbers.
func isRichData(v any) bool {
	switch v := v.(type) {
	case []any:
		return all(v, isRichData)
	case map[string]any:
		for _, item := range v {
			if !isRichData(settle(item)) {
				return false
			}
		}
		return true
	case Map:
		for _, e := range v {
			key := kindOf(settle(e.Key))
			if key != KindString && key != KindInteger && key != KindFloat || !isRichData(settle(e.Value)) {
				return false
			}
		}
		return true
	}
	return kindOf(v) != KindRuntime
}

// all reports whether is holds for each element, settled; it stops at the first that
// fails.
func all(list []any, is func(any) bool) bool {
	for _, v := range list {
		if !is(settle(v)) {
			return false
		}
	}
	return true
}

// iterates reports whether v can be gone through, yielding only what t.elem takes. As
// in Puppet, text yields its characters, and a number n yields the numbers from 0 up to
// n-1. A type yields its values if it is an Enum or a range with two ends.
func (t *Type) iterates(v any) bool {
	switch v := v.(type) {
	case []any:
		return t.elem == nil || all(v, t.elem.accepts)
	case map[string]any, Map:
		return t.elem == nil || t.iteratesPairs(v)
	case string:
		return t.elem == nil || t.elem.assignable(oneChar)
	case int64:
		return v >= 0 && (t.elem == nil || t.elem.assignable(intType))
	case *big.Int:
		return v.Sign() >= 0 && (t.elem == nil || t.elem.assignable(intType))
	// The rule for types is written once, in item, and assignable asks for it.
	case *Type:
		return t.assignable(wrap(KindType, v))
	}
	return false
}

// iteratesPairs goes through a hash as Puppet does: each entry is a list of its key and
// its value.
func (t *Type) iteratesPairs(v any) bool {
	es, _ := entries(v)
	for _, e := range es {
		if !t.elem.accepts([]any{e.Key, e.Value}) {
			return false
		}
	}
	return true
}

// initAccepts reports whether t.elem can be made from v. Only conversions without a
// further argument count; Deviations says so. A bare Init has no type to make, so it
// takes all values that a catalog can carry.
func (t *Type) initAccepts(v any) bool {
	if t.elem == nil {
		return isRichData(v)
	}
	if t.elem.accepts(v) {
		return true
	}
	switch t.elem.kind {
	case KindString:
		return t.elem.isBare()
	case KindInteger, KindFloat, KindNumeric:
		return makesNumber(v, t.elem.kind)
	case KindBoolean:
		return makesBoolean(v)
	}
	return false
}

// makesNumber reports whether Puppet's new() makes a number of kind k of v. A text with a
// fraction makes no Integer, as in Puppet.
func makesNumber(v any, k Kind) bool {
	switch v := v.(type) {
	case bool, int64, float64, *big.Int, time.Time, time.Duration:
		return true
	case string:
		n, ok := parseNumber(v)
		_, float := n.(float64)
		return ok && (!float || k != KindInteger)
	}
	return false
}

// makesBoolean reports whether Puppet's new() makes a Boolean of v: of every number, and
// of six words without regard to case.
func makesBoolean(v any) bool {
	switch v := v.(type) {
	case int64, float64, *big.Int:
		return true
	case string:
		switch strings.ToLower(v) {
		case "true", "false", "yes", "no", "y", "n":
			return true
		}
	}
	return false
}
