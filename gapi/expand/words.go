package expand

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// sortedKeys makes the order of a map the same in each run.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// isName reports whether an expression can name it behind a dot.
func isName(s string) bool {
	// A digit may not come first.
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && !slices.Contains([]string{"in", "true", "false", "null"}, s) // words of CEL
}

// firstText returns the first text of a value that fits, nil for none.
func firstText(n *schema.Node, fits func(string) bool) *schema.Node {
	for at := range n.All() {
		if at.Kind == schema.NodeString && fits(at.Text) {
			return at
		}
	}
	return nil
}

// hasSource reports whether a text has an expression, also one without an end.
func hasSource(text string) bool {
	pieces, fault := expr.Split(text)
	return fault != nil || slices.ContainsFunc(pieces, func(p expr.Piece) bool { return p.Source })
}

// unescaped returns a value whose texts have no expressions, with the characters that their escapes stand for.
func unescaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, expr.Escaped, expr.Open)
	case []any:
		for i := range v {
			v[i] = unescaped(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = unescaped(v[key])
		}
	}
	return v
}

// wordOf names the type of a value.
func wordOf(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "bool"
	case int64, uint64:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return "any"
}

// fit returns a value as one of a type, and whether it is one.
func fit(word string, v any) (any, bool) {
	n, isInt := v.(int64)
	switch {
	case word == "any" || word == wordOf(v):
		return v, true
	case word == "float" && isInt:
		return float64(n), true
	}
	return v, false
}

// within returns a path of a file in a folder: a relative path belongs to the folder of its file.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
