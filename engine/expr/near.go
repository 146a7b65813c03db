package expr

import (
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// missing finds the selection of a key that a map lacks, and the key that was probably meant. id is that of the selection which the library
// reports: for a path of keys that is the last one, whichever key is missing. The results are zero for any other error.
func (p *Program) missing(id int64, err error, names map[string]any) (at int64, near string) {
	lacks := noKey.FindStringSubmatch(err.Error())
	if lacks == nil {
		return 0, ""
	}
	value := p.parts(names)
	ast.PostOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() != id {
			return
		}
		for e != nil && at == 0 {
			of, key := selection(e)
			m, isMap := value(of).(map[string]any)
			if _, there := m[lacks[1]]; isMap && !there && (key == nil || key == lacks[1]) {
				at, near = e.ID(), schema.Nearest(lacks[1], sortedKeys(m))
			}
			e = of
		}
	}))
	return at, near
}

// parts computes the expression again, and returns a function for the values of its parts. It is called after an error alone. The value is nil
// where a part was not computed, and where its value is not plain.
func (p *Program) parts(names map[string]any) func(ast.Expr) any {
	run, err := p.again()
	if err != nil {
		return func(ast.Expr) any { return nil }
	}
	_, details, _ := run.Eval(names) // the error is known
	// A loop gives a name of the scope another meaning, and has another value for it in each round. So names of loops have no value here, and
	// the fault goes without a suggestion.
	local := map[string]bool{}
	ast.PostOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			local[e.AsComprehension().IterVar()], local[e.AsComprehension().IterVar2()] = true, true
		}
	}))
	return func(e ast.Expr) any {
		if e == nil || details == nil {
			return nil
		}
		if e.Kind() == ast.IdentKind && !local[e.AsIdent()] {
			if v, named := names[e.AsIdent()]; named {
				if later, ok := v.(func() any); ok {
					return later()
				}
				return v
			}
		}
		v, known := details.State().Value(e.ID())
		if !known {
			return nil
		}
		plain, err := plainOf(v)
		if err != nil {
			return nil
		}
		return plain
	}
}

// selection returns the operand of a selection, and the key if that is known. It is nil for any other expression.
func selection(e ast.Expr) (of ast.Expr, key any) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index {
			return nil, nil
		}
		if at := call.Args()[1]; at.Kind() == ast.LiteralKind {
			key = at.AsLiteral().Value()
		}
		return call.Args()[0], key
	}
	return nil, nil
}

// groupCalls finds calls of functions that a group such as lists does not have. The name is that of the function with its group. The library
// reports the group as a second fault, whose name is empty here.
func (s *Scope) groupCalls(a *ast.AST) map[int64]string {
	called := map[int64]string{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !e.AsCall().IsMemberFunction() || e.AsCall().Target().Kind() != ast.IdentKind {
			return
		}
		call := e.AsCall()
		if group := call.Target().AsIdent(); len(s.group(group)) > 0 {
			called[e.ID()], called[call.Target().ID()] = group+"."+call.FunctionName(), ""
		}
	}))
	return called
}

// group returns the functions of a group, none for any other name.
func (s *Scope) group(name string) (list []string) {
	for _, w := range s.words() {
		if strings.HasPrefix(w, name+".") {
			list = append(list, w)
		}
	}
	return list
}
