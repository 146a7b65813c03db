package expand

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// frame is what the expressions at one place of a graph see.
type frame struct {
	g     *Graph
	scope *expr.Scope
	names map[string]any
}

// text is a scalar whose expressions are compiled.
type text struct {
	pieces []piece
	wrong  *schema.Node // stands for the value of a text with a fault, which was reported; else nil
	at     schema.Pos   // of a single expression; else of the scalar
}

// single returns the expression that is all of a text, nil for any other text.
func (t *text) single() *expr.Program {
	if len(t.pieces) != 1 {
		return nil
	}
	return t.pieces[0].run
}

// piece is a part of a text: characters, or a program.
type piece struct {
	chars string
	run   *expr.Program
	at    int // the offset of the source in the text
	src   string
	pos   schema.Pos // of a formula: the place of the source
}

// compiledKey identifies a compiled scalar. A default is compiled once for each scope, since each loop has its own types.
type compiledKey struct {
	node  *schema.Node
	scope *expr.Scope
}

// seen returns the scope of the frame.
func (f *frame) seen() *expr.Scope {
	if f.scope != nil {
		return f.scope
	}
	return f.g.current()
}

// compile returns the parts of a scalar, nil where it has no expression.
func (f *frame) compile(n *schema.Node) *text {
	if n.Kind != schema.NodeString || !expr.Has(n.Text) {
		return nil
	}
	key := compiledKey{n, f.seen()}
	t, ok := f.g.compiled[key]
	if !ok {
		t = f.compileNew(n)
		f.g.compiled[key] = t
	}
	if f.g.noting != nil {
		f.g.noting.note(t)
	}
	return t
}

// compileNew compiles a scalar for the first time, and notes the facts that it reads.
func (f *frame) compileNew(n *schema.Node) *text {
	parts, fault := expr.Split(n.Text)
	if fault != nil {
		return &text{wrong: f.g.fault(n, 0, n.Text, *fault)}
	}
	t := &text{at: n.Pos}
	if f.g.escape.IsZero() && strings.Contains(n.Text, expr.Escaped) {
		f.g.escape = n.Pos
	}
	for _, p := range parts {
		f.g.sources = f.g.sources || p.Source
		if !p.Source {
			t.pieces = append(t.pieces, piece{chars: p.Text})
			continue
		}
		run, faults := f.seen().Compile(p.Text)
		for _, bad := range faults {
			if wrong := f.g.fault(n, p.At, p.Text, bad); t.wrong == nil {
				t.wrong = wrong
			}
		}
		if run != nil {
			f.g.reads(run)
			if len(run.Sent()) > 0 {
				f.g.late.some = true
			}
		}
		t.pieces = append(t.pieces, piece{run: run, at: p.At, src: p.Text})
	}
	if t.single() != nil {
		p := &t.pieces[0]
		t.at = f.g.place(n, p.at+leading(p.src))
	}
	return t
}

// reads notes the facts that an expression reads.
func (g *Graph) reads(p *expr.Program) {
	for _, in := range p.Reads() {
		g.noteInput(in)
	}
}

// noteInput notes an input whose change wakes the frontend.
func (g *Graph) noteInput(in expr.Input) {
	switch {
	case in.Name == "hosts":
		g.store.hosts, g.inputs.all = true, true // the facts of this machine are among them
	case in.Name != "facts":
	case in.Field == "":
		g.inputs.all = true
	default:
		g.inputs.facts[in.Field] = true
	}
}

// place returns the place of an offset in the text of a scalar.
func (g *Graph) place(n *schema.Node, at int) schema.Pos {
	doc := g.inputs.docs[n.Pos.File]
	if doc == nil {
		return n.Pos
	}
	return doc.locate(n.Pos, n.Text, min(at, len(n.Text)))
}

