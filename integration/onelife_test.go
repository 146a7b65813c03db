package integration_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// lifeMethods are the methods of a resource that engine/lifecycle calls for the others.
var lifeMethods = []string{
	"Default", "Validate", "CheckMachine", "Init", "Cleanup", "Watch", "CheckApply", "CheckApplyBatch", "Read", "List", "Reversed", "Shared",
	"SetRecv", "SetRefresh",
}

// callingLife are the functions outside of engine/lifecycle that call such a method, or the packages of several ones, with the
// reason of each.
var callingLife = map[string]string{
	"engine/enginetest":                  "the laws are about single methods; each resource is made, initialised and cleaned up by package lifecycle",
	"resources/internal/kindtest":        "it serves tests of single methods of kinds",
	"traits":                             "a composite resource, and the owner of a group, run their children as a part of their own life",
	"engine/simulate":                    "a resource in a folder passes the calls on to the real one that it holds",
	"resources/basic.CheckApplyBatch":    "the kind test does a batch one by one",
	"resources/nspawn.Watch":             "the kind follows a service of its own, too",
	"engine.new":                         "the registry makes the resources for package lifecycle",
	"engine.MadeWith":                    "a kind compares its parameters with the defaults",
	"engine/internal/params":             "parameters are written as a difference to the defaults",
	"engine/look.follow":                 "Watch is a call of the owner, by lifecycle.Call",
	"engine/reactor.watch":               "Watch is a call of the owner; its goroutine is kept shallow",
	"engine/reactor.check":               "CheckApply is a call of the owner, by lifecycle.Call",
	"engine/reactor.checkBatch":          "CheckApplyBatch is a call of the owner, by lifecycle.Call",
	"engine/reactor.tell":                "a run tells the resource of its refresh and its received values",
	"engine/reactor.initNow":             "received values are validated again, by lifecycle.Call",
	"engine/reactor.assignAll":           "received values are validated on the loop, which waits for no text of an error",
	"engine/reactor/internal/undo.image": "lifecycle.Undo is tried with empty resources of the kind",
}

// TestOneLife: engine/lifecycle makes a resource, validates it, initialises it, reads it, lists it and cleans it up. Each other
// function that calls a method of its life has a reason, and none of the reasons is stale.
func TestOneLife(t *testing.T) {
	seen := map[string]bool{}
	for path, c := range checkTypes(t, "./...") {
		if path == "engine/lifecycle" {
			continue
		}
		for _, file := range c.files {
			for _, decl := range file.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				for _, call := range lifeCalls(c, fn) {
					name := path + "." + fn.Name.Name
					if callingLife[path] != "" {
						name = path
					}
					if seen[name] = true; callingLife[name] == "" {
						t.Errorf("%s: %s calls %s of a resource; use engine/lifecycle", c.fset.Position(call.Pos()), name, call.Sel.Name)
					}
				}
			}
		}
	}
	for name := range callingLife {
		if !seen[name] {
			t.Errorf("%s calls no method of the life of a resource any more: take it out of the list", name)
		}
	}
}

// lifeCalls returns the uses of methods of engine.Res, or of an ability, in a function.
func lifeCalls(c *checked, fn *ast.FuncDecl) (list []*ast.SelectorExpr) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		m, ok := c.info.Uses[sel.Sel].(*types.Func)
		if ok && slices.Contains(lifeMethods, m.Name()) && ofResource(m) {
			list = append(list, sel)
		}
		return true
	})
	return list
}

// ofResource reports whether a method is one of engine.Res, or of an interface of an ability.
func ofResource(m *types.Func) bool {
	recv := m.Signature().Recv()
	if recv == nil || m.Pkg() == nil || m.Pkg().Path() != module+"/engine" && m.Pkg().Path() != "engine" {
		return false
	}
	named, ok := recv.Type().(*types.Named)
	if !ok || !types.IsInterface(named) {
		return false
	}
	name := named.Obj().Name()
	return strings.HasSuffix(name, "Res") || slices.Contains([]string{"Readable", "Listable", "Batcher"}, name)
}
