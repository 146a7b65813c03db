package expr_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// TestHiddenNames: With hides a name of the scope, whatever types the two have, and leaves the scope before as it was. Its functions
// and its other names stay.
func TestHiddenNames(t *testing.T) {
	before := scope(t)
	for _, c := range []struct {
		name  string
		typ   expr.Type
		value any
		src   string
		want  any
	}{
		{"vars", expr.Text, "a", "vars + 'b'", "ab"},
		{"vars", expr.ListOf(expr.Int), []any{int64(3)}, "vars[0] + facts.cpus", int64(7)},
		{"vars", expr.Type{}, map[string]any{"other": "x"}, "vars.other", "x"},
		{"facts", expr.Object("own", map[string]expr.Type{"port": expr.Int}), map[string]any{"port": int64(80)}, "facts.port + vars.n", int64(83)},
		{"facts", expr.Object("facts", map[string]expr.Type{"port": expr.Int}), map[string]any{"port": int64(80)}, "facts.port", int64(80)},
		{"data", expr.MapOf(expr.Type{}), map[string]any{"k": "w"}, "twice(string(data.k))", "ww"}, // of the same type as before
	} {
		after, err := before.With(map[string]expr.Type{c.name: c.typ})
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		p, faults := after.Compile(c.src)
		if faults != nil {
			t.Errorf("%s: %v", c.src, faults)
			continue
		}
		got, err := p.Eval(map[string]any{"facts": values["facts"], "vars": values["vars"], "data": values["data"], c.name: c.value})
		if got != c.want || err != nil {
			t.Errorf("%s = %v, %v, want %v", c.src, got, err, c.want)
		}
	}
	hidden, err := before.With(map[string]expr.Type{"facts": expr.Object("facts", map[string]expr.Type{"port": expr.Int})})
	if err != nil {
		t.Fatal(err)
	}
	if p, faults := hidden.Compile("facts.hostname"); p != nil || len(faults) != 1 || faults[0].Message != `facts has no "hostname"` {
		t.Errorf("a field of a hidden name: %v, %v", p, faults)
	}
	if again, err := hidden.With(map[string]expr.Type{"facts": expr.Int}); err != nil {
		t.Error(err)
	} else if _, faults := again.Compile("facts + 1"); faults != nil {
		t.Errorf("a name that is hidden twice: %v", faults)
	}
	if _, faults := before.Compile("facts.hostname + string(vars.n)"); faults != nil {
		t.Errorf("the scope before has other names now: %v", faults)
	}
}
