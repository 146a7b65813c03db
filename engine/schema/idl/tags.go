package idl

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// options is the tag of one field.
type options struct {
	name                                string
	optional, out, in, replaces, secret bool
	deprecated                          string
	lend                                schema.Lend
	given                               map[string]string // the constraints, by their words
}

// flags are the options without a value; lend may have one.
var flags = []string{"optional", "out", "in", "replaces", "replace", "secret", "lend"}

// valued are the options with a value. All but name and deprecated are constraints.
var valued = []string{"name", "deprecated", "min", "max", "minLen", "maxLen", "minItems", "maxItems", "format", "default", "regex"}

// tag reads the tag of a field. It reports whether the field can be judged further.
func (r *reader) tag(field *ast.Field, at token.Pos, name string) (*options, bool) {
	o := &options{given: map[string]string{}}
	text, good := r.text(field, at, name)
	for i, item := range items(text) {
		if item = strings.TrimSpace(item); i == 0 && isOwnName(item, name) {
			item = "name=" + item
		}
		good = r.item(o, at, name, item) && good
	}
	return o, good
}

// isOwnName reports whether the first item of a tag is the name of the property, as older definitions have it: "vpcID,replaces". It is no
// option, and resembles the name of the field more than one, so a misspelled option is still told as such.
func isOwnName(item, field string) bool {
	options := slices.Concat(flags, valued)
	return !strings.Contains(item, "=") && !slices.Contains(options, item) && schema.Nearest(item, append(options, field)) == field
}

// text returns the options of a tag as they are written.
func (r *reader) text(field *ast.Field, at token.Pos, name string) (string, bool) {
	if field.Tag == nil {
		return "", true
	}
	raw, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return "", true // Go has said so
	}
	text, ok := reflect.StructTag(raw).Lookup(r.c.o.Tag)
	if ok || foreign(raw, r.c.o.Tag) {
		return text, true
	}
	r.fail(ETagSyntax, at, name, "the tag has no options that can be read; write it as `%s:\"optional\"`", r.c.o.Tag)
	return "", false
}

// foreign reports whether a tag is for other readers alone: all of it can be read, and no key is nearly that of the options.
func foreign(tag, key string) bool {
	for tag = strings.TrimLeft(tag, " "); tag != ""; tag = strings.TrimLeft(tag, " ") {
		word, rest, _ := strings.Cut(tag, ":")
		value, err := strconv.QuotedPrefix(rest)
		if err != nil || value[0] != '"' || word == "" || strings.ContainsAny(word, " \"") || schema.Nearest(strings.ToLower(word), []string{key}) != "" {
			return false
		}
		tag = rest[len(value):]
	}
	return true
}

// items parts a tag at its commas. A pattern takes the rest, since it may hold commas.
func items(text string) []string {
	if text == "" {
		return nil
	}
	var list []string
	for {
		if strings.HasPrefix(strings.TrimSpace(text), "regex=") {
			return append(list, text)
		}
		item, rest, more := strings.Cut(text, ",")
		if list = append(list, item); !more {
			return list
		}
		text = rest
	}
}

// item reads one option.
func (r *reader) item(o *options, at token.Pos, name, item string) bool {
	word, value, hasValue := strings.Cut(item, "=")
	canonical := word
	if word == "replace" {
		canonical = "replaces"
	}
	isFlag := slices.Contains(flags, word)
	switch {
	case !isFlag && !slices.Contains(valued, word):
		hint := "the options are " + strings.Join(slices.Concat(flags, valued), ", ")
		if near := schema.Nearest(word, slices.Concat(flags, valued)); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.fail(ETagUnknown, at, name, "the option %q is not known; %s", word, hint)
		return false
	case word == "lend" && hasValue && value != "name":
		r.fail(ETagSyntax, at, name, "lend has the value name, or none")
		return false
	case isFlag == hasValue && word != "lend":
		r.fail(ETagSyntax, at, name, "the option %s %s", word, map[bool]string{true: "takes no value", false: "needs a value: " + word + "=..."}[isFlag])
		return false
	}
	if _, twice := o.given[canonical]; twice {
		r.fail(ETagDuplicate, at, name, "the option %s is there twice; leave one", canonical)
		return false
	}
	o.given[canonical] = value
	switch canonical {
	case "optional":
		o.optional = true
	case "out":
		o.out = true
	case "in":
		o.in = true
	case "replaces":
		o.replaces = true
	case "secret":
		o.secret = true
	case "lend":
		o.lend = map[bool]schema.Lend{false: schema.LendValue, true: schema.LendName}[hasValue]
	case "deprecated":
		o.deprecated = value
	case "name":
		o.name = value
		if !plainName(value) {
			r.fail(ETagName, at, name, "%q is no name of a property; it begins with a letter, and has letters, digits and _", value)
			return false
		}
	}
	return true
}

