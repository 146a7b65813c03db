package integration_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestExpressionsAreCompiledAtUse: a package variable holds no compiled regular expression. The start of the
// program, which compiles it, would take longer for all runs that don't use it. Package lazyregexp compiles at the first use.
func TestExpressionsAreCompiledAtUse(t *testing.T) {
	seen := 0
	for path, file := range sources(t) {
		for _, decl := range file.tree.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || notInTheProgram(path) {
				continue
			}
			for _, call := range calledAtStart(vars) {
				if call == "lazyregexp.New" {
					seen++
				}
				if call == "regexp.MustCompile" || call == "regexp.Compile" {
					t.Errorf("%s: a variable is made by %s: use lazyregexp.New", file.set.Position(decl.Pos()), call)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d variables of lazyregexp were seen: does the test read the declarations?", seen)
	}
}

// notInTheProgram reports whether the program links no file of that path.
func notInTheProgram(path string) bool {
	for _, part := range []string{"packaging/", "examples/", "integration/", "servicetest/", "pkgtest/", "docker/", "typescript/"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// calledAtStart returns the functions of other packages that a declaration calls, but not what a function literal in it calls.
func calledAtStart(decl *ast.GenDecl) (calls []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := f.X.(*ast.Ident); ok {
					calls = append(calls, pkg.Name+"."+f.Sel.Name)
				}
			}
		}
		return true
	})
	return calls
}
