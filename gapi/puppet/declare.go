package puppet

import (
	"cmp"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Read makes a graph of one catalog. file is how messages name it. The error is
// schema.Diagnostics when the source is not a catalog at all; other faults are in
// Declared.Problems.
// It looks at the disk only for Options.Modules, and does not block. A nil graph comes with an
// error only. The registry decides which kinds there are; a catalog without a name gets that of
// its file.
func Read(file string, src []byte, reg *engine.Registry, o Options) (*gapi.Declared, error) {
	var found schema.Findings
	o.MaxResources = cmp.Or(o.MaxResources, gapi.DefaultMaxResources)
	if ds := overfull(file, src, o); ds != nil {
		return nil, ds
	}
	cat := readCatalog(file, src, o.MaxResources, &found)
	if cat == nil {
		return nil, found.All()
	}
	// The order matters. Paths of modules come first, since fragments have sources too. Then
	// come containers, so that none is taken for a fragment. Then come contents, which the
	// translation of files reads.
	cat.locate(o.Modules)
	cat.classify(reg)
	cat.assemble(o)
	rs := relate(cat, newIndex(cat, &found))
	tr := &translator{
		reg: reg, opts: o, found: &found,
		kinds: map[string]kindFound{}, outcome: make(map[*resource]outcome, len(cat.resources)),
	}
	d := tr.graph(rs)
	d.Name, d.Pos = cmp.Or(cat.name, nameOf(file)), schema.Pos{File: file}
	d.Problems = found.All()
	return d, nil
}

// classify finds out which resources are containers: classes, stages and defined
// types. A vertex without a type in the catalog is one if it contains something.
// Catalogs of old versions do not say what a resource is: the key kind is empty there.
func (c *catalog) classify(reg *engine.Registry) {
	contains := make(map[string]bool, len(c.contains))
	for _, e := range c.contains {
		contains[e.source] = true
	}
	for _, r := range c.resources {
		switch name := strings.ToLower(r.typ); {
		case name == "class", name == "stage", r.kind == "defined_type":
			r.container = true
		case r.kind == "compilable_type", typeNamed[name] != nil, reg.Has(name):
		default:
			r.container = contains[r.ref()]
		}
	}
}

// graph declares all resources and edges.
// Resources come first: edges need to know what became of their ends.
func (tr *translator) graph(rs *relations) *gapi.Declared {
	for _, r := range rs.cat.resources {
		switch {
		case !r.container:
			tr.resource(r)
		case rs.anchors[r] != nil:
			tr.anchors(r, rs.anchors[r])
		}
	}
	o := newOrder(rs.edges)
	soft, known := rs.automatic()
	if o.sorted() == nil {
		soft = nil // there is a cycle, which Build tells
	}
	edges := append(rs.edges, o.join(soft)...)
	if tr.opts.Ordering == Manifest {
		edges = append(edges, rs.inManifestOrder(o, known)...)
	}
	d := &gapi.Declared{Resources: tr.decls, Edges: make([]gapi.EdgeDecl, 0, len(edges))}
	for _, e := range edges {
		d.Edges = append(d.Edges, tr.edge(rs, e))
	}
	return d
}

// The names of the two vertices of a container.
func startOf(r *resource) string { return "start of " + r.ref() }
func endOf(r *resource) string   { return "end of " + r.ref() }

// anchors declares the two vertices of a container. They run only where a refresh
// goes through them.
// A hidden vertex never runs, and so costs nothing but its place in the order.
func (tr *translator) anchors(r *resource, a *anchor) {
	tr.point(startOf(r), r.at, !a.in)
	tr.point(endOf(r), r.at, !a.out)
}

// edge declares an edge. A refresh of a resource that can't be refreshed is order
// alone, as it is in Puppet.
// The word of the relation is the edge's name.
func (tr *translator) edge(rs *relations, e relation) gapi.EdgeDecl {
	from, notifies, _ := tr.vertex(rs, e.from)
	to, _, refreshes := tr.vertex(rs, e.to)
	if e.refresh && !notifies && refreshes && e.word != contained && tr.runs(e.from.res) {
		tr.found.Add(e.from.res.finding(schema.Warning, e.word,
			"a message does not count as a change, so it refreshes nothing: "+e.to.res.ref()+" only comes later"))
	}
	return gapi.EdgeDecl{
		Name: e.word, From: gapi.EndOf(from, e.pos), To: gapi.EndOf(to, e.pos), Pos: e.pos,
		Notify: e.refresh && notifies && refreshes,
	}
}

// vertex returns the declaration of a vertex, whether its changes are changes, and
// whether a refresh does something to it.
func (tr *translator) vertex(rs *relations, v vertex) (ref schema.Ref, notifies, refreshes bool) {
	switch v.side {
	case start:
		return schema.Ref{Kind: "noop", Name: startOf(v.res)}, true, rs.anchors[v.res].in
	case end:
		return schema.Ref{Kind: "noop", Name: endOf(v.res)}, true, rs.anchors[v.res].out
	default:
		o := tr.outcome[v.res]
		return o.ref, o.notifies, o.refreshes
	}
}

// runs reports whether a resource is more than order.
func (tr *translator) runs(r *resource) bool { return tr.outcome[r].ref.Kind != "noop" }
