package derive

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Editors such as those with yaml-language-server read this draft.
const draft = "https://json-schema.org/draft/2020-12/schema"

// rule is one JSON Schema, in the order in which it is written.
// The order of its fields is the order of the keys in the text. A key without a value is
// left out.
type rule struct {
	Schema        string      `json:"$schema,omitempty"`
	Ref           string      `json:"$ref,omitempty"`
	Title         string      `json:"title,omitempty"`
	Description   string      `json:"description,omitempty"`
	Type          any         `json:"type,omitempty"` // a string or several
	Enum          []any       `json:"enum,omitempty"`
	Format        string      `json:"format,omitempty"`
	Pattern       string      `json:"pattern,omitempty"`
	AnyOf         []*rule     `json:"anyOf,omitempty"`
	AllOf         []*rule     `json:"allOf,omitempty"`
	Deprecated    bool        `json:"deprecated,omitempty"`
	Minimum       json.Number `json:"minimum,omitempty"`
	Maximum       json.Number `json:"maximum,omitempty"`
	MinLength     *int64      `json:"minLength,omitempty"`
	MaxLength     *int64      `json:"maxLength,omitempty"`
	MinItems      *int64      `json:"minItems,omitempty"`
	MaxItems      *int64      `json:"maxItems,omitempty"`
	MinProperties *int64      `json:"minProperties,omitempty"`
	MaxProperties *int64      `json:"maxProperties,omitempty"`
	Names         *rule       `json:"propertyNames,omitempty"`
	Items         *rule       `json:"items,omitempty"`
	Properties    rules       `json:"properties,omitempty"`
	Additional    any         `json:"additionalProperties,omitempty"` // false or *rule
	Required      []string    `json:"required,omitempty"`
	If            *rule       `json:"if,omitempty"`
	Then          *rule       `json:"then,omitempty"`
	Not           *rule       `json:"not,omitempty"`
	Default       any         `json:"default,omitempty"`
	ReadOnly      bool        `json:"readOnly,omitempty"`
	WriteOnly     bool        `json:"writeOnly,omitempty"`
	Defs          rules       `json:"$defs,omitempty"`
}

// rules are named and keep their order.
type rules []named

type named struct {
	name string
	rule *rule
}

// MarshalJSON writes an object.
// A Go map would lose the order of the keys, which editors show to people.
func (rs rules) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, r := range rs {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(r.name)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(r.rule)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), body...)
	}
	return append(b, '}'), nil
}

