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

// named has a value of each sort under a short name, for the tables of this file.
func named(t *testing.T) map[string]any {
	re, err := rubyre.New("a")
	must(t, err)
	versions, err := puppettype.ParseVersionRange("1.x")
	must(t, err)
	return map[string]any{
		"undef": nil, "default": puppettype.Default{}, "true": true, "false": false,
		"-1": int64(-1), "0": int64(0), "1": int64(1), "7": int64(7), "big": new(big.Int).Lsh(big.NewInt(1), 70), "-big": new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 70)),
		"0.5": 0.5, "1.0": 1.0, "inf": math.Inf(1), "nan": math.NaN(),
		"''": "", "'a'": "a", "'A'": "A", "'b'": "b", "'ab'": "ab", "'7'": "7", "'yes'": "yes",
		"[]": []any{}, "[1]": []any{int64(1)}, "['a']": []any{"a"}, "['a',1]": []any{"a", int64(1)}, "[undef]": []any{nil}, "[[1]]": []any{[]any{int64(1)}},
		"{}": map[string]any{}, "{a=>1}": map[string]any{"a": int64(1)}, "{a=>'a'}": map[string]any{"a": "a"}, "{a=>undef}": map[string]any{"a": nil},
		"{a=>1,b=>1}": map[string]any{"a": int64(1), "b": int64(1)}, "{1=>1}": puppettype.Map{{Key: int64(1), Value: int64(1)}},
		"secret 'a'": schema.NewSecret("a"), "secret 1": puppettype.NewSensitive(int64(1)), "secret undef": puppettype.NewSensitive(nil),
		"/a/": re, "1.x": versions, "v1.2.0": puppettype.Version{Major: 1, Minor: 2}, "v2.0.0": puppettype.Version{Major: 2}, "v1.0.0-rc": puppettype.Version{Major: 1, Pre: "rc"},
		"2020": time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), "1h": time.Hour, "-1h": -time.Hour, "bytes": []byte("a"), "uri": puppettype.URI("http://x/"),
		"type Integer": puppettype.MustParse("Integer"), "type Integer[1,2]": puppettype.MustParse("Integer[1, 2]"), "type Enum[a]": puppettype.MustParse("Enum[a]"),
		"symbol": puppettype.Symbol("s"), "struct": struct{}{},
	}
}

