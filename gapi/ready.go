package gapi

import (
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Ready declares a graph that is made already, such as one of Build or of a program's own: its
// resources, the values that they receive, and its edges. Build checks it as it checks any
// other declaration, and adds the edges that wiring implies. The resources are used as they are, so a graph is
// declared once and must not be altered after that. Groups and marks of an engine's transforms
// (Vertex.Special) are not taken over: the engine makes its own.
func Ready(g *resgraph.Graph) *Declared {
	d := &Declared{Name: g.Name, Resources: make([]Declaration, 0, g.Len())}
	for _, v := range g.All() {
		r := Declaration{Pos: v.Pos, Res: v.Res}
		for _, w := range v.Recv {
			r.Recv = append(r.Recv, RecvDecl{Field: w.Field, From: w.From, Pos: w.Pos, Formula: w.Formula})
		}
		d.Resources = append(d.Resources, r)
	}
	for e := range g.Edges() {
		if e.Implied {
			continue
		}
		from, err1 := schema.ParseRef(g.ID(e.From))
		to, err2 := schema.ParseRef(g.ID(e.To))
		for _, err := range []error{err1, err2} {
			if err != nil {
				d.Problems = append(d.Problems, schema.Diagnostic{Severity: schema.Error, Message: "an edge of the graph: " + err.Error()})
			}
		}
		d.Edges = append(d.Edges, EdgeDecl{Name: e.Name, From: EndOf(from, schema.Pos{}), To: EndOf(to, schema.Pos{}), Notify: e.Notify})
	}
	return d
}
