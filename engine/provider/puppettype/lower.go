package puppettype

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Lower returns the schema.Type that says as much of t as it can: Lift checks the rest.
// A union of kinds is KindAny; so is a number of either sort. A type whose values are
// written as text (a Timestamp, a SemVer, a Binary) is a KindString, a Sensitive a
// secret. All texts are secret in a union of kinds with a Sensitive in it. Integers
// have 64 bits; a Timespan is below 0 only where its own bound says so. The Name of the
// result is the text of t, so pages show Puppet's notation.
func (t *Type) Lower() *schema.Type {
	st := lowered(t.normal())
	st.Name = t.String()
	return st
}

// lowered is Lower without the name. It does not fail: a type that a schema.Type cannot say
// becomes KindAny, and Lift checks the rest.
func lowered(t *Type) *schema.Type {
	switch t.kind {
	case KindBoolean:
		return &schema.Type{Kind: schema.KindBool}
	case KindInteger:
		return &schema.Type{Kind: schema.KindInt, Bits: 64, Min: t.ints.lo, Max: t.ints.hi}
	case KindFloat:
		return &schema.Type{Kind: schema.KindFloat, Bits: 64, FloatMin: finite(t.floats.lo), FloatMax: finite(t.floats.hi)}
	case KindTimespan:
		return &schema.Type{Kind: schema.KindDuration, Unit: "s", Min: t.ints.lo, Max: t.ints.hi}
	case KindOptional:
		return lowerOptional(t)
	case KindSensitive:
		return &schema.Type{Kind: schema.KindString, Secret: true}
	case KindArray, KindTuple, KindHash, KindStruct:
		return lowerCollection(t)
	}
	if inText(t) {
		return lowerText(t)
	}
	// A secret inside must stay hidden even though its place is not known.
	return &schema.Type{Kind: schema.KindAny, Secret: hides(t)}
}

// hides reports whether a value of t may have a Sensitive in it, by the type. An alias
// hides nothing by its name, so a union such as RichData lowers without a secret.
func hides(t *Type) bool {
	if t == nil {
		return false
	}
	return t.kind == KindSensitive || hides(t.key) || hides(t.elem) || slices.ContainsFunc(t.types, hides) ||
		slices.ContainsFunc(t.members, func(m Member) bool { return hides(m.Type) })
}

// inText reports whether every value of t is written as text.
func inText(t *Type) bool {
	switch t.kind {
	case KindString, KindEnum, KindPattern, KindRegexp, KindTimestamp, KindSemVer, KindSemVerRange, KindBinary, KindURI, KindType:
		return true
	case KindVariant:
		return len(t.types) > 0 && each(t.types, func(alt *Type) bool { return texts.has(alt.kind) })
	}
	return false
}

// lowerText states the words or the lengths. Case that counts nothing cannot be said, so
// such words are left to Lift.
func lowerText(t *Type) *schema.Type {
	st := &schema.Type{Kind: schema.KindString}
	switch {
	case t.kind == KindEnum && !t.fold:
		st.Enum = t.words
	case t.value != nil:
		st.Enum = []string{*t.value}
	case t.kind == KindString:
		st.Min, st.Max = limits(t.size)
	case t.kind == KindSemVer: // the ranges are left to Lift
		st.Format = "semver"
	}
	return st
}

// finite returns a bound of a Float, nil for none. A bound that is infinite excludes no
// number, and a schema.Type has no notation for it.
func finite(bound *float64) *float64 {
	if bound == nil || math.IsInf(*bound, 0) {
		return nil
	}
	return bound
}

// limits are the bounds of a length; a bound that excludes nothing is nil. They point
// into s, so the caller must own it or never alter it; a Type is never altered.
func limits(s *Size) (lo, hi *int64) {
	if s != nil && s.Min > 0 {
		lo = &s.Min
	}
	if s != nil && s.Max != noLimit {
		hi = &s.Max
	}
	return lo, hi
}

// lowerOptional lowers the type inside. A bare Optional has only undef, which any optional
// field may be.
func lowerOptional(t *Type) *schema.Type {
	if t.elem == nil {
		return &schema.Type{Kind: schema.KindAny, Optional: true}
	}
	st := lowered(t.elem)
	st.Optional = true
	return st
}

