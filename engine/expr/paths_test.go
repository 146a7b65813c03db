package expr_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// TestPaths: an expression reads the fields that it selects, whatever notation does that, and the whole where the key is computed.
func TestPaths(t *testing.T) {
	scope, err := expr.NewScope(map[string]expr.Type{"module": {}, "vars": {}})
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"1":                                "[]",
		"vars.module":                      "[]",
		"module":                           "[[]]",
		"module.a.b + module.c":            "[[a b] [c]]",
		`module.a["b"].c`:                  "[[a b c]]",
		`module.a[vars.k].c`:               "[[a]]",
		`module[module.a.b]`:               "[[] [a b]]",
		"module.?a.?b.orValue('')":         "[[a b]]",
		"has(module.a.b)":                  "[[a b]]",
		"[module].map(m, m.a)":             "[[]]",
		"string(module.a).size()":          "[[a]]",
		"vars.x.map(i, module.a[i])":       "[[a]]",
		"{'k': module.a.b}.k":              "[[a b]]",
		"vars.x ? module.a.b : module.a.c": "[[a b] [a c]]",
	} {
		p, faults := scope.Compile(src)
		if p == nil {
			t.Fatal(src, faults)
		}
		if got := fmt.Sprint(p.Paths("module")); got != want {
			t.Errorf("%s reads %s, not %s", src, got, want)
		}
	}
}