// accepted has for each type all names of the table above whose values are of it. All
// others are not.
var accepted = map[string][]string{
	"Undef":                                 {"undef"},
	"Default":                               {"default"},
	"Boolean":                               {"true", "false"},
	"Boolean[true]":                         {"true"},
	"Boolean[false]":                        {"false"},
	"Integer":                               {"-1", "0", "1", "7", "big", "-big"},
	"Integer[0]":                            {"0", "1", "7", "big"},
	"Integer[default, 0]":                   {"-1", "0", "-big"},
	"Integer[1, 7]":                         {"1", "7"},
	"Float":                                 {"0.5", "1.0", "inf"},
	"Float[0.5, 1.0]":                       {"0.5", "1.0"},
	"Float[0.6]":                            {"1.0", "inf"},
	"Numeric":                               {"-1", "0", "1", "7", "big", "-big", "0.5", "1.0", "inf"},
	"String":                                {"''", "'a'", "'A'", "'b'", "'ab'", "'7'", "'yes'"},
	"String[1]":                             {"'a'", "'A'", "'b'", "'ab'", "'7'", "'yes'"},
	"String[0, 1]":                          {"''", "'a'", "'A'", "'b'", "'7'"},
	"String[2, 2]":                          {"'ab'"},
	"Enum":                                  {},
	"Enum[a]":                               {"'a'"},
	"Enum[a, true]":                         {"'a'", "'A'"},
	"Enum[a, '']":                           {"'a'", "''"},
	"Pattern":                               {"''", "'a'", "'A'", "'b'", "'ab'", "'7'", "'yes'"},
	"Pattern[/a/]":                          {"'a'", "'ab'"},
	"Pattern[/\\Aa\\Z/, /\\d/]":             {"'a'", "'7'"},
	"Regexp":                                {"/a/"},
	"Regexp[/a/]":                           {"/a/"},
	"Regexp[/b/]":                           {},
	"Timestamp":                             {"2020"},
	"Timestamp['2020-01-01']":               {"2020"},
	"Timestamp['2020-01-02']":               {},
	"Timespan":                              {"1h", "-1h"},
	"Timespan[0]":                           {"1h"},
	"Timespan[0, 3599]":                     {},
	"SemVer":                                {"v1.2.0", "v2.0.0", "v1.0.0-rc"},
	"SemVer['1.x']":                         {"v1.2.0"},
	"SemVer['1.x', '2.x']":                  {"v1.2.0", "v2.0.0"},
	"SemVer['1.0.0-rc']":                    {"v1.0.0-rc"},
	"SemVerRange":                           {"1.x"},
	"Binary":                                {"bytes"},
	"URI":                                   {"uri"},
	"Type":                                  {"type Integer", "type Integer[1,2]", "type Enum[a]"},
	"Type[Integer]":                         {"type Integer", "type Integer[1,2]"},
	"Type[Integer[0, 9]]":                   {"type Integer[1,2]"},
	"Type[String]":                          {"type Enum[a]"},
	"Sensitive":                             {"secret 'a'", "secret 1", "secret undef"},
	"Sensitive[String]":                     {"secret 'a'"},
	"Sensitive[Integer]":                    {"secret 1"},
	"Sensitive[Optional]":                   {"secret undef"},
	"Sensitive[String[2]]":                  {},
	"Sensitive[Pattern[/a/]]":               {"secret 'a'"},
	"Array":                                 {"[]", "[1]", "['a']", "['a',1]", "[undef]", "[[1]]"},
	"Array[Integer]":                        {"[]", "[1]"},
	"Array[Integer, 1]":                     {"[1]"},
	"Array[Any, 0, 0]":                      {"[]"},
	"Array[Any, 2]":                         {"['a',1]"},
	"Array[Optional[Integer]]":              {"[]", "[1]", "[undef]"},
	"Array[Array[Integer]]":                 {"[]", "[[1]]"},
	"Array[Variant[String, Integer], 1, 1]": {"[1]", "['a']"},
	"Hash":                                  {"{}", "{a=>1}", "{a=>'a'}", "{a=>undef}", "{a=>1,b=>1}", "{1=>1}"},
	"Hash[String, Integer]":                 {"{}", "{a=>1}", "{a=>1,b=>1}"},
	"Hash[Integer, Integer]":                {"{}", "{1=>1}"},
	"Hash[String, Any, 2]":                  {"{a=>1,b=>1}"},
	"Hash[Enum[a], Data, 1]":                {"{a=>1}", "{a=>'a'}", "{a=>undef}"},
	"Hash[0, 0]":                            {"{}"},
	"Collection":                            {"[]", "[1]", "['a']", "['a',1]", "[undef]", "[[1]]", "{}", "{a=>1}", "{a=>'a'}", "{a=>undef}", "{a=>1,b=>1}", "{1=>1}"},
	"Collection[2]":                         {"['a',1]", "{a=>1,b=>1}"},
	"Collection[0, 0]":                      {"[]", "{}"},
	"Tuple":                                 {"[]", "[1]", "['a']", "['a',1]", "[undef]", "[[1]]"},
	"Tuple[Integer]":                        {"[1]"},
	"Tuple[String, Integer]":                {"['a',1]"},
	"Tuple[String, Integer, 0]":             {"[]", "['a']", "['a',1]"},
	"Tuple[String, 1, 3]":                   {"['a']"},
	"Tuple[Undef]":                          {"[undef]"},
	"Struct":                                {"{}"},
	"Struct[{a => Integer}]":                {"{a=>1}"},
	"Struct[{a => Any}]":                    {"{}", "{a=>1}", "{a=>'a'}", "{a=>undef}"},
	"Struct[{NotUndef[a] => Any}]":          {"{a=>1}", "{a=>'a'}", "{a=>undef}"},
	"Struct[{Optional[a] => Integer}]":      {"{}", "{a=>1}"},
	"Struct[{a => Optional[Integer]}]":      {"{}", "{a=>1}", "{a=>undef}"},
	"Struct[{a => Scalar, b => Scalar}]":    {"{a=>1,b=>1}"},
	"Variant":                               {},
	"Variant[Undef, Boolean]":               {"undef", "true", "false"},
	"Variant[Enum[a], Integer[7]]":          {"'a'", "7", "big"},
	"Optional":                              {"undef"},
	"Optional[Integer[7, 7]]":               {"undef", "7"},
	"Optional[b]":                           {"undef", "'b'"},
	"NotUndef[Optional[Enum[a]]]":           {"'a'"},
	"NotUndef['a']":                         {"'a'"},
	"Iterable[Integer[1, 2]]":               {"[]", "[1]", "{}", "type Integer[1,2]"},
	"Init[Integer]":                         {"true", "false", "-1", "0", "1", "7", "big", "-big", "0.5", "1.0", "inf", "nan", "'7'", "2020", "1h", "-1h"},
	"Init[Boolean]":                         {"true", "false", "-1", "0", "1", "7", "big", "-big", "0.5", "1.0", "inf", "nan", "'yes'"},
	"Class":                                 {},
	"Resource":                              {},
	"File['/tmp']":                          {},
	"Callable":                              {},
	"CatalogEntry":                          {},
	"Runtime":                               {"symbol", "struct"},
	"Runtime[ruby, 'Symbol']":               {"symbol"},
	"Runtime[go, 'struct {}']":              {"struct"},
}

