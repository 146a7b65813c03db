package schema

import (
	"fmt"
	"reflect"
	"strconv"
)

// Value reads a Node as a plain value of type t, as EncodeAll gives it; a KindStruct
// gets only the keys that the Node has. It is Decode for a Type that has no Go struct
// behind it. The value holds everything that was right, even where there are errors.
// Enumerations, bounds and formats are checked as Decode checks them.
func Value(t *Type, n *Node) (any, Diagnostics) {
	var d decoder
	v, _ := d.plain(t, n)
	return v, d.diags
}

// Check returns the faults of a plain value, in the words of Decode but without
// positions. It takes what NodeOf takes, and does not alter v.
func Check(t *Type, v any) Diagnostics {
	n, err := NodeOf(v)
	if err != nil {
		return Diagnostics{{Message: err.Error()}}
	}
	_, ds := Value(t, n)
	return ds
}

// plain reads n by t into a plain value; ok is false when there is none, because
// it is wrong or null.
func (d *decoder) plain(t *Type, n *Node) (v any, ok bool) {
	if n == nil {
		n = nullNode
	}
	if t.Optional && n.Kind == NodeNull {
		return nil, true
	}
	switch t.Kind {
	case KindAny:
		return d.anyOf(t, n)
	case KindBool:
		return boxed(d.boolean(t, n))
	// One of i and u is zero, so their sum is the number.
	case KindInt:
		i, u, ok := d.integer(t, n)
		if u > 1<<63-1 {
			return u, ok
		}
		return boxed(i+int64(u), ok)
	case KindFloat:
		return boxed(d.float(t, n))
	case KindString:
		return d.plainText(t, n)
	case KindDuration:
		return boxed(d.duration(t, n))
	case KindSize:
		return boxed(d.size(t, n))
	case KindMode:
		return boxed(d.mode(t, n))
	case KindRef:
		return boxed(d.ref(t, n))
	case KindList:
		return d.plainList(t, n)
	case KindMap:
		return d.plainMap(t, n)
	case KindStruct:
		return d.plainStruct(t, n)
	}
	d.mismatch(t, n, "")
	return nil, false
}

// boxed makes an untyped nil of a value that is not there.
func boxed[T any](v T, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return v, true
}

// plainText reads text. A type with a notation of its own checks it, and the text is
// kept as it was written.
func (d *decoder) plainText(t *Type, n *Node) (any, bool) {
	s, ok := d.text(t, n)
	switch {
	case !ok:
		return nil, false
	case t.Secret:
		return NewSecret(s), true
	case t.conv == convText && t.Go != nil:
		rt := t.Go
		if err := unmarshalText(reflect.New(rt), s); err != nil {
			d.fail(t, n, err)
			return nil, false
		}
	}
	return s, true
}

// plainList reads each element; a wrong one is nil.
func (d *decoder) plainList(t *Type, n *Node) (any, bool) {
	switch {
	case n.Kind == NodeNull:
		return nil, false
	case n.Kind != NodeList:
		d.mismatch(t, n, "")
		return nil, false
	case !within(t, int64(len(n.Items))):
		d.length(t, n, len(n.Items))
		return nil, false
	}
	out := make([]any, len(n.Items))
	for i, item := range n.Items {
		d.path = append(d.path, seg{index: i, list: true})
		out[i], _ = d.plain(t.Elem, at(item, n))
		d.path = d.path[:len(d.path)-1]
	}
	return out, true
}

// plainMap reads each entry; a wrong one is nil.
func (d *decoder) plainMap(t *Type, n *Node) (any, bool) {
	switch {
	case n.Kind == NodeNull:
		return nil, false
	case n.Kind != NodeMap:
		d.mismatch(t, n, "")
		return nil, false
	case !within(t, int64(len(n.Pairs))):
		d.length(t, n, len(n.Pairs))
		return nil, false
	}
	out := make(map[string]any, len(n.Pairs))
	for _, p := range n.Pairs {
		if !d.knows(t, &p) {
			continue
		}
		d.path = append(d.path, seg{key: p.Key})
		out[p.Key], _ = d.plain(t.Elem, at(p.Value, n))
		d.path = d.path[:len(d.path)-1]
	}
	return out, true
}

// plainStruct reads the keys that the node has. It fills in no defaults.
func (d *decoder) plainStruct(t *Type, n *Node) (any, bool) {
	if t.Link != nil && len(d.path) > maxDepth {
		d.add(Error, n.Pos, "", fmt.Sprintf("%s nests too deeply", d.name()))
		return nil, false
	}
	t = t.linked()
	if n.Kind != NodeMap && n.Kind != NodeNull {
		d.mismatch(t, n, "")
		return nil, false
	}
	out := make(map[string]any, len(n.Pairs))
	var seen fieldSet
	for i := range n.Pairs {
		p := &n.Pairs[i]
		f := d.lookup(t, p, &seen)
		if f == nil {
			continue
		}
		d.path = append(d.path, seg{key: p.Key})
		if v, ok := d.plain(f.Type, at(p.Value, n)); ok {
			out[f.Key] = v
		}
		d.path = d.path[:len(d.path)-1]
	}
	d.missing(t, n, &seen)
	return out, true
}

// any reads n as the plain value that its shape says.
func (d *decoder) any(n *Node, depth int) (any, bool) {
	if n == nil || n.Kind == NodeNull {
		return nil, true
	}
	// No type bounds the depth here.
	if depth > maxDepth {
		d.add(Error, n.Pos, "", fmt.Sprintf("%s nests too deeply", d.name()))
		return nil, false
	}
	if v, ok := n.remembered(); ok {
		return v, true
	}
	switch n.Kind {
	case NodeBool:
		return boxed(d.boolean(boolType, n))
	case NodeInt:
		return d.anyInt(n)
	case NodeFloat:
		return boxed(d.float(floatType, n))
	case NodeString:
		return n.Text, true
	case NodeList:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			d.path = append(d.path, seg{index: i, list: true})
			out[i], _ = d.any(item, depth+1)
			d.path = d.path[:len(d.path)-1]
		}
		return out, true
	case NodeMap:
		out := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			d.path = append(d.path, seg{key: p.Key})
			out[p.Key], _ = d.any(p.Value, depth+1)
			d.path = d.path[:len(d.path)-1]
		}
		return out, true
	}
	d.mismatch(anyType, n, "")
	return nil, false
}

// The types of scalars whose shape alone says how they are read.
var (
	boolType  = &Type{Kind: KindBool}
	floatType = &Type{Kind: KindFloat, Bits: 64}
)

// anyInt gives an int64, or a uint64 above its range. The usual notation goes without a
// type; octal, hexadecimal and underscores take the longer way.
func (d *decoder) anyInt(n *Node) (any, bool) {
	if v, err := strconv.ParseInt(n.Text, 10, 64); err == nil && (n.Text[0] != '0' || n.Text == "0") {
		return v, true
	}
	t := &Type{Kind: KindInt, Bits: 64, Unsigned: n.Text != "" && n.Text[0] != '-'}
	i, u, ok := d.integer(t, n)
	if u > 1<<63-1 {
		return u, ok
	}
	return boxed(i+int64(u), ok)
}
