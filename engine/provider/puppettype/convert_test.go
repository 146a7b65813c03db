package puppettype_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lowered has each type with the schema.Type of a field: the kind, and what is stated
// besides it.
var lowered = []struct {
	text  string
	kind  schema.Kind
	extra string
}{
	{"Any", schema.KindAny, ""},
	{"Undef", schema.KindAny, ""},
	{"Default", schema.KindAny, ""},
	{"Numeric", schema.KindAny, ""},
	{"Scalar", schema.KindAny, ""},
	{"Data", schema.KindAny, ""},
	{"RichData", schema.KindAny, ""},
	{"Collection", schema.KindAny, ""},
	{"Iterable[String]", schema.KindAny, ""},
	{"Init[Integer]", schema.KindAny, ""},
	{"Runtime", schema.KindAny, ""},
	{"Variant[Integer, String]", schema.KindAny, ""},
	{"Variant[Integer, Sensitive[String]]", schema.KindAny, "secret"},
	{"Boolean", schema.KindBool, ""},
	{"Boolean[true]", schema.KindBool, ""},
	{"Optional[Boolean]", schema.KindBool, "optional"},
	{"Integer", schema.KindInt, "bits=64"},
	{"Integer[0, 65535]", schema.KindInt, "bits=64 min=0 max=65535"},
	{"Integer[default, 7]", schema.KindInt, "bits=64 max=7"},
	{"Integer[-1]", schema.KindInt, "bits=64 min=-1"},
	{"Optional[Integer[1]]", schema.KindInt, "bits=64 min=1 optional"},
	{"Variant[Integer[1, 2], Integer[3, 4]]", schema.KindInt, "bits=64 min=1 max=4"},
	{"Float", schema.KindFloat, "bits=64"},
	{"Float[0.5]", schema.KindFloat, "bits=64 from=0.5"},
	{"Float[default, 1.5]", schema.KindFloat, "bits=64 to=1.5"},
	{"Variant[Float[0.5, 1.0], Float[0.75, 2.0]]", schema.KindFloat, "bits=64 from=0.5 to=2"},
	{"String", schema.KindString, ""},
	{"String[1]", schema.KindString, "min=1"},
	{"String[1, 3]", schema.KindString, "min=1 max=3"},
	{"String[0, 3]", schema.KindString, "max=3"},
	{"Enum[b, a]", schema.KindString, "enum=a|b"},
	{"Enum[a, true]", schema.KindString, ""},
	{"Optional[a]", schema.KindString, "enum=a optional"},
	{"Variant[Enum[a], Enum[b]]", schema.KindString, "enum=a|b"},
	{"Variant[Enum[a], Pattern[/b/]]", schema.KindString, ""},
	{"Variant[Undef, Enum[a]]", schema.KindString, "enum=a optional"},
	{"NotUndef[Optional[Enum[a]]]", schema.KindString, "enum=a"},
	{"Pattern[/a/]", schema.KindString, ""},
	{"Regexp", schema.KindString, ""},
	{"Timestamp", schema.KindString, ""},
	{"SemVer", schema.KindString, "format=semver"},
	{"Optional[SemVer['1.x']]", schema.KindString, "format=semver optional"},
	{"SemVerRange", schema.KindString, ""},
	{"Binary", schema.KindString, ""},
	{"URI", schema.KindString, ""},
	{"Type[String]", schema.KindString, ""},
	{"Timespan", schema.KindDuration, "unit=s"},
	{"Timespan[0, 60]", schema.KindDuration, "unit=s min=0 max=60000000000"},
	{"Sensitive", schema.KindString, "secret"},
	{"Sensitive[Integer]", schema.KindString, "secret"},
	{"Optional[Sensitive[String]]", schema.KindString, "secret optional"},
	{"Array", schema.KindList, "elem=any"},
	{"Array[Integer, 1]", schema.KindList, "min=1 elem=int"},
	{"Array[String, 0, 3]", schema.KindList, "max=3 elem=string"},
	{"Tuple[Integer, Integer]", schema.KindList, "min=2 max=2 elem=int"},
	{"Tuple[Integer, String]", schema.KindList, "min=2 max=2 elem=any"},
	{"Tuple[Enum[a], Enum[b], 1]", schema.KindList, "min=1 elem=string"},
	{"Hash", schema.KindMap, "elem=any"},
	{"Hash[String, Integer]", schema.KindMap, "elem=int"},
	{"Hash[Enum[a], String, 1, 2]", schema.KindMap, "min=1 max=2 elem=string"},
	{"Hash[Integer, Integer]", schema.KindAny, ""},
	{"Hash[Integer, Sensitive]", schema.KindAny, "secret"},
	{"Struct[{a => Integer}]", schema.KindStruct, "fields=a!"},
	{"Struct[{Optional[a] => Integer, b => String}]", schema.KindStruct, "fields=a,b!"},
	{"Struct[{NotUndef[a] => Optional[Integer]}]", schema.KindStruct, "fields=a!"},
}

