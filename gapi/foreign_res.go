package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// foreignRes is one declaration while it is translated.
type foreignRes struct {
	*translator
	d       *Declaration
	k       *foreignKind
	changed bool
	pairs   []schema.Pair // of the value, once one of them is another one
	trims   bool          // blanks around the content are taken away
}

// id is the id of the resource, for findings.
func (r *foreignRes) id() string { return schema.Ref{Kind: r.k.name, Name: r.d.Name}.ID() }

// params translates the parameters.
func (r *foreignRes) params() {
	if r.d.Value == nil || r.d.Value.Kind != schema.NodeMap {
		return
	}
	for i, p := range r.d.Value.Pairs {
		if !r.concerns(p.Key) {
			if r.pairs != nil {
				r.pairs = append(r.pairs, p)
			}
			continue
		}
		if r.pairs == nil {
			r.pairs = append(make([]schema.Pair, 0, len(r.d.Value.Pairs)), r.d.Value.Pairs[:i]...)
		}
		r.pairs = append(r.pairs, r.param(p)...)
	}
	if r.trims {
		r.trimmed()
	}
	if r.pairs != nil {
		r.replace(r.pairs)
	}
}

// replace gives the declaration another value.
func (r *foreignRes) replace(pairs []schema.Pair) {
	n := schema.Node{Kind: schema.NodeMap, Pos: r.d.Pos}
	if r.d.Value != nil {
		n = *r.d.Value
	}
	n.Pairs = pairs
	r.d.Value, r.changed = &n, true
}

// native reports whether a key is one of the kind itself.
func (r *foreignRes) native(key string) bool {
	f := r.k.typ.Field(key)
	return f != nil && f.Key == key || key == "comment"
}

// concerns reports whether there may be something to translate about a key.
func (r *foreignRes) concerns(key string) bool {
	yes, known := r.k.keys[key]
	if !known {
		yes = !r.native(key) || words.HasValues(r.k.name+"."+key)
		r.k.keys[key] = yes
	}
	return yes
}

// param translates one parameter, into none, one or several.
func (r *foreignRes) param(p schema.Pair) []schema.Pair {
	if w := r.value(p); w != nil {
		return r.valued(w, p)
	}
	if r.native(p.Key) {
		return []schema.Pair{p}
	}
	w := words.Param(r.k.name, p.Key)
	switch {
	case w == nil:
		return []schema.Pair{p}
	case w.Refused():
		r.refuse(w, p.Pos, r.id(), p.Key, "unknown key "+quote(p.Key))
		return nil
	case w.Dropped():
		return r.drop(w, p)
	case w.Func() != "":
		return r.convert(w, p)
	}
	return r.rename(w, p)
}

// value returns the word for a value, unless the kind has that value itself.
func (r *foreignRes) value(p schema.Pair) *words.Word {
	w := words.Value(r.k.name+"."+p.Key, p.Value)
	f := r.k.typ.Field(p.Key)
	switch {
	case w == nil, f == nil || f.Key != p.Key:
		return w
	case slices.Contains(f.Type.Enum, p.Value.Text):
		return nil
	case w.Theirs == "[]" && f.Type.Kind == schema.KindList, w.Theirs == "{}" && f.Type.Kind == schema.KindMap:
		return nil
	}
	return w
}

// valued puts our value in the place of another one.
func (r *foreignRes) valued(w *words.Word, p schema.Pair) []schema.Pair {
	what := p.Key + ": " + shownValue(p.Value)
	switch {
	case w.Refused():
		r.refuse(w, p.Value.Pos, r.id(), p.Key, what+" is not for "+r.id())
		return nil
	case w.Dropped():
		return r.drop(w, p)
	case w.Func() != "":
		return r.convert(w, p)
	}
	r.note(w, p.Value.Pos, r.id(), p.Key, "%s of %s is %s: %s here", what, r.k.name, p.Key, w.Ours)
	out := []schema.Pair{{Key: p.Key, Pos: p.Pos, Value: scalarNode(w.Name(), p.Value.Pos)}}
	out = append(out, r.with(w, p.Value.Pos)...)
	r.rewrite(Rewrite{Pos: p.Pos, Value: out[0].Value, Add: out[1:]})
	return out
}

// with returns the parameters that come with a word and are not given.
func (r *foreignRes) with(w *words.Word, pos schema.Pos) []schema.Pair {
	var out []schema.Pair
	for _, s := range w.Sets() {
		if r.d.Value.Get(s.Key) == nil {
			out = append(out, schema.Pair{Key: s.Key, Pos: pos, Value: scalarNode(s.Value, pos)})
		}
	}
	return out
}

