package expand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// The keys of a resource that decide whether and how often it is there.
const (
	whenKey    = "when"
	forEachKey = "for_each"
)

// made is where a resource of a loop was made.
type made struct {
	pos    schema.Pos
	module string // the instance, empty for the graph itself
	turn   string // of the loop, empty for a resource without one
}

// resources returns the map of all resources with its loops unrolled.
func (g *Graph) resources(n *schema.Node) *schema.Node {
	if n.Kind != schema.NodeMap {
		return n
	}
	out := *n
	out.Pairs = slices.Clone(n.Pairs)
	for i := range out.Pairs {
		p := &out.Pairs[i]
		if p.Value.Kind != schema.NodeList {
			continue
		}
		// Kinds are compared in lower case, as gapi.Build does.
		kind := strings.ToLower(p.Key)
		list := *p.Value
		list.Items = make([]*schema.Node, 0, len(p.Value.Items))
		for _, item := range p.Value.Items {
			list.Items = g.resource(list.Items, kind, item)
		}
		p.Value = &list
	}
	return &out
}

// resource appends the resources that one item of the list of a kind stands for.
func (g *Graph) resource(list []*schema.Node, kind string, item *schema.Node) []*schema.Node {
	if item.Kind != schema.NodeMap {
		return append(list, item)
	}
	from := len(list)
	out, ok := g.replayed(list, kind, item)
	if !ok {
		out = g.remember(list, kind, item, func(list []*schema.Node) []*schema.Node { return g.unrolled(list, kind, item) })
	}
	for i := from; i < len(out); i++ {
		out[i] = prove(out[i], g.proofs)
	}
	return out
}

// unrolled appends the resources of one item, each computed anew.
func (g *Graph) unrolled(list []*schema.Node, kind string, item *schema.Node) []*schema.Node {
	item = g.defaults.of(kind, item)
	top := g.top()
	loop := item.Get(forEachKey)
	if loop == nil {
		top.check(kind, item)
		return g.turn(list, kind, item, top, "", nil)
	}
	var turns []turnOf
	var each expr.Type
	var ok bool
	read := g.apart(func() { turns, each, ok = top.turns(loop) })
	scope, err := g.current().With(map[string]expr.Type{"each": each})
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	// A loop may have no turn at all, and its expressions are checked nevertheless.
	(&frame{g, scope, nil}).check(kind, item)
	if !ok {
		g.Lacking = true
		return list
	}
	list = slices.Grow(list, len(turns))
	for _, t := range turns {
		names := maps.Clone(g.names)
		names["each"] = t.each
		list = g.turn(list, kind, item, &frame{g, scope, names}, t.word, read)
	}
	return list
}

// turn appends the resource of one turn of a loop, or of an item without a loop, if its condition holds. read are the proofs that the loop has read.
func (g *Graph) turn(list []*schema.Node, kind string, item *schema.Node, f *frame, word string, read proofs) []*schema.Node {
	from := len(list)
	own := g.apart(func() { list = g.bare(list, kind, item, f, word) })
	if len(list) > from {
		list[from] = prove(list[from], read.with(own...))
	}
	return list
}

// bare is turn without the proofs.
func (g *Graph) bare(list []*schema.Node, kind string, item *schema.Node, f *frame, word string) []*schema.Node {
	wanted, ok := f.condition(item.Get(whenKey))
	if !ok {
		g.Lacking = true
		return list
	}
	if !wanted {
		f.leaveOut(kind, item)
		return list
	}
	out := f.item(item)
	name := out.Get("name")
	if n := item.Get("name"); n != nil && (name == nil || name.Kind == schema.NodeNull) {
		if _, ok := f.needed(n, "name"); !ok { // it has a fault, or is an empty optional
			g.Lacking = true
			return list
		}
	}
	if name == nil {
		return append(list, out)
	}
	now := made{item.Get("name").Pos, g.instance, word}
	id := schema.Ref{Kind: kind, Name: name.Text}.ID()
	if first, twice := g.made[id]; twice && (word != "" || first.turn != "" || first.module != now.module) {
		g.add(schema.Diagnostic{
			Pos: now.pos, Message: fmt.Sprintf("%s is there twice: %s", id, now.words()),
			Related: []schema.Related{{Pos: first.pos, Message: "first made here: " + first.words()}},
		})
		return list
	}
	g.made[id] = now
	if g.noting != nil {
		g.noting.made = append(g.noting.made, madeAs{id, now})
	}
	return append(list, out)
}

// words says which turn of a loop has made a resource.
func (m made) words() string {
	in := ""
	if m.module != "" {
		in = " in the module " + m.module
	}
	switch {
	case m.turn != "":
		return "the turn of " + m.turn + in + " has this name"
	case in != "":
		return "it is" + in
	}
	return "it is in no loop"
}

