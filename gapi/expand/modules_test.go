package expand

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestInstancesTellTheirFaults(t *testing.T) {
	told := schema.Pos{File: "graph", Line: 7}
	all := instances{{Name: "good"}, {Name: "bad", told: told}, {Name: "off", leftOut: true}}
	scope, err := expr.NewScope(map[string]expr.Type{"module": expr.MapOf(expr.MapOf(expr.Text))})
	if err != nil {
		t.Fatal(err)
	}
	g := &Graph{instances: all, named: map[string]*Instance{}}
	for _, i := range all {
		g.named[i.Name] = i
	}
	for _, tt := range []struct {
		src   string
		lacks bool
		off   string
	}{
		{"module.good.x", false, ""},
		{"module.bad.x", true, ""},
		{"module.off.x", false, "off"},
		{"size(module)", true, ""}, // each of them
		{"'bad'", false, ""},
	} {
		run, faults := scope.Compile(tt.src)
		if run == nil {
			t.Fatalf("%s: %v", tt.src, faults)
		}
		at, lacks := g.lacking(run)
		if lacks != tt.lacks || lacks && at != told {
			t.Errorf("%s lacks %v at %v", tt.src, lacks, at)
		}
		if off := g.leftOutOf(run); off != tt.off {
			t.Errorf("%s reads %q, which is left out", tt.src, off)
		}
	}
}
