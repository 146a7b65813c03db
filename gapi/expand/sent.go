package expand

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// # How a sent value reaches an expression
//
// A parameter with the function sent has no value when the graph is loaded. Expand takes it out of the resource and makes a formula of it,
// with a wire for each value that it reads. The reactor calls the formula when the senders have sent. All other inputs are known at
// load. Facts and variables are those of the frame. A trial with empty values reads files and secrets, so a formula reads nothing itself.
//
// The reactor calls formulas from its own goroutine, and the graph belongs to the frontend's. So a formula is computed under the lock of the
// root, and the frontend is done with the graph by then.

// SentKey is a key that Expand adds to a resource for each parameter with sent values. Graph.Sent tells what its value stands for. No author
// writes this key.
const SentKey = "\x00sent"

// SentValue is one value that a parameter is made from.
type SentValue struct {
	Field   string
	From    schema.Ref
	Pos     schema.Pos // of the reference in the expression
	Formula *resgraph.Formula
	Source  *schema.Node // the parameter; its expressions without sent values are computed
	Open    bool         // Source has variables in it that only the formula knows
}

// Sent returns the values that the value of a SentKey stands for.
func (g *Graph) Sent(n *schema.Node) []SentValue { return g.late.sent[n] }

// errNotLoaded is an error of something that a formula would have to read.
var errNotLoaded = errors.New("what an expression with sent values reads must be known when the graph is loaded: write the name out")

// senders gives the type of the values that a kind sends, by its name in lower case; nil where no kind is known. Its result is nil for a kind
// that is not known.
type senders func(kind string) *schema.Type

// sent declares the function of this name. While a formula is computed, l has the values.
func (s senders) sent(l *late) *expr.Sent {
	return &expr.Sent{
		TypeOf: func(text string) expr.Type {
			if t := s.typeOf(text); t != nil {
				return expr.OfSchema("sent", t)
			}
			return expr.Type{}
		},
		Do: func(text string) (any, error) {
			if l.values == nil {
				return nil, errors.New("a sent value may stand only in a parameter of a resource: it is known when the graph runs, and this must be known before")
			}
			r, err := s.reference(text)
			if err != nil {
				return nil, err
			}
			v, ok := l.values[r.String()]
			if !ok {
				return nil, fmt.Errorf("%s is not among the values that this expression waits for", r)
			}
			return v, nil
		},
	}
}

// reference reads the argument of sent. The kind is in lower case, and the key is that of the sender's type.
func (s senders) reference(text string) (schema.Ref, error) {
	r, err := schema.ParseRef(text)
	if err != nil {
		return r, err
	}
	if r.Key == "" {
		return r, fmt.Errorf("%s names no value, write %s.key", r, r)
	}
	r.Kind = strings.ToLower(r.Kind)
	// The wire that Build makes has the sender's own name of the key, and so has the value that comes over it.
	if sends := s.of(r.Kind); sends != nil {
		top, rest := r.Key, ""
		if i := strings.IndexAny(top, ".["); i >= 0 {
			top, rest = top[:i], top[i:]
		}
		if f := sends.Field(top); f != nil {
			r.Key = f.Key + rest
		}
	}
	return r, nil
}

// of returns the type of the values that a kind sends, nil where it is not known.
func (s senders) of(kind string) *schema.Type {
	if s == nil {
		return nil
	}
	return s(kind)
}

// typeOf returns the type of a sent value, nil where it is not known. gapi.Build says what is wrong with the reference then.
func (s senders) typeOf(text string) *schema.Type {
	r, err := s.reference(text)
	if err != nil {
		return nil
	}
	sends := s.of(r.Kind)
	if sends == nil {
		return nil
	}
	t, _, err := sends.At(r.Key)
	if err != nil {
		return nil
	}
	return t
}

// sentReason says why a key of a resource can't have a sent value.
func sentReason(key string) string {
	switch key {
	case whenKey:
		return "a condition can't ask for a sent value: it decides which resources the graph has, and the value is known only when the graph runs"
	case forEachKey:
		return "a loop can't be over a sent value: it decides which resources the graph has, and the value is known only when the graph runs"
	}
	return key + " can't have a sent value: it must be known before the graph runs"
}

