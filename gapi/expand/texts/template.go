package texts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Bounds of one Execute.
const (
	MaxBytes = 16 << 20
	MaxSteps = 1_000_000
	MaxDepth = 100 // of templates that execute templates
)

// Fault is what is wrong with a template, or with the values for it.
type Fault struct {
	At         int // in bytes from the beginning of the template
	Line       int // from 1, where only the line is known; else 0
	Message    string
	Suggestion string
}

// Error returns the message without the place.
func (f *Fault) Error() string { return f.Message }

// Template is a template that was parsed. It is immutable and safe for concurrent use.
type Template struct {
	trees map[string]*parse.Tree
	name  string
}

// Known reports whether a function of the caller is there, and which one was probably meant. refused says why no
// template may call a function that expressions have; else it is empty.
type Known func(name string) (ok bool, suggestion, refused string)

// parserSays is the form of an error of the parser.
var parserSays = lazyregexp.New(`(?s)^template: .*?:(\d+): (.*)$`)

// Parse reads a template. It returns every fault that it finds, and no template with one.
func Parse(text string, known Known) (*Template, []Fault) {
	// The caller's functions are not known to the parser: it stops at the first unknown one, and the checker finds them all.
	const name = "\x00" // no template of a file has this name
	t := &Template{map[string]*parse.Tree{}, name}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", t.trees); err != nil {
		f := Fault{Line: 1, Message: err.Error()}
		if m := parserSays.FindStringSubmatch(err.Error()); m != nil {
			f.Line, _ = strconv.Atoi(m[1])
			f.Message = m[2]
		}
		return nil, []Fault{f}
	}
	if t.trees[name] == nil { // a template without any text
		t.trees[name] = tree
	}
	// The templates that a file defines are checked in the order of their names, and the faults are sorted by their places after that.
	c := checker{t: t, known: known}
	for _, name := range slices.Sorted(maps.Keys(t.trees)) {
		if root := t.trees[name].Root; root != nil {
			c.list(root)
		}
	}
	if len(c.faults) > 0 {
		sorted.Stable(c.faults, func(a, b Fault) int { return a.At - b.At })
		return nil, c.faults
	}
	return t, nil
}

// checker looks for names that a template uses and that are not there.
type checker struct {
	t      *Template
	known  Known
	faults []Fault
}

func (c *checker) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		c.node(n)
	}
}

// node looks into one node. Those without a function or a template in them have nothing to find.
func (c *checker) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		c.pipe(n.Pipe)
	case *parse.IfNode:
		c.branch(&n.BranchNode)
	case *parse.WithNode:
		c.branch(&n.BranchNode)
	case *parse.RangeNode:
		c.branch(&n.BranchNode)
	case *parse.TemplateNode:
		c.pipe(n.Pipe)
		if c.t.trees[n.Name] == nil {
			c.faults = append(c.faults, Fault{At: int(n.Pos), Message: fmt.Sprintf("this template defines no %q", n.Name)})
		}
	case *parse.PipeNode:
		c.pipe(n)
	case *parse.ChainNode:
		c.node(n.Node)
	case *parse.IdentifierNode:
		if builtins[n.Ident] != nil || n.Ident == "and" || n.Ident == "or" {
			return
		}
		if ok, near, refused := c.known(n.Ident); !ok {
			c.faults = append(c.faults, Fault{At: int(n.Pos), Message: cmp.Or(refused, fmt.Sprintf("there is no function %q", n.Ident)), Suggestion: near})
		}
	}
}

func (c *checker) branch(b *parse.BranchNode) {
	c.pipe(b.Pipe)
	c.list(b.List)
	c.list(b.ElseList)
}

func (c *checker) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			c.node(arg)
		}
	}
}

// Execute returns the text. call computes a function of the caller, which builtins does not have. The error is a *Fault.
func (t *Template) Execute(dot any, call func(name string, args []any) (any, error)) (text string, err error) {
	// The executor goes down the tree with panics for faults, as the one of the library does: that keeps its functions short.
	r := &run{t: t, call: call}
	defer func() {
		// A fault ends the execution wherever it is; any other panic is one of the program.
		switch p := recover().(type) {
		case nil:
		case *Fault:
			text, err = "", p
		default:
			panic(p)
		}
	}()
	r.template(t.name, dot, 0)
	return r.out.String(), nil
}

// run is one execution.
type run struct {
	t     *Template
	call  func(string, []any) (any, error)
	out   strings.Builder
	vars  []variable
	steps int
	depth int
}

// variable is one of the template, such as $x.
type variable struct {
	name  string
	value any
}

// fail ends the execution.
func (r *run) fail(at parse.Pos, format string, args ...any) {
	panic(&Fault{At: int(at), Message: fmt.Sprintf(format, args...)})
}

