package wire

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Encode returns the canonical text of a type, in one line without an end of line. A type that was
// neither built nor read from Go is checked first, and omitted parts of a description are filled in
// as schema.Build does it. The error names the path of the part that can't be written.
func Encode(t *schema.Type) ([]byte, error) { return EncodeAs("", t) }

// EncodeAs is Encode with another name for the type, such as the name of a kind; empty for its own.
func EncodeAs(name string, t *schema.Type) ([]byte, error) {
	if t == nil {
		return nil, errors.New("there is no type")
	}
	if t.Go == nil {
		settled, err := settle(t)
		if err != nil {
			return nil, err
		}
		t = settled
	}
	e := encoder{name: name}
	p, err := e.part(t, cmp.Or(name, t.Name, "the type"), 2)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document{Version, p}); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the text has %d bytes, and may have %d", len(text), MaxBytes)
	}
	return text, nil
}

// Hash returns sha256: and the digest of the canonical text in hex. Two types of one hash are
// the same for every reader, docs included.
func Hash(t *schema.Type) (string, error) {
	text, err := Encode(t)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}

// settle builds a type of any kind.
func settle(t *schema.Type) (*schema.Type, error) {
	if t.Kind == schema.KindStruct && !t.Optional {
		return schema.Build(t)
	}
	holder := &schema.Type{Kind: schema.KindStruct, Name: "type", Fields: []*schema.Field{{Key: "value", Type: t}}}
	built, err := schema.Build(holder)
	if err != nil {
		return nil, err
	}
	return built.Fields[0].Type, nil
}

// maxParts bounds the types of a text: types that share their parts may be few, and their text long.
const maxParts = 1 << 16

// encoder writes one text.
type encoder struct {
	name  string   // of the outermost type, where it is another one than its own
	open  []opened // the structs around, outermost first
	parts int
}

type opened struct {
	t    *schema.Type
	name string // as it is written
}

// part writes a type. levels counts the lists and objects of JSON around its own parts.
func (e *encoder) part(t *schema.Type, at string, levels int) (*part, error) {
	switch e.parts++; {
	case t == nil:
		return nil, fmt.Errorf("%s: it has no type", at)
	case levels > MaxLevels-3: // what is in it besides types has less
		return nil, fmt.Errorf("%s: the text has more than %d levels", at, MaxLevels)
	case e.parts > maxParts:
		return nil, fmt.Errorf("%s: the text has more than %d types", at, maxParts)
	}
	p := &part{
		Kind: kinds[t.Kind], Name: nameOf(t), Doc: t.Doc, Optional: t.Optional, Secret: t.Secret, Opaque: t.Opaque,
		Enum: t.Enum, Names: t.EnumNames, Pattern: t.Pattern, Format: t.Format, Target: t.Target, Unit: t.Unit, Unsigned: t.Unsigned,
	}
	if e.parts == 1 && e.name != "" {
		p.Name = e.name
	}
	if t.Bits != 64 {
		p.Bits = t.Bits
	}
	if t.Unit == "s" {
		p.Unit = ""
	}
	p.Min, p.Max = bounds(t)
	texts := append([]string{p.Name, p.Doc, p.Pattern, p.Target}, append(p.Enum, p.Names...)...)
	if err := written(at, texts...); err != nil {
		return nil, err
	}
	return p, e.inside(p, t, at, levels)
}

// nameOf returns the name of a type. That which Go has for every such value says nothing.
func nameOf(t *schema.Type) string {
	if t.Go != nil && t.Kind != schema.KindStruct && t.Name == t.Go.Name() {
		switch t.Go.PkgPath() {
		case "", "time", reflect.TypeFor[schema.Ref]().PkgPath():
			return ""
		}
	}
	return t.Name
}

// written refuses what JSON has no form for.
func written(at string, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%s: a text is no UTF-8", at)
		}
	}
	return nil
}

// bounds returns the bounds of a type as JSON has them.
func bounds(t *schema.Type) (lo, hi any) {
	if t.Kind == schema.KindFloat {
		return floatBound(t.FloatMin), floatBound(t.FloatMax)
	}
	lo = bound(t.Kind, t.Min)
	if t.Min != nil && *t.Min == 0 && (t.Kind == schema.KindDuration || t.Kind == schema.KindSize) {
		lo = nil
	}
	return lo, bound(t.Kind, t.Max)
}

