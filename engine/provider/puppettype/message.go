package puppettype

import (
	"fmt"
	"slices"
	"strings"
)

// message says the expected type and the found one, without the place. The words are
// Puppet's, apart from those in Deviations. Types are shown in their normal form.
func (f finding) message() string {
	switch f.class {
	case findSize:
		return fmt.Sprintf("expects size to be %s, got %s", f.want, f.got)
	case findMissing:
		return fmt.Sprintf("expects a value for key '%s'", f.key)
	case findUnknown:
		return fmt.Sprintf("unrecognized key '%s'", f.key)
	case findPattern:
		return patternMessage(f.expected.normal(), f.actual.normal())
	}
	return typeMessage(f.expected.normal(), f.actual.normal())
}

// String describes a size.
func (s Size) String() string {
	switch {
	case s.Min == s.Max:
		return fmt.Sprint(s.Min)
	case s.Min == 0 && s.Max == noLimit:
		return "unlimited"
	case s.Min == 0:
		return fmt.Sprintf("at most %d", s.Max)
	case s.Max == noLimit:
		return fmt.Sprintf("at least %d", s.Min)
	}
	return fmt.Sprintf("between %d and %d", s.Min, s.Max)
}

// patternMessage is about text that fits neither words nor patterns: it shows the text,
// which is what the user must change.
func patternMessage(expected, actual *Type) string {
	undef := ""
	if expected.kind == KindOptional {
		expected, undef = expected.elem, "an undef value or "
	}
	got := actual.shortName()
	if actual.value != nil {
		got = "'" + shorten(*actual.value) + "'"
	}
	return fmt.Sprintf("expects %sa match for %s, got %s", undef, expected, got)
}

// typeMessage names the expected types and the found one: by their names alone where these
// differ, in full where only the bounds do.
func typeMessage(expected, actual *Type) string {
	optional := expected.kind == KindOptional && expected.elem != nil
	// Undef is named first, as Puppet writes it.
	if optional {
		expected = expected.elem
	}
	alts := []*Type{expected}
	if expected.kind == KindVariant && len(expected.types) > 0 {
		alts = expected.types
	}
	names, got := inShort(alts, actual)
	if detailed(alts, actual) {
		names, got = inFull(alts, actual)
	}
	if optional {
		names = append([]string{"Undef"}, names...)
	}
	if len(names) == 1 {
		return fmt.Sprintf("expects %s %s value, got %s", article(names[0]), names[0], got)
	}
	return fmt.Sprintf("expects a value of type %s, got %s", listed(names), got)
}

// listed writes "a or b", "a, b, or c". Two names have no comma, and three or more have
// one before the or.
func listed(names []string) string {
	last := len(names) - 1
	if last == 1 {
		return names[0] + " or " + names[1]
	}
	return strings.Join(names[:last], ", ") + ", or " + names[last]
}

// article is the word before a name. Puppet goes by the first letter, so it is "an URI".
func article(name string) string {
	if strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an"
	}
	return "a"
}

// shortName is the name of a type without its bounds; a type that holds one type
// says which.
func (t *Type) shortName() string {
	switch t.kind {
	case KindOptional, KindNotUndef, KindSensitive, KindType, KindIterable, KindInit:
		if t.elem != nil && t.elem.kind != KindAny {
			return t.kind.String() + "[" + t.elem.kind.String() + "]"
		}
	}
	return t.kind.String()
}

// inShort names types without bounds, each name once.
func inShort(alts []*Type, actual *Type) (names []string, got string) {
	for _, alt := range alts {
		if name := alt.shortName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, actual.shortName()
}

// inFull names types with their bounds. Of the value it shows the bounds only where they
// explain the refusal.
func inFull(alts []*Type, actual *Type) (names []string, got string) {
	for _, alt := range alts {
		names = append(names, alt.String())
	}
	alts = apply(alts, (*Type).resolved)
	// If the value would fit without its bounds, then its bounds are the reason.
	general := actual.general()
	if alike(alts, actual) || slices.ContainsFunc(alts, func(alt *Type) bool { return alt.assignable(general) }) {
		return names, actual.String()
	}
	return names, actual.kind.String()
}

// detailed reports whether names alone would say too little: the value is of the right
// kind, and out of bounds. A message "expects Integer, got Integer" would help no reader.
func detailed(alts []*Type, actual *Type) bool {
	return alike(alts, actual) || slices.ContainsFunc(alts, func(alt *Type) bool { return alt.resolved().family(actual) })
}

// alike reports whether one of alts is of the kind of actual. An alias counts as alike
// with everything, since its parts may be of any kind.
func alike(alts []*Type, actual *Type) bool {
	return slices.ContainsFunc(alts, func(alt *Type) bool {
		return alt.kind == actual.kind || alt.isAlias() || actual.isAlias() ||
			alt.kind == KindStruct && actual.kind == KindHash || alt.kind == KindTuple && actual.kind == KindArray
	})
}

// family reports whether actual would fit if t had no parameters. So text out of a
// Pattern is of its family, and a number is not.
func (t *Type) family(actual *Type) bool {
	switch t.kind {
	case KindEnum, KindPattern:
		return texts.has(actual.kind)
	case KindOptional:
		return true
	case KindVariant:
		return false
	}
	return bare[t.kind].assignable(actual)
}
