package gapi

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// Build checks a declared graph and makes it. Every finding is returned, sorted
// by position; warnings may come with a graph, any Error comes with none. It is
// called by the code that ranges over a Frontend, on any goroutine. Resources that it
// made are the caller's; none of them has been initialised. Of a large graph, many
// resources are decoded and validated at once, on goroutines that end before Build
// does.
func Build(reg *engine.Registry, d *Declared) (*resgraph.Graph, schema.Diagnostics) {
	return NewDraft(reg, d).Check(func(int) bool { return false })
}

// Draft is a declared graph whose resources have been made, and not validated. It is the first half of Build, where
// another graph runs already: a resource that runs as it is declared was validated then. It belongs to one caller.
type Draft struct {
	b    *builder // nil if there is no declared graph
	uids [][]autoedge.UID
	last *Memory // nil for none
}

// NewDraft makes the resources of a declared graph. Check tells the faults.
func NewDraft(reg *engine.Registry, d *Declared) *Draft {
	if d == nil {
		return &Draft{}
	}
	return newDraft(newBuilder(reg, d))
}

// NewPart makes the resources of a part of the graph that runs, for reactor.Stage.Change. A reference to a resource that runs is
// good, and that becomes a vertex without a value. Check then judges the part as if the whole graph had been declared with it: wires
// and secrets of the resources that receive from the part are checked again, and clashes with resources that run are found. A part that
// collects is an error: what a host collects belongs to the whole graph.
func NewPart(reg *engine.Registry, d *Declared, runs Running) *Draft {
	return newPart(reg, d, runs, nil)
}

func newPart(reg *engine.Registry, d *Declared, runs Running, known map[goKind]*kindInfo) *Draft {
	if d == nil {
		return &Draft{}
	}
	b := newBuilder(reg, d)
	b.runs, b.known = runs, known
	for _, c := range d.Collects {
		b.add(schema.Diagnostic{Severity: schema.Error, Pos: c.Pos, Message: "a part collects nothing; hand over the whole graph with the wish to collect " + c.Kind})
	}
	return newDraft(b)
}

func newDraft(b *builder) *Draft {
	if b.like == nil {
		b.g.Grow(len(b.d.Resources), len(b.d.Edges))
	}
	for i := range b.d.Resources {
		b.declare(&b.d.Resources[i])
	}
	defer b.recall()()
	for _, it := range b.items {
		it.info = b.kindOf(it)
	}
	b.kindsNamed()
	b.each((*builder).make)
	if b.like == nil {
		b.links = make([]link, 0, b.referring())
		b.lookAhead()
	}
	b.receiving()
	for i := 0; i < len(b.items); i++ { // of a part, running ones come in on the way
		b.wire(b.items[i])
		b.references(b.items[i])
	}
	tainted := b.tainted()
	b.secrets(tainted)
	b.exposed(tainted)
	b.fillGraph()
	return &Draft{b: b}
}

// referring returns how many links there are to be, but for faults.
func (b *builder) referring() int {
	n := len(b.d.Edges)
	for _, it := range b.items {
		n += len(it.Before) + len(it.Depend) + len(it.Notify) + len(it.Listen) + len(it.Recv)
	}
	return n
}

// Graph returns the graph as it is by now, without edges; nil if something is wrong with it. The caller may alter
// metaparameters in it before Check.
func (x *Draft) Graph() *resgraph.Graph {
	if x.b == nil || x.b.errors > 0 {
		return nil
	}
	return x.b.g
}

// Check is the second half of Build, and called once. same says of a vertex of Graph, by its index, whether an equal
// one runs. It is called on many goroutines at once, and not at all where Graph returns nil.
func (x *Draft) Check(same func(i int) bool) (*resgraph.Graph, schema.Diagnostics) {
	b := x.b
	if b == nil {
		return nil, schema.Diagnostics{{Severity: schema.Error, Message: "there is no graph: the frontend has given neither one nor an error"}}
	}
	if b.errors > 0 {
		same = func(int) bool { return false }
	}
	b.connect()
	b.same = same
	if b.runs != nil || slices.ContainsFunc(b.items, (*item).clashing) {
		b.uids = make([][]autoedge.UID, b.g.Len())
	}
	x.uids = b.uids
	b.each((*builder).validate)
	b.each((*builder).claim)
	b.claimRunning()
	b.clashes()
	b.join(b.g)
	if b.found.Errors() == 0 {
		b.found.Add(b.defaults...)
	}
	all := b.found.All()
	if all.Err() != nil {
		return nil, all
	}
	x.last.keep(b)
	return b.g, all
}

// UIDs returns the UIDs of a vertex of the graph, by its index, if Check has asked for them; else nil.
func (x *Draft) UIDs(i int) []autoedge.UID {
	if x.uids == nil {
		return nil
	}
	return x.uids[i]
}