// told writes what a schema.Type states besides its kind.
func told(st *schema.Type) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if st.Bits != 0 {
		add("bits=%d", st.Bits)
	}
	if st.Unit != "" {
		add("unit=%s", st.Unit)
	}
	if st.Min != nil {
		add("min=%d", *st.Min)
	}
	if st.Max != nil {
		add("max=%d", *st.Max)
	}
	if st.FloatMin != nil {
		add("from=%v", *st.FloatMin)
	}
	if st.FloatMax != nil {
		add("to=%v", *st.FloatMax)
	}
	if st.Format != "" {
		add("format=%s", st.Format)
	}
	if len(st.Enum) > 0 {
		add("enum=%s", strings.Join(st.Enum, "|"))
	}
	if st.Elem != nil {
		add("elem=%s", map[schema.Kind]string{schema.KindAny: "any", schema.KindInt: "int", schema.KindString: "string"}[st.Elem.Kind])
	}
	var keys []string
	for _, f := range st.Fields {
		key := f.Key
		if f.Required {
			key += "!"
		}
		keys = append(keys, key)
	}
	if keys != nil {
		add("fields=%s", strings.Join(keys, ","))
	}
	if st.Secret {
		add("secret")
	}
	if st.Optional {
		add("optional")
	}
	return strings.Join(out, " ")
}

// TestLowerTable holds the lowered type of each type, and that it is named by the type.
func TestLowerTable(t *testing.T) {
	for _, c := range lowered {
		ty := puppettype.MustParse(c.text)
		st := ty.Lower()
		if st.Kind != c.kind || told(st) != c.extra {
			t.Errorf("%s: %v %q, not %v %q", c.text, st.Kind, told(st), c.kind, c.extra)
		}
		if st.Name != ty.String() {
			t.Errorf("%s is named %q", c.text, st.Name)
		}
	}
}

// TestLawSecretsLowerToSecrets holds that no type with a Sensitive in it lowers to a
// type that is open, and no other one to a secret.
func TestLawSecretsLowerToSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		st := ty.Lower()
		if got := anySecret(st); got && !ty.Holds(puppettype.KindSensitive) {
			t.Fatalf("%s lowers to a secret", ty)
		}
		if ty.Kind() == puppettype.KindSensitive && !st.Secret {
			t.Fatalf("%s lowers to %s, which is open", ty, st)
		}
	})
}

func anySecret(st *schema.Type) bool {
	if st == nil {
		return false
	}
	found := st.Secret || anySecret(st.Elem)
	for _, f := range st.Fields {
		found = found || anySecret(f.Type)
	}
	return found
}