// TestAcceptedOfAllSorts asks each type about a value of each sort: in a table of what
// is accepted, everything that is not there is refused.
func TestAcceptedOfAllSorts(t *testing.T) {
	values := named(t)
	for text, names := range accepted {
		ty := puppettype.MustParse(text)
		want := map[string]bool{}
		for _, name := range names {
			if _, ok := values[name]; !ok {
				t.Fatalf("%s: there is no value %s", text, name)
			}
			want[name] = true
		}
		for name, v := range values {
			if got := ty.Accepts(v); got != want[name] {
				t.Errorf("%s accepts %s: %v", text, name, got)
			}
			if err := ty.Check("k.a", v); (err == nil) != want[name] {
				t.Errorf("%s checks %s: %v", text, name, err)
			}
		}
	}
}

// TestAcceptedOfUnions holds the wide types by what they exclude.
func TestAcceptedOfUnions(t *testing.T) {
	values := named(t)
	for text, refused := range map[string][]string{
		"Any":      {},
		"NotUndef": {"undef"},
		"RichData": {"symbol", "struct"},
		"Init":     {"symbol", "struct"},
		"Data": {"default", "secret 'a'", "secret 1", "secret undef", "/a/", "1.x", "v1.2.0", "v2.0.0", "v1.0.0-rc", "2020", "1h", "-1h", "bytes", "uri",
			"type Integer", "type Integer[1,2]", "type Enum[a]", "symbol", "struct", "{1=>1}"},
		"ScalarData": {"undef", "default", "[]", "[1]", "['a']", "['a',1]", "[undef]", "[[1]]", "{}", "{a=>1}", "{a=>'a'}", "{a=>undef}", "{a=>1,b=>1}", "{1=>1}",
			"secret 'a'", "secret 1", "secret undef", "/a/", "1.x", "v1.2.0", "v2.0.0", "v1.0.0-rc", "2020", "1h", "-1h", "bytes", "uri",
			"type Integer", "type Integer[1,2]", "type Enum[a]", "symbol", "struct"},
		"Scalar": {"undef", "default", "[]", "[1]", "['a']", "['a',1]", "[undef]", "[[1]]", "{}", "{a=>1}", "{a=>'a'}", "{a=>undef}", "{a=>1,b=>1}", "{1=>1}",
			"secret 'a'", "secret 1", "secret undef", "bytes", "uri", "type Integer", "type Integer[1,2]", "type Enum[a]", "symbol", "struct"},
		"Iterable": {"undef", "default", "true", "false", "-1", "-big", "0.5", "1.0", "inf", "nan", "secret 'a'", "secret 1", "secret undef", "/a/", "1.x",
			"v1.2.0", "v2.0.0", "v1.0.0-rc", "2020", "1h", "-1h", "bytes", "uri", "type Integer", "symbol", "struct"},
	} {
		ty := puppettype.MustParse(text)
		out := map[string]bool{}
		for _, name := range refused {
			out[name] = true
		}
		for name, v := range values {
			if got := ty.Accepts(v); got == out[name] {
				t.Errorf("%s accepts %s: %v", text, name, got)
			}
		}
	}
}

