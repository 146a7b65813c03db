package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Declare reads one source as a declared graph, without its includes. It is nil
// where the source is not a graph at all. It is called by verbs that rewrite
// sources.
// A document that computes is read with its expressions as texts. The cost is a parse; nothing
// on the disk is read.
func Declare(src []byte) *gapi.Declared {
	p := read("", src, maxMarks)
	if p.unreadable {
		return nil
	}
	if p.doc != nil {
		p.document(p.doc.Bare())
		p.problems = append(slices.Clip(p.problems), p.found.All()...)
	}
	return &gapi.Declared{
		Name: p.name, Authored: gapi.OtherTools{}, Noop: p.noop, Kinds: p.kinds, Resources: p.resources, Edges: p.edges, Collects: p.collects, Problems: p.problems,
	}
}

// Rewrite puts our words into a source in the place of those of other tools, as
// gapi.Translate says. Comments stay; a key with a comment of its own is not taken out. It is
// called by the verb fmt, which formats the result.
func Rewrite(src []byte, list []gapi.Rewrite) ([]byte, error) {
	if len(list) == 0 {
		return src, nil
	}
	doc, err := document(src)
	if err != nil {
		return nil, err
	}
	w := rewriter{at: map[spot][]gapi.Rewrite{}}
	for _, r := range list {
		s := spot{int(r.Pos.Line), int(r.Pos.Col)}
		w.at[s] = append(w.at[s], r)
	}
	w.node(doc)
	var buf bytes.Buffer
	d, err := yaml.NewDumper(&buf, yaml.WithIndent(2), yaml.WithCompactSeqIndent(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Dump(doc), d.Close()); err != nil {
		return nil, fmt.Errorf("the document can't be rewritten: %w", err)
	}
	again, err := document(buf.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the document can't be rewritten: %w", err)
	}
	return arranged(src, doc, buf.Bytes(), again), nil
}

// It is a place in the source, by the numbers of the library: both count from 1.
type spot struct{ line, col int }

func spotOf(n *yaml.Node) spot { return spot{n.Line, n.Column} }

// rewriter alters a tree.
// The rewrites are kept by the place that they are about: a key, a text, or the beginning of a
// map.
type rewriter struct {
	at map[spot][]gapi.Rewrite
}

// An alias has no content, so its anchor is rewritten once, where it stands.
func (w rewriter) node(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		w.mapping(n)
	case yaml.ScalarNode:
		for _, r := range w.at[spotOf(n)] {
			if r.To != "" {
				setScalar(n, r.To)
			}
		}
	default:
		for _, c := range n.Content {
			w.node(c)
		}
	}
}

// It makes a new list of pairs, in the old order. Added pairs stand behind their origin.
func (w rewriter) mapping(n *yaml.Node) {
	var out []*yaml.Node
	at := spotOf(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		kept, add := w.pair(n, key, value)
		if kept {
			w.node(value)
			out = append(out, key, value)
		}
		out = append(out, nodesOf(add)...)
	}
	n.Content = out
	for _, r := range w.at[at] {
		switch {
		case r.To != "" && len(out) > 0 && keyOf(n, "kind") != nil && keyOf(n, "name") != nil: // the end of an edge
			if ref, err := schema.ParseRef(r.To); err == nil {
				setScalar(keyOf(n, "kind"), ref.Kind)
			}
		case r.To == "" && !r.Drop && r.Value == nil:
			n.Content = append(n.Content, nodesOf(r.Add)...)
		}
	}
}

// pair alters one pair, and reports whether it stays and the pairs after it.
// A key whose new name is in the map already stays: two keys of one name would be an error.
func (w rewriter) pair(in, key, value *yaml.Node) (kept bool, add []schema.Pair) {
	kept = true
	for _, r := range w.at[spotOf(key)] {
		end := r.To != "" && key.Value == "kind" || key.Value == "name" && keyOf(in, "kind") != nil && r.To != ""
		switch {
		case end: // it is about the map that begins here
		case r.Drop:
			kept = kept && commented(key, value)
		case r.To != "" && keyOf(in, r.To) == nil:
			key.Value = r.To
		}
		if r.Value != nil && value.Kind != yaml.AliasNode {
			setValue(value, r.Value)
			add = append(add, r.Add...)
		}
	}
	return kept, add
}

// commented reports whether a comment would be lost with the nodes.
func commented(nodes ...*yaml.Node) bool {
	for _, n := range nodes {
		if n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
			return true
		}
	}
	return false
}

// keyOf returns the value of a key of a map, nil where there is none.
func keyOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// setScalar replaces the text of a scalar and keeps its quotes.
// A block becomes a plain scalar, as the new text is a word or a reference.
func setScalar(n *yaml.Node, text string) {
	n.Value, n.Tag = text, "!!str"
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		n.Style = 0
	}
}

// setValue makes a node what another one says; its comments stay.
func setValue(n *yaml.Node, to *schema.Node) {
	fresh := nodeOf(to)
	n.Kind, n.Tag, n.Value, n.Style, n.Content = fresh.Kind, fresh.Tag, fresh.Value, fresh.Style, fresh.Content
}

// Each pair gives its key and its value.
func nodesOf(pairs []schema.Pair) []*yaml.Node {
	var out []*yaml.Node
	for _, p := range pairs {
		out = append(out, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.Key}, nodeOf(p.Value))
	}
	return out
}

var scalarTags = map[schema.NodeKind]string{
	schema.NodeNull: "!!null", schema.NodeBool: "!!bool", schema.NodeInt: "!!int", schema.NodeFloat: "!!float", schema.NodeString: "!!str",
}

// nodeOf returns a node of the library that says the same.
// Lists and maps are in flow style, which fits on the line of their key.
func nodeOf(n *schema.Node) *yaml.Node {
	switch n.Kind {
	case schema.NodeMap:
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: nodesOf(n.Pairs)}
	case schema.NodeList:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, item := range n.Items {
			out.Content = append(out.Content, nodeOf(item))
		}
		return out
	}
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: scalarTags[n.Kind], Value: n.Text}
	if n.Kind == schema.NodeString && bytes.ContainsRune([]byte(n.Text), '\n') {
		out.Style = yaml.LiteralStyle
	}
	return out
}
