package expr

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// ordered has every comprehension visit a map in the order of its keys. The library has the order of Go's maps, which is another one each time, so
// equal inputs would not have equal values.
func ordered(a *ast.AST) []cel.ProgramOption {
	ranges := map[int64]bool{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			ranges[e.AsComprehension().IterRange().ID()] = true
		}
	}))
	if len(ranges) == 0 {
		return nil
	}
	return []cel.ProgramOption{cel.CustomDecorator(func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		if ranges[i.ID()] {
			return sortedRange{i}, nil
		}
		return i, nil
	})}
}

// sortedRange computes the list or the map that a comprehension visits.
type sortedRange struct{ interpreter.Interpretable }

// Eval implements interpreter.Interpretable.
func (r sortedRange) Eval(names interpreter.Activation) value {
	v := r.Interpretable.Eval(names)
	if m, ok := v.(traits.Mapper); ok {
		return sortedMap{m}
	}
	return v
}

// sortedMap is a map whose iterator has an order. It does not implement traits.Foldable, so the library asks the iterator.
type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []value
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// compareKeys orders keys of one type, and keys of several types by these.
func compareKeys(a, b value) int {
	if c, ok := a.(traits.Comparer); ok && a.Type() == b.Type() {
		if n, ok := c.Compare(b).(types.Int); ok {
			return int(n)
		}
	}
	return cmp.Compare(a.Type().TypeName(), b.Type().TypeName())
}
