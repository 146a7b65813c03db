package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// Decode reads a text. file is what positions name; it may be empty. The type is nil where
// a finding is an error.
func Decode(file string, text []byte) (*schema.Type, schema.Diagnostics) {
	n, found := jsonnode.Parse(text, jsonnode.Options{
		File: file, What: "this is no type", Rest: "something follows the type", Levels: MaxLevels, Bytes: MaxBytes, Values: MaxBytes, Strict: true,
	})
	if n == nil {
		return nil, found
	}
	t, wrong := FromNode(n)
	found = append(found, wrong...)
	found.Sort()
	if found.Err() != nil {
		return nil, found
	}
	return t, found
}

// FromNode reads a tree, which a frontend may have found inside of another text.
func FromNode(n *schema.Node) (*schema.Type, schema.Diagnostics) {
	if found := version(n); found != nil {
		return nil, found
	}
	var doc document
	if found := schema.Decode(n, &doc); found.Err() != nil {
		return nil, found
	}
	d := decoder{types: map[*schema.Type]*schema.Node{}, fields: map[*schema.Field]*schema.Node{}}
	d.exact(Form(), n, "")
	if d.found.Err() != nil {
		return nil, d.found
	}
	t := d.part(doc.Type, n.Get("type"))
	built := d.build(n, t)
	if len(d.defaults) == 0 || built == nil {
		return built, d.found
	}
	for _, read := range d.defaults { // by types that are known to be right
		read()
	}
	return d.build(n, t), d.found
}

// build returns the type with its Go side, nil where something is wrong.
func (d *decoder) build(root *schema.Node, t *schema.Type) *schema.Type {
	if d.found.Err() != nil {
		return nil
	}
	built, err := settle(t)
	d.faults(root, err)
	return built
}

// version refuses a text of another version, since nothing else of it can be judged.
func version(n *schema.Node) schema.Diagnostics {
	v := n.Get("version")
	if v == nil || v.Kind != schema.NodeInt || v.Text == fmt.Sprint(Version) {
		return nil
	}
	return schema.Diagnostics{{Pos: v.Pos, Path: "version",
		Message: fmt.Sprintf("the type is written in version %s of the form, and this program reads version %d; use a program that reads it", short(v.Text), Version)}}
}

// short cuts a text for an error.
func short(s string) string { return s[:min(len(s), 20)] }

// decoder makes types of what was read.
type decoder struct {
	found    schema.Diagnostics
	open     []*schema.Type // the structs around, outermost first
	types    map[*schema.Type]*schema.Node
	fields   map[*schema.Field]*schema.Node
	defaults []func() // read at the end, when every type is there
}

func (d *decoder) errorf(n *schema.Node, format string, args ...any) {
	d.found.Errorf(n.Pos, format, args...)
}

// shapes are the shapes of JSON that the form has for a kind. Decode of a graph takes others too.
var shapes = map[schema.Kind]schema.NodeKind{
	schema.KindBool: schema.NodeBool, schema.KindInt: schema.NodeInt, schema.KindString: schema.NodeString,
	schema.KindList: schema.NodeList, schema.KindStruct: schema.NodeMap,
}

// exact refuses what schema.Decode takes beyond the form: null, and words or numbers for text.
func (d *decoder) exact(t *schema.Type, n *schema.Node, at string) {
	want, fixed := shapes[t.Kind]
	switch {
	case n.Kind == schema.NodeNull:
		d.errorf(n, "%s is null; leave the key out", at)
	case fixed && n.Kind != want:
		d.errorf(n, "%s must be %s, and is written as something else", at, t)
	case t.Kind == schema.KindList:
		for i, item := range n.Items {
			d.exact(t.Elem, item, fmt.Sprintf("%s[%d]", at, i))
		}
	case t.Kind == schema.KindStruct:
		for _, p := range n.Pairs {
			if f := t.Field(p.Key); f != nil {
				d.exact(f.Type, p.Value, p.Key)
			}
		}
	}
}

// part makes a type.
func (d *decoder) part(p *part, n *schema.Node) *schema.Type {
	t := &schema.Type{
		Kind: schema.Kind(slices.Index(kinds[:], p.Kind)), Name: p.Name, Doc: p.Doc, Optional: p.Optional, Secret: p.Secret, Opaque: p.Opaque,
		Enum: p.Enum, EnumNames: p.Names, Pattern: p.Pattern, Format: p.Format, Target: p.Target, Unit: p.Unit, Bits: p.Bits, Unsigned: p.Unsigned,
	}
	d.types[t] = n
	d.bounds(t, p, n)
	if p.Of != nil {
		t.Elem = d.part(p.Of, n.Get("of"))
	}
	if p.Link != "" {
		d.link(t, p, n)
	}
	if len(p.Fields) > 0 {
		d.open = append(d.open, t)
		for i := range p.Fields {
			t.Fields = append(t.Fields, d.field(&p.Fields[i], n.Get("fields").Items[i]))
		}
		d.open = d.open[:len(d.open)-1]
	}
	return t
}