// refuseSent reports the sent values in a key that can't have them. It reaches the ones in branches that are not taken, too.
func (f *frame) refuseSent(n *schema.Node, key string) {
	f.sentIn(n, func(n *schema.Node, t *text, p *piece, c expr.SentCall) {
		t.wrong = f.g.fault(n, p.at, p.src, expr.Fault{At: c.At, Message: sentReason(key)})
	})
}

// sentIn calls do for each call of sent in the expressions of a tree.
func (f *frame) sentIn(tree *schema.Node, do func(n *schema.Node, t *text, p *piece, c expr.SentCall)) {
	for n := range tree.All() {
		if n.Kind != schema.NodeString {
			continue
		}
		t := f.compile(n)
		if t == nil || t.wrong != nil {
			continue
		}
		for i := range t.pieces {
			if p := &t.pieces[i]; p.run != nil {
				for _, c := range p.run.Sent() {
					do(n, t, p, c)
				}
			}
		}
	}
}

// sentParameter makes the formula of a parameter with sent values, nil for a parameter without one. For a parameter with a fault null stands at the
// place of that.
func (f *frame) sentParameter(p schema.Pair) *schema.Pair {
	g := f.g
	if !g.late.some {
		return nil
	}
	var values []SentValue
	var wrong *schema.Node
	is, known := false, map[string]bool{}
	f.sentIn(p.Value, func(n *schema.Node, _ *text, piece *piece, c expr.SentCall) {
		is = true
		r, err := f.referenceOf(c)
		if err != nil {
			wrong = g.fault(n, piece.at, piece.src, expr.Fault{At: c.At, Message: err.Error(), Err: err})
			return
		}
		if !known[r.String()] {
			known[r.String()] = true
			values = append(values, SentValue{Field: p.Key, From: r, Pos: g.place(n, piece.at+bytesOf(piece.src, c.At))})
		}
	})
	if !is {
		return nil
	}
	made := &formula{f: f, node: p.Value, texts: map[*schema.Node]*text{}, dirs: map[*schema.Node]string{}}
	made.take(p.Value)
	if wrong == nil {
		wrong = made.try(values)
	}
	if wrong != nil {
		return &schema.Pair{Key: p.Key, Pos: p.Pos, Value: wrong}
	}
	out := &resgraph.Formula{Text: written(p.Value), Sum: made.sum(), Make: made.compute}
	touched := g.touched
	source, open := made.rest()
	g.touched = touched
	for i := range values {
		values[i].Formula, values[i].Source, values[i].Open = out, source, open
	}
	key := &schema.Node{Kind: schema.NodeString, Quoted: true, Text: p.Key, Pos: p.Pos}
	l := g.late
	if l.sent == nil {
		l.sent = map[*schema.Node][]SentValue{}
	}
	l.sent[key] = values
	return &schema.Pair{Key: SentKey, Pos: p.Pos, Value: key}
}

// referenceOf returns the reference of a call of sent.
func (f *frame) referenceOf(c expr.SentCall) (schema.Ref, error) {
	text := c.Ref
	if c.Arg != nil {
		v, err := c.Arg.Eval(f.names)
		if err != nil {
			return schema.Ref{}, err
		}
		s, ok := v.(string)
		if !ok {
			return schema.Ref{}, errors.New("sent takes the text of a reference such as exec[x].output")
		}
		text = s
	}
	return senders(f.g.opts.Sends).reference(text)
}

