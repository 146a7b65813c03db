package expand

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/expand/texts"
)

// templateFault is the error of a template: its findings have places in the file of the template.
type templateFault struct {
	path   string
	faults []schema.Related
}

// Error returns the message without the findings.
func (e *templateFault) Error() string { return "the template " + e.path + " has a fault" }

// template computes the function of this name: the text of a template, which is named relative to the file with the expression, for a value.
func (g *Graph) template(args []any) (any, error) {
	path := g.relative(args[0].(string))
	src, err := g.readText(path)
	if err != nil {
		return nil, err
	}
	t, err := g.templates.parse(g.current(), path, src)
	if err != nil {
		return nil, err
	}
	// Without values, a template may still call functions.
	var dot any = map[string]any{}
	if len(args) > 1 {
		dot = args[1]
	}
	// Paths in a template are relative to its own folder.
	dir := g.dir
	g.dir = filepath.Dir(path)
	defer func() { g.dir = dir }()
	call := func(name string, args []any) (any, error) { return g.templates.call(g.current(), name, args) }
	text, err := t.Execute(dot, call)
	if f, bad := errors.AsType[*texts.Fault](err); bad {
		return nil, faultOf(path, src, *f)
	}
	return text, err
}

// templates are the parsed templates of one graph, and the calls in them. Both are made once in each computation, since a loop comes by again
// and again. The zero value has none.
type templates struct {
	parsed map[string]*texts.Template // by path
	calls  map[callKey]*expr.Program  // nil for a function that does not take so many arguments
}

// parse parses a template. The scope says which functions there are.
func (ts *templates) parse(scope *expr.Scope, path, src string) (*texts.Template, error) {
	if t := ts.parsed[path]; t != nil {
		return t, nil
	}
	known := func(name string) (ok bool, suggestion, refused string) { return calledIn(scope, name) }
	t, faults := texts.Parse(src, known)
	if len(faults) > 0 {
		return nil, faultOf(path, src, faults...)
	}
	if ts.parsed == nil {
		ts.parsed = map[string]*texts.Template{}
	}
	ts.parsed[path] = t
	return t, nil
}

// sentInTemplate is the reason why no template calls sent, and the way out.
const sentInTemplate = "sent can't stand in a template: which values are sent must be known when the graph is loaded; give the template the value, " +
	`as in template("x.tmpl", {"value": sent('kind[name].key')}), and write {{ .value }}`

// calledIn tells a template about a function of expressions.
func calledIn(scope *expr.Scope, name string) (ok bool, suggestion, refused string) {
	if name == expr.SentName {
		return false, "", sentInTemplate
	}
	ok, suggestion = scope.HasFunction(name)
	return ok, suggestion, ""
}

// faultOf gives the faults of a template their places.
func faultOf(path, src string, faults ...texts.Fault) error {
	// The parser knows the line alone.
	e := &templateFault{path: path}
	doc := &Document{File: path, Src: []byte(src)}
	for _, f := range faults {
		pos := schema.Pos{File: path, Line: int32(f.Line)}
		if f.Line == 0 {
			pos = doc.posOf(min(f.At, len(src)))
		}
		message := f.Message
		if f.Suggestion != "" {
			message += fmt.Sprintf(" (did you mean %q?)", f.Suggestion)
		}
		e.faults = append(e.faults, schema.Related{Pos: pos, Message: message})
	}
	return e
}

// call computes a function for a template: those of expressions are the same. A function that an expression writes behind a dot takes the value in
// front of that as its last argument, so that a pipeline gives it.
func (ts *templates) call(scope *expr.Scope, name string, args []any) (any, error) {
	// A compiled call is kept: a loop of the template makes it again and again.
	key := callKey{name, len(args)}
	run, known := ts.calls[key]
	if !known {
		if ts.calls == nil {
			ts.calls = map[callKey]*expr.Program{}
		}
		run = key.compile(scope)
		ts.calls[key] = run
	}
	if run == nil {
		return nil, fmt.Errorf("it does not take %d arguments", len(args))
	}
	values := make(map[string]any, len(args))
	for i, a := range args {
		values[argument(i)] = a
	}
	v, err := run.Eval(values)
	if _, absent := v.(expr.Absent); absent {
		v = nil
	}
	return v, err
}

// callKey identifies a function with a number of arguments.
type callKey struct {
	name string
	args int
}

// argument names an argument of a call in the expression that makes it.
func argument(i int) string { return fmt.Sprintf("argument_%d", i) }

// compile returns the expression that calls a function, nil if that does not take so many arguments.
func (key callKey) compile(known *expr.Scope) *expr.Program {
	types := make(map[string]expr.Type, key.args)
	names := make([]string, key.args)
	for i := range names {
		names[i] = argument(i)
		types[names[i]] = expr.Type{}
	}
	scope, err := known.With(types)
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	// The types of the arguments are not known before the template is executed, so the call checks them then.
	forms := []string{key.name + "(" + strings.Join(names, ", ") + ")"}
	if last := key.args - 1; last >= 0 {
		forms = append(forms, names[last]+"."+key.name+"("+strings.Join(names[:last], ", ")+")")
	}
	for _, src := range forms {
		if run, _ := scope.Compile(src); run != nil {
			return run
		}
	}
	return nil
}
