package texts

import (
	"errors"
	"fmt"
	"strings"
	"text/template/parse"
)

// none says that a command gets no value of a pipeline: nil is one.
type none struct{}

// pipe computes a pipeline, and declares its variables.
func (r *run) pipe(p *parse.PipeNode, dot any) any {
	var v any = none{}
	for _, cmd := range p.Cmds {
		v = r.command(cmd, dot, v)
	}
	// A loop binds its two variables in each turn.
	if r.isRange(p) {
		return v
	}
	for i := range p.Decl {
		r.bind(p, i, v)
	}
	return v
}

// isRange reports whether a pipeline declares the variables of a loop, which each turn gives a value. Only those have two; with one, the value of
// the pipeline is replaced by that of the turn.
func (r *run) isRange(p *parse.PipeNode) bool { return len(p.Decl) == 2 }

// command computes one command. last is the value of the one before it.
func (r *run) command(cmd *parse.CommandNode, dot, last any) any {
	r.step(cmd.Pos)
	first := cmd.Args[0]
	if id, ok := first.(*parse.IdentifierNode); ok {
		return r.function(id, cmd.Args[1:], dot, last)
	}
	// Any other value can't be called: neither arguments nor a pipeline can go into it.
	if _, piped := last.(none); !piped || len(cmd.Args) > 1 {
		r.fail(first.Position(), "%s is no function, so it takes no arguments", first)
	}
	return r.value(first, dot)
}

// value computes an argument.
func (r *run) value(n parse.Node, dot any) any {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		return nil
	case *parse.BoolNode:
		return n.True
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		return r.number(n)
	case *parse.FieldNode:
		return r.fields(n.Pos, dot, n.Ident)
	case *parse.VariableNode:
		return r.fields(n.Pos, r.variable(n.Ident[0]), n.Ident[1:])
	case *parse.ChainNode:
		return r.fields(n.Pos, r.value(n.Node, dot), n.Field)
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.IdentifierNode:
		return r.function(n, nil, dot, none{})
	}
	r.fail(n.Position(), "%s can't stand here", n)
	return nil
}

// number returns a constant.
func (r *run) number(n *parse.NumberNode) any {
	// A constant that is written with a point or an exponent has a fraction, and else is the smallest type that it fits. A number
	// with an imaginary part is none here.
	switch {
	case n.IsFloat && fractional(n.Text):
		return n.Float64
	case n.IsInt:
		return n.Int64
	case n.IsUint:
		return n.Uint64
	case n.IsFloat:
		return n.Float64
	}
	r.fail(n.Pos, "%s is no number of a graph", n.Text)
	return nil
}

// fractional reports whether a number has a point or an exponent. The e of a hexadecimal number is a digit, and that of a
// character itself.
func fractional(text string) bool {
	digits := strings.ToLower(strings.TrimLeft(text, "+-"))
	switch {
	case strings.HasPrefix(digits, "'"):
		return false
	case strings.HasPrefix(digits, "0x"):
		return strings.ContainsAny(digits, ".p")
	}
	return strings.ContainsAny(digits, ".e")
}

// variable returns the value of a variable, which the parser knows.
func (r *run) variable(name string) any {
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name == name {
			return r.vars[i].value
		}
	}
	return nil
}

// fields selects keys of maps.
func (r *run) fields(at parse.Pos, v any, keys []string) any {
	// text/template prints <no value> here, or asks for a method: neither is of use in a file of a machine.
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			r.fail(at, "there is no key %q in %s, which is no map", key, nameOf(v))
		}
		if v, ok = m[key]; !ok {
			r.fail(at, "there is no key %q; index returns nothing for a missing key, as in {{ if index . %q }}", key, key)
		}
	}
	return v
}

// function computes a function with its arguments, of which the value of a pipeline is the last.
func (r *run) function(id *parse.IdentifierNode, args []parse.Node, dot, last any) any {
	if id.Ident == "and" || id.Ident == "or" {
		return r.logic(id, args, dot, last)
	}
	// All arguments are computed before the call, from left to right.
	// A fault of one of them is told at its own place, and one of the call at the name of the function.
	values := make([]any, 0, len(args)+1)
	for _, a := range args {
		values = append(values, r.value(a, dot))
	}
	if _, empty := last.(none); !empty {
		values = append(values, last)
	}
	// Those of Go come first: a caller can't take a word of the notation for another meaning.
	var v any
	var err error
	if do := builtins[id.Ident]; do != nil {
		v, err = do(values)
	} else {
		v, err = r.call(id.Ident, values)
	}
	if err != nil {
		r.fail(id.Pos, "%s: %v", id.Ident, err)
	}
	return v
}

// logic computes and and or, which look at no more arguments than they need.
func (r *run) logic(id *parse.IdentifierNode, args []parse.Node, dot, last any) (v any) {
	_, empty := last.(none)
	if len(args) == 0 && empty {
		r.fail(id.Pos, "%s takes at least one argument", id.Ident)
	}
	for _, a := range args {
		if v = r.value(a, dot); truth(v) == (id.Ident == "or") {
			return v
		}
	}
	if !empty {
		return last
	}
	return v
}

// truth reports whether a value counts as true: empty ones do not.
func truth(v any) bool {
	// Empty are false, zero, and values without a length.
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case uint64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// nameOf names the type of a value.
func nameOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a bool"
	case int64, uint64, float64:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", v)
}