// written returns a tree as its author may have written it, for people.
func written(n *schema.Node) string {
	if n.Kind == schema.NodeString {
		return n.Text
	}
	var v any
	schema.Decode(n, &v)
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// formula is a parameter that is computed when its values have been sent.
type formula struct {
	f     *frame
	node  *schema.Node
	texts map[*schema.Node]*text  // the scalars with expressions
	dirs  map[*schema.Node]string // the folders that paths in them are relative to
	read  []string                // digests of the files and secrets that the trial has read
}

// take compiles the scalars of a tree. The compiled ones of the graph are not kept for so long.
func (x *formula) take(tree *schema.Node) {
	for n := range tree.All() {
		if n.Kind != schema.NodeString {
			continue
		}
		t := x.f.compile(n)
		if t == nil {
			continue
		}
		own := *t
		own.pieces = slices.Clone(t.pieces)
		for i := range own.pieces {
			own.pieces[i].pos = x.f.g.place(n, own.pieces[i].at+leading(own.pieces[i].src))
		}
		x.texts[n] = &own
		if doc := x.f.g.inputs.docs[n.Pos.File]; doc != nil {
			x.dirs[n] = doc.Dir
		}
	}
}

// try computes the formula with empty values, so that files and secrets are read, and their faults are told. It returns the node that stands for the value of one with a fault.
func (x *formula) try(values []SentValue) (wrong *schema.Node) {
	g := x.f.g
	l := g.late
	// A value of an unknown type is an empty text here: the trial looks at files and secrets only.
	l.values, l.read, l.trial = map[string]any{}, nil, true
	defer func() { l.values, l.trial = nil, false }()
	for _, v := range values {
		l.values[v.From.String()] = ""
		if t := senders(g.opts.Sends).typeOf(v.From.String()); t != nil {
			l.values[v.From.String()] = expr.ZeroOf(t)
		}
	}
	for n, t := range x.texts {
		if wrong = cmp.Or(wrong, t.wrong); t.wrong != nil {
			continue
		}
		g.dir = x.dirs[n]
		for i := range t.pieces {
			wrong = cmp.Or(wrong, x.tryPiece(n, &t.pieces[i]))
		}
	}
	x.read = slices.Clone(l.read)
	slices.Sort(x.read)
	return wrong
}

// tryPiece computes one expression. A fault of an empty value may be none of a sent value. So it tells only faults that are known at load: those of
// an expression without sent values, and of files and secrets.
func (x *formula) tryPiece(n *schema.Node, p *piece) (wrong *schema.Node) {
	g := x.f.g
	if p.run == nil {
		return nil
	}
	if len(p.run.Sent()) == 0 {
		_, wrong = x.f.eval(n, p)
		return wrong
	}
	for _, c := range p.run.Calls("secret", "read", "template") {
		var err error
		switch c.Name {
		case "secret":
			_, err = g.secret([]any{c.Text})
		case "read":
			_, err = g.readFile([]any{c.Text})
		case "template":
			err = g.knowTemplate(c.Text)
		}
		if err != nil {
			return g.fault(n, p.at, p.src, expr.Fault{At: leading(p.src), Message: err.Error(), Err: err})
		}
	}
	_, _ = x.f.run(p.run) // names of files and secrets may be computed
	return nil
}

// knowTemplate reads and parses a template.
func (g *Graph) knowTemplate(name string) error {
	path := g.relative(name)
	src, err := g.readText(path)
	if err != nil {
		return err
	}
	_, err = g.templates.parse(g.current(), path, src)
	return err
}

// sum names the formula with all its inputs but the sent values.
func (x *formula) sum() string {
	// The source alone would do for an expression that reads nothing. Values go in as JSON, whose maps have an order.
	h := sha256.New()
	var add func(n *schema.Node)
	add = func(n *schema.Node) {
		fmt.Fprintf(h, "%d %q %d %d\n", n.Kind, n.Text, len(n.Items), len(n.Pairs))
		if t := x.texts[n]; t != nil {
			for i := range t.pieces {
				if run := t.pieces[i].run; run != nil {
					for _, in := range run.Reads() {
						b, err := json.Marshal(x.input(in))
						fmt.Fprintf(h, "%s.%s %s %v\n", in.Name, in.Field, b, err)
					}
				}
			}
		}
		for _, item := range n.Items {
			add(item)
		}
		for _, p := range n.Pairs {
			fmt.Fprintf(h, "%q\n", p.Key)
			add(p.Value)
		}
	}
	add(x.node)
	fmt.Fprintf(h, "%q", x.read)
	return string(h.Sum(nil))
}

// input returns the value of an input of an expression.
func (x *formula) input(in expr.Input) any {
	v := x.f.names[in.Name]
	if in.Name == "hosts" {
		v = any(x.f.g.store.all(x.f.g.ownFacts())) // the scope has the function that asks for them
	}
	if m, ok := v.(map[string]any); ok && in.Field != "" {
		return m[in.Field]
	}
	return v
}

// rest returns the parameter with the expressions computed that have no sent values in them, and whether the others read variables.
func (x *formula) rest() (n *schema.Node, open bool) {
	// A value that is made from a secret must not be written, so its expression stays.
	var walk func(n *schema.Node) *schema.Node
	walk = func(n *schema.Node) *schema.Node {
		c := *n
		if t := x.texts[n]; t != nil {
			var b strings.Builder
			for i := range t.pieces {
				p := &t.pieces[i]
				switch {
				case p.run == nil:
					b.WriteString(strings.ReplaceAll(p.chars, expr.Open, expr.Escaped))
				case len(p.run.Sent()) > 0:
					open = open || slices.ContainsFunc(p.run.Reads(), func(in expr.Input) bool { return in.Name != "facts" && in.Name != "hosts" })
					b.WriteString(expr.Open + p.src + expr.Close)
				default:
					x.f.g.touched = false
					v, err := x.f.run(p.run)
					s, wrong := expr.AsText(v)
					if err != nil || wrong != nil || x.f.g.touched {
						open, s = true, expr.Open+p.src+expr.Close
					} else {
						s = strings.ReplaceAll(s, expr.Open, expr.Escaped)
					}
					b.WriteString(s)
				}
			}
			c.Text, c.Quoted = b.String(), true
		}
		c.Items, c.Pairs = slices.Clone(n.Items), slices.Clone(n.Pairs)
		for i := range c.Items {
			c.Items[i] = walk(c.Items[i])
		}
		for i := range c.Pairs {
			c.Pairs[i].Value = walk(c.Pairs[i].Value)
		}
		return &c
	}
	return walk(x.node), open
}

// compute is resgraph.Formula.Make.
func (x *formula) compute(sent map[string]any) (v any, secret bool, err error) {
	// The functions of the expression use the graph of the frame. Its marks say afterwards whether a secret went into the value.
	g := x.f.g
	l := g.late
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values, l.over = sent, true
	g.allowed, g.touched, g.unread = true, false, ""
	defer func() { l.values, g.allowed, g.touched = nil, false, false }()
	v, err = x.value(x.node)
	return v, g.touched, err
}

// value computes a tree. An empty optional is left out of the list or the map around it.
func (x *formula) value(n *schema.Node) (v any, err error) {
	switch t := x.texts[n]; {
	case t != nil:
		x.f.g.dir = x.dirs[n]
		return x.text(t)
	case n.Kind == schema.NodeList:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			v, err := x.value(item)
			if err != nil {
				return nil, err
			}
			if _, absent := v.(expr.Absent); !absent {
				list = append(list, v)
			}
		}
		return list, nil
	case n.Kind == schema.NodeMap:
		m := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			v, err := x.value(p.Value)
			if err != nil {
				return nil, err
			}
			if _, absent := v.(expr.Absent); !absent {
				m[p.Key] = v
			}
		}
		return m, nil
	}
	if ds := schema.Decode(n, &v); ds.Err() != nil {
		return nil, ds.Err()
	}
	return v, nil
}

// text computes a scalar.
func (x *formula) text(t *text) (any, error) {
	var b strings.Builder
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.run == nil {
			b.WriteString(p.chars)
			continue
		}
		v, err := x.f.run(p.run)
		if err == nil && t.single() != nil {
			return v, nil
		}
		s := ""
		if err == nil {
			s, err = expr.AsText(v)
		}
		if err != nil && x.f.g.touched {
			err = errors.New(hiddenFault)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.pos, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