// template executes one of the templates of the file. It sees no variables but $.
func (r *run) template(name string, dot any, at parse.Pos) {
	if r.depth++; r.depth > MaxDepth {
		r.fail(at, "templates execute templates %d levels deep: that has no end", MaxDepth)
	}
	// The variables of the template around this one come back when it ends.
	vars := r.vars
	r.vars = []variable{{"$", dot}}
	if root := r.t.trees[name].Root; root != nil {
		r.list(root, dot)
	}
	r.vars = vars
	r.depth--
}

// next is how the execution of a list ended.
type next uint8

const (
	onward next = iota
	breaks
	continues
)

func (r *run) list(l *parse.ListNode, dot any) next {
	if l == nil {
		return onward
	}
	for _, n := range l.Nodes {
		if how := r.node(n, dot); how != onward {
			return how
		}
	}
	return onward
}

func (r *run) node(n parse.Node, dot any) next {
	r.step(n.Position())
	switch n := n.(type) {
	case *parse.TextNode:
		r.write(n.Pos, string(n.Text))
	case *parse.ActionNode:
		v := r.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			r.write(n.Pos, r.shown(n.Pipe.Pos, v))
		}
	case *parse.IfNode:
		return r.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		return r.loop(n, dot)
	case *parse.BreakNode:
		return breaks
	case *parse.ContinueNode:
		return continues
	case *parse.TemplateNode:
		var with any
		if n.Pipe != nil {
			with = r.pipe(n.Pipe, dot)
		}
		r.template(n.Name, with, n.Pos)
	}
	return onward
}

// step counts towards MaxSteps.
func (r *run) step(at parse.Pos) {
	if r.steps++; r.steps > MaxSteps {
		r.fail(at, "the template does too much: it is stopped at its limit")
	}
}

func (r *run) write(at parse.Pos, text string) {
	// The bound is that of a file that a graph may have, many times over.
	if r.out.Len()+len(text) > MaxBytes {
		r.fail(at, "the text of the template is longer than %d bytes", MaxBytes)
	}
	r.out.WriteString(text)
}

// shown returns a value as text.
func (r *run) shown(at parse.Pos, v any) string {
	if v == nil {
		r.fail(at, "there is no value here")
	}
	return fmt.Sprint(v)
}

// branch executes if and with. Variables that its pipeline declares end with it.
func (r *run) branch(b *parse.BranchNode, dot any, with bool) next {
	// The parser lets an else branch see them, too.
	mark := len(r.vars)
	defer func() { r.vars = r.vars[:mark] }()
	v := r.pipe(b.Pipe, dot)
	if !truth(v) {
		return r.list(b.ElseList, dot)
	}
	if with {
		dot = v
	}
	return r.list(b.List, dot)
}

// loop executes range.
func (r *run) loop(n *parse.RangeNode, dot any) next {
	// Each turn begins with the variables from before the loop: the variables that it declares are its own.
	mark := len(r.vars)
	defer func() { r.vars = r.vars[:mark] }()
	over := r.pipe(n.Pipe, dot)
	turns := 0
	turn := func(key, value any) bool {
		r.step(n.Pos)
		turns++
		r.vars = r.vars[:mark]
		switch decl := n.Pipe.Decl; len(decl) {
		case 1: // it is the value, and not the key as in Go
			r.bind(n.Pipe, 0, value)
		case 2:
			r.bind(n.Pipe, 0, key)
			r.bind(n.Pipe, 1, value)
		}
		return r.list(n.List, value) != breaks
	}
	// Maps are visited in the order of their keys, so that equal values give equal texts.
	switch over := over.(type) {
	case []any:
		for i, v := range over {
			if !turn(int64(i), v) {
				return onward
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(over)) {
			if !turn(key, over[key]) {
				return onward
			}
		}
	case int64:
		for i := range over {
			if !turn(i, i) {
				return onward
			}
		}
	case nil:
	default:
		r.fail(n.Pipe.Pos, "range takes a list, a map or a whole number, not %s", nameOf(over))
	}
	if turns == 0 {
		r.vars = r.vars[:mark]
		return r.list(n.ElseList, dot)
	}
	return onward
}

// bind declares a variable of a pipeline, or gives one another value.
func (r *run) bind(p *parse.PipeNode, i int, v any) {
	name := p.Decl[i].Ident[0]
	if !p.IsAssign {
		r.vars = append(r.vars, variable{name, v})
		return
	}
	// The innermost one of a name is meant.
	for j := len(r.vars) - 1; j >= 0; j-- {
		if r.vars[j].name == name {
			r.vars[j].value = v
			return
		}
	}
	r.fail(p.Pos, "there is no variable %s", name)
}
