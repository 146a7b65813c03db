package model

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// MaxObject is how many bytes the JSON of one object may have.
const MaxObject = 1 << 20

// New makes an object with just these fields set. nil sets a field to null, which Update takes for "clear it". A nested
// object may be a map or an *Object; a reference may be the id or the *Object. All errors come at once; null in a required
// field is one. Required fields that are not given are not asked for: see Object.Check.
func (m *Model) New(fields map[string]any) (*Object, error) {
	d := decoder{model: m}
	o := d.values(m, fields)
	return d.done(o)
}

// Parse is New for the JSON of an object. Errors have the position in the text, whose name is file.
func (m *Model) Parse(file string, text []byte) (*Object, error) {
	n, found := jsonnode.Parse(text, jsonnode.Options{File: file, Bytes: MaxObject, Strict: true})
	if err := found.Err(); err != nil {
		return nil, m.refusal(found)
	}
	return m.Decode(n)
}

// Decode is New for a tree that a frontend has read. Text must be text: a number is none, though it is in YAML.
func (m *Model) Decode(n *schema.Node) (*Object, error) {
	d := decoder{model: m}
	o := d.object(m, n)
	return d.done(o)
}

// DecodeLoose is Decode for a tree whose source has no quotes around some text, as YAML: where a field is text, a number or a truth
// value is the text that it was written as.
func (m *Model) DecodeLoose(n *schema.Node) (*Object, error) {
	d := decoder{model: m, loose: true}
	o := d.object(m, n)
	return d.done(o)
}

// refusal turns what jsonnode found into Errors.
func (m *Model) refusal(found schema.Diagnostics) error {
	var errs []error
	for _, f := range found {
		errs = append(errs, &Error{Code: Validation, Table: m.Label(), Pos: f.Pos, Message: f.Message})
	}
	return errors.Join(errs...)
}

// decoder reads the fields of one object. It goes on after an error.
type decoder struct {
	model *Model
	path  []string
	errs  []error
	loose bool // a scalar may stand for text
	keep  bool // fields that are unknown go to extra instead of being errors
	extra map[string]any
}

// done returns the object, or all faults with the object's id.
func (d *decoder) done(o *Object) (*Object, error) {
	if len(d.errs) > 0 {
		for _, err := range d.errs {
			var e *Error
			if errors.As(err, &e) && o != nil {
				e.ID = o.id
			}
		}
		return nil, errors.Join(d.errs...)
	}
	if len(d.extra) > 0 {
		o.extra = d.extra
	}
	return o, nil
}

func (d *decoder) fail(code Code, pos schema.Pos, near, message string) {
	d.errs = append(d.errs, &Error{
		Code: code, Table: d.model.Label(), Field: d.at(), Pos: pos, Message: message, Suggestion: near,
	})
}

// at returns the path of the value in hand: a.b[0].c.
func (d *decoder) at() string {
	return strings.TrimPrefix(strings.Join(d.path, ""), ".")
}

func (d *decoder) enter(key string) func() {
	d.path = append(d.path, "."+key)
	return d.leave
}

func (d *decoder) item(i int) func() {
	d.path = append(d.path, "["+strconv.Itoa(i)+"]")
	return d.leave
}

func (d *decoder) leave() { d.path = d.path[:len(d.path)-1] }

// object reads the fields of m from a tree.
func (d *decoder) object(m *Model, n *schema.Node) *Object {
	if n == nil || n.Kind != schema.NodeMap {
		pos := schema.Pos{}
		if n != nil {
			pos = n.Pos
		}
		d.fail(Validation, pos, "", d.name()+" must be an object of "+m.Label())
		return nil
	}
	o := &Object{model: m, fields: make(map[string]any, len(n.Pairs))}
	for i := range n.Pairs {
		p := &n.Pairs[i]
		leave := d.enter(p.Key)
		switch f := m.byKey[p.Key]; {
		case f == nil && d.keep && len(d.path) == 1:
			d.unknownKept(p)
		case f == nil:
			d.fail(UnknownField, p.Pos, schema.Nearest(p.Key, m.keys()), d.name()+" is no field of "+m.Label())
		case p.Value == nil || p.Value.Kind == schema.NodeNull:
			if f.Required && f.Default == nil && !d.keep {
				pos := p.Pos
				if p.Value != nil {
					pos = p.Value.Pos
				}
				d.fail(Validation, pos, "", d.name()+" is required, and cannot be null: "+f.Type.String())
			}
			o.fields[p.Key] = nil
		default:
			if v, ok := d.value(f, f.Type, p.Value); ok {
				o.fields[p.Key] = v
			}
		}
		leave()
	}
	o.settle()
	return o
}

