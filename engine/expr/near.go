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
	ast.PostOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() != id {
			return
		}
		for e != nil && at == 0 {
			of, key := selection(e)
			m, isMap := valueAt(of, names).(map[string]any)
			if _, there := m[lacks[1]]; isMap && !there && (key == nil || key == lacks[1]) {
				at, near = e.ID(), schema.Nearest(lacks[1], sortedKeys(m))
			}
			e = of
		}
	}))
	return at, near
}

// Values that are asked for when they are read are asked for again here, after an error alone. A map that a function has made is not found, and
// the error has no suggestion then.
//
// valueAt returns the value of a name, or of a path of keys behind one. It is nil for any other expression.
func valueAt(e ast.Expr, names map[string]any) any {
	if e == nil {
		return nil
	}
	if e.Kind() == ast.IdentKind {
		v := names[e.AsIdent()]
		if later, ok := v.(func() any); ok {
			return later()
		}
		return v
	}
	of, key := selection(e)
	switch v := valueAt(of, names).(type) {
	case map[string]any:
		name, _ := key.(string)
		return v[name]
	case []any:
		if i, ok := key.(int64); ok && i >= 0 && i < int64(len(v)) {
			return v[i]
		}
	}
	return nil
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