// builder is one run of Build.
type builder struct {
	reg  *engine.Registry
	d    *Declared
	seed maphash.Seed // of the sums of claims

	found    schema.Findings
	defaults schema.Diagnostics  // see translation
	errors   int                 // of the builder itself, shown or not
	said     map[schema.Pos]bool // places that the frontend could not read

	kinds    map[string]kindEntry // by name in lower case
	goKinds  map[goKind]*kindInfo // of ready resources
	known    map[goKind]*kindInfo // of a Memory; nil for none
	lastKind goKind               // of them, that of the last item, since most follow their like
	lastInfo *kindInfo
	reported map[kindAt]bool // kinds that can't be used and were reported

	room     []item                         // for all of them, in one piece
	items    []*item                        // as declared
	g        *graph.Graph[*resgraph.Vertex] // their ids; vertices fills it, and join
	first    []*item                        // by vertex of g
	vertices []resgraph.Vertex              // of g, in one piece
	claims   []claim                        // in the order of items, until clashes has compared them
	links    []link
	ahead    []int32 // see lookAhead
	hows     []how
	key      []byte      // of find, made once
	blank    schema.Node // of a resource without parameters
	lender   lender
	guess    guesser

	like *drafted // an earlier graph with the same ids, and after recall the same references, nil for none
	sums *sums    // nil where nothing is kept

	ready ready // see Memory; not altered

	runs Running          // of a part; nil for a whole graph
	same func(i int) bool // see Draft.Check
	uids [][]autoedge.UID // by vertex of g
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
	id     string
	info   *kindInfo // nil when the kind is unknown or broken
	res    engine.Res
	wires  []resgraph.Wire
	vertex int32 // in the graph; of a duplicate: that of the first
	at     int32 // in the list of declarations
	bad    bool  // the value could not be read: its consequences are not looked at
	marks  bool  // a metaparameter marks parameters as secrets
	runs   bool  // it is not declared, and stands for a running one
}

func newBuilder(reg *engine.Registry, d *Declared) *builder {
	d, t := d.Complete().translated(reg)
	n := len(d.Resources)
	b := &builder{
		reg:      reg,
		defaults: t.defaults,
		d:        d,
		seed:     maphash.MakeSeed(),
		said:     map[schema.Pos]bool{},
		kinds:    map[string]kindEntry{},
		goKinds:  map[goKind]*kindInfo{},
		reported: map[kindAt]bool{},
		room:     make([]item, 0, n),
		items:    make([]*item, 0, n),
		g:        graph.New[*resgraph.Vertex](d.Name),
		first:    make([]*item, 0, n),
	}
	refused := d.Problems.Err() != nil
	for _, p := range d.Problems {
		b.found.Add(named(p))
		if refused && p.Pos.Line > 0 && p.Resource == "" {
			b.said[p.Pos] = true
		}
	}
	return b
}

// eachAtOnce is how many items one goroutine takes.
const eachAtOnce = 1000

// each calls do with every item, on all processors where there are many. do then gets a
// builder of its own that collects its findings. It may alter the item only.
func (b *builder) each(do func(*builder, *item)) {
	if len(b.items) <= eachAtOnce {
		for _, it := range b.items {
			do(b, it)
		}
		return
	}
	parts := make([]builder, (len(b.items)+eachAtOnce-1)/eachAtOnce)
	var wg sync.WaitGroup
	for i, chunk := range slices.Collect(slices.Chunk(b.items, eachAtOnce)) {
		part := &parts[i]
		part.reg, part.d, part.said, part.seed, part.g, part.first, part.vertices, part.same, part.uids, part.ready = b.reg, b.d, b.said, b.seed, b.g, b.first, b.vertices, b.same, b.uids, b.ready
		wg.Go(func() {
			_ = apart.Each("a method", 0, len(chunk), func(i int) error {
				do(part, chunk[i])
				return nil
			}, func(i int, err error) { part.errorf(chunk[i], chunk[i].Pos, "%s: %v", chunk[i].id, err) })
		})
	}
	wg.Wait()
	claims := make([][]claim, len(parts))
	for i := range parts {
		b.found.Merge(&parts[i].found)
		b.errors += parts[i].errors
		claims[i] = parts[i].claims
	}
	b.claims = slices.Concat(claims...)
}

