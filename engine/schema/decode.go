package schema

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
)

// Decode fills the target of into, usually a struct, from a Node, in place. A field
// whose key the Node does not have keeps its value. A list or a map in the Node is the
// whole value; structs are filled key by key. Null sets an optional field to nil,
// leaves a list, a map or a struct as it is, and is an error for everything else.
// Nothing that into held before is written through: lists, maps and pointers are made
// anew.
//
// It goes on after an error and returns all findings, each with position and path; a
// field whose value is wrong keeps its old value. Findings may be warnings only: ask
// Err.
//
// If the target of into has UnmarshalYAML(func(any) error) error, that is called
// instead, with a func that runs Decode on the same Node. The method may convert itself
// to a type without the method, or pass itself. An error of its own is reported at the
// position of the Node. A panic of a method of the Go side becomes a finding.
//
// The caller owns into and must not use it elsewhere until Decode returns. The cost is
// that of the Node.
func Decode(n *Node, into any) Diagnostics {
	var d decoder
	d.decode(n, into, nil)
	return d.diags
}

// decode fills into, without calling the UnmarshalYAML of the type except.
func (d *decoder) decode(n *Node, into any, except reflect.Type) {
	if n == nil {
		n = nullNode
	}
	// A pointer to a nil pointer is filled before Side looks, since Side takes off
	// pointers alone.
	fillPointers(reflect.ValueOf(into))
	t, rv, err := Side(into)
	switch {
	case into == nil || err == nil && !rv.CanSet():
		d.add(Error, n.Pos, "", fmt.Sprintf("cannot decode into %T, it must be a pointer that is not nil", into))
		return
	case err != nil:
		d.add(Error, n.Pos, "", err.Error())
		return
	}
	if own, ok := readsItself(into); ok && own.Type() != except {
		d.callCustom(n, own)
		return
	}
	if t.custom && rv.Type() != except {
		d.callCustom(n, rv)
		return
	}
	d.shape(t, n, rv)
}

// fillPointers fills a nil pointer behind another pointer. A nil pointer at the top
// stays nil, and decode refuses it.
func fillPointers(rv reflect.Value) {
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		if rv = rv.Elem(); rv.Kind() == reflect.Pointer && rv.IsNil() {
			rv.Set(reflect.New(rv.Type().Elem()))
		}
	}
}

// value decodes n into rv, which is the Go side of t and settable.
func (d *decoder) value(t *Type, n *Node, rv reflect.Value) {
	if n == nil {
		n = nullNode
	}
	if t.Optional {
		if n.Kind == NodeNull {
			rv.SetZero()
			return
		}
		// The old target is never written to: another holder may share it. The copy
		// keeps the keys that the node does not have.
		fresh := reflect.New(rv.Type().Elem())
		if !rv.IsNil() {
			fresh.Elem().Set(rv.Elem())
		}
		before := len(d.diags)
		d.required(t, n, fresh.Elem())
		// A wrong scalar keeps the old value. Of a struct all that was right is kept,
		// as for a struct without a pointer.
		if (d.diags[before:]).Err() == nil || t.Kind == KindStruct {
			rv.Set(fresh)
		}
		return
	}
	d.required(t, n, rv)
}

// required is value for a Go side that is not a pointer.
func (d *decoder) required(t *Type, n *Node, rv reflect.Value) {
	if t.custom {
		d.callCustom(n, rv)
		return
	}
	d.shape(t, n, rv)
}

// shape decodes by the shape of t alone.
func (d *decoder) shape(t *Type, n *Node, rv reflect.Value) {
	switch t.Kind {
	case KindAny:
		if v, ok := d.anyOf(t, n); ok {
			if v == nil {
				rv.SetZero()
			} else {
				rv.Set(reflect.ValueOf(v))
			}
		}
	case KindList:
		d.list(t, n, rv)
	case KindMap:
		d.mapping(t, n, rv)
	case KindStruct:
		if t.Link != nil {
			d.inner(t, n, rv)
			return
		}
		d.structure(t, n, rv)
	default:
		d.scalar(t, n, rv)
	}
}

