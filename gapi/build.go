package gapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/graph"
)

// Build checks a declared graph and makes it. Every finding is returned, sorted
// by position; warnings may come with a graph, any Error comes with none. It is
// called by whoever ranges over a Frontend, on any goroutine. Resources that it
// made are the caller's; none of them has been initialised.
func Build(reg *engine.Registry, d *Declared) (*engine.Graph, schema.Diagnostics) {
	b := newBuilder(reg, d)
	for i := range d.Resources {
		b.declare(&d.Resources[i])
	}
	for _, it := range b.items {
		b.make(it)
	}
	for _, it := range b.items {
		b.wire(it)
		b.references(it)
	}
	for _, it := range b.items {
		b.validate(it)
	}
	b.connect()
	g := b.graph()
	b.finish()
	if b.diags.Err() != nil {
		return nil, b.diags
	}
	return g, b.diags
}

// builder is one run of Build.
type builder struct {
	reg   *engine.Registry
	d     *Declared
	diags schema.Diagnostics

	kinds    map[string]kindEntry // by name in lower case
	goKinds  map[goKind]*kindInfo // of ready resources
	reported map[kindAt]bool      // kinds that can't be used and were reported

	items []*item       // as declared
	byRef map[ident]int // the first item of that name
	links []link
	guess guesser
}

// ident identifies a resource; the kind is in lower case.
type ident struct{ kind, name string }

type kindAt struct {
	kind string
	pos  schema.Pos
}

// item is one declaration on its way to a vertex.
type item struct {
	*Declaration
	ident
	id    string
	index int       // among items
	info  *kindInfo // nil when the kind is unknown or broken
	res   engine.Res
	bad   bool // the value could not be read: what follows from it is not looked at
	wires []engine.Wire
}

func newBuilder(reg *engine.Registry, d *Declared) *builder {
	n := len(d.Resources)
	return &builder{
		reg:      reg,
		d:        d,
		diags:    append(schema.Diagnostics(nil), d.Problems...),
		kinds:    map[string]kindEntry{},
		goKinds:  map[goKind]*kindInfo{},
		reported: map[kindAt]bool{},
		items:    make([]*item, 0, n),
		byRef:    make(map[ident]int, n),
	}
}

// declare takes one declaration into the list, if it has a kind and a name.
func (b *builder) declare(d *Declaration) {
	kind, name, err := identity(d)
	it := &item{Declaration: d, ident: ident{strings.ToLower(kind), name}, index: len(b.items)}
	switch {
	case err != nil:
		b.errorf(it, d.Pos, "a resource can't say what it is: %v", err)
		return
	case kind == "":
		b.errorf(it, d.Pos, "a resource has no kind")
		return
	case name == "":
		b.errorf(it, orPos(d.NamePos, d.Pos), "this %s has no name", it.kind)
		return
	}
	it.id = schema.Ref{Kind: it.kind, Name: name}.ID()
	if first, ok := b.byRef[it.ident]; ok {
		b.duplicate(it, b.items[first])
	} else {
		b.byRef[it.ident] = it.index
	}
	b.items = append(b.items, it)
}

// identity returns the kind and the name of a declaration.
func identity(d *Declaration) (kind, name string, err error) {
	defer catch("Kind or Name", &err)
	kind, name = d.Kind, d.Name
	if d.Res != nil {
		kind, name = cmp.Or(kind, d.Res.Kind()), cmp.Or(name, d.Res.Name())
	}
	return kind, name, nil
}

func (b *builder) duplicate(it, first *item) {
	b.add(schema.Diagnostic{
		Pos:      it.namePos(),
		Resource: it.id,
		Message:  it.id + " is declared twice",
		Related:  []schema.Related{{Pos: first.namePos(), Message: "first declared here"}},
	})
}

func (it *item) namePos() schema.Pos { return orPos(it.NamePos, it.Pos) }

// graph makes the graph and reports its cycles. It is called last, and of no use
// when there are errors.
func (b *builder) graph() *engine.Graph {
	g := graph.New[*engine.Vertex](b.d.Name)
	g.Grow(len(b.items), len(b.links))
	vertices := make([]engine.Vertex, len(b.items))
	index := make([]int, len(b.items))
	for i, it := range b.items {
		vertices[i] = engine.Vertex{Res: it.res, Recv: it.wires, Pos: it.Pos}
		index[i], _ = g.Add(it.id, &vertices[i]) // of a duplicate: the first
	}
	b.join(g, index)
	return g
}

// finish leaves out what is said at a place that the frontend could not read,
// names the resource in findings without a position, and sorts.
func (b *builder) finish() {
	if b.d.Problems.Err() != nil {
		b.leaveOut()
	}
	for i := range b.diags {
		d := &b.diags[i]
		if d.Pos.IsZero() && d.Resource != "" && !strings.Contains(d.Message, d.Resource) {
			d.Message = d.Resource + ": " + d.Message
		}
	}
	b.diags.Sort()
}

func (b *builder) leaveOut() {
	n := len(b.d.Problems)
	said := make(map[schema.Pos]bool, n)
	for _, d := range b.d.Problems {
		said[d.Pos] = true
	}
	own := slices.DeleteFunc(b.diags[n:], func(d schema.Diagnostic) bool { return d.Pos.Line > 0 && said[d.Pos] })
	b.diags = b.diags[:n+len(own)]
}

func (b *builder) add(d schema.Diagnostic) { b.diags = append(b.diags, d) }

// errorf adds an error about one resource.
func (b *builder) errorf(it *item, pos schema.Pos, format string, args ...any) {
	b.diags.Errorf(pos, format, args...)
	b.diags[len(b.diags)-1].Resource = it.id
}

// orPos returns the position, or the other one if it is nowhere.
func orPos(p, other schema.Pos) schema.Pos {
	if p.IsZero() {
		return other
	}
	return p
}
