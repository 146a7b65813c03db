package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Paths returns the fields of a name of the scope that the expression selects, one below the other. A path stands for everything
// below it, and the empty path for the whole value. A variable of a loop that has the same name counts, too.
func (p *Program) Paths(name string) (paths [][]string) {
	inner := map[int64]bool{} // nodes of a chain that was seen from its end
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if inner[e.ID()] {
			return
		}
		// From the end of the chain to its beginning: the keys come in the opposite order. A key that is computed ends the chain, so the path in front
		// of it stands for all keys.
		var path []string
		at := e
		for {
			of, key, ok := stepOf(at)
			if !ok {
				break
			}
			path, at = append(path, key), of
			inner[of.ID()] = true
		}
		if at.Kind() != ast.IdentKind || at.AsIdent() != name {
			return
		}
		slices.Reverse(path)
		paths = append(paths, path)
	}))
	return paths
}

// stepOf divides a selection, or an index by a text that is written out, into its value and its key.
func stepOf(e ast.Expr) (of ast.Expr, key string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		c := e.AsCall()
		if f := c.FunctionName(); f != operators.Index && f != operators.OptIndex && f != operators.OptSelect || len(c.Args()) != 2 || c.Args()[1].Kind() != ast.LiteralKind {
			return nil, "", false
		}
		text, isText := c.Args()[1].AsLiteral().(types.String)
		return c.Args()[0], string(text), isText
	}
	return nil, "", false
}