// scalar sets a scalar only where its value is right.
func (d *decoder) scalar(t *Type, n *Node, rv reflect.Value) {
	switch t.Kind {
	case KindBool:
		if v, ok := d.boolean(t, n); ok {
			rv.SetBool(v)
		}
	case KindInt:
		if i, u, ok := d.integer(t, n); ok && t.Unsigned {
			rv.SetUint(u)
		} else if ok {
			rv.SetInt(i)
		}
	case KindFloat:
		if v, ok := d.float(t, n); ok {
			rv.SetFloat(v)
		}
	case KindString:
		if s, ok := d.text(t, n); ok {
			d.setText(t, n, rv, s)
		}
	case KindDuration:
		if v, ok := d.duration(t, n); ok {
			rv.SetInt(int64(v))
		}
	case KindSize:
		if v, ok := d.size(t, n); ok {
			rv.SetInt(int64(v))
		}
	case KindMode:
		if v, ok := d.mode(t, n); ok {
			rv.SetString(string(v))
		}
	case KindRef:
		if v, ok := d.ref(t, n); ok {
			rv.Set(reflect.ValueOf(v))
		}
	}
}

// setText puts a text into its Go side. A type with UnmarshalText gets a fresh value,
// so its method cannot alter the old one.
func (d *decoder) setText(t *Type, n *Node, rv reflect.Value, s string) {
	switch {
	case t.Secret:
		rv.Set(reflect.ValueOf(NewSecret(s)))
	case t.conv == convBytes:
		rv.SetBytes([]byte(s))
	case t.conv == convText:
		fresh := reflect.New(rv.Type())
		if err := unmarshalText(fresh, s); err != nil {
			d.fail(t, n, err)
			return
		}
		rv.Set(fresh.Elem())
	default:
		rv.SetString(s)
	}
}

// unmarshalText calls the method of another's type; its panic is an error.
func unmarshalText(p reflect.Value, s string) (err error) {
	defer recovered(&err, "UnmarshalText")
	return p.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
}

// recovered turns a panic into an error. The value of the panic is shown, as it is an
// error of the program.
func recovered(err *error, method string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s panicked: %v", method, r)
	}
}

// list makes a new list of the length of the node. An element that is wrong has its
// zero value, and a finding.
func (d *decoder) list(t *Type, n *Node, rv reflect.Value) {
	switch {
	case n.Kind == NodeNull:
		return
	case n.Kind != NodeList:
		d.mismatch(t, n, "")
		return
	case !within(t, int64(len(n.Items))):
		d.length(t, n, len(n.Items))
		return
	}
	fresh := reflect.MakeSlice(rv.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.path = append(d.path, seg{index: i, list: true})
		d.value(t.Elem, at(item, n), fresh.Index(i))
		d.path = d.path[:len(d.path)-1]
	}
	rv.Set(fresh)
}

// at returns item, or a null at the position of its parent where there is none. So a
// finding about an absent element has a position too.
func at(item, parent *Node) *Node {
	if item == nil {
		return &Node{Pos: parent.Pos}
	}
	return item
}

// length reports a list or a map of a wrong length.
func (d *decoder) length(t *Type, n *Node, got int) {
	d.add(Error, n.Pos, "", fmt.Sprintf("%s must be %s, not of %d", d.name(), t, got))
}

// mapping makes a new map of the node. The type of the keys may be any made of string,
// so each key is converted.
func (d *decoder) mapping(t *Type, n *Node, rv reflect.Value) {
	switch {
	case n.Kind == NodeNull:
		return
	case n.Kind != NodeMap:
		d.mismatch(t, n, "")
		return
	case !within(t, int64(len(n.Pairs))):
		d.length(t, n, len(n.Pairs))
		return
	}
	rt := rv.Type()
	fresh := reflect.MakeMapWithSize(rt, len(n.Pairs))
	for i := range n.Pairs {
		p := &n.Pairs[i]
		if !d.knows(t, p) {
			continue
		}
		elem := reflect.New(rt.Elem()).Elem()
		d.path = append(d.path, seg{key: p.Key})
		d.value(t.Elem, at(p.Value, n), elem)
		d.path = d.path[:len(d.path)-1]
		fresh.SetMapIndex(reflect.ValueOf(p.Key).Convert(rt.Key()), elem)
	}
	rv.Set(fresh)
}

// knows reports whether a map takes a key, and else reports the key.
func (d *decoder) knows(t *Type, p *Pair) bool {
	if len(t.Enum) == 0 || slices.Contains(t.Enum, p.Key) {
		return true
	}
	d.unknown(p, Nearest(p.Key, t.Enum))
	return false
}

