package puppettype_test

import (
	"math/big"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// TestMessages holds findings that the cases seen on Puppet do not show.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		text  string
		value any
		want  string
	}{
		{"Variant[Integer[1, 2], Integer[3, 4]]", 5, "k.a expects an Integer[1, 4] value, got Integer[5, 5]"},
		{"Variant[Integer[1, 2], Integer[5, 6]]", 9, "k.a expects a value of type Integer[1, 2] or Integer[5, 6], got Integer[9, 9]"},
		{"Variant[NotUndef[String], Optional[Boolean]]", 1, "k.a expects a value of type Undef, String, or Boolean, got Integer"},
		{"Tuple[Integer, String, 1, 4]", []any{1, "a", 2}, "k.a index 2 expects a String value, got Integer"},
		{"Tuple[Enum[a], Integer]", []any{"a", "b"}, "k.a index 1 expects an Integer value, got String"},
		{"Array[Struct[{a => Integer}]]", []any{map[string]any{"a": 1}, map[string]any{"b": 1}},
			" k.a index 1 expects a value for key 'a'\n  k.a index 1 unrecognized key 'b'"},
		{"Optional[Variant[Array[Integer], Hash]]", []any{"a"},
			" k.a variant 0 expects an Undef value, got Tuple\n  k.a variant 1 index 0 expects an Integer value, got String\n  k.a variant 2 expects a Hash value, got Tuple"},
		{"Hash[String, Data]", map[string]any{"a": []any{puppettype.Symbol("x")}},
			" k.a entry 'a' variant 0 expects a ScalarData value, got Tuple\n  k.a entry 'a' variant 1 expects a Hash value, got Tuple\n  k.a entry 'a' variant 2 index 0 expects a Data value, got Runtime"},
		{"Collection[1, 2]", "a", "k.a expects a Collection value, got String"},
		{"Variant[Array[String, 1], Array[String, 3]]", []any{}, "k.a expects size to be at least 1, got 0"},
		{"Enum[a, b]", nil, "k.a expects a match for Enum['a', 'b'], got Undef"},
		{"Type[String]", puppettype.MustParse("Integer"), "k.a expects a Type[String] value, got Type[Integer]"},
		{"Integer[0, 7]", uint64(1 << 63), "k.a expects an Integer[0, 7] value, got Integer[9223372036854775808, 9223372036854775808]"},
		{"File['a']", "a", "k.a expects a Resource value, got String"},
		{"Float[0.5]", 0.25, "k.a expects a Float[0.5] value, got Float[0.25, 0.25]"},
	} {
		err := puppettype.MustParse(tt.text).Check("k.a", tt.value)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.text, err, tt.want)
		}
	}
}

func TestAccepts(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 70)
	for _, tt := range []struct {
		text string
		yes  []any
		no   []any
	}{
		{"Integer[0, 7]", []any{0, 7, big.NewInt(7)}, []any{-1, 8, huge, new(big.Int).Neg(huge), "7", 7.0}},
		{"Integer[0]", []any{huge}, []any{new(big.Int).Neg(huge)}},
		{"Integer[default, 0]", []any{new(big.Int).Neg(huge)}, []any{huge}},
		{"Iterable", []any{0, huge, "a", []any{}, map[string]any{}}, []any{-1, new(big.Int).Neg(huge), 1.5, nil, true}},
		{"Iterable[Integer]", []any{3, []any{1, 2}, puppettype.MustParse("Integer[1, 2]")}, []any{"a", []any{"a"}, puppettype.MustParse("Integer[1]")}},
		{"Iterable[Tuple[String, Integer]]", []any{map[string]any{"a": 1}, []any{[]any{"a", 1}}}, []any{map[string]any{"a": "b"}}},
		{"String[2, 2]", []any{"éé"}, []any{"é", "aaa"}},
		{"Init[Boolean]", []any{true, "Yes", 0, 1.5}, []any{"on", nil, []any{}}},
		{"Init[Float]", []any{"1.5", "0x1f", true}, []any{"x", nil}},
		{"Init", []any{"x", nil, 1}, []any{puppettype.Symbol("s")}},
		{"Enum['é', 'K', true]", []any{"é", "k"}, []any{"É", "\u212a"}},
		{"RichData", []any{puppettype.Map{{1.5, nil}}, []any{puppettype.Default{}}}, []any{puppettype.Map{{true, 1}}, []any{struct{}{}}}},
		{"Runtime", []any{puppettype.Symbol("s"), struct{}{}}, []any{"s", nil, puppettype.Symbol("undef")}},
		{"Runtime[ruby, 'Symbol']", []any{puppettype.Symbol("s")}, []any{struct{}{}}},
		{"Class", nil, []any{"foo", nil}},
		{"Hash[String, Any]", []any{puppettype.Map{{"a", 1}}}, []any{puppettype.Map{{1, 1}}}},
		{"Struct[{a => Integer}]", []any{puppettype.Map{{"a", 1}}}, []any{puppettype.Map{{1, 1}}, map[string]any{"a": 1, "b": 2}}},
	} {
		ty := puppettype.MustParse(tt.text)
		for _, v := range tt.yes {
			if !ty.Accepts(v) {
				t.Errorf("%s refuses %v", tt.text, v)
			}
		}
		for _, v := range tt.no {
			if ty.Accepts(v) {
				t.Errorf("%s accepts %v", tt.text, v)
			}
		}
	}
}

