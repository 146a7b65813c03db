package fleet

import (
	"slices"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// readable finds the secrets that a deploy of a program would put readable into the store.
type readable struct {
	a      *cli.App
	inputs []string // texts of --var, which may stand beside outputs
	found  schema.Findings
}

// shortInput is the length from which on a text of --var is looked for beside outputs. A shorter one stands there by chance.
const shortInput = 4

// input notes the texts of an input.
func (s *readable) input(n *schema.Node) {
	if len(n.Text) >= shortInput {
		s.inputs = append(s.inputs, n.Text)
	}
	for _, item := range n.Items {
		s.input(item)
	}
	for _, p := range n.Pairs {
		s.input(p.Value)
	}
}

// resource reports each secret parameter of a resource whose value, or the known part of it, is in the graph.
func (s *readable) resource(d *gapi.Declaration) {
	wrong := func(key string) {
		s.found.Errorf(d.Pos, "%s[%s]: %s: a secret would lie readable in the store: give the output of another resource, such as password, "+
			"or declare this one in a graph in YAML, with ${{ secret(\"KEY\") }}, and deploy both", d.Kind, d.Name, key)
	}
	if d.Value != nil {
		for _, p := range d.Value.Pairs {
			if s.holds(s.secret(d, p.Key), p.Value, false) {
				wrong(p.Key)
			}
		}
	}
	for i, w := range d.Recv { // the wires of a formula stand one after the other
		if w.Formula == nil || w.Source == nil || i > 0 && d.Recv[i-1].Formula == w.Formula {
			continue
		}
		if s.holds(s.secret(d, w.Field), w.Source, true) {
			wrong(w.Field)
		}
	}
}

// secret returns the type of a parameter. One that is marked as a secret has the type of a secret.
func (s *readable) secret(d *gapi.Declaration, key string) *schema.Type {
	if inputs.Marked(d, key) {
		return &schema.Type{Kind: schema.KindAny, Secret: true}
	}
	return inputs.TypeOf(s.a, d, key)
}

// holds reports whether a value has a text where its type has a secret. A sign such as ! of a password is none. In a formula a text with outputs is
// one where an input stands beside them.
func (s *readable) holds(t *schema.Type, n *schema.Node, formula bool) bool {
	switch {
	case t == nil:
		return false
	case n.Kind == schema.NodeList:
		return slices.ContainsFunc(n.Items, func(item *schema.Node) bool { return s.holds(partOf(t, ""), item, formula) })
	case n.Kind == schema.NodeMap:
		return slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return s.holds(partOf(t, p.Key), p.Value, formula) })
	case !t.HoldsSecret() || n.Kind == schema.NodeNull:
		return false
	}
	if pieces, _ := expr.Split(n.Text); formula && slices.ContainsFunc(pieces, func(p expr.Piece) bool { return p.Source }) {
		return slices.ContainsFunc(pieces, func(p expr.Piece) bool {
			return !p.Source && slices.ContainsFunc(s.inputs, func(text string) bool { return strings.Contains(p.Text, text) })
		})
	}
	return strings.ContainsFunc(n.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// partOf returns the type of a part of a value. All parts of a secret are secrets.
func partOf(t *schema.Type, key string) *schema.Type {
	switch {
	case t.Secret:
		return t
	case t.Kind == schema.KindStruct:
		if f := t.Field(key); f != nil {
			return f.Type
		}
		return nil
	}
	return t.Elem
}