// inner decodes a struct inside of itself, which alone may nest without an end. A
// struct that is not inside of itself is as deep as its type, so only here the depth is
// counted.
func (d *decoder) inner(t *Type, n *Node, rv reflect.Value) {
	switch {
	case len(d.path) > maxDepth:
		d.add(Error, n.Pos, "", fmt.Sprintf("%s nests too deeply", d.name()))
	case t.boxed(rv):
		fresh, box := t.unbox(rv)
		d.structure(t.Link, n, fresh)
		box()
	default:
		d.structure(t.Link, n, rv)
	}
}

// structure fills the fields of the keys that the node has, in the order of the node.
// Null counts as a node without keys.
func (d *decoder) structure(t *Type, n *Node, rv reflect.Value) {
	if n.Kind != NodeMap && n.Kind != NodeNull {
		d.mismatch(t, n, "")
		return
	}
	var seen fieldSet
	for i := range n.Pairs {
		p := &n.Pairs[i]
		f := d.lookup(t, p, &seen)
		if f == nil {
			continue
		}
		d.path = append(d.path, seg{key: p.Key})
		d.value(f.Type, at(p.Value, n), fieldOf(rv, f))
		d.path = d.path[:len(d.path)-1]
	}
	d.missing(t, n, &seen)
}

// fieldOf returns the Go side of a field. Most fields are not inlined, and then one
// step is enough.
func fieldOf(rv reflect.Value, f *Field) reflect.Value {
	if len(f.Index) == 1 {
		return rv.Field(f.Index[0])
	}
	return rv.FieldByIndex(f.Index)
}

// lookup returns the field of a key and marks it as seen, or reports the key. The key
// may be the alias, but not the name in Go: that is only for Recv and for paths. A key
// and its alias together are given twice.
func (d *decoder) lookup(t *Type, p *Pair, seen *fieldSet) *Field {
	f := t.Field(p.Key)
	switch {
	case f == nil, f.Key != p.Key && f.Alias != p.Key:
		near := ""
		if f != nil {
			near = f.Key
		} else {
			near = Nearest(p.Key, t.Keys())
		}
		d.unknown(p, near)
		return nil
	case !seen.add(t.place(f)):
		d.path = append(d.path, seg{key: p.Key})
		d.add(Error, p.Pos, "", fmt.Sprintf("%s is given twice", d.name()))
		d.path = d.path[:len(d.path)-1]
		return nil
	}
	if f.Deprecated != "" {
		d.path = append(d.path, seg{key: p.Key})
		d.add(Warning, p.Pos, "", fmt.Sprintf("%s is deprecated: %s", d.name(), f.Deprecated))
		d.path = d.path[:len(d.path)-1]
	}
	return f
}

// unknown reports a key that the type does not have, with the nearest one.
func (d *decoder) unknown(p *Pair, near string) {
	within := ""
	if len(d.path) > 0 {
		within = " in " + formatPath(d.path)
	}
	d.path = append(d.path, seg{key: p.Key})
	d.add(Error, p.Pos, near, fmt.Sprintf("unknown key %q%s", Shorten(p.Key), within))
	d.path = d.path[:len(d.path)-1]
}

// missing reports the required keys that were not given, at the position of the whole
// value.
func (d *decoder) missing(t *Type, n *Node, seen *fieldSet) {
	for i, f := range t.Fields {
		if f.Required && !seen.has(i) {
			d.path = append(d.path, seg{key: f.Key})
			d.add(Error, n.Pos, "", fmt.Sprintf("%s is required: %s", d.name(), f.Type))
			d.path = d.path[:len(d.path)-1]
		}
	}
}

// fieldSet is a set of places in Type.Fields. The first 64 fields take no memory
// besides; nearly every kind has fewer.
type fieldSet struct {
	low  uint64
	more map[int]bool
}

// add reports whether i was not in the set.
func (s *fieldSet) add(i int) bool {
	if s.has(i) {
		return false
	}
	if i < 64 {
		s.low |= 1 << i
		return true
	}
	if s.more == nil {
		s.more = map[int]bool{}
	}
	s.more[i] = true
	return true
}

// has reports whether i is in the set.
func (s *fieldSet) has(i int) bool {
	if i < 64 {
		return s.low&(1<<i) != 0
	}
	return s.more[i]
}
