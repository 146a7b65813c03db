// Package bag judges bags of properties by a schema.Type: it validates one, and says what a change of one means. A bag is a
// value of JSON, as providers get and give it.
//
// # Laws
//
//   - All problems come at once, in the order of the type; unknown keys come last, by their names.
//   - null counts as absence. The empty text and the empty list are values.
//   - Paths are those of schema: securityGroupIngress[1].ipProtocol.
//   - The classes, the paths and their order are the same in the TypeScript that is generated.
//   - Outputs are never inputs: Check refuses them, and Compare passes over them.
package bag

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// The classes of problems. They are stable.
const (
	Missing = "V_MISSING"  // a required property is absent
	Unknown = "V_UNKNOWN"  // there is no such property
	Type    = "V_TYPE"     // a value of another type
	Out     = "V_OUT"      // an output is given
	RefType = "V_REF_TYPE" // a reference to a resource of another type
	Enum    = "V_ENUM"     // none of the values of an enum
	Range   = "V_RANGE"    // a number out of its bounds
	Length  = "V_LENGTH"   // a text, a list or a map of another length
	Pattern = "V_PATTERN"  // a text that does not match
)

// Problem is one thing that is wrong with a bag.
type Problem struct {
	Class   string
	Path    string
	Message string // with a way out; it shows no value
}

// Check returns all that is wrong with the inputs of a resource or with a struct. pending names properties whose values
// are not known yet; they are not missing.
func Check(t *schema.Type, props map[string]any, pending ...string) []Problem {
	c := checker{pending: pending}
	c.structure(t, props, "")
	return c.found
}

// checker goes through one bag. It is used once, and keeps no value of the bag.
type checker struct {
	pending []string
	found   []Problem
}

// add notes a problem. The text is made of the type and of keys alone, since a value may be secret.
func (c *checker) add(class, path, format string, args ...any) {
	c.found = append(c.found, Problem{class, path, fmt.Sprintf(format, args...)})
}

// join adds a key to a path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// structure judges the properties of a struct in the order of the type.
func (c *checker) structure(t *schema.Type, props map[string]any, path string) {
	t = t.Resolved()
	for _, f := range t.Fields {
		at := join(path, f.Key)
		v := props[f.Key]
		switch {
		case v == nil && f.Required && !(path == "" && slices.Contains(c.pending, f.Key)):
			c.add(Missing, at, "it is required: %s", f.Type)
		case v == nil:
		case f.Role == schema.RoleReadOnly:
			c.add(Out, at, "the provider sets it; leave it out")
		default:
			c.value(f.Type, v, at)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(props)) {
		if f := t.Field(key); f == nil || f.Key != key {
			c.add(Unknown, join(path, key), "there is no such property%s", meant(key, t.Keys()))
		}
	}
}

// meant asks for the key that was probably meant.
func meant(key string, keys []string) string {
	if near := schema.Nearest(key, keys); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// value judges one value. The kind is judged first: a value of another kind has no second problem.
func (c *checker) value(t *schema.Type, v any, path string) {
	switch v := v.(type) {
	case bool:
		if t.Kind == schema.KindBool {
			return
		}
	case string:
		if c.text(t, v, path) {
			return
		}
	case []any:
		if t.Kind == schema.KindList {
			c.length(t, len(v), path)
			for i, item := range v {
				c.value(t.Elem, item, fmt.Sprintf("%s[%d]", path, i))
			}
			return
		}
	case map[string]any:
		if c.object(t, v, path) {
			return
		}
	default:
		if n, ok := number(v); ok && c.numeric(t, n, path) {
			return
		}
	}
	if t.Kind != schema.KindAny {
		c.add(Type, path, "it must be %s", t)
	}
}

// numeric judges a number, and reports whether the type takes any. A fraction is refused as a whole number.
func (c *checker) numeric(t *schema.Type, n float64, path string) bool {
	var out bool
	switch {
	case t.Kind == schema.KindFloat:
		out = t.FloatMin != nil && n < *t.FloatMin || t.FloatMax != nil && n > *t.FloatMax
	case t.Kind == schema.KindInt && n == math.Trunc(n):
		out = t.Min != nil && n < float64(*t.Min) || t.Max != nil && n > float64(*t.Max)
	default:
		return false
	}
	if out {
		c.add(Range, path, "it must be %s", t)
	}
	return true
}

// number returns a number of JSON. Whole numbers beyond 2^53 lose digits here: a program in TypeScript has no others, and
// both have to find the same problems.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return number(r.Float())
	}
	return 0, false
}