// builtins are the functions of text/template, with its meaning for plain values. The functions and and or are not among them, since they
// look at no more arguments than they need: see logic. The functions html, js and urlquery are for pages, and call is for values that are
// functions: a graph has neither.
var builtins = map[string]func([]any) (any, error){
	"not":     func(args []any) (any, error) { return not(args) },
	"len":     length,
	"index":   index,
	"slice":   slice,
	"print":   func(args []any) (any, error) { return fmt.Sprint(args...), nil },
	"println": func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
	"printf":  printf,
	"eq":      equal,
	"ne": func(args []any) (any, error) {
		return compare(args, func(a, b any) (bool, error) { return !same(a, b), nil })
	},
	"lt": func(args []any) (any, error) { return compare(args, less) },
	"le": func(args []any) (any, error) {
		return compare(args, func(a, b any) (bool, error) { return negated(less(b, a)) })
	},
	"gt": func(args []any) (any, error) {
		return compare(args, func(a, b any) (bool, error) { return less(b, a) })
	},
	"ge": func(args []any) (any, error) {
		return compare(args, func(a, b any) (bool, error) { return negated(less(a, b)) })
	},
}

func negated(v bool, err error) (bool, error) { return !v, err }

func not(args []any) (any, error) {
	if len(args) != 1 {
		return nil, errors.New("it takes one argument")
	}
	return !truth(args[0]), nil
}

func printf(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("it takes a format and its values")
	}
	// As in Go, a verb that does not fit its value shows that in the text.
	format, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("the format must be a text, not %s", nameOf(args[0]))
	}
	return fmt.Sprintf(format, args[1:]...), nil
}

func length(args []any) (any, error) {
	if len(args) == 1 {
		switch v := args[0].(type) {
		case string:
			return int64(len(v)), nil
		case []any:
			return int64(len(v)), nil
		case map[string]any:
			return int64(len(v)), nil
		}
		return nil, fmt.Errorf("%s has no length", nameOf(args[0]))
	}
	return nil, errors.New("it takes one argument")
}

// index returns the item of a list or the value of a key; nil for a missing key.
func index(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("it takes a list or a map, and what to look for")
	}
	// This is the way to ask for a key that may be missing: see fields.
	v := args[0]
	for _, key := range args[1:] {
		switch of := v.(type) {
		case map[string]any:
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("the key of a map must be a text, not %s", nameOf(key))
			}
			v = of[name]
		case []any:
			i, err := offset(key, len(of)-1)
			if err != nil {
				return nil, err
			}
			v = of[i]
		case string:
			i, err := offset(key, len(of)-1)
			if err != nil {
				return nil, err
			}
			v = int64(of[i])
		default:
			return nil, fmt.Errorf("%s has no items", nameOf(v))
		}
	}
	return v, nil
}

// offset returns a place from 0 to most.
func offset(v any, most int) (int, error) {
	i, ok := v.(int64)
	switch {
	case !ok:
		return 0, fmt.Errorf("an index must be a whole number, not %s", nameOf(v))
	case i < 0 || i > int64(most):
		return 0, fmt.Errorf("the index %d is out of range", i)
	}
	return int(i), nil
}

func slice(args []any) (any, error) {
	if len(args) == 0 || len(args) > 3 {
		return nil, errors.New("it takes a list or a text, a beginning and an end")
	}
	// As in Go, a text is cut at bytes.
	size := 0
	switch of := args[0].(type) {
	case string:
		size = len(of)
	case []any:
		size = len(of)
	default:
		return nil, fmt.Errorf("%s has no parts", nameOf(args[0]))
	}
	ends := []int{0, size}
	for i, a := range args[1:] {
		n, err := offset(a, size)
		if err != nil {
			return nil, err
		}
		ends[i] = n
	}
	if ends[0] > ends[1] {
		return nil, fmt.Errorf("the beginning %d is behind the end %d", ends[0], ends[1])
	}
	if s, ok := args[0].(string); ok {
		return s[ends[0]:ends[1]], nil
	}
	return args[0].([]any)[ends[0]:ends[1]], nil
}

// equal reports whether the first value is one of the others.
func equal(args []any) (any, error) {
	if len(args) < 2 {
		return nil, errors.New("it takes two values, or more")
	}
	for _, b := range args[1:] {
		if same(args[0], b) {
			return true, nil
		}
	}
	return false, nil
}

// same compares two values. A number equals a number of another type, and nothing else equals a value of another type.
func same(a, b any) bool {
	// Two whole numbers are compared as such: a float has fewer digits.
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x == y
		}
	}
	if x, ok := asFloat(a); ok {
		y, ok := asFloat(b)
		return ok && x == y
	}
	switch a.(type) {
	case nil, bool, string:
		return a == b
	}
	return false
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// compare computes a comparison of two values.
func compare(args []any, holds func(a, b any) (bool, error)) (any, error) {
	if len(args) != 2 {
		return nil, errors.New("it takes two values")
	}
	return holds(args[0], args[1])
}

// less orders numbers, and texts.
func less(a, b any) (bool, error) {
	// Two whole numbers are not compared as floats, which have fewer digits.
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x < y, nil
		}
	}
	x, number := asFloat(a)
	y, both := asFloat(b)
	s, text := a.(string)
	t, texts := b.(string)
	switch {
	case number && both:
		return x < y, nil
	case text && texts:
		return s < t, nil
	}
	return false, fmt.Errorf("%s and %s have no order", nameOf(a), nameOf(b))
}