// floatBound writes a bound of a float; nil means unbounded.
func floatBound(f *float64) any {
	if f == nil {
		return nil
	}
	return number(*f)
}

func bound(k schema.Kind, n *int64) any {
	switch {
	case n == nil:
		return nil
	case k == schema.KindDuration:
		return schema.FormatDuration(time.Duration(*n))
	}
	return *n
}

// number writes a float so that it is read as one.
func number(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// inside writes the parts of a type.
func (e *encoder) inside(p *part, t *schema.Type, at string, levels int) (err error) {
	switch {
	case t.Kind == schema.KindList || t.Kind == schema.KindMap:
		p.Of, err = e.part(t.Elem, at+"[]", levels+1)
		return err
	case t.Kind != schema.KindStruct:
		return nil
	case t.Link != nil:
		p.Name = ""
		p.Link, err = e.link(t.Link, at)
		return err
	}
	e.open = append(e.open, opened{t, p.Name})
	defer func() { e.open = e.open[:len(e.open)-1] }()
	for _, f := range t.Fields {
		out, err := e.field(f, at+"."+f.Key, levels+2)
		if err != nil {
			return err
		}
		p.Fields = append(p.Fields, out)
	}
	return nil
}

// link returns the name by which a reader finds a struct around.
func (e *encoder) link(target *schema.Type, at string) (string, error) {
	for i := len(e.open) - 1; i >= 0; i-- {
		o := e.open[i]
		if o.t != target && (o.t.Go == nil || o.t.Go != target.Go) {
			continue
		}
		for _, between := range e.open[i+1:] {
			if between.name == o.name {
				return "", fmt.Errorf("%s: it links to %s, and another struct of that name is between", at, o.name)
			}
		}
		if o.name == "" {
			return "", fmt.Errorf("%s: it links to a struct without a name", at)
		}
		return o.name, nil
	}
	return "", fmt.Errorf("%s: it links to what is no struct around it", at)
}

func (e *encoder) field(f *schema.Field, at string, levels int) (field, error) {
	out := field{
		Key: f.Key, Go: f.GoName, Alias: f.Alias, Manifest: f.Manifest, Doc: f.Doc, Role: roles[f.Role], Required: f.Required,
		Replaces: f.Replaces, Deprecated: f.Deprecated, NoWatch: f.NoWatch, NoSecret: f.NoSecret, Instead: f.Instead, Absent: f.Absent, Lend: lends[f.Lend],
	}
	err := written(at, append([]string{f.GoName, f.Alias, f.Manifest, f.Doc, f.Deprecated, f.Absent}, f.Instead...)...)
	if err != nil {
		return out, err
	}
	if f.HasDefault {
		if out.Default, err = value(f.Default, f.Type.Kind == schema.KindAny, levels+1); err != nil {
			return out, fmt.Errorf("%s: default: %w", at, err)
		}
	}
	out.Type, err = e.part(f.Type, at, levels+1)
	return out, err
}

// value writes a plain value as a graph has it. Where no type says what a text means, a value
// that is more than its text has no form.
func value(v any, free bool, levels int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, uint64:
		return v, nil
	case string:
		return v, written("the text", v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("JSON has no %v", v)
		}
		return number(v), nil
	case schema.Secret:
		return nil, errors.New("it is a secret, which is not written")
	case []any:
		return values(v, free, levels)
	case map[string]any:
		return valueMap(v, free, levels)
	}
	if free {
		return nil, fmt.Errorf("a %T has no form where any value may stand", v)
	}
	if d, ok := v.(time.Duration); ok {
		return schema.FormatDuration(d), nil
	}
	return fmt.Sprint(v), nil
}

// values writes a default that is a list, within the bound of depth.
func values(v []any, free bool, levels int) (any, error) {
	if levels > MaxLevels {
		return nil, fmt.Errorf("the text has more than %d levels", MaxLevels)
	}
	out := make([]any, len(v))
	for i, item := range v {
		var err error
		if out[i], err = value(item, free, levels+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// valueMap writes a default that is a map.
func valueMap(v map[string]any, free bool, levels int) (any, error) {
	if levels > MaxLevels {
		return nil, fmt.Errorf("the text has more than %d levels", MaxLevels)
	}
	out := make(map[string]any, len(v))
	for key, item := range v {
		err := written("a key", key)
		if err != nil {
			return nil, err
		}
		if out[key], err = value(item, free, levels+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