// link finds the struct around that a type names.
func (d *decoder) link(t *schema.Type, p *part, n *schema.Node) {
	if p.Name != "" {
		d.errorf(n.Get("name"), "a link has the name of what it links to, and none of its own")
	}
	for _, o := range slices.Backward(d.open) {
		if o.Name == p.Link {
			t.Link, t.Name = o, o.Name
			return
		}
	}
	var names []string
	for _, o := range d.open {
		names = append(names, o.Name)
	}
	d.found = append(d.found, schema.Diagnostic{Pos: n.Get("link").Pos, Path: "link", Suggestion: schema.Nearest(p.Link, names),
		Message: fmt.Sprintf("there is no struct %q around it", p.Link)})
}

// counts is the type of a bound that is a whole number.
var counts = &schema.Type{Kind: schema.KindInt, Bits: 64}

// bounds reads min and max by the kind of a type.
func (d *decoder) bounds(t *schema.Type, p *part, n *schema.Node) {
	if p.Min != nil {
		t.Min, t.FloatMin = d.bound(t, "min", n.Get("min"))
	}
	if p.Max != nil {
		t.Max, t.FloatMax = d.bound(t, "max", n.Get("max"))
	}
}

// bound reads a bound in the notation of its type: a duration is text such as 1m30s.
func (d *decoder) bound(t *schema.Type, key string, n *schema.Node) (whole *int64, float *float64) {
	of := counts
	switch t.Kind {
	case schema.KindFloat:
		of = &schema.Type{Kind: schema.KindFloat, Bits: 64}
	case schema.KindDuration:
		of = &schema.Type{Kind: schema.KindDuration}
		if n.Kind != schema.NodeString {
			d.errorf(n, "%s of a duration is text with a unit, such as 5m", key)
			return nil, nil
		}
	}
	v, found := schema.Value(of, n)
	if found.Err() != nil {
		d.errorf(n, "%s: %s", key, found[0].Message)
		return nil, nil
	}
	switch v := v.(type) {
	case int64:
		return &v, nil
	case float64:
		return nil, &v
	case time.Duration:
		return new(int64(v)), nil
	}
	d.errorf(n, "%s is too large", key)
	return nil, nil
}

// The position of the field stays known, for findings about the type as a whole.
func (d *decoder) field(f *field, n *schema.Node) *schema.Field {
	out := &schema.Field{
		Key: f.Key, GoName: f.Go, Alias: f.Alias, Manifest: f.Manifest, Doc: f.Doc, Role: schema.Role(max(0, slices.Index(roles, f.Role))),
		Required: f.Required, Replaces: f.Replaces, Deprecated: f.Deprecated, NoWatch: f.NoWatch, NoSecret: f.NoSecret, Instead: f.Instead, Absent: f.Absent, Lend: schema.Lend(max(0, slices.Index(lends, f.Lend))),
	}
	d.fields[out] = n
	out.Type = d.part(f.Type, n.Get("type"))
	if given := n.Get("default"); given != nil {
		d.defaults = append(d.defaults, func() { d.value(out, given) })
	}
	return out
}

// value reads a default by the type of its field.
func (d *decoder) value(f *schema.Field, n *schema.Node) {
	v, found := schema.Value(f.Type, n)
	for _, w := range found {
		w.Message = "default of " + f.Key + ": " + w.Message
		d.found = append(d.found, w)
	}
	f.Default, f.HasDefault = v, v != nil
}

// faults gives what schema.Build has found its places.
func (d *decoder) faults(root *schema.Node, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			d.faults(root, err)
		}
		return
	}
	if err == nil {
		return
	}
	pos, path := root.Pos, ""
	if fault, ok := errors.AsType[*schema.Fault](err); ok {
		path = fault.Path
		if n := d.types[fault.Type]; n != nil {
			pos = n.Pos
		}
		if n := d.fields[fault.Field]; n != nil {
			pos = n.Pos
		}
	}
	d.found = append(d.found, schema.Diagnostic{Pos: pos, Path: path, Message: err.Error()})
}