// TestLiftTable has plain values of a graph with the values that providers get.
func TestLiftTable(t *testing.T) {
	re, err := rubyre.New("a/b")
	must(t, err)
	for _, c := range []struct {
		text        string
		plain, want any
	}{
		{"Integer", int64(7), int64(7)},
		{"Integer", 7, int64(7)},
		{"Float", int64(7), 7.0},
		{"Numeric", int64(7), int64(7)},
		{"String", "a", "a"},
		{"Optional[Integer]", nil, nil},
		{"Default", "default", puppettype.Default{}},
		{"Variant[Default, Integer]", "default", puppettype.Default{}},
		{"Variant[Default, String]", "default", "default"},
		{"Timestamp", "2020-01-31", time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC)},
		{"Timespan", "1:30", 90 * time.Second},
		{"Timespan", 90 * time.Second, 90 * time.Second},
		{"SemVer", "1.2.3-rc", puppettype.Version{Major: 1, Minor: 2, Patch: 3, Pre: "rc"}},
		{"Binary", "aGk=", []byte("hi")},
		{"URI", "http://x/", puppettype.URI("http://x/")},
		{"Regexp", "/a\\/b/", re},
		{"Regexp", "a/b", re},
		{"Type", "Integer[0]", puppettype.MustParse("Integer[0]")},
		{"Array[Timespan]", []any{"1", "2"}, []any{time.Second, 2 * time.Second}},
		{"Tuple[Float, URI]", []any{int64(1), "x:"}, []any{1.0, puppettype.URI("x:")}},
		{"Hash[String, Binary]", map[string]any{"a": "aGk="}, map[string]any{"a": []byte("hi")}},
		{"Struct[{a => Float, b => Optional[URI]}]", map[string]any{"a": int64(1)}, map[string]any{"a": 1.0}},
		{"Struct[{NotUndef[a] => Optional[URI]}]", map[string]any{}, map[string]any{"a": nil}},
		{"Struct[{Optional[a] => URI}]", map[string]any{}, map[string]any{}},
		{"Variant[Timestamp, Timespan]", "60", time.Minute},
		{"Variant[Integer, Array[URI]]", []any{"x:"}, []any{puppettype.URI("x:")}},
		{"NotUndef[Timespan]", "60", time.Minute},
		{"Any", []any{"a"}, []any{"a"}},
		{"Any", map[string]any{"a": "b"}, map[string]any{"a": "b"}},
	} {
		got, err := puppettype.MustParse(c.text).Lift("k.a", c.plain)
		if err != nil {
			t.Errorf("%s from %#v: %v", c.text, c.plain, err)
			continue
		}
		a, b := puppettype.InferEach(got), puppettype.InferEach(c.want)
		if !a.Equal(b) || !reflect.DeepEqual(puppettype.Plain(got), puppettype.Plain(c.want)) {
			t.Errorf("%s from %#v: %#v, not %#v", c.text, c.plain, got, c.want)
		}
	}
}

// TestLiftBroken has texts that are no values: each is refused, and the message shows
// the type that was expected.
func TestLiftBroken(t *testing.T) {
	for text, plain := range map[string]any{
		"Timestamp":             "yesterday",
		"Timespan":              "1 day",
		"SemVer":                "1.2",
		"SemVerRange":           "?",
		"Binary":                "a b",
		"Regexp":                "(",
		"Type":                  "Strin",
		"Array[Timespan]":       []any{"x"},
		"Hash[String, Integer]": map[string]any{"a": "b"},
		"Struct[{a => URI}]":    map[string]any{"b": "x:"},
		"Tuple[Integer]":        []any{int64(1), int64(2)},
		"Integer":               "7",
		"Boolean":               "true",
		"Array[Integer]":        int64(1),
		"Struct[{a => Integer}]": []any{
			"a", int64(1)},
	} {
		v, err := puppettype.MustParse(text).Lift("kind.attr", plain)
		m, ok := errors.AsType[*puppettype.Mismatch](err)
		if !ok || m.Subject != "kind.attr" || !strings.Contains(err.Error(), "kind.attr ") {
			t.Errorf("%s from %v: %v, %v", text, plain, v, err)
		}
	}
}

