package expand

import (
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Memory keeps the resources of a graph from one computation to the next, with the inputs that each entry of the documents has read. An
// entry whose inputs are the same comes out as before, by the same nodes, and costs a look at them. The zero value is empty. It belongs to
// one sequence of computations, and to one goroutine.
//
// The following entries are computed each time:
//
//   - Those with a fault, since a finding is told by each computation anew.
//   - Those that read files, secrets, sent values, schedules, other hosts or modules. Their values are not among the names of a scope.
//   - All of them, once a document is another one.
type Memory struct {
	docs  []*Document
	names map[string]any // of the computation before
	items map[*schema.Node]*outcome
	turn  int // counts the computations
	made  int // resources of the one before

	usable bool // in this computation, which the following belong to
	same   map[expr.Input]bool
	fields map[string]*schema.Type
}

// outcome is what one entry has come out as.
type outcome struct {
	turn    int // the last computation that it belonged to
	list    []*schema.Node
	made    []madeAs
	leftOut []string
	reads   []expr.Input
	fields  *schema.Type // of the kind
	sources bool         // it has an expression
	passing bool         // it can't be kept
}

// madeAs is a resource that an entry has made.
type madeAs struct {
	id string
	made
}

// begin compares the computation of a graph with the one before. It is called after Start, before the first document is expanded.
func (m *Memory) begin(g *Graph) {
	if m.same != nil {
		return
	}
	m.turn++
	m.same, m.fields = map[expr.Input]bool{}, map[string]*schema.Type{}
	if m.usable = slices.Equal(m.docs, g.entered); !m.usable {
		m.docs, m.items = slices.Clone(g.entered), map[*schema.Node]*outcome{}
	}
}

// end keeps the values of a computation for the next one.
func (m *Memory) end(g *Graph) {
	m.names, m.made, m.same, m.fields = g.names, len(g.made), nil, nil
}

// resources is how many resources the next computation may have; 0 for an unknown number.
func (m *Memory) resources() int {
	if m == nil {
		return 0
	}
	return m.made
}

// unchanged reports whether an input has the value that it had before.
func (m *Memory) unchanged(g *Graph, in expr.Input) bool {
	same, known := m.same[in]
	if !known {
		was, wasThere := valueOf(m.names, in)
		is, isThere := valueOf(g.names, in)
		same = wasThere == isThere && reflect.DeepEqual(was, is)
		m.same[in] = same
	}
	return same
}

// valueOf returns the value of an input among the names of a scope.
func valueOf(names map[string]any, in expr.Input) (v any, ok bool) {
	if v, ok = names[in.Name]; !ok || in.Field == "" {
		return v, ok
	}
	fields, _ := v.(map[string]any)
	v, ok = fields[in.Field]
	return v, ok
}

// kindFields returns the type of a kind, which each computation asks for once.
func (g *Graph) kindFields(kind string) *schema.Type {
	if g.opts.Kind == nil {
		return nil
	}
	m := g.memory()
	if m == nil {
		return g.opts.Kind(kind)
	}
	t, known := m.fields[kind]
	if !known {
		t = g.opts.Kind(kind)
		m.fields[kind] = t
	}
	return t
}

// memory returns the memory that this computation uses, nil for none. A module is read anew each time, and a caller that counts branches wants
// to be told of each.
func (g *Graph) memory() *Memory {
	if g.parent != nil || g.opts.Branch != nil || g.opts.Memory == nil || g.opts.Memory.same == nil {
		return nil
	}
	return g.opts.Memory
}

// replayed appends the resources of an entry as they came out before. ok is false where they may come out in another way.
func (g *Graph) replayed(list []*schema.Node, kind string, item *schema.Node) (out []*schema.Node, ok bool) {
	m := g.memory()
	if m == nil || !m.usable {
		return list, false
	}
	o := m.items[item]
	if o == nil || o.turn != m.turn-1 || o.fields != g.kindFields(kind) {
		return list, false
	}
	for _, in := range o.reads {
		if !m.unchanged(g, in) {
			return list, false
		}
	}
	for i := range o.made {
		if _, twice := g.made[o.made[i].id]; twice { // a finding, or the right of the first one
			return list, false
		}
	}
	for i := range o.made {
		g.made[o.made[i].id] = o.made[i].made
	}
	for _, id := range o.leftOut {
		g.leftOut[id] = true
	}
	for _, in := range o.reads {
		g.noteInput(in)
	}
	g.sources = g.sources || o.sources
	o.turn = m.turn
	return append(list, o.list...), true
}

// remember computes an entry, and keeps its outcome where that is possible.
func (g *Graph) remember(list []*schema.Node, kind string, item *schema.Node, compute func([]*schema.Node) []*schema.Node) []*schema.Node {
	m := g.memory()
	if m == nil {
		return compute(list)
	}
	o := &outcome{fields: g.kindFields(kind)}
	from, errs, lacking, escape := len(list), g.found.Errors(), g.Lacking, g.escape
	g.noting, g.Lacking = o, false
	list = compute(list)
	o.passing = o.passing || g.Lacking || g.found.Errors() > errs || g.escape != escape
	g.noting, g.Lacking = nil, g.Lacking || lacking
	if !o.passing {
		o.list, o.turn = slices.Clone(list[from:]), m.turn
		m.items[item] = o
	}
	return list
}

// note adds the inputs of a text to those of an entry.
func (o *outcome) note(t *text) {
	o.passing = o.passing || t.wrong != nil
	for i := range t.pieces {
		p := t.pieces[i].run
		if p == nil {
			continue
		}
		o.sources = true
		o.passing = o.passing || p.Uses(beyondScope...) || len(p.Sent()) > 0
		for _, in := range p.Reads() {
			switch {
			case in.Name == "hosts", in.Name == "module":
				o.passing = true
			case in.Name != "each" && !slices.Contains(o.reads, in): // for_each has read what each is made of
				o.reads = append(o.reads, in)
			}
		}
	}
}

// beyondScope are the functions whose values do not come from the names of a scope.
var beyondScope = []string{"read", "template", "secret", "scheduled"}