// counted returns a value with each json.Number in it as the number that it writes. To schema.Equal it is a text.
func counted(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = counted(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = counted(item)
		}
		return out
	}
	return v
}

// object judges a map or a struct, and reports whether the type takes any.
func (c *checker) object(t *schema.Type, v map[string]any, path string) bool {
	switch t.Kind {
	case schema.KindStruct:
		c.structure(t, v, path)
	case schema.KindMap:
		c.length(t, len(v), path)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(t.Enum) > 0 && !slices.Contains(t.Enum, key) {
				c.add(Unknown, join(path, key), "there is no such key%s", meant(key, t.Enum))
				continue
			}
			c.value(t.Elem, v[key], join(path, key))
		}
	default:
		return false
	}
	return true
}

// text judges a text, and reports whether the type takes any.
func (c *checker) text(t *schema.Type, v, path string) bool {
	switch t.Kind {
	case schema.KindString:
	case schema.KindRef:
		return c.reference(t, v, path)
	default:
		return false
	}
	c.length(t, len([]rune(v)), path)
	format, formatted := schema.Formats[t.Format]
	switch {
	case len(t.Enum) > 0 && !slices.Contains(t.Enum, v):
		c.add(Enum, path, "it must be %s", t)
	case formatted && !format.Is(v), t.Pattern != "" && !matches(t.Pattern, v):
		c.add(Pattern, path, "it must be %s", t)
	}
	return true
}

// matches reports whether a pattern matches some part of a text.
func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return ok && err == nil
}

// reference judges kind[name], or urn:PACKAGE::TOKEN::NAME.
func (c *checker) reference(t *schema.Type, v, path string) bool {
	kind := ""
	if rest, ok := strings.CutPrefix(v, "urn:"); ok {
		if parts := strings.SplitN(rest, "::", 3); len(parts) == 3 {
			kind = strings.ToLower(parts[1])
		}
	} else {
		ref, err := schema.ParseRef(v)
		if err != nil {
			return false
		}
		kind = ref.Kind
	}
	if t.Target != "" && kind != "" && kind != t.Target {
		c.add(RefType, path, "it must be %s, and refers to a %s", t, kind)
	}
	return true
}

// length judges the length of a text, a list or a map.
func (c *checker) length(t *schema.Type, n int, path string) {
	if t.Min != nil && int64(n) < *t.Min || t.Max != nil && int64(n) > *t.Max {
		c.add(Length, path, "it must be %s", t)
	}
}

// Change is what a difference of two bags means.
type Change struct {
	Changed  []string // the properties that differ, in the order of the type
	Replaces []string // those of them that need another resource
	Action   string   // none, update or replace
}

// Compare says what it means that a resource with old properties gets new ones. Lists are ordered. Numbers are
// compared by value, in each form that Go has for them. Outputs, and keys that the type does not have, count nothing.
func Compare(t *schema.Type, old, wanted map[string]any) Change {
	c := Change{Action: "none"}
	for _, f := range t.Resolved().Fields {
		if f.Role == schema.RoleReadOnly || schema.Equal(counted(old[f.Key]), counted(wanted[f.Key])) {
			continue
		}
		c.Changed = append(c.Changed, f.Key)
		if f.Replaces {
			c.Replaces = append(c.Replaces, f.Key)
		}
	}
	switch {
	case len(c.Replaces) > 0:
		c.Action = "replace"
	case len(c.Changed) > 0:
		c.Action = "update"
	}
	return c
}
