package expand

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

func scopeOf(t *testing.T, fs ...expr.Function) *expr.Scope {
	t.Helper()
	scope, err := expr.NewScope(map[string]expr.Type{}, fs...)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestTemplatesAreParsedOnce(t *testing.T) {
	calls := 0
	scope := scopeOf(t, expr.Function{Name: "twice", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: func(args []any) (any, error) {
		calls++
		return args[0].(string) + args[0].(string), nil
	}})
	var ts templates
	first, err := ts.parse(scope, "t", `{{ range . }}{{ twice . }}{{ end }}`)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ts.parse(scope, "t", "other"); again != first || err != nil {
		t.Errorf("parsed again: %v", err)
	}
	call := func(name string, args []any) (any, error) { return ts.call(scope, name, args) }
	text, err := first.Execute([]any{"a", "b"}, call)
	if text != "aabb" || err != nil || calls != 2 || len(ts.calls) != 1 {
		t.Errorf("%q, %v, %d calls, %d compiled", text, err, calls, len(ts.calls))
	}
	if _, err := ts.call(scope, "twice", []any{"a", "b"}); err == nil || !strings.Contains(err.Error(), "does not take 2 arguments") {
		t.Errorf("%v", err)
	}
	if _, err := ts.parse(scope, "bad", "\n{{ nothing }}"); err == nil || related(err)[0].Pos.Line != 2 {
		t.Errorf("%v", err)
	}
}