// constrain takes the constraints in a fixed order, so the first fault of a tag is always the
// same one. On a list or a map, a constraint is for each element, but for minItems and
// maxItems. It applies the constraints of a tag to the type of a property, and reports whether
// all are right.
func (r *reader) constrain(at token.Pos, f *Field, o *options) bool {
	whole, leaf := f.Shape.Type, f.Shape
	for leaf.Elem != nil {
		leaf = leaf.Elem
	}
	text := leaf.Type.Kind == schema.KindString && leaf.Decl == nil
	for _, rule := range []struct {
		word string
		fits bool
		set  func(value string) *fault
	}{
		{"min", leaf.Type.Kind == schema.KindFloat, func(v string) *fault { return floatBound(v, &leaf.Type.FloatMin) }},
		{"max", leaf.Type.Kind == schema.KindFloat, func(v string) *fault { return floatBound(v, &leaf.Type.FloatMax) }},
		{"minLen", text, func(v string) *fault { return countBound(v, &leaf.Type.Min) }},
		{"maxLen", text, func(v string) *fault { return countBound(v, &leaf.Type.Max) }},
		{"minItems", f.Shape.Elem != nil, func(v string) *fault { return countBound(v, &whole.Min) }},
		{"maxItems", f.Shape.Elem != nil, func(v string) *fault { return countBound(v, &whole.Max) }},
		{"format", text, func(v string) *fault { return textFormat(v, leaf.Type) }},
		{"regex", text, func(v string) *fault { return pattern(v, leaf.Type) }},
		{"secret", text || leaf.Type.Kind == schema.KindAny, func(string) *fault { leaf.Type.Secret = true; return nil }},
		{"default", f.Optional && r.decl.Kind == DeclResource && f.Shape.Elem == nil, func(v string) *fault { return f.setDefault(v) }},
	} {
		value, given := o.given[rule.word]
		var wrong *fault
		switch {
		case !given:
			continue
		case f.Out && rule.word != "secret":
			wrong = faultf(EConstraintOut, "the provider sets an output, so nothing checks %s; remove it", rule.word)
		case !rule.fits && rule.word == "default":
			wrong = faultf(EDefault, "only an optional bool, float64, string or enum of a resource has a default; remove it")
		case !rule.fits:
			wrong = faultf(EConstraintType, "%s is not for a property of this type; remove it", rule.word)
		default:
			wrong = rule.set(value)
		}
		if wrong != nil {
			r.fail(wrong.class, at, f.Name, "%s", wrong.text)
			return false
		}
	}
	if crossed(leaf.Type.FloatMin, leaf.Type.FloatMax) || crossed(leaf.Type.Min, leaf.Type.Max) || crossed(whole.Min, whole.Max) {
		r.fail(EConstraintValue, at, f.Name, "the least value is above the greatest; no value would be right")
		return false
	}
	return true
}

// crossed reports whether no number is within two bounds.
func crossed[N int64 | float64](lo, hi *N) bool { return lo != nil && hi != nil && *lo > *hi }

// floatBound reads a bound of a number. JSON has neither an infinite number nor one that is not
// a number.
func floatBound(text string, to **float64) *fault {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return faultf(EConstraintValue, "%q is no number; write one such as 1 or 0.5", text)
	}
	// What has no value as a literal of Go is no whole number in decimals, and is held.
	if v := constant.MakeFromLiteral(strings.TrimLeft(text, "+-"), token.FLOAT, 0); v.Kind() != constant.Unknown && !held(v, math.Abs(n)) {
		return faultf(EConstraintValue, "float64 does not hold the number %s, and the nearest one that it holds is %s; write that one", text, strconv.FormatFloat(n, 'g', -1, 64))
	}
	*to = &n
	return nil
}

