package resgraph

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/graph"
)

// Graph is a checked graph of resources, ready to run: kinds exist, names are
// unique, every reference is there, wiring fits, and there is no cycle. An id of
// it is kind[name].
type Graph = graph.Graph[*Vertex]

// Vertex is one resource of a Graph and the graph's words about it.
type Vertex struct {
	Res  engine.Res
	Recv []Wire     // by field, sorted
	Pos  schema.Pos // of its declaration

	special *Special // see Special; nil for nothing, and never altered: copies of a vertex share it
}

// Special has the things that few vertices have. It costs the others a word. See Vertex.Special.
type Special struct {
	// Group has the members that Res owns and runs, in order, as they were
	// declared (see GroupableRes). They do not count as vertices of the graph;
	// Find finds the owner by the id of a member.
	Group []*Vertex

	// Alone has the metaparameters of Res as they were declared, where Res runs a group; nil elsewhere.
	Alone *engine.MetaParams

	// Once says that it rests after its first success, as if hidden. It brings back
	// the state before a resource that has left the graph, and does not keep it so.
	Once bool

	// Collected says that another host exports the resource. It gives way to a resource of this host.
	Collected bool

	// Secret are parameters that must not be shown, though their type is plain.
	Secret []string

	// Hidden are the texts of which values of Secret were made, such as the password in the text of a file. Another resource
	// that shows one of them does not show it.
	Hidden []schema.Secret
}

// Special returns the special things of a vertex, most often none.
func (v *Vertex) Special() Special {
	if v.special == nil {
		return Special{}
	}
	return *v.special
}

// Alter alters the special things of a vertex, but not those of its copies.
func (v *Vertex) Alter(alter func(*Special)) {
	s := v.Special()
	alter(&s)
	v.special = &s
}

// Wire is one value that a vertex receives.
type Wire struct {
	Field string     // path of the receiving parameter, by its YAML keys
	From  schema.Ref // the sender and its key
	Pos   schema.Pos

	// Formula makes the value of the parameter. All wires of one field have the same formula. Where it is nil, the parameter is what
	// was sent.
	Formula *Formula
}

// Formula makes the value of a parameter from values that other resources send. It is never altered.
type Formula struct {
	Text string // as its author has written it, for people
	Sum  string // formulas of one sum make equal values of equal values

	// Make makes the value from what was sent, by references as schema.Ref writes them. The values are plain ones without a
	// schema.Secret. secret says that the value was made from a secret that was not sent. It does no I/O, and is safe for concurrent use.
	Make func(sent map[string]any) (v any, secret bool, err error)
}

// Same reports whether two formulas, which may be nil, make equal values.
func (f *Formula) Same(o *Formula) bool {
	return f == o || f != nil && o != nil && f.Sum == o.Sum
}

// Find returns the index of the vertex with this id, or of the owner of the
// member with this id, and whether there is one.
func Find(g *Graph, id string) (int, bool) {
	if i, ok := g.Index(id); ok {
		return i, true
	}
	for i, v := range g.All() {
		for _, m := range v.Special().Group {
			if m.Res.String() == id {
				return i, true
			}
		}
	}
	return -1, false
}