// condition computes the key when.
func (f *frame) condition(n *schema.Node) (wanted, ok bool) {
	if n == nil {
		return true, true
	}
	if t := f.compile(n); t != nil && t.wrong == nil && isScheduled(t.single()) {
		if wanted, ok = f.chosen(n, t); ok && f.g.opts.Branch != nil {
			f.g.opts.Branch(n.Pos, wanted)
		}
		return wanted, ok
	}
	v, ok := f.needed(n, whenKey)
	if !ok {
		return false, false
	}
	if v.Kind != schema.NodeBool {
		hint := ""
		if !expr.Has(n.Text) {
			hint = "; write a condition as ${{ ... }}"
		}
		f.g.errorf(n.Pos, "when must be true or false, not %s%s", v.Describe(), hint)
		return false, false
	}
	wanted = strings.EqualFold(v.Text, "true")
	if f.g.opts.Branch != nil {
		f.g.opts.Branch(n.Pos, wanted)
	}
	return wanted, true
}

// leaveOut notes a resource that a condition leaves out, if its name can be computed: a value that its condition asks for may be missing.
func (f *frame) leaveOut(kind string, item *schema.Node) {
	n := item.Get("name")
	if n == nil {
		return
	}
	t := f.compile(n)
	if t == nil {
		f.g.leave(schema.Ref{Kind: kind, Name: n.Text}.ID())
		return
	}
	// Findings about this name are dropped: the resource is not there.
	quiet, apart := *f.g, *f.g.common
	quiet.common, apart.found = &apart, newFindings()
	silent := &frame{&quiet, f.seen(), f.names}
	if v, wrong := silent.value(n, t); wrong == nil {
		if name, err := expr.AsText(v); err == nil {
			f.g.leave(schema.Ref{Kind: kind, Name: name}.ID())
		}
	}
}

// leave notes the id of a resource that a condition leaves out.
func (g *Graph) leave(id string) {
	g.leftOut[id] = true
	if g.noting != nil {
		g.noting.leftOut = append(g.noting.leftOut, id)
	}
}

// item returns a resource with its values computed, without the keys of loops. It is copied only where something differs.
func (f *frame) item(n *schema.Node) *schema.Node {
	if n.Get(whenKey) == nil && n.Get(forEachKey) == nil {
		return f.parameters(n)
	}
	bare := *n
	bare.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p schema.Pair) bool { return p.Key == whenKey || p.Key == forEachKey })
	return f.parameters(&bare)
}

// turnOf is one turn of a loop.
type turnOf struct {
	each map[string]any
	word string // which one it is, for findings
}

// turns computes the key for_each, and returns the type of each. Where it has a fault, the key and the value of each may be anything.
func (f *frame) turns(n *schema.Node) (turns []turnOf, each expr.Type, ok bool) {
	each = eachType(expr.Type{}, expr.Type{})
	var over expr.Type
	if t := f.compile(n); t != nil && t.wrong == nil && t.single() != nil {
		over = t.single().Type()
	}
	if f.g.late.some {
		f.refuseSent(n, forEachKey)
	}
	v, ok := f.needed(n, forEachKey)
	if !ok {
		return nil, each, false
	}
	_, value, loops := over.Elem()
	if v.Kind != schema.NodeList && v.Kind != schema.NodeMap || !loops {
		f.g.errorf(n.Pos, "for_each takes a list or a map, not %s", v.Describe())
		return nil, each, false
	}
	var all any
	if ds := schema.Decode(v, &all); ds.Err() != nil {
		f.g.found.Add(ds...)
		return nil, each, false
	}
	key := expr.Int
	if v.Kind == schema.NodeMap {
		key = expr.Text
		turns = turnsOfMap(all.(map[string]any))
	} else {
		turns = turnsOfList(all.([]any))
	}
	if value.IsAny() {
		_, value, _ = expr.OfValue(all).Elem()
	}
	return turns, eachType(key, value), true
}

// eachType is the type of each in a loop.
func eachType(key, value expr.Type) expr.Type {
	return expr.Object("each", map[string]expr.Type{"key": key, "value": value, "index": expr.Int})
}

// turnsOfMap returns the turns of a loop over a map, in the order of its keys.
func turnsOfMap(m map[string]any) (turns []turnOf) {
	for i, key := range sortedKeys(m) {
		turns = append(turns, turnOf{map[string]any{"key": key, "value": m[key], "index": int64(i)}, fmt.Sprintf("%q", key)})
	}
	return turns
}

// turnsOfList returns the turns of a loop over a list. The key of an item is its index.
func turnsOfList(l []any) (turns []turnOf) {
	for i, v := range l {
		turns = append(turns, turnOf{map[string]any{"key": int64(i), "value": v, "index": int64(i)}, fmt.Sprintf("item %d", i)})
	}
	return turns
}