// countBound reads a bound of a length.
func countBound(text string, to **int64) *fault {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return faultf(EConstraintValue, "%q is no length; write a whole number such as 10", text)
	}
	*to = new(int64(n))
	return nil
}

// textFormat takes a notation of package schema by its name.
func textFormat(name string, t *schema.Type) *fault {
	if _, ok := schema.Formats[name]; !ok {
		return faultf(EConstraintValue, "there is no format %q; docs/reference/types.md has the formats", name)
	}
	t.Format = name
	return nil
}

// pattern takes a regular expression that Go and ECMAScript read alike.
func pattern(text string, t *schema.Type) *fault {
	_, err := regexp.Compile(text)
	if e, ok := errors.AsType[*syntax.Error](err); ok && e.Code != syntax.ErrInvalidPerlOp && e.Code != syntax.ErrInvalidEscape {
		return faultf(EConstraintValue, "%q is no regular expression: %v", text, err)
	}
	if err := schema.CheckPattern(text); err != nil {
		return faultf(ERegexPortable, "%v; write it with groups and classes that both have", err)
	}
	t.Pattern = text
	return nil
}

// setDefault reads a default in the notation of its type.
func (f *Field) setDefault(text string) *fault {
	wrong := faultf(EDefault, "the default %q is no value of the property", text)
	switch t := f.Shape.Type; {
	case t.Secret:
		return faultf(EDefault, "a secret has no default, since everybody could read it; remove it")
	case f.Shape.Decl != nil && f.Shape.Decl.Kind == DeclEnum:
		if !slices.ContainsFunc(f.Shape.Decl.Values, func(d *Decl) bool { return d.Value == text }) {
			return wrong
		}
		f.Default = text
	case t.Kind == schema.KindString:
		f.Default = text
	case t.Kind == schema.KindBool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return wrong
		}
		f.Default = b
	case t.Kind == schema.KindFloat:
		var n *float64
		if fault := floatBound(text, &n); fault != nil {
			return faultf(EDefault, "the default is no value of the property: %s", fault.text)
		}
		f.Default = *n
	default:
		return faultf(EDefault, "only an optional bool, float64, string or enum of a resource has a default; remove it")
	}
	if found := schema.Check(f.Shape.Type, f.Default); found.Err() != nil {
		return faultf(EDefault, "the property refuses its own default %q: %s", text, found[0].Message)
	}
	return nil
}

// abilities reads the tag of a marker: the abilities of the provider for the type.
func (r *reader) abilities(field *ast.Field, at token.Pos, name string) {
	text, ok := r.text(field, at, name)
	if !ok {
		return
	}
	given := map[string]bool{}
	for _, item := range items(text) {
		word, value, valued := strings.Cut(strings.TrimSpace(item), "=")
		switch {
		case given[word]:
			r.fail(ETagDuplicate, at, name, "the option %s is there twice; leave one", word)
		case word == "batch":
			n, err := strconv.ParseUint(value, 10, 16)
			if err != nil || n < 2 {
				r.fail(ETagSyntax, at, name, "batch needs the greatest number of calls at once, such as batch=20")
			}
			r.decl.Batch = int(n)
		case valued || !r.decl.able(word):
			r.fail(ETagUnknown, at, name, "the option %q of a resource is not known; the options are createBeforeDelete, watch, list, refresh, collectable and batch=N", item)
		}
		given[word] = true
	}
}

// able sets an ability by its word, and reports whether there is such a word.
func (d *Decl) able(word string) bool {
	switch word {
	case "createBeforeDelete":
		d.CreateFirst = true
	case "watch":
		d.Watch = true
	case "list":
		d.List = true
	case "refresh":
		d.Refresh = true
	case "collectable":
		d.Collectable = true
	default:
		return false
	}
	return true
}