// lowerCollection lowers lists, hashes and structs with the types inside. A hash whose
// keys are not text is KindAny, since a graph is written in YAML or JSON, where keys are
// text.
func lowerCollection(t *Type) *schema.Type {
	size, _ := t.count()
	lo, hi := limits(&size)
	switch {
	case t.kind == KindArray:
		return &schema.Type{Kind: schema.KindList, Elem: lowered(t.elem), Min: lo, Max: hi}
	case t.kind == KindTuple:
		return &schema.Type{Kind: schema.KindList, Elem: lowerElem(variantOf(t.types...)), Min: lo, Max: hi}
	case t.kind == KindHash && !stringType.assignable(t.key):
		// A Hash of any keys is written with text keys, so a map is enough.
		if t.key.kind == KindAny {
			return &schema.Type{Kind: schema.KindMap, Elem: lowered(t.elem), Min: lo, Max: hi}
		}
		return &schema.Type{Kind: schema.KindAny, Secret: hides(t)}
	case t.kind == KindHash:
		return &schema.Type{Kind: schema.KindMap, Elem: lowered(t.elem), Min: lo, Max: hi}
	}
	st := &schema.Type{Kind: schema.KindStruct}
	for _, m := range t.members {
		st.Fields = append(st.Fields, &schema.Field{Key: m.Key, Type: m.lower(), Required: !m.Optional})
	}
	return st
}

// lower returns the type of a key; a missing key does not have its zero value then. So
// an absent key is nil, and differs from an empty text or 0.
func (m Member) lower() *schema.Type {
	st := lowered(m.Type)
	st.Optional = st.Optional || m.Optional
	return st
}

// lowerElem lowers the union of the elements of a Tuple.
func lowerElem(t *Type) *schema.Type { return lowered(t.normal()) }

// AsSensitive returns the type of an attribute that is of type t and must not be shown.
// Its values are wrapped, it lowers to a secret, and no message shows it. Undef stays
// outside of the wrapping. A type that is Sensitive already stays as it is, so a second
// call changes nothing.
func (t *Type) AsSensitive() *Type {
	switch {
	case t.kind == KindSensitive:
		return t
	case t.kind == KindOptional && t.elem != nil:
		return newOptional(t.elem.AsSensitive())
	}
	return wrap(KindSensitive, t)
}

// Lift returns a plain value of t.Lower() as a value of t, checked: text becomes a
// Timestamp, and so on. A secret that is to hold more than text is read as CleanText
// does, or as JSON. The error is a *Mismatch. It returns the converted value also with
// an error. It never alters v.
func (t *Type) Lift(subject string, v any) (any, error) {
	v = lift(t, settle(v))
	return v, t.Check(subject, v)
}

// lift converts all that it can, and leaves values alone that do not fit.
func lift(t *Type, v any) any {
	switch t.kind {
	case KindVariant:
		return liftVariant(t, v)
	case KindOptional, KindNotUndef:
		return lift(t.elem.orAny(), v)
	}
	switch v := v.(type) {
	case []any:
		if t.kind == KindSensitive {
			return liftInside(t, v)
		}
		return liftList(t, v)
	case map[string]any:
		if t.kind == KindSensitive {
			return liftInside(t, v)
		}
		return liftHash(t, v)
	case string:
		return liftText(t, v)
	case schema.Secret:
		return liftSecret(t, v)
	// YAML and JSON write 1 for 1.0, and a Float of Puppet takes no Integer.
	case int64:
		if t.kind == KindFloat {
			return float64(v)
		}
	}
	return v
}

// liftVariant prefers the value as it is: a text is a String before it is a Timestamp.
// Else the first alternative that can read it takes it.
func liftVariant(t *Type, v any) any {
	if t.accepts(v) {
		return v
	}
	for _, alt := range t.types {
		if read := settle(lift(alt, v)); alt.accepts(read) {
			return read
		}
	}
	return v
}

