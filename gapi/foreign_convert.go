package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// convert translates a parameter whose word is a function.
func (r *foreignRes) convert(w *words.Word, p schema.Pair) []schema.Pair {
	switch w.Func() {
	case "zero":
		return r.zero(w, p)
	case "trim":
		return r.trim(w, p)
	}
	to, what := shaped(w.Func(), p.Value)
	if to == nil {
		return []schema.Pair{p}
	}
	r.note(w, p.Value.Pos, r.id(), p.Key, "%s of %s as %s", p.Key, r.k.name, what)
	r.rewrite(Rewrite{Pos: p.Pos, Value: to})
	return []schema.Pair{{Key: p.Key, Pos: p.Pos, Value: to}}
}

// shaped returns a value in the shape that a function of the table gives it, nil where it can't have that, and says what is done.
func shaped(function string, n *schema.Node) (to *schema.Node, what string) {
	switch function {
	case "list":
		return listOfMap(n), "a map is taken for a list"
	case "commas":
		return listOfText(n), "text is taken for a list"
	case "map":
		return mapOfList(n), "a list is taken for a map"
	default:
		return nil, ""
	}
}

// zero drops a 0, which asks for nothing, and refuses all else.
func (r *foreignRes) zero(w *words.Word, p schema.Pair) []schema.Pair {
	if p.Value.Text == "0" || p.Value.Kind == schema.NodeNull {
		return r.drop(w, p)
	}
	r.refuse(w, p.Pos, r.id(), p.Key, "unknown key "+quote(p.Key))
	return nil
}

// trim notes that blanks around the content are to be taken away, as trim of line asks for.
func (r *foreignRes) trim(w *words.Word, p schema.Pair) []schema.Pair {
	switch p.Value.Text {
	case "false":
		return r.drop(w, p)
	case "true":
		r.note(w, p.Pos, r.id(), p.Key, "trim of %s takes blanks away when the graph is read", r.k.name)
		r.rewrite(Rewrite{Pos: p.Pos, Drop: true})
		r.trims = true
		return []schema.Pair{p} // until the content has been read
	}
	r.found.Add(schema.Diagnostic{Pos: p.Value.Pos, Resource: r.id(), Path: p.Key, Message: "trim must be true or false"})
	return nil
}

// trimmed takes blanks away from the content. A received value is not known yet.
func (r *foreignRes) trimmed() {
	at := func(key string) int {
		return slices.IndexFunc(r.pairs, func(p schema.Pair) bool { return p.Key == key })
	}
	trim := at("trim")
	pos := r.pairs[trim].Pos
	r.pairs = slices.Delete(r.pairs, trim, trim+1)
	i := at("content")
	if i < 0 || r.pairs[i].Value.Kind != schema.NodeString {
		r.found.Add(schema.Diagnostic{Pos: pos, Resource: r.id(), Path: "trim",
			Message: "trim is for a content in the graph; what is received is taken as it is, and exec has trim for what it sends"})
		return
	}
	n := *r.pairs[i].Value
	if n.Text = strings.TrimSpace(n.Text); n.Text != r.pairs[i].Value.Text {
		r.pairs[i].Value = &n
		r.rewrite(Rewrite{Pos: r.pairs[i].Pos, Value: &n})
	}
}

// listOfMap makes a list of options of a map: key=value, or the key where the value is empty.
func listOfMap(n *schema.Node) *schema.Node {
	out := &schema.Node{Kind: schema.NodeList, Pos: n.Pos}
	for _, p := range n.Pairs {
		text := p.Key
		switch {
		case p.Value.Kind == schema.NodeList || p.Value.Kind == schema.NodeMap:
			return nil
		case p.Value.Text != "" && p.Value.Kind != schema.NodeNull:
			text += "=" + p.Value.Text
		}
		out.Items = append(out.Items, &schema.Node{Kind: schema.NodeString, Text: text, Pos: p.Pos})
	}
	return out
}

// listOfText makes a list of text with commas.
func listOfText(n *schema.Node) *schema.Node {
	out := &schema.Node{Kind: schema.NodeList, Pos: n.Pos}
	for word := range strings.SplitSeq(n.Text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out.Items = append(out.Items, &schema.Node{Kind: schema.NodeString, Text: word, Pos: n.Pos})
		}
	}
	return out
}

// mapOfList makes a map of NAME=VALUE, or of maps, one after the other.
func mapOfList(n *schema.Node) *schema.Node {
	out := &schema.Node{Kind: schema.NodeMap, Pos: n.Pos}
	for _, item := range n.Items {
		key, value, ok := strings.Cut(item.Text, "=")
		switch {
		case item.Kind == schema.NodeMap:
			out.Pairs = append(out.Pairs, item.Pairs...)
		case item.Kind == schema.NodeString && ok:
			out.Pairs = append(out.Pairs, schema.Pair{Key: key, Pos: item.Pos,
				Value: &schema.Node{Kind: schema.NodeString, Text: value, Pos: item.Pos}})
		default:
			return nil
		}
	}
	return out
}
