package expr

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrder: an expression visits a map in the order of its keys, whatever made the map. Equal inputs so have equal values.
func TestOrder(t *testing.T) {
	m := map[string]any{}
	for i := range 20 {
		m[fmt.Sprintf("k%02d", i)] = map[string]any{fmt.Sprintf("b%d", i): int64(i), fmt.Sprintf("a%d", i): int64(i)}
	}
	scope, err := NewScope(map[string]Type{"m": MapOf(MapOf(Int)), "any": {}}, Function{Name: "same", Params: []Type{{}}, Do: func(args []any) (any, error) { return args[0], nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"m.map(k, k).join(' ')",
		"any.map(k, k).join(' ')",
		"m.map(k, m[k].map(l, l).join('+')).join(' ')",
		"m.transformList(k, v, k).join(' ')",
		"m.transformMap(k, v, 1).map(k, k).join(' ')",
		"m.filter(k, k != 'k03').join(' ')",
		"same(m).map(k, k).join(' ')",
		"{'z': 1, 'b': 2, 'y': 3, 'a': 4, 'x': 5, 'c': 6}.map(k, k).join(' ')",
		"{3: 1, 1: 2, 2: 3}.map(k, string(k)).join(' ')",
	} {
		run, faults := scope.Compile(src)
		if run == nil {
			t.Fatal(src, faults)
		}
		first, err := run.Eval(map[string]any{"m": m, "any": m})
		if err != nil {
			t.Fatal(src, err)
		}
		for range 20 {
			if again, _ := run.Eval(map[string]any{"m": m, "any": m}); again != first {
				t.Fatalf("%s is %v and then %v", src, first, again)
			}
		}
		if words := strings.Fields(first.(string)); words[0] != "k00" && words[0] != "a" && words[0] != "1" && !strings.HasPrefix(words[0], "a0+b0") {
			t.Errorf("%s begins with %s", src, words[0])
		}
	}
}
