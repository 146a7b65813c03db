package typescript

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// marked is the place of an output in a text, as the helper writes it: it has issued the mark in the same run. Whole is an output that is an argument by itself, beside texts with others.
var marked = lazyregexp.New("\uE0F0(Sent|Whole) ([^\uE0F0\uE0F1]+)\uE0F1")

// later takes the parameters that have outputs in their texts out of the value of a resource. The engine makes each as a whole, when the
// outputs are there.
func (r *reading) later(d *gapi.Declaration) {
	d.Value.Pairs = slices.DeleteFunc(d.Value.Pairs, func(p schema.Pair) bool {
		var refs []schema.Ref
		marks(p.Value, func(id string) {
			ref, err := schema.ParseRef(id)
			if err != nil {
				r.found.Errorf(d.Pos, "%v", err)
			} else if !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		})
		if refs == nil {
			return false
		}
		source := expression(p.Value)
		var plain any
		_ = schema.Decode(source, &plain) // it was read from JSON
		text, err := json.Marshal(plain)
		if err != nil {
			r.found.Errorf(d.Pos, "%s: %v", p.Key, err)
			return true
		}
		shown := string(text)
		if source.Kind == schema.NodeString {
			shown = source.Text
		}
		f := &resgraph.Formula{Text: shown, Sum: fmt.Sprintf("ts:%x", sha256.Sum256(text)), Make: func(sent map[string]any) (any, bool, error) {
			v, err := made(p.Value, sent)
			return v, false, err
		}}
		for _, ref := range refs {
			d.Recv = append(d.Recv, gapi.RecvDecl{Field: p.Key, From: ref, Pos: d.Pos, Formula: f, Source: source})
		}
		return true
	})
}

// marks visits the outputs in the texts of a tree.
func marks(n *schema.Node, visit func(id string)) {
	for _, m := range marked.FindAllStringSubmatch(n.Text, -1) {
		visit(m[2])
	}
	for _, item := range n.Items {
		marks(item, visit)
	}
	for _, p := range n.Pairs {
		marks(p.Value, visit)
	}
}

// made returns the value of a tree whose outputs are there.
func made(n *schema.Node, sent map[string]any) (v any, err error) {
	switch {
	case n.Kind == schema.NodeList:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			if list[i], err = made(item, sent); err != nil {
				return nil, err
			}
		}
		return list, nil
	case n.Kind == schema.NodeMap:
		all := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			if all[p.Key], err = made(p.Value, sent); err != nil {
				return nil, err
			}
		}
		return all, nil
	case n.Kind != schema.NodeString || !marked.MatchString(n.Text):
		ds := schema.Decode(n, &v)
		return v, ds.Err()
	}
	if m := marked.FindStringSubmatch(n.Text); m[1] == "Whole" {
		return sent[referenceOf(m[2])], nil
	}
	text := marked.ReplaceAllStringFunc(n.Text, func(mark string) string {
		id := marked.FindStringSubmatch(mark)[2]
		s, wrong := expr.AsText(sent[referenceOf(id)])
		if wrong != nil && err == nil {
			err = fmt.Errorf("%s: %w", id, wrong)
		}
		return s
	})
	return text, err
}

// referenceOf writes a reference as the engine does.
func referenceOf(id string) string {
	ref, err := schema.ParseRef(id)
	if err != nil {
		return id // which was reported
	}
	return ref.String()
}

// expression returns a tree with an expression in the place of each output, as a graph in YAML has it.
func expression(n *schema.Node) *schema.Node {
	c := *n
	c.Items, c.Pairs = slices.Clone(n.Items), slices.Clone(n.Pairs)
	for i := range c.Items {
		c.Items[i] = expression(c.Items[i])
	}
	for i := range c.Pairs {
		c.Pairs[i].Value = expression(c.Pairs[i].Value)
	}
	if c.Kind != schema.NodeString {
		return &c
	}
	escaped := strings.ReplaceAll(c.Text, expr.Open, expr.Escaped)
	c.Text = marked.ReplaceAllStringFunc(escaped, func(mark string) string {
		m := marked.FindStringSubmatch(mark)
		sent := fmt.Sprintf("sent(%s)", quote(m[2]))
		if m[1] == "Sent" && mark == escaped { // alone, it would have the type of the output
			sent = "string(" + sent + ")"
		}
		return expr.Open + " " + sent + " " + expr.Close
	})
	return &c
}