// declare takes one declaration into the list, if it has a kind and a name.
func (b *builder) declare(d *Declaration) {
	kind, name, err := identity(d)
	on := ""
	if err == nil {
		on, err = targetIn(d)
	}
	if on != "" && b.entry(strings.ToLower(kind)).targeted() {
		name = targets.Qualify(name, on)
	}
	b.room = append(b.room, item{Declaration: d, ident: ident{strings.ToLower(kind), name}, at: int32(len(b.room))})
	it := &b.room[len(b.room)-1] // there is room for all: none moves
	switch {
	case err != nil:
		b.errorf(it, d.Pos, "%s can't say what it is: %v", b.vague(it), err)
		return
	case kind == "":
		b.errorf(it, d.Pos, "%s has no kind", b.vague(it))
		return
	case name == "":
		b.errorf(it, orPos(d.NamePos, d.Pos), "%s has no name", b.vague(it))
		return
	}
	b.items = append(b.items, it)
	b.key = schema.Ref{Kind: it.kind, Name: name}.AppendID(b.key[:0])
	if b.like.has(len(b.first), b.key) {
		it.vertex = int32(len(b.first))
		it.id = b.like.g.ID(len(b.first))
		b.first = append(b.first, it)
		return
	}
	b.differ()
	it.id = string(b.key)
	b.enter(it)
}

// enter gives an item its vertex.
func (b *builder) enter(it *item) {
	at, err := b.g.Add(it.id, nil)
	if it.vertex = int32(at); err != nil {
		b.duplicate(it, b.first[at])
	} else if at == len(b.first) {
		b.first = append(b.first, it)
	}
}

// vague names the declaration that was looked at last, which has no id: by its place in
// the graph where it has none in a file.
func (b *builder) vague(it *item) string {
	switch {
	case it.namePos().Line > 0:
		return "this " + cmp.Or(it.kind, "resource")
	case it.kind != "":
		return fmt.Sprintf("resource number %d of the graph, a %s,", len(b.room), it.kind)
	case it.name != "":
		return fmt.Sprintf("resource number %d of the graph, %q,", len(b.room), it.name)
	default:
		return fmt.Sprintf("resource number %d of the graph", len(b.room))
	}
}

// find returns the vertex of that name, whose kind is in lower case. Of a part it may stand for a running one.
func (b *builder) find(kind, name string) (int32, bool) {
	b.key = schema.Ref{Kind: kind, Name: name}.AppendID(b.key[:0])
	if i, ok := b.g.IndexBytes(b.key); ok {
		return int32(i), true
	}
	if it := b.running(string(b.key)); it != nil {
		return it.vertex, true
	}
	return -1, false
}

// identity returns the kind and the name of a declaration.
func identity(d *Declaration) (kind, name string, err error) {
	defer callsafe.Recover("Kind or Name", &err)
	kind, name = d.Kind, d.Name
	if d.Res != nil {
		kind, name = cmp.Or(kind, d.Res.Kind()), cmp.Or(name, d.Res.Name())
	}
	return kind, name, nil
}

// targetIn returns the target of a declaration, empty for none. The error is a panic of its resource.
func targetIn(d *Declaration) (on string, err error) {
	defer callsafe.Recover("Target", &err)
	return targetOf(d), nil
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

// fillGraph gives the graph its vertices. It is of no use when there are errors.
func (b *builder) fillGraph() {
	b.vertices = make([]resgraph.Vertex, len(b.first))
	b.each((*builder).vertexOf)
}

func (b *builder) vertexOf(it *item) {
	if b.first[it.vertex] != it || it.runs {
		return
	}
	v := &b.vertices[it.vertex]
	v.Res, v.Recv, v.Pos = it.res, it.wires, it.Pos
	if it.marks {
		v.Alter(func(s *resgraph.Special) { s.Secret, s.Hidden = engine.MetaOf(it.res).Secret, it.Hidden })
	}
	if it.Collected {
		v.Alter(func(s *resgraph.Special) { s.Collected = true })
	}
	b.g.SetValue(int(it.vertex), v)
}

// declared returns the vertex of an item, nil if another one has it.
func (b *builder) declared(it *item) *resgraph.Vertex {
	if b.first[it.vertex] != it {
		return nil
	}
	return b.g.Value(int(it.vertex))
}

// add adds a finding, unless the frontend has said what is wrong at that place.
func (b *builder) add(d schema.Diagnostic) {
	if d.Severity == schema.Error {
		b.errors++
	}
	if !b.said[d.Pos] {
		b.found.Add(named(d))
	}
}

// named names the resource in a finding without a position, or with only a line:
// others may be declared on the same one.
func named(d schema.Diagnostic) schema.Diagnostic {
	if d.Pos.Col == 0 && d.Resource != "" && !strings.Contains(d.Message, d.Resource) {
		d.Message = d.Resource + ": " + d.Message
	}
	return d
}

// errorf adds an error about one resource.
func (b *builder) errorf(it *item, pos schema.Pos, format string, args ...any) {
	b.add(schema.Diagnostic{Pos: pos, Resource: it.id, Message: fmt.Sprintf(format, args...)})
}

// orPos returns the position, or the other one if it is nowhere.
func orPos(p, other schema.Pos) schema.Pos {
	if p.IsZero() {
		return other
	}
	return p
}
