package expr

import (
	"slices"

	"cel.dev/cel-go/common/types"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// texts are the kinds of values that stand in a text, or are read as one.
var texts = []types.Kind{types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind}

// numbers are the kinds of numbers.
var numbers = []types.Kind{types.IntKind, types.UintKind, types.DoubleKind}

// Fits reports whether a value of this type may be one of a type of schema. Where only the value can tell, it may: schema.Decode judges values.
func (t Type) Fits(s *schema.Type) bool {
	c := t.of()
	if c.TypeName() == types.OptionalType.TypeName() {
		return fromCEL(c.Parameters()[0]).Fits(s)
	}
	// Text in quotes is what the expression gives: see nodeOf in gapi/expand.
	is := func(lists ...[]types.Kind) bool {
		return slices.ContainsFunc(lists, func(l []types.Kind) bool { return slices.Contains(l, c.Kind()) })
	}
	switch {
	case s.Opaque || is([]types.Kind{types.DynKind, types.AnyKind}):
		return true
	case is([]types.Kind{types.NullTypeKind}):
		return s.Optional || slices.Contains([]schema.Kind{schema.KindAny, schema.KindList, schema.KindMap, schema.KindStruct}, s.Kind)
	}
	// A number is text where text is wanted, as in a file. Text is no number, since a value in quotes is none.
	switch s.Kind {
	case schema.KindBool:
		return is([]types.Kind{types.BoolKind})
	case schema.KindInt, schema.KindFloat:
		return is(numbers)
	case schema.KindString:
		return is(texts, numbers, []types.Kind{types.BoolKind})
	case schema.KindDuration, schema.KindSize, schema.KindMode:
		return is(texts, numbers)
	case schema.KindRef:
		return is(texts)
	case schema.KindList:
		return is([]types.Kind{types.ListKind}) && fromCEL(c.Parameters()[0]).Fits(s.Elem)
	case schema.KindMap:
		return is([]types.Kind{types.StructKind}) || is([]types.Kind{types.MapKind}) && fromCEL(c.Parameters()[1]).Fits(s.Elem)
	case schema.KindStruct:
		return is([]types.Kind{types.StructKind, types.MapKind})
	}
	return true
}

// InText reports whether a value of this type may stand inside a text.
func (t Type) InText() bool {
	c := t.of()
	if c.TypeName() == types.OptionalType.TypeName() {
		return fromCEL(c.Parameters()[0]).InText()
	}
	return c.Kind() == types.DynKind || c.Kind() == types.AnyKind || c.Kind() == types.BoolKind ||
		slices.Contains(texts, c.Kind()) || slices.Contains(numbers, c.Kind())
}

// TextHint says how a value of this type becomes text, empty where that can't be said.
func (t Type) TextHint() string {
	if t.of().Kind() == types.ListKind {
		return joinHint
	}
	return ""
}

// Long names the type with that of its parts.
func (t Type) Long() string {
	c := t.of()
	switch _, elem, ok := t.Elem(); {
	case !ok || elem.IsAny():
	case c.Kind() == types.ListKind:
		return "a list whose items are " + elem.String()
	case c.Kind() == types.MapKind:
		return "a map whose values are " + elem.String()
	}
	return t.String()
}
