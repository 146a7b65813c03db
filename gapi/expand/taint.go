package expand

import (
	"cmp"
	"slices"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// # Secrets that go into modules and out of them
//
// An input or an output of a module is a plain value for its expressions, so that every function takes it. Its mark is kept apart: the
// paths in the value at which a text was made from a secret. An expression that reads one of them, or something around it, has read a
// secret. Frame.eval notes that as the function secret does. The parts that an expression reads are known when it is compiled. A key that is
// computed counts as a read of the whole value.

// taint says which parts of a value were made from secrets.
type taint struct {
	paths  [][]string // in the value; an empty path is the whole value
	unread string     // the secret that could not be read here, empty for none
	hidden []string   // the secrets that went into the value
}

// secretly computes a tree in which secrets may stand, and returns its plain value. t is nil for a value without a secret. ok is false where
// there is no value: a fault was reported then, or the value is an empty optional. needed says that the latter is a fault, too.
func (f *frame) secretly(n *schema.Node, needed string) (v any, t *taint, ok bool) {
	g := f.g
	allowed, touched, unread, hidden := g.allowed, g.touched, g.unread, g.hidden
	g.allowed, g.touched, g.unread, g.hidden = true, false, "", nil
	defer func() { g.allowed, g.touched, g.unread, g.hidden = allowed, touched, unread, hidden }()
	before := g.found.Errors()
	out, ok := f.hiding(n, needed)
	if !ok || g.found.Errors() > before {
		return nil, nil, false
	}
	if ds := schema.Decode(out, &v); ds.Err() != nil {
		g.found.Add(ds...)
		return nil, nil, false
	}
	v, paths := revealed(v)
	if len(paths) == 0 {
		return v, nil, true
	}
	return v, &taint{paths, g.unread, g.hidden}, true
}

// hiding is node for a value that may have a secret in it: the texts of that are hidden. Unlike node, it has no value for a fault.
func (f *frame) hiding(n *schema.Node, needed string) (*schema.Node, bool) {
	t := f.compile(n)
	if t == nil {
		return f.node(n)
	}
	v, wrong := f.value(n, t)
	if wrong != nil {
		return nil, false
	}
	if _, absent := v.(expr.Absent); absent && needed == "" {
		return nil, false
	}
	if !f.g.touched {
		return f.needed(n, needed)
	}
	hidden, err := tainted(v, t.at)
	if err != nil {
		f.g.fault(n, 0, "", expr.Fault{Message: err.Error()})
		return nil, false
	}
	return hidden, true
}

// revealed returns a value with plain texts in the place of secrets, and the paths at which those are. The parts of a list share its path.
func revealed(v any) (plain any, paths [][]string) {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal(), [][]string{nil}
	case []any:
		for i := range v {
			item, below := revealed(v[i])
			if v[i] = item; len(below) > 0 {
				paths = [][]string{nil}
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			item, below := revealed(v[key])
			v[key] = item
			for _, path := range below {
				paths = append(paths, append([]string{key}, path...))
			}
		}
	}
	return v, paths
}

// standIn returns a value of a type, for a secret that can't be read here. A text that stands for it would not fit there, and the fault
// would hide the plan of the other resources. The resources that use it are unknown anyway.
func standIn(word string) any {
	switch word {
	case "int":
		return int64(0)
	case "float":
		return float64(0)
	case "bool":
		return false
	case "list":
		return []any{}
	case "map":
		return map[string]any{}
	}
	return unknownText
}

// taintOf returns the mark of the inputs and outputs of modules that an expression reads, nil where none of them is a secret.
func (g *Graph) taintOf(p *expr.Program) (all *taint) {
	if !g.tainted {
		return nil
	}
	note := func(t *taint, path []string) {
		if t == nil || !slices.ContainsFunc(t.paths, func(at []string) bool { return overlap(at, path) }) {
			return
		}
		if all == nil {
			all = &taint{}
		}
		all.unread, all.hidden = cmp.Or(all.unread, t.unread), append(all.hidden, t.hidden...)
	}
	// An instance may have an input and an output of one name, so both are looked at by where they stand.
	for _, path := range p.Paths("module") {
		for name, v := range g.given {
			if rest, ok := below(path, "inputs", name); ok {
				note(v.taint, rest)
			}
		}
		field := ""
		if len(path) > 0 {
			field = path[0]
		}
		for _, i := range g.instancesOf(field) {
			for name, t := range i.taints {
				if rest, ok := below(path, i.Name, name); ok {
					note(t, rest)
				}
			}
		}
	}
	return all
}

// run computes a program. A secret of a module that it reads is noted, as the function secret notes one of the graph. It is refused where it
// would be shown. Every evaluation for a graph comes by here.
func (f *frame) run(p *expr.Program) (any, error) {
	g := f.g
	g.proofsOf(p)
	if t := g.taintOf(p); t != nil {
		if !g.allowed {
			return nil, &expr.Fault{Message: errShown.Error()}
		}
		g.touched, g.unread = true, cmp.Or(g.unread, t.unread)
		for _, text := range t.hidden {
			if !slices.Contains(g.hidden, text) {
				g.hidden = append(g.hidden, text)
			}
		}
	}
	return p.Eval(f.names)
}

// below returns the rest of a path that begins with these words, or that ends within them.
func below(path []string, words ...string) (rest []string, ok bool) {
	for _, word := range words {
		if len(path) == 0 {
			return nil, true
		}
		if path[0] != word {
			return nil, false
		}
		path = path[1:]
	}
	return path, true
}

// overlap reports whether one path is that of a part of the other. A value around a secret has the secret in it, and a part of a secret
// is one, too.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// placeOf returns the place of the value of a node: of a single expression that of its source.
func (f *frame) placeOf(n *schema.Node) schema.Pos {
	if t := f.compile(n); t != nil {
		return t.at
	}
	return n.Pos
}