// TestLawAcceptedBySettledForm holds that a value of any Go type is accepted as its
// plain form is.
func TestLawAcceptedBySettledForm(t *testing.T) {
	type word string
	type count int16
	pairs := [][2]any{
		{int(3), int64(3)}, {int8(3), int64(3)}, {int16(-3), int64(-3)}, {int32(3), int64(3)}, {uint(3), int64(3)}, {uint8(3), int64(3)},
		{uint16(3), int64(3)}, {uint32(3), int64(3)}, {uint64(3), int64(3)}, {count(7), int64(7)}, {big.NewInt(3), int64(3)}, {float32(0.5), 0.5},
		{word("a"), "a"}, {[]string{"a", "b"}, []any{"a", "b"}}, {[]int{1}, []any{int64(1)}}, {[]word{"a"}, []any{"a"}},
		{map[string]int{"a": 1}, map[string]any{"a": int64(1)}}, {map[word]word{"a": "b"}, map[string]any{"a": "b"}},
		{puppettype.Symbol("undef"), nil}, {puppettype.Symbol("default"), puppettype.Default{}}, {(*big.Int)(nil), nil},
		{schema.NewSecret("a"), puppettype.NewSensitive("a")}, {puppettype.Map{{Key: "a", Value: 1}}, map[string]any{"a": int64(1)}},
	}
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		for _, p := range pairs {
			if ty.Accepts(p[0]) != ty.Accepts(p[1]) {
				t.Fatalf("%s: %T is accepted: %v, %T: %v", ty, p[0], ty.Accepts(p[0]), p[1], ty.Accepts(p[1]))
			}
		}
	})
}

// TestLawAcceptsAltersNothing holds that a check leaves a value as it was.
func TestLawAcceptsAltersNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ty := values(3).Draw(t, "value"), types.Draw(t, "type")
		before := puppettype.InferEach(v)
		_, _, _ = ty.Accepts(v), ty.Check("a", v), ty.CheckSecret("a", v)
		_, _ = ty.Clean("a", v)
		_, _ = ty.CleanText("a", v)
		_, _ = ty.Lift("a", v)
		if after := puppettype.InferEach(v); !after.Equal(before) {
			t.Fatalf("%s was %s and is %s", ty, before, after)
		}
	})
}

// TestLawOfUnions holds how the types with an operator are made of others.
func TestLawOfUnions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, a, b := values(2).Draw(t, "value"), types.Draw(t, "a"), types.Draw(t, "b")
		for text, want := range map[string]bool{
			"Variant[" + a.String() + ", " + b.String() + "]": a.Accepts(v) || b.Accepts(v),
			"NotUndef[" + a.String() + "]":                    v != nil && !undefSymbol(v) && a.Accepts(v),
			"Optional[" + a.String() + "]":                    v == nil || undefSymbol(v) || a.Accepts(v),
		} {
			ty, err := puppettype.Parse(text)
			if err != nil {
				t.Skip(err) // it nests too deeply
			}
			if got := ty.Accepts(v); got != want {
				t.Fatalf("%s accepts %#v: %v", text, v, got)
			}
		}
	})
}

func undefSymbol(v any) bool { return v == puppettype.Symbol("undef") }

// TestLawOfElements holds that a collection is accepted by its elements.
func TestLawOfElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		list := rapid.SliceOfN(values(1), 0, 4).Draw(t, "list")
		all := true
		m := map[string]any{}
		for i, v := range list {
			all = all && ty.Accepts(v)
			m[string(rune('a'+i))] = v
		}
		for text, v := range map[string]any{"Array[%]": any(list), "Hash[String, %]": any(m), "Sensitive[Array[%]]": puppettype.NewSensitive(list)} {
			whole, err := puppettype.Parse(replaceMark(text, ty.String()))
			if err != nil {
				t.Skip(err)
			}
			if got := whole.Accepts(v); got != all {
				t.Fatalf("%s accepts %#v: %v", whole, v, got)
			}
		}
	})
}

func replaceMark(text, with string) string {
	for i := range text {
		if text[i] == '%' {
			return text[:i] + with + text[i+1:]
		}
	}
	return text
}