// TestLawPlainAndBack holds that a value goes through its plain form and back, where
// its type in full says how to read it.
func TestLawPlainAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(2).Draw(t, "value")
		if foreign(v) {
			t.Skip("its plain form is the same as that of another value")
		}
		ty := puppettype.InferEach(v)
		back, err := ty.Lift("a", puppettype.Plain(v))
		if err != nil || !puppettype.InferEach(back).Equal(ty) {
			t.Fatalf("%#v of type %s is %#v in plain and comes back as %#v, %v", v, ty, puppettype.Plain(v), back, err)
		}
	})
}

// foreign finds values whose plain form has less: keys that are no text, values of
// other programs, secrets that are no text, and whole numbers of more than 64 bits.
func foreign(v any) bool {
	switch v := v.(type) {
	case puppettype.Map, puppettype.Sensitive, puppettype.Symbol, struct{}, *big.Int, uint64, *puppettype.VersionRange, puppettype.Version:
		return true
	case []any:
		if slices.ContainsFunc(v, foreign) {
			return true
		}
	case map[string]any:
		for key, item := range v {
			if key == "" || foreign(item) {
				return true
			}
		}
	}
	return false
}

// TestLawPlainIsPlain holds that a plain value has only what schema.Value reads, at
// every depth.
func TestLawPlainIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		if odd := notPlain(puppettype.Plain(v)); odd != nil {
			t.Fatalf("%#v has %T in plain", v, odd)
		}
	})
}

func notPlain(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, time.Duration, schema.Secret, struct{}:
	case []any:
		for _, item := range v {
			if odd := notPlain(item); odd != nil {
				return odd
			}
		}
	case map[string]any:
		for _, item := range v {
			if odd := notPlain(item); odd != nil {
				return odd
			}
		}
	default:
		return v
	}
	return nil
}

// TestPlainTable has each sort of value with its plain form.
func TestPlainTable(t *testing.T) {
	re, err := rubyre.New("a/b")
	must(t, err)
	for _, c := range []struct{ value, want any }{
		{nil, nil},
		{true, true},
		{7, int64(7)},
		{float32(0.5), 0.5},
		{"a", "a"},
		{puppettype.Default{}, "default"},
		{puppettype.Symbol("s"), "s"},
		{puppettype.Symbol("undef"), nil},
		{puppettype.URI("x:"), "x:"},
		{[]byte("hi"), "aGk="},
		{time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC), "2020-01-31T00:00:00.000000000 UTC"},
		{time.Minute, time.Minute},
		{re, `/a\/b/`},
		{puppettype.Version{Major: 1}, "1.0.0"},
		{puppettype.MustParse("Integer[0]"), "Integer[0]"},
		{uint64(1 << 63), uint64(1 << 63)},
		{new(big.Int).Lsh(big.NewInt(1), 64), "18446744073709551616"},
		{new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 64)), "-18446744073709551616"},
		{[]any{1, []string{"a"}}, []any{int64(1), []any{"a"}}},
		{map[string]int{"a": 1}, map[string]any{"a": int64(1)}},
		{puppettype.Map{{Key: int64(1), Value: puppettype.URI("x:")}, {Key: 1.5, Value: nil}}, map[string]any{"1": "x:", "1.5": nil}},
		{puppettype.Map{{Key: nil, Value: true}}, map[string]any{"": true}},
	} {
		if got := puppettype.Plain(c.value); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v: %#v, not %#v", c.value, got, c.want)
		}
	}
	for _, c := range []struct {
		inside any
		want   string
	}{
		{"a", "a"}, {int64(7), "7"}, {nil, ""}, {true, "true"}, {[]any{"a", int64(1)}, `["a",1]`}, {map[string]any{"a": []any{"b"}}, `{"a":["b"]}`},
		{[]any{puppettype.NewSensitive("b")}, `["b"]`}, {map[string]any{"k": schema.NewSecret("b")}, `{"k":"b"}`}, {puppettype.NewSensitive("b"), "b"},
	} {
		got, ok := puppettype.Plain(puppettype.NewSensitive(c.inside)).(schema.Secret)
		if !ok || got.Reveal() != c.want {
			t.Errorf("a secret %#v: %q, not %q", c.inside, got.Reveal(), c.want)
		}
	}
}

