package expand

import (
	"reflect"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestFindingsAreToldOnce(t *testing.T) {
	f := newFindings()
	at, other := schema.Pos{File: "a", Line: 1}, schema.Pos{File: "a", Line: 2}
	f.errorf(at, "no %s", "way")
	f.errorf(at, "no way")    // the next turn of a loop
	f.errorf(other, "no way") // another place
	f.errorf(at, "no luck")   // another fault
	says(t, f, "no way", "no luck", "no way")
	if f.Errors() != 3 {
		t.Errorf("%d errors", f.Errors())
	}
}

func TestLiteralTakesNoExpression(t *testing.T) {
	f := newFindings()
	n := tree(t, `{"a": ["x", "$${{ y }}"], "b": 2}`)
	if v := f.literal(n, "a file"); !reflect.DeepEqual(v, map[string]any{"a": []any{"x", "${{ y }}"}, "b": int64(2)}) {
		t.Errorf("%#v", v)
	}
	says(t, f)
	if v := f.literal(tree(t, `["x", "${{ y }}"]`), "a file"); v != nil {
		t.Errorf("an expression gave %v", v)
	}
	says(t, f, "a file takes no expression")
}