// fault reports a fault of an expression whose source begins at an offset in the text of a node. It returns the node that stands for
// the value: nothing, at the place of the fault. A later finding at that place is a consequence, and is not told.
func (g *Graph) fault(n *schema.Node, at int, src string, f expr.Fault) *schema.Node {
	pos := g.place(n, at+bytesOf(src, f.At))
	g.add(schema.Diagnostic{Pos: pos, Message: f.Message, Suggestion: f.Suggestion, Related: related(f.Err)})
	return &schema.Node{Pos: pos}
}

// related returns the findings in the file of a template, none for any other error.
func related(err error) []schema.Related {
	if e, ok := errors.AsType[*templateFault](err); ok {
		return e.faults
	}
	return nil
}

// bytesOf returns how many bytes some characters have.
func bytesOf(src string, chars int) int {
	n := 0
	for i := range src {
		if n == chars {
			return i
		}
		n++
	}
	return len(src)
}

// value computes a scalar with expressions. Where one has a fault, wrong stands for the value. A single expression keeps its type;
// anything else is text.
func (f *frame) value(n *schema.Node, t *text) (v any, wrong *schema.Node) {
	if t.wrong != nil {
		return nil, t.wrong
	}
	if t.single() != nil {
		return f.eval(n, &t.pieces[0])
	}
	var b strings.Builder
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.run == nil {
			b.WriteString(p.chars)
			continue
		}
		v, wrong := f.eval(n, p)
		if wrong != nil {
			return nil, wrong
		}
		s, err := expr.AsText(v)
		if err != nil && f.g.touched {
			err = errors.New(hiddenFault)
		}
		if err != nil {
			return nil, f.g.fault(n, p.at, p.src, expr.Fault{Message: err.Error(), At: leading(p.src)})
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// leading counts the blanks before an expression.
func leading(src string) int { return len(src) - len(strings.TrimLeft(src, " \t\r\n")) }

// eval computes one expression, and reports its fault at its place.
func (f *frame) eval(n *schema.Node, p *piece) (v any, wrong *schema.Node) {
	if doc := f.g.inputs.docs[n.Pos.File]; doc != nil {
		f.g.dir = doc.Dir
	}
	if f.g.some && f.g.whole(p.run) {
		return nil, f.g.fault(n, p.at, p.src, expr.Fault{At: leading(p.src), Message: fmt.Sprintf("an entry of use after %d others reads single modules alone: write module.NAME", fewInstances)})
	}
	if told, lacks := f.g.lacking(p.run); lacks {
		return nil, &schema.Node{Pos: told}
	}
	v, err := f.run(p.run)
	if err == nil {
		return v, nil
	}
	fault, ok := errors.AsType[*expr.Fault](err)
	switch {
	case f.g.touched && f.g.unread != "":
		return unknownText, nil // what stands for the secret need not fit the function
	case f.g.touched:
		fault = &expr.Fault{Message: hiddenFault}
	case f.g.leftOutOf(p.run) != "":
		name := f.g.leftOutOf(p.run)
		fault = &expr.Fault{Message: "module." + name + " has no outputs: the condition of the module leaves it out here; write module." + name + ".?NAME.orValue(...)"}
	case !ok:
		fault = &expr.Fault{Message: err.Error()}
	}
	if fault.At == 0 {
		fault.At = leading(p.src)
	}
	return nil, f.g.fault(n, p.at, p.src, *fault)
}

// needed computes a value that a resource can't go without. It reports an empty optional as an error, which node leaves out.
func (f *frame) needed(n *schema.Node, key string) (*schema.Node, bool) {
	t := f.compile(n)
	if t == nil {
		return f.node(n)
	}
	v, wrong := f.value(n, t)
	if wrong != nil {
		return nil, false
	}
	if _, absent := v.(expr.Absent); absent {
		p := &t.pieces[0] // only a single expression keeps its type
		f.g.fault(n, p.at, p.src, expr.Fault{At: leading(p.src), Message: key + " has no value here: write .orValue(...) behind it"})
		return nil, false
	}
	return nodeOf(v, t.at), true
}

// node returns a tree with its expressions computed, and whether there is anything. For an expression with a fault null stands at the place
// of that. An empty optional has no value: the list or the map around it goes without it. A tree without expressions is returned as it is.
func (f *frame) node(n *schema.Node) (*schema.Node, bool) {
	switch n.Kind {
	case schema.NodeString:
		t := f.compile(n)
		if t == nil {
			return n, true
		}
		return f.scalar(n, t)
	case schema.NodeList:
		return f.list(n)
	case schema.NodeMap:
		return f.mapping(n)
	}
	return n, true
}

// scalar is node for a text with expressions. A value that was made from a secret hides its texts.
func (f *frame) scalar(n *schema.Node, t *text) (*schema.Node, bool) {
	outer := f.g.touched
	f.g.touched = false
	defer func() { f.g.touched = f.g.touched || outer }()
	v, wrong := f.value(n, t)
	if wrong != nil {
		return wrong, true
	}
	if _, absent := v.(expr.Absent); absent {
		return nil, false
	}
	if !f.g.touched {
		n := nodeOf(v, t.at)
		n.Computed = true
		return n, true
	}
	hidden, err := tainted(v, t.at)
	if err != nil {
		return f.g.fault(n, 0, "", expr.Fault{Message: err.Error()}), true
	}
	return hidden, true
}

// list computes the items. The list is copied where an item differs.
func (f *frame) list(n *schema.Node) (*schema.Node, bool) {
	out := n
	for i, item := range n.Items {
		v, ok := f.node(item)
		if v == item && out == n {
			continue
		}
		if out == n {
			c := *n
			c.Items = slices.Clone(n.Items[:i])
			out = &c
		}
		if ok {
			out.Items = append(out.Items, v)
		}
	}
	return out, true
}

// mapping computes the values of a map. The map is copied where a value differs.
func (f *frame) mapping(n *schema.Node) (*schema.Node, bool) {
	out := n
	for i, p := range n.Pairs {
		if expr.Has(p.Key) {
			f.g.errorf(p.Pos, "an expression can't stand in a key: a map as a whole may be one")
		}
		v, ok := f.node(p.Value)
		if v == p.Value && out == n {
			continue
		}
		if out == n {
			c := *n
			c.Pairs = slices.Clone(n.Pairs[:i])
			out = &c
		}
		if ok {
			p.Value = v
			out.Pairs = append(out.Pairs, p)
		}
	}
	return out, true
}

// nodeOf returns a value as a node, as if it had been written at a place: text as in quotes.
func nodeOf(v any, pos schema.Pos) *schema.Node {
	n := &schema.Node{Pos: pos}
	switch v := v.(type) {
	case bool:
		n.Kind, n.Text = schema.NodeBool, strconv.FormatBool(v)
	case int64:
		n.Kind, n.Text = schema.NodeInt, strconv.FormatInt(v, 10)
	case uint64:
		n.Kind, n.Text = schema.NodeInt, strconv.FormatUint(v, 10)
	case float64:
		n.Kind, n.Text = schema.NodeFloat, strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		n.Kind, n.Text, n.Quoted = schema.NodeString, v, true
	case []any:
		n.Kind, n.Items = schema.NodeList, make([]*schema.Node, 0, len(v))
		for _, item := range v {
			if _, absent := item.(expr.Absent); !absent {
				n.Items = append(n.Items, nodeOf(item, pos))
			}
		}
	case map[string]any:
		n.Kind, n.Pairs = schema.NodeMap, make([]schema.Pair, 0, len(v))
		for _, key := range sortedKeys(v) {
			if _, absent := v[key].(expr.Absent); !absent {
				n.Pairs = append(n.Pairs, schema.Pair{Key: key, Pos: pos, Value: nodeOf(v[key], pos)})
			}
		}
	}
	return n
}

// top is the frame of everything that is in no loop.
func (g *Graph) top() *frame { return &frame{g, nil, g.names} }