// TestCleanTextTable has words of a command line with the values that they become.
func TestCleanTextTable(t *testing.T) {
	for _, c := range []struct {
		text        string
		given, want any
	}{
		{"Integer", "22", int64(22)},
		{"Integer", "-22", int64(-22)},
		{"Integer", "+22", int64(22)},
		{"Integer", "0x1F", int64(31)},
		{"Integer", "017", int64(15)},
		{"Integer", " 22 ", int64(22)},
		{"Integer", int64(22), int64(22)},
		{"Float", "1.5", 1.5},
		{"Float", "1e3", 1000.0},
		{"Numeric", "1.5", 1.5},
		{"Numeric", "15", int64(15)},
		{"Boolean", "true", true},
		{"Boolean", "false", false},
		{"Boolean", puppettype.Symbol("true"), true},
		{"String", "22", "22"},
		{"String", "true", "true"},
		{"String", puppettype.Symbol("a"), "a"},
		{"Enum[a, b]", "a", "a"},
		{"Pattern[/a/]", "ab", "ab"},
		{"Optional[Integer]", "22", int64(22)},
		{"Optional[Integer]", nil, nil},
		{"Optional", nil, nil},
		{"Array[Integer]", []any{"1", "0x2"}, []any{int64(1), int64(2)}},
		{"Array[Variant[Integer, String]]", []any{"1", "a"}, []any{int64(1), "a"}},
		{"Variant[Integer, String]", "22", int64(22)},
		{"Variant[String, Integer]", "22", int64(22)},
		{"Variant[String, Integer]", "a", "a"},
		{"Variant[Boolean, Integer]", "true", true},
		{"Variant[Integer, Boolean]", "1", int64(1)},
		{"Variant[Integer[0, 5], Integer[3, 9]]", "4", int64(4)},
		{"Variant[Enum[a], Pattern[/a/]]", "a", "a"},
		{"Data", "22", "22"},
		{"Any", "22", "22"},
	} {
		got, err := puppettype.MustParse(c.text).CleanText("k.a", c.given)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s from %#v: %#v, %v", c.text, c.given, got, err)
		}
	}
	for text, given := range map[string]any{
		"Integer": "1.5", "Integer[0, 7]": "8", "Boolean": "yes", "Float": "x", "Array[Integer]": []any{"1", "x"}, "Enum[a]": "b", "Optional[Integer]": "",
		"Hash[String, Integer]": "{}", "Struct[{a => Integer}]": "{}", "Tuple[Integer]": "[1]", "Sensitive[Integer]": "1", "Undef": "undef",
		"Variant[Integer, Boolean]": "maybe", "Timestamp": "2020-01-01", "Timespan": "60", "Variant": "a",
	} {
		if got, err := puppettype.MustParse(text).CleanText("k.a", given); err == nil {
			t.Errorf("%s from %#v: %#v", text, given, got)
		}
	}
}

// TestCleanTable holds that the values of a catalog stay as they are.
func TestCleanTable(t *testing.T) {
	for _, c := range []struct {
		text        string
		given, want any
	}{
		{"Integer", int64(7), int64(7)},
		{"Boolean", puppettype.Symbol("true"), true},
		{"Boolean", puppettype.Symbol("false"), false},
		{"Optional[Boolean]", puppettype.Symbol("true"), true},
		{"Optional[Boolean]", nil, nil},
		{"Undef", puppettype.Symbol("undef"), nil},
	} {
		if got, err := puppettype.MustParse(c.text).Clean("k.a", c.given); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s from %#v: %#v, %v", c.text, c.given, got, err)
		}
	}
	for text, given := range map[string]any{"Integer": "7", "Boolean": "true", "String": puppettype.Symbol("a"), "Float": int64(1)} {
		if got, err := puppettype.MustParse(text).Clean("k.a", given); err == nil {
			t.Errorf("%s from %#v: %#v", text, given, got)
		}
	}
}

