package schema

import (
	"fmt"
	"strings"
	"time"
)

// String names the values of the type for a message: "a whole number from 1 to 64",
// "one of exists, absent", "a list of text". It says nothing of a value in hand, so it
// may stand in any message.
func (t *Type) String() string {
	if t == nil {
		return "nothing"
	}
	s := t.one()
	if t.Optional && t.Kind != KindAny {
		s += " or null"
	}
	return s
}

// oneOf are the kinds in the singular, each with an example where the notation is not
// plain.
var oneOf = [NumKinds]string{
	KindAny:      "any value",
	KindBool:     "true or false",
	KindInt:      "a whole number",
	KindFloat:    "a number",
	KindString:   "text",
	KindDuration: "a length of time such as 500ms or 1h30m",
	KindSize:     "a size such as 64k or 10MiB",
	KindMode:     `a mode such as "0644" or u=rwX,go=rX`,
	KindRef:      "a reference such as file[/etc/motd]",
	KindList:     "a list",
	KindMap:      "a map",
	KindStruct:   "a map",
}

// manyOf are the kinds in the plural, as the elements of a list.
var manyOf = [NumKinds]string{
	KindAny:      "anything",
	KindBool:     "true or false",
	KindInt:      "whole numbers",
	KindFloat:    "numbers",
	KindString:   "text",
	KindDuration: "lengths of time",
	KindSize:     "sizes",
	KindMode:     "modes",
	KindRef:      "references",
	KindList:     "lists",
	KindMap:      "maps",
	KindStruct:   "maps",
}

// maxKeysShown bounds the keys that a struct's description lists.
const maxKeysShown = 8

// one names a single value with its bounds. A list names its elements, but not theirs
// in full, so the text stays short.
func (t *Type) one() string {
	if int(t.Kind) >= NumKinds {
		return "an unknown type"
	}
	switch t.Kind {
	case KindString:
		return t.oneText() + t.bounds() + t.matching()
	case KindRef:
		if t.Target != "" {
			return fmt.Sprintf("a reference such as %s[name]", t.Target)
		}
	case KindList, KindMap:
		if t.Elem.Kind != KindAny {
			return oneOf[t.Kind] + " of " + t.Elem.many() + t.bounds() + t.onlyKeys()
		}
		return oneOf[t.Kind] + t.bounds() + t.onlyKeys()
	case KindStruct:
		if keys := t.Keys(); len(keys) > maxKeysShown {
			return "a map with the keys " + strings.Join(keys[:maxKeysShown], ", ") + " ..."
		} else if len(keys) > 0 {
			return "a map with the keys " + strings.Join(keys, ", ")
		}
	}
	return oneOf[t.Kind] + t.bounds()
}

// onlyKeys names the keys that a map takes, beginning with a space; nothing where it takes every one.
func (t *Type) onlyKeys() string {
	if len(t.Enum) == 0 {
		return ""
	}
	return " with the keys " + strings.Join(t.Enum, ", ")
}

// oneText prefers the most exact description: the words, then the format.
func (t *Type) oneText() string {
	switch {
	case len(t.Enum) > 0:
		return "one of " + strings.Join(t.Enum, ", ")
	case t.Format != "":
		return Formats[t.Format].One
	case t.Secret:
		return "secret text"
	}
	return oneOf[t.Kind]
}

// matching describes Pattern, beginning with a space.
func (t *Type) matching() string {
	if t.Pattern == "" {
		return ""
	}
	return " that matches " + t.Pattern
}

// many names several values, without their bounds.
func (t *Type) many() string {
	switch {
	case t.Format != "":
		return Formats[t.Format].Many
	case len(t.Enum) > 0 && t.Kind != KindMap:
		return strings.Join(t.Enum, ", ")
	case t.Secret:
		return "secret text"
	case t.Elem != nil && t.Elem.Kind != KindAny:
		return manyOf[t.Kind] + " of " + t.Elem.many()
	}
	return manyOf[t.Kind]
}

// bounds describes Min and Max, beginning with a space; the lower bound that
// every duration, size and length has goes without saying.
func (t *Type) bounds() string {
	if t.Kind == KindFloat {
		return t.floatBounds()
	}
	lo := t.Min
	if lo != nil && *lo == 0 && t.Kind != KindInt {
		lo = nil
	}
	noun := t.countNoun()
	switch {
	case lo == nil && t.Max == nil:
		return ""
	case t.Max == nil:
		return fmt.Sprintf(" of at least %s%s", t.number(*lo), plural(noun, *lo))
	case lo == nil:
		return fmt.Sprintf(" of at most %s%s", t.number(*t.Max), plural(noun, *t.Max))
	case noun != "":
		return fmt.Sprintf(" of %d to %d%s", *lo, *t.Max, plural(noun, *t.Max))
	default:
		return fmt.Sprintf(" from %s to %s", t.number(*lo), t.number(*t.Max))
	}
}

// floatBounds is bounds for numbers with a point.
func (t *Type) floatBounds() string {
	lo, hi := t.FloatMin, t.FloatMax
	switch {
	case lo == nil && hi == nil:
		return ""
	case hi == nil:
		return " of at least " + formatFloat(*lo)
	case lo == nil:
		return " of at most " + formatFloat(*hi)
	default:
		return fmt.Sprintf(" from %s to %s", formatFloat(*lo), formatFloat(*hi))
	}
}

// countNoun is what the bounds of a length count.
func (t *Type) countNoun() string {
	switch t.Kind {
	case KindString:
		return " character"
	case KindList:
		return " element"
	case KindMap:
		return " key"
	}
	return ""
}

// plural adds an s, which is enough for the nouns that are counted here.
func plural(noun string, n int64) string {
	if noun == "" || n == 1 {
		return noun
	}
	return noun + "s"
}

// number writes a bound as the user would.
func (t *Type) number(n int64) string {
	switch t.Kind {
	case KindDuration:
		return FormatDuration(time.Duration(n))
	case KindSize:
		return Size(n).String()
	}
	return fmt.Sprint(n)
}
