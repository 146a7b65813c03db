package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asserted are the plain assertions to an ability, which call the methods of what is known to have it. There
// may be fewer.
const asserted = 14

// TestOnlyEngineAsksForAbilities: engine.AbilitiesOf and engine.As alone ask a resource what it can do. An
// assertion with ok, or a case of a type switch, would take methods for an ability that a resource does not state.
func TestOnlyEngineAsksForAbilities(t *testing.T) {
	calls, files := 0, sources(t)
	types := abilityTypes(files)
	if len(types) < 25 || !types["engine.WatchedRes"] || !types["engine.Batcher"] || !types["declaration.Linted"] {
		t.Errorf("the abilities are %v", types)
	}
	methods := abilityMethods(files, types)
	if !methods["SetRefresh"] || !methods["AutoEdges"] || methods["Hash"] {
		t.Errorf("the methods of abilities are %v", methods)
	}
	ability := func(e ast.Expr, path string) bool { return isAbility(types, e, path) || hasAbilityMethod(methods, e) }
	for path, file := range files {
		if slices.Contains(abilityAskers, path) {
			continue
		}
		for _, imp := range file.tree.Imports {
			if imp.Name != nil && (imp.Path.Value == `"`+module+`/engine"` || imp.Path.Value == `"`+module+`/engine/declaration"`) {
				t.Errorf("%s: the package has another name here, under which nothing is found", file.set.Position(imp.Pos()))
			}
		}
		asks := map[ast.Expr]bool{} // assertions with ok
		ast.Inspect(file.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Lhs) == 2 && len(n.Rhs) == 1 {
					asks[n.Rhs[0]] = true
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					if ability(e, path) {
						t.Errorf("%s: a case asks for an ability; use engine.As", file.set.Position(e.Pos()))
					}
				}
			case *ast.TypeAssertExpr:
				switch {
				case !ability(n.Type, path):
				case asks[n]:
					t.Errorf("%s: an assertion asks for an ability; use engine.As", file.set.Position(n.Pos()))
				default:
					calls++
				}
			}
			return true
		})
	}
	if calls > asserted {
		t.Errorf("there are %d plain assertions to abilities, and may be %d", calls, asserted)
	}
}

// abilityAskers are the files that ask a resource for its abilities.
var abilityAskers = []string{"../engine/abilities.go", "../engine/as.go"}

// abilityTypes returns the interfaces of the abilities: those of package engine that are called so, or that embed one, and all of package
// declaration. A StatingRes states abilities, and is none.
func abilityTypes(files map[string]source) map[string]bool {
	embeds := map[string][]string{}
	for path, file := range files {
		in := abilityPackage(path)
		if in == "" {
			continue
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if it, ok := spec.Type.(*ast.InterfaceType); ok {
				name := in + "." + spec.Name.Name
				embeds[name] = []string{}
				for _, m := range it.Methods.List {
					if id, ok := m.Type.(*ast.Ident); ok {
						embeds[name] = append(embeds[name], in+"."+id.Name)
					}
				}
			}
			return false
		})
	}
	types := map[string]bool{"engine.Res": true}
	for range embeds { // until none is added, at the latest
		for name, in := range embeds {
			if strings.HasPrefix(name, "declaration.") || strings.HasSuffix(name, "Res") || slices.ContainsFunc(in, func(e string) bool { return types[e] }) {
				types[name] = true
			}
		}
	}
	delete(types, "engine.Res")
	delete(types, "engine.StatingRes")
	return types
}

// abilityPackage returns the package of a file in which abilities are declared; empty for another one.
func abilityPackage(path string) string {
	switch filepath.Dir(path) {
	case "../engine":
		return "engine"
	case "../engine/declaration":
		return "declaration"
	}
	return ""
}

// abilityMethods returns the names of the methods of the abilities.
func abilityMethods(files map[string]source, types map[string]bool) map[string]bool {
	names := map[string]bool{}
	for path, file := range files {
		in := abilityPackage(path)
		if in == "" {
			continue
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if it, ok := spec.Type.(*ast.InterfaceType); ok && types[in+"."+spec.Name.Name] {
				for _, m := range it.Methods.List {
					for _, id := range m.Names {
						names[id.Name] = true
					}
				}
			}
			return false
		})
	}
	return names
}

// hasAbilityMethod reports whether an expression is an interface without a name that has a method of an ability.
func hasAbilityMethod(methods map[string]bool, e ast.Expr) bool {
	it, ok := e.(*ast.InterfaceType)
	return ok && slices.ContainsFunc(it.Methods.List, func(m *ast.Field) bool {
		return slices.ContainsFunc(m.Names, func(id *ast.Ident) bool { return methods[id.Name] })
	})
}

// isAbility reports whether an expression is the interface of an ability.
func isAbility(types map[string]bool, e ast.Expr, path string) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && types[x.Name+"."+e.Sel.Name]
	case *ast.Ident:
		return types[abilityPackage(path)+"."+e.Name]
	}
	return false
}

// source is a Go file that was parsed.
type source struct {
	set  *token.FileSet
	tree *ast.File
}

// sources parses the Go files of the module, tests and test data left out.
func sources(t *testing.T) map[string]source {
	t.Helper()
	out := map[string]source{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		out[path] = source{set, tree}
		return err
	})
	if err != nil || len(out) < 100 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}
