package integration_test

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"
)

// recovering are the functions that call recover, with the reason of each. callsafe.Do and
// lifecycle.Call serve all other callers.
var recovering = map[string]string{
	"engine/callsafe.Recover":           "the one guard of the module: callsafe.Do and lifecycle.Call stand on it",
	"engine/schema.recovered":           "package schema stands below engine, and calls UnmarshalText of foreign types",
	"engine/internal/boltfile.caught":   "a fault of a mapped page is damage of the file, and no fault of a resource",
	"engine/internal/boltfile.Update":   "a panic of bbolt tells whether its locks are still held",
	"engine/internal/boltfile.View":     "a panic of bbolt tells whether its locks are still held",
	"engine/internal/boltfile.begin":    "bbolt panics with its locks held over bad pages, and nothing may ask it after that",
	"engine/internal/boltfile.rollback": "bbolt panics again over a damaged page",
	"engine/provider.within":            "it ends a context of the log, and panics again with the same value",
	"engine/safepath.guard":             "it carries a panic to the goroutine of the caller",
	"engine/host.carry":                 "it carries a panic to the goroutine of the caller",
	"engine/httpd.guard":                "it is the last line of a request: the answer is an error of the program",
	"engine/schema/idl.types":           "go/types is foreign code that reads texts of anybody, and package idl stands below engine",
	"engine/provider/puppettype.Parse":  "the parser leaves its recursion by a panic with its own error",
	"gapi/expand/texts.Execute":         "the executor leaves its recursion by a panic with its own fault, and panics again with any other",
	"provider.do":                       "a provider is a program of its own, and links no engine",
	"integration/bench.guarded":         "it is the last line of a measurement, and no part of the product",
}

// TestOneGuard: a panic of foreign code is caught in one place of the module. Each other call of
// recover has a reason, and none of the reasons is stale.
func TestOneGuard(t *testing.T) {
	seen := map[string]bool{}
	for path, file := range sources(t) {
		for _, decl := range file.tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
				continue
			case onlyGuards(fn) && path != "../engine/callsafe/panic.go":
				t.Errorf("%s: %s is a second callsafe.Do", file.set.Position(fn.Pos()), fn.Name.Name)
			case !recovers(fn):
				continue
			}
			name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../") + "." + fn.Name.Name
			if seen[name] = true; recovering[name] == "" {
				t.Errorf("%s: %s calls recover; use callsafe.Do or lifecycle.Call", file.set.Position(fn.Pos()), name)
			}
		}
	}
	for name := range recovering {
		if !seen[name] {
			t.Errorf("%s calls recover no more: take it out of the list", name)
		}
	}
}

// recovers reports whether a function calls recover.
func recovers(fn *ast.FuncDecl) (yes bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			yes = yes || ok && id.Name == "recover"
		}
		return !yes
	})
	return yes
}

// onlyGuards reports whether all that a function does is to catch the panic of another function
// that it was given.
func onlyGuards(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) != 2 {
		return false
	}
	guard, ok := fn.Body.List[0].(*ast.DeferStmt)
	if !ok {
		return false
	}
	caught, ok := guard.Call.Fun.(*ast.SelectorExpr)
	ret, returns := fn.Body.List[1].(*ast.ReturnStmt)
	if !ok || !returns || caught.Sel.Name != "Caught" || len(ret.Results) != 1 {
		return false
	}
	call, ok := ret.Results[0].(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	given, ok := call.Fun.(*ast.Ident)
	return ok && hasParam(fn, given.Name)
}

func hasParam(fn *ast.FuncDecl, name string) bool {
	for _, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			if id.Name == name {
				return true
			}
		}
	}
	return false
}
