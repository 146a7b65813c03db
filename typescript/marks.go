package typescript

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
	"github.com/grafana/sobek/unistring"
)

// Names of the calls that a script gets for its marks. No source can spell them.
const (
	throwing unistring.String = "throw " // with the value that a statement throws, which it returns
	stepping unistring.String = "step "  // before a statement
)

// compile parses a script and marks it. The interpreter forgets where a value was thrown if the value is no error and the
// thrower was called by a promise, so each throw is marked. A traced script has each statement marked, too.
func (m *machine) compile(script string) (*sobek.Program, error) {
	var options []parser.Option
	if !mapped(script) {
		options = append(options, parser.WithDisableSourceMaps)
	}
	tree, err := sobek.Parse("program.js", script, options...)
	if err != nil {
		return nil, err
	}
	if m.r.Traced || strings.Contains(script, "throw") {
		marker{m.r.Traced}.visit(reflect.ValueOf(tree))
	}
	return sobek.CompileAST(tree, false)
}

// marker puts marks into the tree of a script.
type marker struct{ steps bool }

// visit goes through a tree. The lists of declarations repeat what stands in the statements.
func (k marker) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		k.visit(v.Elem())
	case reflect.Pointer:
		if _, ok := v.Interface().(*file.File); ok || v.IsNil() {
			return
		}
		k.visit(v.Elem())
		if s, ok := v.Interface().(*ast.ThrowStatement); ok {
			s.Argument = mark(throwing, s.Throw, s.Argument)
		}
	case reflect.Slice:
		for i := range v.Len() {
			k.visit(v.Index(i))
		}
		if list, ok := v.Interface().([]ast.Statement); ok && k.steps {
			v.Set(reflect.ValueOf(stepped(list)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "DeclarationList" {
				k.visit(v.Field(i))
			}
		}
	}
}

// stepped returns statements with a mark before each one. Directives such as "use strict" stay in front.
func stepped(list []ast.Statement) []ast.Statement {
	marked := make([]ast.Statement, 0, 2*len(list))
	for _, s := range list {
		if !directive(s) {
			marked = append(marked, &ast.ExpressionStatement{Expression: mark(stepping, s.Idx0())})
		}
		marked = append(marked, s)
	}
	return marked
}

// directive reports whether a statement is a text alone.
func directive(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = e.Expression.(*ast.StringLiteral)
	return ok
}

// mark is a call at a place of the script.
func mark(name unistring.String, at file.Idx, arguments ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{Callee: &ast.Identifier{Name: name, Idx: at}, LeftParenthesis: at, ArgumentList: arguments, RightParenthesis: at}
}

// offerMarks gives the script the calls of its marks.
func (m *machine) offerMarks() error {
	if err := m.vm.Set(throwing.String(), m.throwing); err != nil {
		return err
	}
	return m.vm.Set(stepping.String(), m.stepping)
}

// throwing keeps the calls that lead to a throw, and returns the value.
func (m *machine) throwing(call sobek.FunctionCall) sobek.Value {
	m.threw.value, m.threw.stack = call.Argument(0), m.vm.CaptureCallStack(0, nil)
	return m.threw.value
}

// stepping writes the place of the next statement to standard error. So the place outlives a process that has no memory left.
func (m *machine) stepping(sobek.FunctionCall) sobek.Value {
	if at := m.place(1); at.Line > 0 && at != m.step {
		m.step = at
		m.tell(Trace{At: at})
	}
	return sobek.Undefined()
}

// tell writes a line of the trace.
func (m *machine) tell(t Trace) {
	line, err := json.Marshal(t)
	if err != nil {
		panic(err) // a trace has texts and numbers alone
	}
	fmt.Fprintf(os.Stderr, "%s%s\n", TracePrefix, line)
}
