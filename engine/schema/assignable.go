package schema

import (
	"fmt"
	"slices"
)

// Assignable returns nil if a value of type from may be sent to a field of type to.
// Else the error says both types. The kinds must be the same all the way down. A Secret
// and plain text go both ways, and anything goes to and from KindAny, which is checked
// when it is sent. Enumerations, bounds, and the width of a number are checked when it
// is sent, too.
func Assignable(from, to *Type) error {
	if fits(from, to) {
		return nil
	}
	return fmt.Errorf("%s cannot be sent where %s is needed", from.sort(), to.sort())
}

// fits is Assignable without the words.
func fits(from, to *Type) bool { return comparison{}.fits(from, to) }

// fits compares the kinds of two types all the way down. Two structs that are being
// compared further up are taken to fit, so types that contain themselves end.
func (c comparison) fits(from, to *Type) bool {
	switch {
	case from == nil || to == nil:
		return false
	case from.Kind == KindAny || to.Kind == KindAny:
		return true
	case from.Kind != to.Kind:
		return false
	case from.Kind == KindList || from.Kind == KindMap:
		return c.fits(from.Elem, to.Elem)
	// A target is compared only where both sides name one.
	case from.Kind == KindRef:
		return from.Target == to.Target || from.Target == "" || to.Target == ""
	case from.Kind == KindStruct:
		return c.fitsStruct(from, to)
	}
	return true
}

// fitsStruct reports whether to has each key of from, and from each that to
// requires.
func (c comparison) fitsStruct(from, to *Type) bool {
	if from.Link != nil || to.Link != nil {
		from, to = from.linked(), to.linked()
		if slices.Contains(c, [2]*Type{from, to}) {
			return true
		}
		c = append(slices.Clip(c), [2]*Type{from, to})
	}
	for _, f := range from.Fields {
		// Field finds aliases and names in Go too; a sent value has keys only.
		g := to.Field(f.Key)
		if g == nil || g.Key != f.Key || !c.fits(f.Type, g.Type) {
			return false
		}
	}
	for _, g := range to.Fields {
		if f := from.Field(g.Key); g.Required && (f == nil || f.Key != g.Key) {
			return false
		}
	}
	return true
}

// sort describes the kind of a type without its bounds, words and examples.
func (t *Type) sort() string {
	if t == nil {
		return "nothing"
	}
	switch t.Kind {
	case KindDuration:
		return "a length of time"
	case KindSize:
		return "a size"
	case KindMode:
		return "a mode"
	case KindRef:
		if t.Target != "" {
			return "a reference to " + t.Target
		}
		return "a reference"
	}
	bare := *t
	bare.Enum, bare.Pattern, bare.Format, bare.Optional = nil, "", "", false
	bare.Min, bare.Max, bare.FloatMin, bare.FloatMax = nil, nil, nil, nil
	return bare.String()
}
