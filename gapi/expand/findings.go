package expand

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// findings are those of a computation. A graph and its modules share them, so one count of errors says whether any of them has failed.
type findings struct {
	schema.Findings
	said map[said]bool
}

// said is a finding that was reported.
type said struct {
	pos     schema.Pos
	message string
}

// newFindings returns none.
func newFindings() *findings { return &findings{said: map[said]bool{}} }

// once adds a finding once: a loop comes by the same place again and again.
func (f *findings) once(d schema.Diagnostic) {
	key := said{d.Pos, d.Message}
	if f.said[key] {
		return
	}
	f.said[key] = true
	f.Add(d)
}

// errorf adds an error once.
func (f *findings) errorf(pos schema.Pos, format string, args ...any) {
	f.once(schema.Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// pairs returns the pairs of a map; null is an empty one. For any other node the message is a finding.
func (f *findings) pairs(n *schema.Node, what string) []schema.Pair {
	switch n.Kind {
	case schema.NodeMap:
		return n.Pairs
	case schema.NodeNull:
	default:
		f.errorf(n.Pos, "%s", what)
	}
	return nil
}

// literal returns the value of a node that has no expressions. The escape of their beginning is one there, too.
func (f *findings) literal(n *schema.Node, what string) (v any) {
	if at := firstText(n, hasSource); at != nil {
		f.errorf(at.Pos, "%s takes no expression: expressions stand in resources, include, defaults and data.files; for the characters ${{ write $${{", what)
		return nil
	}
	for _, d := range schema.Decode(n, &v) {
		f.Add(d)
	}
	return unescaped(v)
}

// errorf adds an error.
func (g *Graph) errorf(pos schema.Pos, format string, args ...any) {
	g.add(schema.Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// add adds a finding once: a loop comes by the same place again and again.
func (g *Graph) add(d schema.Diagnostic) {
	if g.noting != nil {
		g.noting.passing = true
	}
	g.found.once(d)
}

// pairs returns the pairs of a map; null is an empty one.
func (g *Graph) pairs(n *schema.Node, what string) []schema.Pair {
	return g.found.pairs(n, what)
}
