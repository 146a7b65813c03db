package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// refs translates the kinds in the references that a resource declares.
func (r *foreignRes) refs() {
	for _, list := range []*[]RefDecl{&r.d.Before, &r.d.Depend, &r.d.Notify, &r.d.Listen} {
		for i, ref := range *list {
			if !r.ref(&ref.Ref) {
				continue
			}
			r.rewrite(Rewrite{Pos: ref.Pos, To: ref.Ref.ID()})
			*list, r.changed = slices.Clone(*list), true
			(*list)[i] = ref
		}
	}
}

// edge takes a key of another tool for one of ours that names resources: a reference, a
// list of them, or, as Salt writes them, maps of kinds to names. It reports whether all of it
// could be read.
func (r *foreignRes) edge(w *words.Word, key string, p schema.Pair) bool {
	items := []*schema.Node{p.Value}
	if p.Value.Kind == schema.NodeList {
		items = p.Value.Items
	}
	list := r.edgeList(key)
	out := slices.Clone(*list)
	value := &schema.Node{Kind: schema.NodeList, Pos: p.Value.Pos}
	for _, item := range items {
		ref, ok := foreignRef(item)
		if !ok {
			r.found.Add(schema.Diagnostic{Pos: item.Pos, Resource: r.id(), Path: p.Key,
				Message: quote(p.Key) + " is " + key + " here, and names resources as kind[name]"})
			return false
		}
		r.ref(&ref)
		out = append(out, RefDecl{Ref: ref, Pos: item.Pos})
		value.Items = append(value.Items, &schema.Node{Kind: schema.NodeString, Text: ref.ID(), Pos: item.Pos})
	}
	if len(*list) == 0 { // else both keys would be there
		r.rewrite(Rewrite{Pos: p.Pos, To: key, Value: value})
	}
	*list, r.changed = out, true
	return true
}

func (r *foreignRes) edgeList(key string) *[]RefDecl {
	return map[string]*[]RefDecl{
		"before": &r.d.Before, "depend": &r.d.Depend, "notify": &r.d.Notify, "listen": &r.d.Listen,
	}[key]
}

// foreignRef reads kind[name], or a map of one kind to one name.
func foreignRef(n *schema.Node) (schema.Ref, bool) {
	switch {
	case n.Kind == schema.NodeString:
		ref, err := schema.ParseRef(unquotedRef(n.Text))
		return ref, err == nil && ref.Key == ""
	case n.Kind == schema.NodeMap && len(n.Pairs) == 1 && n.Pairs[0].Value.Kind == schema.NodeString:
		return schema.Ref{Kind: n.Pairs[0].Key, Name: n.Pairs[0].Value.Text}, n.Pairs[0].Value.Text != ""
	}
	return schema.Ref{}, false
}

// unquotedRef is a reference as a catalog writes it, without the quotes of the name.
func unquotedRef(text string) string {
	kind, rest, _ := strings.Cut(text, "[")
	name, ok := strings.CutSuffix(rest, "]")
	for _, q := range []string{"'", `"`} {
		if ok && len(name) > 2 && strings.HasPrefix(name, q) && strings.HasSuffix(name, q) {
			return kind + "[" + name[1:len(name)-1] + "]"
		}
	}
	return text
}

// metas translates the metaparameters.
func (r *foreignRes) metas() {
	if r.d.Meta == nil || r.d.Meta.Kind != schema.NodeMap {
		return
	}
	for i, p := range r.d.Meta.Pairs {
		if !r.metaConcerns(p.Key) {
			continue
		}
		q, ok := r.metaPair(p)
		if ok && q == p {
			continue
		}
		n := *r.d.Meta
		n.Pairs = slices.Clone(n.Pairs)
		if n.Pairs[i] = q; !ok {
			n.Pairs[i].Key = "" // taken out below
		}
		r.d.Meta, r.changed = &n, true
	}
	if slices.ContainsFunc(r.d.Meta.Pairs, func(p schema.Pair) bool { return p.Key == "" }) {
		n := *r.d.Meta
		n.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p schema.Pair) bool { return p.Key == "" })
		r.d.Meta = &n
	}
}

func (t *translator) metaConcerns(key string) bool {
	yes, known := t.meta[key]
	if !known {
		yes = words.HasValues("meta."+key) || words.Meta(key) != nil
		t.meta[key] = yes
	}
	return yes
}

// metaPair translates one metaparameter, and reports whether it is still there.
func (r *foreignRes) metaPair(p schema.Pair) (schema.Pair, bool) {
	if w := words.Value("meta."+p.Key, p.Value); w != nil {
		r.note(w, p.Value.Pos, r.id(), metaPath(p.Key), "meta: %s: %s is %s here", p.Key, shownValue(p.Value), w.Ours)
		p.Value = scalarNode(w.Ours, p.Value.Pos)
		r.rewrite(Rewrite{Pos: p.Pos, Value: p.Value})
		return p, true
	}
	w := words.Meta(p.Key)
	switch {
	case w == nil || isMeta(p.Key):
		return p, true
	case w.Refused():
		r.refuse(w, p.Pos, r.id(), metaPath(p.Key), "unknown key "+quote(p.Key))
		return p, false
	case w.Dropped():
		r.drop(w, p)
		return p, false
	}
	r.note(w, p.Pos, r.id(), metaPath(p.Key), "meta: %s is %s here", p.Key, w.Ours)
	r.rewrite(Rewrite{Pos: p.Pos, To: w.Ours})
	p.Key = w.Ours
	return p, true
}

// isMeta reports whether a key is a metaparameter.
func isMeta(key string) bool {
	t, err := schema.TypeOf(&engine.MetaParams{})
	return err == nil && t.Field(key) != nil && t.Field(key).Key == key
}
