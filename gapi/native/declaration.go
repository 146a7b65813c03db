package native

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Declaration returns the declaration that an object of a kind is. Its place is "store:TABLE/ID". The error tells of all
// that cannot be declared.
func Declaration(o *model.Object) (*gapi.Declaration, error) {
	m := o.Model()
	pos := placeOf(m, o.ID())
	d := &gapi.Declaration{Kind: m.Kind(), Name: o.ID(), Pos: pos, KindPos: pos, NamePos: pos, Optional: true}
	values := o.Values()
	params := map[string]any{}
	var errs []error
	for _, f := range m.Fields() {
		v, set := values[f.Key]
		if !set {
			continue
		}
		var err error
		switch {
		case f.Param != "":
			params[f.Param] = v
		case f.Key == "id", f.Key == "topic", f.Key == "version":
		case f.Key == "meta":
			d.Meta, err = node(v, pos)
		case f.Key == "recv":
			d.Recv, err = received(v, pos)
		case slices.Contains(model.Edges, f.Key):
			*edges(d, f.Key), err = references(f.Key, v, pos)
		default:
			params[f.Key] = v
		}
		errs = append(errs, err)
	}
	value, err := node(params, pos)
	d.Value = value
	return d, errors.Join(append(errs, err)...)
}

// placeOf is where the findings about an object stand.
func placeOf(m *model.Model, id string) schema.Pos {
	return schema.Pos{File: "store:" + m.Table() + "/" + id}
}

// edges returns the list of a declaration for a field of model.Edges.
func edges(d *gapi.Declaration, key string) *[]gapi.RefDecl {
	return map[string]*[]gapi.RefDecl{"before": &d.Before, "depend": &d.Depend, "notify": &d.Notify, "listen": &d.Listen}[key]
}

// node returns a plain value as a node with a place. A secret in it stays one.
func node(v any, pos schema.Pos) (*schema.Node, error) {
	n, err := schema.NodeOf(v)
	if err == nil {
		place(n, pos)
	}
	return n, err
}

// place gives a node and all below it a place: a record has no lines, so each finding names the object.
func place(n *schema.Node, pos schema.Pos) {
	if n == nil {
		return
	}
	n.Pos = pos
	for _, item := range n.Items {
		place(item, pos)
	}
	for i := range n.Pairs {
		n.Pairs[i].Pos = pos
		place(n.Pairs[i].Value, pos)
	}
}

// references reads a list of kind[name].
func references(key string, v any, pos schema.Pos) (refs []gapi.RefDecl, err error) {
	list, _ := v.([]any)
	for _, item := range list {
		ref, bad := reference(item)
		if bad == nil && ref.Key != "" {
			bad = fmt.Errorf("%q names a value, and an edge leads to a resource: write %s", ref, ref.ID())
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", key, bad))
			continue
		}
		refs = append(refs, gapi.RefDecl{Ref: ref, Pos: pos})
	}
	return refs, err
}

// received reads a map from parameters to kind[name].key.
func received(v any, pos schema.Pos) (list []gapi.RecvDecl, err error) {
	all, _ := v.(map[string]any)
	for field, from := range all {
		ref, bad := reference(from)
		if bad == nil && ref.Key == "" {
			bad = fmt.Errorf("%q names no value: write %s.KEY", ref, ref.ID())
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("recv: %s: %w", field, bad))
			continue
		}
		list = append(list, gapi.RecvDecl{Field: field, From: ref, Pos: pos})
	}
	// A map has no order, and equal graphs must be equal.
	sorted.Func(list, func(a, b gapi.RecvDecl) int { return cmp.Compare(a.Field, b.Field) })
	return list, err
}

// reference reads kind[name] or kind[name].key, which a model has as text or as a reference.
func reference(v any) (schema.Ref, error) {
	if ref, ok := v.(schema.Ref); ok {
		return ref, nil
	}
	return schema.ParseRef(fmt.Sprint(v))
}
