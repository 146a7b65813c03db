package expand

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// The types of the keys that every resource has. The other keys of a declaration have references in them.
var ownTypes = map[string]*schema.Type{
	"name":  {Kind: schema.KindString},
	whenKey: {Kind: schema.KindBool},
}

// check compiles all expressions of a resource, and judges each one by the type of its field: those that no turn or condition reaches are
// checked, too. The key for_each belongs to the scope around, which has compiled it.
func (f *frame) check(kind string, item *schema.Node) {
	fields := f.g.kindFields(kind)
	for _, p := range item.Pairs {
		if p.Key == forEachKey {
			continue
		}
		f.checkNode(p.Value, keyType(fields, p.Key), p.Key)
		if f.g.late.some && slices.Contains(shown, p.Key) {
			f.refuseSent(p.Value, p.Key)
		}
	}
}

// keyType returns the type of a key of a resource, nil where nothing is known of it.
func keyType(fields *schema.Type, key string) *schema.Type {
	if t := ownTypes[key]; t != nil {
		return t
	}
	if key == "meta" {
		t, err := schema.OfType(reflect.TypeFor[engine.MetaParams]())
		if err != nil {
			panic(err) // a programmer's error, which any test shows
		}
		return t
	}
	return fieldType(fields, key)
}

// fieldType returns the type of a key of a map, nil where nothing is known of it.
func fieldType(t *schema.Type, key string) *schema.Type {
	switch {
	case t == nil || t.Opaque:
	case t.Kind == schema.KindMap:
		return t.Elem
	case t.Kind == schema.KindStruct:
		if t.Link != nil {
			t = t.Link
		}
		if field := t.Field(key); field != nil {
			return field.Type
		}
	}
	return nil
}

// checkNode compiles all expressions of a tree, and judges them by a type, if that is known. path names the tree in a finding.
func (f *frame) checkNode(n *schema.Node, t *schema.Type, path string) {
	switch n.Kind {
	case schema.NodeString:
		if x := f.compile(n); x != nil && x.wrong == nil && !(path == whenKey && isScheduled(x.single())) {
			f.judge(n, x, t, path)
		}
	case schema.NodeList:
		var elem *schema.Type
		if t != nil && t.Kind == schema.KindList && !t.Opaque {
			elem = t.Elem
		}
		for i, item := range n.Items {
			f.checkNode(item, elem, fmt.Sprintf("%s[%d]", path, i))
		}
	case schema.NodeMap:
		for _, p := range n.Pairs {
			f.checkNode(p.Value, fieldType(t, p.Key), path+"."+p.Key)
		}
	}
}

// judge reports a text that can't have a value of the type of its field, and expressions that can't stand in a text.
func (f *frame) judge(n *schema.Node, x *text, t *schema.Type, path string) {
	if run := x.single(); run != nil {
		if t != nil && !run.Type().Fits(t) {
			f.g.errorf(x.at, "%s must be %s, and this expression is %s", path, t, run.Type().Long())
			x.wrong = &schema.Node{Pos: x.at}
		}
		return
	}
	for i := range x.pieces {
		p := &x.pieces[i]
		if p.run != nil && !p.run.Type().InText() {
			message := fmt.Sprintf("inside a text an expression must be text, a number or true or false, not %s%s", p.run.Type(), p.run.Type().TextHint())
			x.wrong = f.g.fault(n, p.at, p.src, expr.Fault{At: leading(p.src), Message: message})
		}
	}
	if x.wrong == nil && t != nil && !expr.Text.Fits(t) {
		f.g.errorf(n.Pos, "%s must be %s, and text around an expression makes it text", path, t)
		x.wrong = &schema.Node{Pos: n.Pos}
	}
}
