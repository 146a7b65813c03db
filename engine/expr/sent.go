package expr

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// SentName is the function of values that another resource sends: sent('kind[name].key').
// A macro puts the function of the sender's type in its place, so that the checker knows
// the type of the value.
const SentName = "sent"

// sentPrefix begins the names of those functions. No author can write it.
const sentPrefix = "@sent_"

// sentTypes are the types that a sent value may have, the most exact first. A value of
// any other type is checked when it is used.
var sentTypes = []struct {
	suffix string
	typ    Type
}{
	{"text", Text}, {"int", Int}, {"float", Float}, {"bool", Bool}, {"texts", ListOf(Text)}, {"list", ListOf(Type{})}, {"map", MapOf(Type{})}, {"any", Type{}},
}

// Sent declares the function sent.
type Sent struct {
	// TypeOf returns the type of the value of a reference such as exec[x].output. It is
	// asked when an expression is compiled. Where nothing is known of the sender, the
	// zero Type is right.
	TypeOf func(ref string) Type

	// Do returns the value of a reference. It must be safe for concurrent use.
	Do func(ref string) (any, error)
}

// options returns the macro and the functions.
func (s *Sent) options() []cel.EnvOption {
	opts := []cel.EnvOption{cel.Macros(cel.GlobalMacro(SentName, 1, s.expand))}
	do := func(args []any) (any, error) { return s.Do(args[0].(string)) }
	for _, t := range sentTypes {
		opts = append(opts, Function{Name: sentPrefix + t.suffix, Params: []Type{Text}, Result: t.typ, Do: do}.declare())
	}
	return opts
}

// expand puts the function of the sender's type in the place of a call.
func (s *Sent) expand(h cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	suffix := "any"
	if ref, ok := textOf(args[0]); ok {
		c := s.TypeOf(ref).of()
		for _, t := range sentTypes {
			if t.typ.of().IsExactType(c) || t.suffix == "list" && c.Kind() == types.ListKind || t.suffix == "map" && (c.Kind() == types.MapKind || c.Kind() == types.StructKind) {
				suffix = t.suffix
				break
			}
		}
	}
	return h.NewCall(sentPrefix+suffix, args[0]), nil
}

// textOf returns the text of an expression, if that is written out.
func textOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// SentCall is one call of the function sent.
type SentCall struct {
	Ref string   // the argument, where it is written out
	Arg *Program // the argument, where it is computed; else nil
	At  int      // the place of the argument, in characters
}

// Sent returns the calls of the function sent in the expression, those in branches that are not taken, too.
func (p *Program) Sent() []SentCall { return p.sent }

// Call is a call of a function whose first argument is a text that is written out.
type Call struct{ Name, Text string }

// Calls returns such calls of functions with these names.
func (p *Program) Calls(names ...string) (list []Call) {
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !slices.Contains(names, e.AsCall().FunctionName()) || len(e.AsCall().Args()) == 0 {
			return
		}
		if text, ok := textOf(e.AsCall().Args()[0]); ok {
			list = append(list, Call{e.AsCall().FunctionName(), text})
		}
	}))
	return list
}

// Uses reports whether the expression calls one of some functions, with any arguments.
func (p *Program) Uses(names ...string) (uses bool) {
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		uses = uses || e.Kind() == ast.CallKind && slices.Contains(names, e.AsCall().FunctionName())
	}))
	return uses
}

// IsCallOf reports whether the expression is a call of a function, and nothing around it.
func (p *Program) IsCallOf(name string) bool {
	e := p.ast.Expr()
	return e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == name
}

// isSent reports whether a function is what the macro puts in the place of sent.
func isSent(function string) bool { return strings.HasPrefix(function, sentPrefix) }

// sentCalls finds the calls of sent. The argument of each call must be known before any value is sent. So it is an expression of its own,
// and knows no variable of a loop around it.
func (s *Scope) sentCalls(src string, a *ast.AST) (calls []SentCall, faults []Fault) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !isSent(e.AsCall().FunctionName()) {
			return
		}
		arg := e.AsCall().Args()[0]
		c := SentCall{At: beginOf(src, a, arg)}
		if text, ok := textOf(arg); ok {
			c.Ref = text
			calls = append(calls, c)
			return
		}
		text, err := parser.Unparse(arg, a.SourceInfo())
		if err == nil {
			c.Arg, _ = s.Compile(text)
		}
		if c.Arg == nil || len(c.Arg.sent) > 0 {
			message := "the argument of sent must be known when the graph is loaded: it may have neither variables of map and filter nor sent values in it"
			faults = append(faults, Fault{At: c.At, Message: message})
			return
		}
		calls = append(calls, c)
	}))
	return calls, faults
}

// beginOf returns where an expression begins: the place of an operator is the one of its sign, and that of a call the one of its bracket.
func beginOf(src string, a *ast.AST, e ast.Expr) int {
	// The first place of all parts counts, since an operator stands behind its left side.
	at := len(src)
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { at = min(at, nameAt(src, placeOf(src, a, e.ID()))) }))
	return at
}

// ZeroOf returns a value that stands for one of a type, and that nothing was sent of yet.
func ZeroOf(t *schema.Type) any {
	switch t.Kind {
	case schema.KindBool:
		return false
	case schema.KindInt, schema.KindSize:
		return int64(0)
	case schema.KindFloat:
		return 0.0
	case schema.KindList:
		return []any{}
	case schema.KindMap:
		return map[string]any{}
	case schema.KindStruct:
		fields := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			fields[f.Key] = ZeroOf(f.Type)
		}
		return fields
	case schema.KindAny:
		return nil
	}
	return ""
}
