package all_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/all"
)

// TestBug28_EveryWatchIsAskedToEnd: each kind with a Watch is named by a test TestBug28 that calls kindtest.WatchEnds, here or in the package of
// the kind, or by a function of the tests that such a test calls.
func TestBug28_EveryWatchIsAskedToEnd(t *testing.T) {
	asked := map[string]bool{}
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	packages := map[string]map[string]*ast.FuncDecl{}
	for _, path := range files {
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = map[string]*ast.FuncDecl{}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				packages[dir][f.Name.Name] = f
			}
		}
	}
	for _, funcs := range packages {
		for name, f := range funcs {
			if texts, called := says(f, funcs); strings.HasPrefix(name, "TestBug28_") && called["WatchEnds"] {
				for text := range texts {
					asked[text] = true
				}
			}
		}
	}
	for _, kind := range all.Kinds() {
		r, err := engine.DefaultRegistry().New(kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, unwatched := r.(engine.UnwatchedRes); !unwatched && !asked[kind] {
			t.Errorf("%s has a Watch, and no TestBug28 with kindtest.WatchEnds names it: add one in the package of the kind", kind)
		}
	}
}

// says returns the keys and the arguments of WatchEnds that are texts, in a function and in those of funcs that it calls itself; and the
// names of all functions that it calls itself.
func says(f *ast.FuncDecl, funcs map[string]*ast.FuncDecl) (texts, called map[string]bool) {
	texts, called = map[string]bool{}, map[string]bool{}
	bodies := []*ast.FuncDecl{f}
	for i := 0; i < len(bodies); i++ {
		ast.Inspect(bodies[i], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				texts[textOf(n.Key)] = true
			case *ast.IndexExpr:
				texts[textOf(n.Index)] = true
			case *ast.CallExpr:
				name := nameOf(n.Fun)
				if next := funcs[name]; i == 0 && next != nil && !called[name] {
					bodies = append(bodies, next)
				}
				called[name] = called[name] || i == 0
				if name == "WatchEnds" && len(n.Args) > 1 {
					texts[textOf(n.Args[1])] = true
				}
			}
			return true
		})
	}
	return texts, called
}

// textOf returns the text that an expression spells out; empty for another one.
func textOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}

// nameOf returns the name by which a function is called, without its package; empty for a function without a name.
func nameOf(call ast.Expr) string {
	switch f := call.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