// liftList lifts each element as the type of its position.
func liftList(t *Type, list []any) any {
	if !t.listed() {
		return list
	}
	// The list is copied, because the plain value belongs to the resource.
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = lift(t.element(i), settle(v))
	}
	return out
}

// liftHash lifts each value. A member that must be there and may be undef gets undef,
// since a plain struct cannot hold it.
func liftHash(t *Type, m map[string]any) any {
	if !t.hashed() {
		return m
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		elem := t.elem.orAny()
		if member := t.member(key); member != nil {
			elem = member.Type
		}
		out[key] = lift(elem, settle(v))
	}
	for _, m := range t.members {
		if _, ok := out[m.Key]; !ok && !m.Optional && m.Type.mayBeUndef() {
			out[m.Key] = nil // a plain struct does not hold a null
		}
	}
	return out
}

// readers read the values that are written as text.
var readers = map[Kind]func(string) (any, error){
	KindTimestamp:   func(s string) (any, error) { return ParseTimestamp(s) },
	KindTimespan:    func(s string) (any, error) { return ParseTimespan(s) },
	KindSemVer:      func(s string) (any, error) { return ParseVersion(s) },
	KindSemVerRange: func(s string) (any, error) { return ParseVersionRange(s) },
	KindBinary:      func(s string) (any, error) { return base64.StdEncoding.DecodeString(s) },
	KindURI:         func(s string) (any, error) { return URI(s), nil },
	KindRegexp:      func(s string) (any, error) { return rubyre.New(trimSlashes(s)) },
}

// trimSlashes takes an expression out of its slashes, as it is written in a manifest.
func trimSlashes(s string) string {
	if len(s) > 1 && s[0] == '/' && strings.HasSuffix(s, "/") {
		return strings.ReplaceAll(s[1:len(s)-1], `\/`, "/")
	}
	return s
}

// liftText reads a text as the kind of t. A text that cannot be read stays, and the check
// that follows names it.
func liftText(t *Type, s string) any {
	switch t.kind {
	case KindDefault:
		if s == "default" {
			return Default{}
		}
	// The text of a type is a value, as in Type[Integer].
	case KindType:
		if read, err := Parse(s); err == nil {
			return read
		}
	}
	if read := readers[t.kind]; read != nil {
		if v, err := read(s); err == nil {
			return v
		}
	}
	return s
}

// liftInside makes a collection of secrets the content of the Sensitive; another one
// stays outside. In a Variant that holds a Sensitive all texts are secrets.
func liftInside(t *Type, v any) any {
	if inside := lift(t.elem.orAny(), v); secretive(v) && t.elem.orAny().Accepts(inside) {
		return NewSensitive(inside)
	}
	return v
}

// secretive reports whether a collection of plain values has a secret in it.
func secretive(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, secretive)
	case map[string]any:
		for _, e := range v {
			if secretive(e) {
				return true
			}
		}
	}
	_, ok := v.(schema.Secret)
	return ok
}

// liftSecret reads the text of a secret as the content of the Sensitive. Another type
// takes the text, if it takes it at all.
func liftSecret(t *Type, s schema.Secret) any {
	if t.kind != KindSensitive {
		if v := settle(lift(t, s.Reveal())); t.accepts(v) {
			return v
		}
		return s
	}
	if t.elem == nil || t.elem.accepts(s.Reveal()) {
		return s
	}
	// The text is read as a word of a command line first. JSON is tried only after
	// that.
	if v, err := t.elem.cleanText("", settle(lift(t.elem, s.Reveal()))); err == nil {
		return NewSensitive(v)
	}
	if v, ok := readJSON(s.Reveal()); ok {
		if v = lift(t.elem, v); t.elem.Accepts(v) {
			return NewSensitive(v)
		}
	}
	return s
}

// readJSON reads a value that is written as JSON. Text behind the value is refused, so
// that a part of a secret is never taken for all of it.
func readJSON(text string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, false
	}
	return counted(v), true
}

// counted makes a number of each that JSON has.
func counted(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := parseNumber(v.String()); ok {
			return n
		}
	case []any:
		return apply(v, counted)
	case map[string]any:
		for key := range v {
			v[key] = counted(v[key])
		}
	}
	return v
}