// unknownKept keeps the value of a field that a newer program has written.
func (d *decoder) unknownKept(p *schema.Pair) {
	if d.extra == nil {
		d.extra = map[string]any{}
	}
	d.extra[p.Key], _ = schema.Value(&schema.Type{Kind: schema.KindAny}, p.Value)
}

func (d *decoder) name() string {
	if len(d.path) == 0 {
		return "the value"
	}
	return d.at()
}

// value reads a part of a field: the objects that it nests by their model, all else by its type.
func (d *decoder) value(f *Field, t *schema.Type, n *schema.Node) (any, bool) {
	switch {
	case f.Nested == nil || t.Kind != schema.KindStruct && t.Kind != schema.KindList && t.Kind != schema.KindMap:
		return d.plain(f, t, n)
	case t.Kind == schema.KindStruct:
		inner := d.object(f.Nested, n)
		if inner == nil {
			return nil, false
		}
		return inner.given(), true
	case t.Kind == schema.KindList && n.Kind == schema.NodeList:
		list := make([]any, 0, len(n.Items))
		for i, item := range n.Items {
			leave := d.item(i)
			if v, ok := d.value(f, t.Elem, item); ok {
				list = append(list, v)
			}
			leave()
		}
		return list, true
	case t.Kind == schema.KindMap && n.Kind == schema.NodeMap:
		dict := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			leave := d.enter(p.Key)
			if v, ok := d.value(f, t.Elem, p.Value); ok {
				dict[p.Key] = v
			}
			leave()
		}
		return dict, true
	}
	d.fail(Validation, n.Pos, "", d.name()+" must be "+t.String())
	return nil, false
}

// plain reads a value without nested objects. Numbers may be text, as they are in forms and on command lines.
func (d *decoder) plain(f *Field, t *schema.Type, n *schema.Node) (any, bool) {
	if code := BadReference; f.Target != "" {
		if n.Kind != schema.NodeString && t.Kind == schema.KindString {
			code = BadValue
			d.fail(code, n.Pos, "", d.name()+" must be the id of an object of "+f.Target)
			return nil, false
		}
	}
	if !d.loose && !d.strict(t, n) {
		return nil, false
	}
	v, found := schema.Value(t, numbers(t, n))
	if found.Err() != nil {
		for _, x := range found {
			if x.Severity == schema.Error {
				d.taken(t, x)
			}
		}
		return nil, false
	}
	v = f.canonical(t, v)
	return v, v != nil
}

// taken makes an Error of a finding of the schema. A value of another shape is a Validation, and so is a wrong word.
// Text that is not in the notation of its type is a BadValue.
func (d *decoder) taken(t *schema.Type, x schema.Diagnostic) {
	code, at := BadValue, t
	if x.Path != "" {
		part, _, err := t.At(x.Path)
		if err != nil {
			code = UnknownField
		}
		at = part
		sep := "."
		if strings.HasPrefix(x.Path, "[") {
			sep = ""
		}
		d.path = append(d.path, sep+x.Path)
		defer d.leave()
	}
	if at != nil && code == BadValue {
		switch at.Kind {
		case schema.KindStruct, schema.KindMap, schema.KindAny:
			code = Validation
		case schema.KindString:
			if at.Format == "" {
				code = Validation
			}
		}
	}
	message := x.Message
	if rest, ok := strings.CutPrefix(message, x.Path+": "); ok && x.Path != "" {
		message = d.at() + ": " + rest
	}
	if x.Path == "" {
		message = strings.Replace(message, "the value", d.at(), 1)
	}
	d.fail(code, x.Pos, x.Suggestion, message)
}

// strict refuses values that the schema would take for text, such as the number 5.
func (d *decoder) strict(t *schema.Type, n *schema.Node) bool {
	ok := true
	switch {
	case t.Kind == schema.KindString && n.Kind != schema.NodeString && n.Kind != schema.NodeNull:
		d.fail(Validation, n.Pos, "", d.name()+" must be text")
		return false
	case t.Kind == schema.KindList && n.Kind == schema.NodeList:
		for i, item := range n.Items {
			leave := d.item(i)
			ok = d.strict(t.Elem, item) && ok
			leave()
		}
	case t.Kind == schema.KindMap && n.Kind == schema.NodeMap:
		for _, p := range n.Pairs {
			leave := d.enter(p.Key)
			ok = d.strict(t.Elem, p.Value) && ok
			leave()
		}
	case t.Kind == schema.KindStruct && n.Kind == schema.NodeMap:
		for _, p := range n.Pairs {
			if f := t.Field(p.Key); f != nil {
				leave := d.enter(p.Key)
				ok = d.strict(f.Type, p.Value) && ok
				leave()
			}
		}
	}
	return ok
}