func (r *foreignRes) drop(w *words.Word, p schema.Pair) []schema.Pair {
	if w.Note == "" {
		r.note(w, p.Pos, r.id(), p.Key, "%s says nothing here", quote(p.Key))
	} else {
		r.note(w, p.Pos, r.id(), p.Key, "%s is left out", quote(p.Key))
	}
	r.rewrite(Rewrite{Pos: p.Pos, Drop: true})
	return nil
}

// rename gives a parameter our name: that of another parameter, or of a key that every
// resource has.
func (r *foreignRes) rename(w *words.Word, p schema.Pair) []schema.Pair {
	to := w.Name()
	if slices.Contains(schema.ReservedKeys, to) {
		if !r.edge(w, to, p) {
			return nil
		}
		r.note(w, p.Pos, r.id(), p.Key, "%s is %s here", quote(p.Key), to)
		return nil
	}
	f := r.k.typ.Field(to)
	if f == nil {
		return []schema.Pair{p} // this kind has neither
	}
	if r.d.Value.Get(f.Key) != nil {
		r.found.Add(schema.Diagnostic{Pos: p.Pos, Resource: r.id(), Path: p.Key, Message: quote(p.Key) + " is " + f.Key + " here, which is given too"})
		return nil
	}
	r.note(w, p.Pos, r.id(), p.Key, "%s of %s is %s here", quote(p.Key), r.k.name, f.Key)
	r.rewrite(Rewrite{Pos: p.Pos, To: f.Key})
	p.Key = f.Key
	if w := r.value(p); w != nil {
		return r.valued(w, p)
	}
	return []schema.Pair{p}
}

// ours adds the parameters that come with a word for a kind, and gives the kind our name.
func (r *foreignRes) ours() {
	if r.k.word == nil {
		return
	}
	r.d.Kind, r.changed = r.k.name, true
	add := r.with(r.k.word, r.d.Pos)
	if len(add) == 0 {
		return
	}
	var pairs []schema.Pair
	if r.d.Value != nil {
		pairs = slices.Clone(r.d.Value.Pairs)
	}
	r.replace(append(pairs, add...))
	r.rewrite(Rewrite{Pos: r.d.Pos, Add: add})
}

// absences notes the meaning of an absent value here, where it means something else
// elsewhere.
func (r *foreignRes) absences() {
	r.k.absent = slices.DeleteFunc(r.k.absent, func(a words.Absent) bool {
		keys := slices.DeleteFunc(slices.Clone(a.Keys), r.given)
		if len(keys) == 0 || a.With() != "" && !r.given(a.With()) {
			return false
		}
		list := &r.defaults
		if a.Quiet {
			list = &r.quiet
		}
		*list = append(*list, schema.Diagnostic{Severity: schema.Note, Pos: r.d.Pos, Resource: r.id(), Path: keys[0],
			Message: r.k.name + " has " + strings.Join(keys, " and ") + ": " + a.Ours + " where nothing is said: " + a.Note})
		return true
	})
}

// given reports whether a parameter is declared or received.
func (r *foreignRes) given(key string) bool {
	return r.d.Value.Get(key) != nil || slices.ContainsFunc(r.d.Recv, func(d RecvDecl) bool { return topKey(d.Field) == key })
}

// recvs translates the names of parameters that are received, and the kinds of senders.
func (r *foreignRes) recvs() {
	for i, d := range r.d.Recv {
		from := r.ref(&d.From)
		key := topKey(d.Field)
		if !r.native(key) {
			if w := words.Param(r.k.name, key); w != nil && !w.Refused() && !w.Dropped() && r.k.typ.Field(w.Name()) != nil {
				d.Field = w.Name() + strings.TrimPrefix(d.Field, key)
				r.note(w, d.Pos, r.id(), key, "%s of %s is %s here", quote(key), r.k.name, w.Name())
				r.rewrite(Rewrite{Pos: d.Pos, To: d.Field})
				from = true
			}
		}
		if from {
			r.d.Recv, r.changed = slices.Clone(r.d.Recv), true
			r.d.Recv[i] = d
		}
	}
}

func scalarNode(text string, pos schema.Pos) *schema.Node {
	n := &schema.Node{Kind: schema.NodeString, Text: text, Pos: pos}
	switch {
	case text == "true" || text == "false":
		n.Kind = schema.NodeBool
	case text != "" && strings.Trim(text, "0123456789") == "":
		n.Kind = schema.NodeInt
	}
	return n
}

// shownValue is a value in a message.
func shownValue(n *schema.Node) string {
	switch {
	case n.Kind == schema.NodeList:
		return "a list"
	case n.Kind == schema.NodeMap:
		return "a map"
	case n.Text == "":
		return `""`
	default:
		return n.Text
	}
}