func TestInfer(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{[]any{[]any{}, []any{1}}, "Array[Array[Integer[1, 1]], 2, 2]"},
		{[]any{map[string]any{}, map[string]any{"a": 1}}, "Array[Hash[String, Integer[1, 1]], 2, 2]"},
		{[]any{1, nil, 3}, "Array[Optional[Integer[1, 3]], 3, 3]"},
		{[]any{"a", "b", "a", "c"}, "Array[Enum['a', 'b', 'c'], 4, 4]"},
		{[]any{uint64(1 << 63), 1}, "Array[Integer, 2, 2]"},
		{[]any{1, 1.5}, "Array[Numeric, 2, 2]"},
		{[]any{true, false}, "Array[ScalarData, 2, 2]"},
		{[]any{1, []any{}}, "Array[Data, 2, 2]"},
		{[]any{1, puppettype.Default{}}, "Array[RichData, 2, 2]"},
		{[]any{1, puppettype.Symbol("s")}, "Array[Any, 2, 2]"},
	} {
		if got := puppettype.Infer(tt.value).String(); got != tt.want {
			t.Errorf("%v: %s, not %s", tt.value, got, tt.want)
		}
	}
}

func TestCommon(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"String[2, 3]", "String[5]", "String[2]"},
		{"Pattern[/a/]", "Pattern[/b/]", "Pattern[/a/, /b/]"},
		{"Pattern[/a/]", "Enum[b]", "String"},
		{"Enum[a]", "Enum['B', true]", "Enum['B', 'a', true]"},
		{"Tuple[Integer, Float]", "Array[String]", "Array[ScalarData]"},
		{"Struct[{a => Integer}]", "Hash[Integer, String]", "Hash[ScalarData, ScalarData]"},
		{"Timestamp['2020-01-01', '2021-01-01']", "Timestamp['2019-01-01', '2020-06-01']",
			"Timestamp['2019-01-01T00:00:00.000000000 UTC', '2021-01-01T00:00:00.000000000 UTC']"},
		{"File['a']", "File['b']", "File"},
		{"File['a']", "Package", "Resource"},
		{"Type[Integer]", "Type[Float]", "Type[Numeric]"},
		{"Sensitive[Integer]", "Sensitive[String]", "Sensitive[ScalarData]"},
		{"Optional[Integer]", "Float", "Optional[Numeric]"},
		{"Regexp[/a/]", "Regexp[/b/]", "Regexp"},
		{"Regexp", "Timestamp", "Scalar"},
	} {
		if got := puppettype.Common(puppettype.MustParse(tt.a), puppettype.MustParse(tt.b)).String(); got != tt.want {
			t.Errorf("%s and %s: %s, not %s", tt.a, tt.b, got, tt.want)
		}
	}
}