// values reads fields that are Go values.
func (d *decoder) values(m *Model, fields map[string]any) *Object {
	plain := make(map[string]any, len(fields))
	for key, v := range fields {
		leave := d.enter(key)
		f := m.byKey[key]
		if f == nil {
			d.fail(UnknownField, schema.Pos{}, schema.Nearest(key, m.keys()), d.name()+" is no field of "+m.Label())
		} else if before, p := len(d.errs), d.lower(f, f.Type, v); len(d.errs) == before {
			plain[key] = p
		}
		leave()
	}
	n, err := schema.NodeOf(plain)
	if err != nil {
		d.fail(Validation, schema.Pos{}, "", err.Error())
		return nil
	}
	return d.object(m, n)
}

// lower turns the Objects in a value into maps, where they are nested, and into ids, where they are references. A fault leaves a
// part of no use, and is kept.
func (d *decoder) lower(f *Field, t *schema.Type, v any) any {
	switch v := v.(type) {
	case *Object:
		return d.lowerObject(f, v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			leave := d.item(i)
			out[i] = d.lower(f, elem(t), item)
			leave()
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			inner, of := f.inside(t, key)
			leave := d.enter(key)
			out[key] = d.lower(inner, of, item)
			leave()
		}
		return out
	}
	return v
}

// lowerObject checks that an Object is of the model that the field names.
func (d *decoder) lowerObject(f *Field, o *Object) any {
	switch {
	case f.Target != "" && (f.Target == o.model.Name() || f.Target == o.model.Table()):
		return o.id
	case f.Target != "":
		d.fail(BadValue, schema.Pos{}, "", d.name()+" refers to "+f.Target+", not to "+o.model.Label())
	case f.Nested == o.model:
		return o.given()
	default:
		d.fail(Validation, schema.Pos{}, "", d.name()+" holds no object of "+o.model.Label())
	}
	return nil
}

// canonical writes addresses in their usual form, so that an index finds them however they were written, and sorts sets.
func (f *Field) canonical(t *schema.Type, v any) any {
	switch x := v.(type) {
	case string:
		return address(t, x)
	case []any:
		if t.Kind != schema.KindList {
			break
		}
		for i := range x {
			x[i] = f.canonical(t.Elem, x[i])
		}
		if f.Set && t == f.Type || slices.Contains(f.sets, t) {
			return asSet(x)
		}
	case map[string]any:
		for key := range x {
			if part := partOf(t, key); part != nil {
				x[key] = f.canonical(part, x[key])
			}
		}
	}
	return v
}

// partOf returns the type of a value in a map or in a struct, nil for none.
func partOf(t *schema.Type, key string) *schema.Type {
	if t.Kind == schema.KindMap {
		return t.Elem
	}
	if f := t.Field(key); f != nil {
		return f.Type
	}
	return nil
}

// address returns the usual form of an address; another text stays as it is.
func address(t *schema.Type, s string) string {
	switch t.Format {
	case "ip":
		if a, err := netip.ParseAddr(s); err == nil {
			return a.String()
		}
	case "cidr":
		if p, err := netip.ParsePrefix(s); err == nil {
			return p.String()
		}
	case "mac":
		return strings.ToLower(strings.ReplaceAll(s, "-", ":"))
	}
	return s
}

// numbers turns the text of numbers into numbers, where numbers are wanted: forms and command lines have text only.
func numbers(t *schema.Type, n *schema.Node) *schema.Node {
	switch {
	case n == nil:
	case (t.Kind == schema.KindInt || t.Kind == schema.KindFloat) && n.Kind == schema.NodeString:
		if _, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			return &schema.Node{Kind: schema.NodeInt, Pos: n.Pos, Text: n.Text}
		}
		if _, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return &schema.Node{Kind: schema.NodeFloat, Pos: n.Pos, Text: n.Text}
		}
	case t.Kind == schema.KindList && n.Kind == schema.NodeList:
		c := *n
		c.Items = make([]*schema.Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = numbers(t.Elem, item)
		}
		return &c
	case t.Kind == schema.KindMap && n.Kind == schema.NodeMap:
		c := *n
		c.Pairs = slices.Clone(n.Pairs)
		for i := range c.Pairs {
			c.Pairs[i].Value = numbers(t.Elem, c.Pairs[i].Value)
		}
		return &c
	}
	return n
}

// asSet sorts a list and leaves out repeats.
func asSet(list []any) []any {
	out := slices.Clone(list)
	sorted.Func(out, Compare)
	return slices.CompactFunc(out, func(a, b any) bool { return Compare(a, b) == 0 })
}

// keys returns the names of the fields, for suggestions.
func (m *Model) keys() []string {
	keys := make([]string, len(m.fields))
	for i, f := range m.fields {
		keys[i] = f.Key
	}
	return keys
}