// TestLawCleanTextTakesWhatFits holds that a value that is not text is kept.
func TestLawCleanTextTakesWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, ty := rapid.Int64Range(-5, 5).Draw(t, "n"), types.Draw(t, "type")
		got, err := ty.CleanText("k.a", n)
		if (err == nil) != ty.Accepts(n) {
			t.Fatalf("%s from %d: %v, %v", ty, n, got, err)
		}
		if err == nil && got != n {
			t.Fatalf("%s makes %#v of %d", ty, got, n)
		}
	})
}

// TestNumbersOfText holds which texts are numbers, by their values.
func TestNumbersOfText(t *testing.T) {
	ty := puppettype.MustParse("Numeric")
	for text, want := range map[string]any{
		"0": int64(0), "-0": int64(0), "00": int64(0), "7": int64(7), "007": int64(7), "010": int64(8), "0x0": int64(0), "0Xff": int64(255), "-0xff": int64(-255),
		"+7": int64(7), "- 7": int64(-7), "\t7": int64(7), "1.0": 1.0, "-1.5": -1.5, "1e2": 100.0, "1E+2": 100.0, "1.5e-1": 0.15, "0.5": 0.5, "01.5": 1.5,
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64),
	} {
		if got, err := ty.CleanText("k.a", text); err != nil || got != want {
			t.Errorf("%q: %#v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "-", "+", "x", "0x", "0xg", "08", "1.", ".5", "1e", "1e+", "1_000", "1,0", "1 0", "--1", "0b1", "NaN", "Infinity", "1.5.1", "7\n", "٣"} {
		if got, err := ty.CleanText("k.a", text); err == nil {
			t.Errorf("%q: %#v", text, got)
		}
	}
	got, err := ty.CleanText("k.a", "18446744073709551616")
	if n, ok := got.(*big.Int); err != nil || !ok || n.String() != "18446744073709551616" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestSensitiveEverywhere holds that a wrapped value shows in no form of output.
func TestSensitiveEverywhere(t *testing.T) {
	secret := puppettype.NewSensitive(map[string]any{"key": canary})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %v", "%10v", "%p"} {
		args := []any{secret}
		if strings.HasPrefix(verb, "%T") {
			args = []any{secret, secret}
		}
		if out := fmt.Sprintf(verb, args...); strings.Contains(out, canary) || strings.Contains(out, "6361") {
			t.Errorf("%s shows %s", verb, out)
		}
	}
	raw, err := json.Marshal([]any{secret, map[string]any{"a": secret}})
	if err != nil || string(raw) != `["`+schema.Redacted+`",{"a":"`+schema.Redacted+`"}]` {
		t.Errorf("%s, %v", raw, err)
	}
	if secret.LogValue().String() != schema.Redacted || secret.String() != schema.Redacted {
		t.Error("shown in a log")
	}
	if v, ok := secret.Reveal().(map[string]any); !ok || v["key"] != canary {
		t.Error("the value is lost")
	}
	if (puppettype.Sensitive{}).Reveal() != nil {
		t.Error("the empty Sensitive holds something")
	}
}

// TestMapKeepsItsOrder holds that All yields the entries as they were given, and stops
// with its reader.
func TestMapKeepsItsOrder(t *testing.T) {
	m := puppettype.Map{{Key: "b", Value: 1}, {Key: "a", Value: 2}, {Key: int64(3), Value: 3}}
	var keys []any
	for key, v := range m.All() {
		keys = append(keys, key)
		if v == 2 {
			break
		}
	}
	if !reflect.DeepEqual(keys, []any{"b", "a"}) {
		t.Error(keys)
	}
}