// document writes a schema with its version, indented for people.
// The bytes end with a line break, as a file of text does.
func (r *rule) document() ([]byte, error) {
	r.Schema = draft
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// JSONSchema returns the schema of the values of one type, by draft 2020-12.
// Definitions of types that contain themselves are below $defs.
func JSONSchema(t *schema.Type) ([]byte, error) {
	w := newRuler("")
	r := w.rule(t)
	r.Title, r.Defs = t.Name, w.defs
	return r.document()
}

// KindSchema returns the schema of the parameters of one kind, under its name.
// It has no keys of the graph such as meta: those are in GraphSchema.
func KindSchema(k Kind) ([]byte, error) {
	if k.Type == nil {
		return nil, fmt.Errorf("the kind %s has no fields", k.Name)
	}
	w := newRuler("")
	r := w.rule(k.Type)
	r.Title, r.Defs = k.Name, w.defs
	return r.document()
}

// Patterns of the notations in text. They are what ECMAScript and RE2 both read.
const (
	patternNumber  = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	patternPart    = patternNumber + `(ns|us|µs|μs|ms|s|m|h)`
	patternTime    = `([0-9]+|` + patternNumber + `d(` + patternPart + `)*|(` + patternPart + `)+)$`
	patternBytes   = `[0-9]+(\.[0-9]+)? ?([kKMGTPE]i?)?B?$`
	patternOctal   = `(0[oO])?(0?[0-7]{3,4}|00?)`
	patternClause  = `[ugoa]*([-+=]([rwxXst]*|[ugo]))+`
	patternMode    = `^(` + patternOctal + `|` + patternClause + `(,` + patternClause + `)*)?$`
	patternRef     = `^([^\[]+\[[\s\S]+\](\.[^\]]+)?)?$`
	patternRefKey  = `^[^\[]+\[[\s\S]+\]\.[^\]]+$`
	patternRefOnly = `^[^\[]+\[[\s\S]+\]$`
)

var textTypes = []string{"string", "number", "boolean"}

// ruler translates types. A type that contains itself is a definition, and its links
// refer to that.
type ruler struct {
	prefix string // of the names of definitions
	names  map[*schema.Type]string
	defs   rules
}

// newRuler returns a ruler that has no definitions yet. Each name of a definition will begin with
// the prefix, so that two rulers may write into one document.
func newRuler(prefix string) *ruler { return &ruler{prefix: prefix, names: map[*schema.Type]string{}} }

// link refers to the definition of what t links to, which is made when it is first asked for.
// The definition is entered before its fields are translated, so that a type which
// contains itself comes to an end.
func (w *ruler) link(t *schema.Type) *rule {
	name, ok := w.names[t.Link]
	if !ok {
		name = w.prefix + t.Link.Name
		for i := 2; w.has(name); i++ {
			name = fmt.Sprintf("%s%s-%d", w.prefix, t.Link.Name, i)
		}
		w.names[t.Link] = name
		at := len(w.defs)
		w.defs = append(w.defs, named{name, nil})
		r := &rule{Description: t.Link.Doc}
		w.structure(r, t.Link)
		w.defs[at].rule = r
	}
	r := &rule{Ref: "#/$defs/" + escapePointer(name)}
	if t.Optional {
		return &rule{AnyOf: []*rule{r, {Type: "null"}}}
	}
	return r
}

// has reports whether a definition has the name already: two types may share one.
func (w *ruler) has(name string) bool {
	return slices.ContainsFunc(w.defs, func(n named) bool { return n.name == name })
}

// escapePointer writes a key for a JSON Pointer in the fragment of a URI.
// The rules are those of RFC 6901: ~ and / are escaped before the URI is.
func escapePointer(s string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
}

// rule translates a type.
// A type without a rule, such as any, allows every value.
func (w *ruler) rule(t *schema.Type) *rule {
	if t.Link != nil {
		return w.link(t)
	}
	r := &rule{Description: t.Doc}
	switch t.Kind {
	case schema.KindBool:
		r.Type = "boolean"
	case schema.KindInt:
		r.integer(t)
	case schema.KindFloat:
		r.float(t)
	case schema.KindString:
		r.text(t)
	case schema.KindDuration:
		r.duration(t)
	case schema.KindSize:
		r.Type, r.Pattern = []string{"string", "integer"}, sign(t)+patternBytes
		r.Minimum, r.Maximum = number(t.Min), number(t.Max)
	case schema.KindMode:
		r.Type, r.Pattern, r.Minimum, r.Maximum = []string{"string", "integer"}, patternMode, "0", "7777"
	case schema.KindRef:
		r.Type, r.Pattern = "string", patternRef
		if t.Target != "" {
			r.Pattern = `^(` + regexp.QuoteMeta(t.Target) + `\[[\s\S]+\](\.[^\]]+)?)?$`
		}
	case schema.KindList:
		r.Type, r.Items = []string{"array", "null"}, w.rule(t.Elem)
		r.MinItems, r.MaxItems = t.Min, t.Max
	case schema.KindMap:
		r.Type, r.Additional = []string{"object", "null"}, w.rule(t.Elem)
		r.MinProperties, r.MaxProperties = t.Min, t.Max
		// The enum of a map names its keys. An editor offers them, and marks each other key. The order is that of the type,
		// so equal types have equal schemas.
		if len(t.Enum) > 0 {
			r.Names = &rule{}
			for _, word := range t.Enum {
				r.Names.Enum = append(r.Names.Enum, word)
			}
		}
	case schema.KindStruct:
		w.structure(r, t)
	}
	if t.Optional {
		r.orNull()
	}
	return r
}

// orNull lets the rule take null too.
// A rule without a type allows null already.
func (r *rule) orNull() {
	switch have := r.Type.(type) {
	case string:
		r.Type = []string{have, "null"}
	case []string:
		if !slices.Contains(have, "null") {
			r.Type = append(slices.Clone(have), "null")
		}
	}
	if r.Enum != nil {
		r.Enum = append(r.Enum, nil)
	}
}

// number writes a bound; nil is left out.
func number(n *int64) json.Number {
	if n == nil {
		return ""
	}
	return json.Number(strconv.FormatInt(*n, 10))
}

// floatNumber writes a bound with all its digits; nil is left out.
// The shortest text that reads back as the same number is enough.
func floatNumber(f *float64) json.Number {
	if f == nil {
		return ""
	}
	return json.Number(strconv.FormatFloat(*f, 'g', -1, 64))
}

// integer gives the bounds, and the range of the bits where it is below 64.
// Decode reads whole numbers of 64 bits, so such a type needs no bound.
func (r *rule) integer(t *schema.Type) {
	r.Type, r.Minimum, r.Maximum = "integer", number(t.Min), number(t.Max)
	narrow := t.Bits > 0 && t.Bits < 64
	lo, hi := int64(0), uint64(math.MaxUint64)
	if narrow {
		lo, hi = -1<<(t.Bits-1), 1<<(t.Bits-1)-1
	}
	if t.Unsigned {
		lo = 0
		if narrow {
			hi = 1<<t.Bits - 1
		}
	}
	if (narrow || t.Unsigned) && (t.Min == nil || *t.Min < lo) {
		r.Minimum = number(&lo)
	}
	if narrow && (t.Max == nil || *t.Max > int64(hi)) {
		r.Maximum = json.Number(strconv.FormatUint(hi, 10))
	}
}

// float states bounds of a number. A number of 32 bits is bounded by its range, since JSON
// knows no size.
func (r *rule) float(t *schema.Type) {
	r.Type, r.Minimum, r.Maximum = "number", floatNumber(t.FloatMin), floatNumber(t.FloatMax)
	if t.Bits != 32 {
		return
	}
	limit := strconv.FormatFloat(math.MaxFloat32, 'g', -1, 64)
	if r.Minimum == "" {
		r.Minimum = json.Number("-" + limit)
	}
	if r.Maximum == "" {
		r.Maximum = json.Number(limit)
	}
}

// text also takes what YAML reads as a number or a boolean where no quotes are
// written, as Decode does.
// Words of an enum that YAML would read as a boolean or a number are allowed in that form
// too.
func (r *rule) text(t *schema.Type) {
	r.Type, r.MinLength, r.MaxLength, r.Pattern = textTypes, t.Min, t.Max, t.Pattern
	if f, ok := schema.Formats[t.Format]; ok {
		r.Format = f.Name
		if t.Format != "portrange" { // no number reads as another one
			r.Type = "string"
		}
		if r.Pattern == "" {
			r.Pattern = f.Pattern
		} else {
			r.AllOf = []*rule{{Pattern: f.Pattern}}
		}
	}
	if len(t.Enum) == 0 {
		if t.Go != nil && t.Go.PkgPath() == "time" && t.Go.Name() == "Time" {
			r.Type, r.Format = "string", "date-time"
		}
		return
	}
	r.Type = nil
	for _, word := range t.Enum {
		r.Enum = append(r.Enum, word)
	}
	for _, word := range t.Enum {
		var v any
		dec := json.NewDecoder(strings.NewReader(word))
		dec.UseNumber()
		if err := dec.Decode(&v); err == nil && !dec.More() && v != nil {
			r.Enum = append(r.Enum, v)
		}
	}
}

// sign is the beginning of a pattern: a minus only where it may be negative.
// A plus is allowed, as strconv.ParseInt has it.
func sign(t *schema.Type) string {
	if t.Min != nil && *t.Min >= 0 {
		return `^\+?`
	}
	return `^[-+]?`
}

// duration counts bare integers in the unit, rounding the bounds inwards.
func (r *rule) duration(t *schema.Type) {
	r.Type, r.Pattern = []string{"string", "integer"}, sign(t)+patternTime
	unit, err := schema.ParseDuration("1", t.Unit)
	if err != nil {
		unit = time.Second
	}
	if t.Min != nil {
		r.Minimum = number(new(int64(math.Ceil(float64(*t.Min) / float64(unit)))))
	}
	if t.Max != nil {
		r.Maximum = number(new(int64(math.Floor(float64(*t.Max) / float64(unit)))))
	}
}

// structure states the keys of a struct; no others are allowed.
// A struct without required fields may be null, which stands for all defaults.
func (w *ruler) structure(r *rule, t *schema.Type) {
	r.Type, r.Additional = "object", false
	for _, f := range t.Fields {
		r.Properties = append(r.Properties, named{f.Key, w.field(f)})
		if f.Required {
			r.Required = append(r.Required, f.Key)
		}
	}
	if len(r.Required) == 0 {
		r.orNull()
	}
}

// field states the type of a key with its doc and its default.
// The doc of the field comes before that of its type.
func (w *ruler) field(f *schema.Field) *rule {
	r := w.rule(f.Type)
	if f.Doc != "" {
		r.Description = f.Doc
	}
	if f.HasDefault {
		r.Default = jsonDefault(f.Default)
	}
	r.Deprecated = f.Deprecated != ""
	r.ReadOnly = f.Role == schema.RoleReadOnly
	r.WriteOnly = f.Role == schema.RoleWriteOnly
	return r
}

// jsonDefault writes a plain value as it stands in a graph; a secret is left out.
// Durations become text such as 1m30s; other types become the text of fmt.
func jsonDefault(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return nil
	case time.Duration:
		return schema.FormatDuration(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonDefault(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = jsonDefault(item)
		}
		return out
	case nil, bool, string, int64, uint64, float64:
		return v
	default:
		return fmt.Sprint(v)
	}
}
