package puppettype_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestInferTable has each sort of value with its type, first in short and then in full.
func TestInferTable(t *testing.T) {
	re, err := rubyre.New("a/b")
	must(t, err)
	versions, err := puppettype.ParseVersionRange(">=1.0.0")
	must(t, err)
	for _, c := range []struct {
		value       any
		short, full string
	}{
		{nil, "Undef", "Undef"},
		{puppettype.Default{}, "Default", "Default"},
		{true, "Boolean[true]", "Boolean[true]"},
		{int64(-5), "Integer[-5, -5]", "Integer[-5, -5]"},
		{math.MaxInt64, "Integer[9223372036854775807, 9223372036854775807]", "Integer[9223372036854775807, 9223372036854775807]"},
		{new(big.Int).Lsh(big.NewInt(1), 64), "Integer[18446744073709551616, 18446744073709551616]", "Integer[18446744073709551616, 18446744073709551616]"},
		{0.25, "Float[0.25, 0.25]", "Float[0.25, 0.25]"},
		{1e100, "Float[1.0e+100, 1.0e+100]", "Float[1.0e+100, 1.0e+100]"},
		{"", "String", "String"},
		{"it's", "String", "String"},
		{re, `Regexp[/a\/b/]`, `Regexp[/a\/b/]`},
		{time.Unix(0, 5).UTC(), "Timestamp['1970-01-01T00:00:00.000000005 UTC', '1970-01-01T00:00:00.000000005 UTC']", "Timestamp['1970-01-01T00:00:00.000000005 UTC', '1970-01-01T00:00:00.000000005 UTC']"},
		{time.Minute, "Timespan['0-00:01:00.0', '0-00:01:00.0']", "Timespan['0-00:01:00.0', '0-00:01:00.0']"},
		{puppettype.Version{Major: 1}, "SemVer", "SemVer['1.0.0 - 1.0.0']"},
		{versions, "SemVerRange", "SemVerRange"},
		{[]byte{1}, "Binary", "Binary"},
		{puppettype.URI("x:"), "URI", "URI"},
		{puppettype.MustParse("String[1]"), "Type[String[1]]", "Type[String[1]]"},
		{puppettype.Symbol("x"), "Runtime[ruby, 'Symbol']", "Runtime[ruby, 'Symbol']"},
		{schema.NewSecret("abc"), "Sensitive[String]", "Sensitive[String]"},
		{puppettype.NewSensitive([]any{int64(7)}), "Sensitive[Array[Integer]]", "Sensitive[Array[Integer]]"},
		{puppettype.NewSensitive(nil), "Sensitive[Undef]", "Sensitive[Undef]"},
		{puppettype.NewSensitive([]any{}), "Sensitive[Array[0, 0]]", "Sensitive[Array[0, 0]]"},
		{[]any{}, "Array[0, 0]", "Array[0, 0]"},
		{[]any{int64(1), int64(5)}, "Array[Integer[1, 5], 2, 2]", "Tuple[Integer[1, 1], Integer[5, 5]]"},
		{[]any{"a", "b"}, "Array[Enum['a', 'b'], 2, 2]", "Tuple[String, String]"},
		{[]any{int64(1), "a"}, "Array[ScalarData, 2, 2]", "Tuple[Integer[1, 1], String]"},
		{[]any{nil}, "Array[Undef, 1, 1]", "Tuple[Undef]"},
		{[]any{[]any{int64(1)}, []any{}}, "Array[Array[Integer[1, 1]], 2, 2]", "Tuple[Tuple[Integer[1, 1]], Array[0, 0]]"},
		{map[string]any{}, "Hash[0, 0]", "Hash[0, 0]"},
		{map[string]any{"a": int64(1)}, "Hash[String, Integer[1, 1], 1, 1]", "Struct[{'a' => Integer[1, 1]}]"},
		{map[string]any{"a": nil}, "Hash[String, Undef, 1, 1]", "Struct[{NotUndef['a'] => Undef}]"},
		{map[string]any{"": int64(1)}, "Hash[String, Integer[1, 1], 1, 1]", "Hash[String, Integer[1, 1], 1, 1]"},
		{puppettype.Map{{Key: int64(1), Value: "a"}}, "Hash[Integer[1, 1], String, 1, 1]", "Hash[Integer[1, 1], String, 1, 1]"},
		{puppettype.Map{}, "Hash[0, 0]", "Hash[0, 0]"},
	} {
		if got := puppettype.Infer(c.value).String(); got != c.short {
			t.Errorf("%#v: %s, not %s", c.value, got, c.short)
		}
		if got := puppettype.InferEach(c.value).String(); got != c.full {
			t.Errorf("%#v in full: %s, not %s", c.value, got, c.full)
		}
	}
}

// TestLawShortIsWider holds that the short type of a value takes the full one.
func TestLawShortIsWider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		if short, full := puppettype.Infer(v), puppettype.InferEach(v); !short.Assignable(full) {
			t.Fatalf("%#v is %s in short and %s in full", v, short, full)
		}
	})
}

// TestLawInferredIsNarrow holds that the type in full of a scalar accepts no other
// scalar of the same sort.
func TestLawInferredIsNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		if ty := puppettype.InferEach(a); ty.Accepts(b) != (a == b) {
			t.Fatalf("%s accepts %d", ty, b)
		}
		x, y := rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")
		if ty := puppettype.InferEach(x); !math.IsInf(x, 0) && ty.Accepts(y) != (x == y) {
			t.Fatalf("%s accepts %v", ty, y)
		}
		s, u := rapid.String().Draw(t, "s"), rapid.String().Draw(t, "u")
		if ty := puppettype.InferEach(s); ty.Accepts(u) != (s == u) {
			t.Fatalf("the type of %q accepts %q", s, u)
		}
	})
}

// TestLawTypesOfTypes holds that the type of a type takes exactly the types that the
// type takes.
func TestLawTypesOfTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := types.Draw(t, "a"), types.Draw(t, "b")
		of, err := puppettype.Parse("Type[" + a.String() + "]")
		if err != nil {
			t.Skip(err)
		}
		if of.Accepts(b) != a.Assignable(b) {
			t.Fatalf("%s accepts %s: %v; %s takes it: %v", of, b, of.Accepts(b), a, a.Assignable(b))
		}
		if !puppettype.Infer(a).Accepts(a) {
			t.Fatalf("%s does not accept %s", puppettype.Infer(a), a)
		}
	})
}

// TestLawCommonOfValues holds that a list of values is accepted by the list of the
// common type of all of them, in any order.
func TestLawCommonOfValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(values(1), 1, 4).Draw(t, "list")
		forth, back := puppettype.Infer(list[0]), puppettype.Infer(list[len(list)-1])
		for i := range list {
			forth = puppettype.Common(forth, puppettype.Infer(list[i]))
			back = puppettype.Common(back, puppettype.Infer(list[len(list)-1-i]))
		}
		for _, v := range list {
			if !forth.Accepts(v) || !back.Accepts(v) {
				t.Fatalf("%s or %s does not accept %#v", forth, back, v)
			}
		}
	})
}
