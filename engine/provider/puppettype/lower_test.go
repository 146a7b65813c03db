package puppettype_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

func TestLower(t *testing.T) {
	for text, want := range map[string]string{
		"Any":                            "any value",
		"Boolean[true]":                  "true or false",
		"Integer[0, 65535]":              "a whole number from 0 to 65535",
		"Float[0.5]":                     "a number of at least 0.5",
		"Float[default, 1.5]":            "a number of at most 1.5",
		"Optional[Float[0.5, 1.5]]":      "a number from 0.5 to 1.5 or null",
		"Numeric":                        "any value",
		"String[1, 5]":                   "text of 1 to 5 characters",
		"Enum[b, a]":                     "one of a, b",
		"Enum[a, true]":                  "text",
		"Pattern[/a/]":                   "text",
		"Optional[String]":               "text or null",
		"Optional['on']":                 "one of on or null",
		"Variant[Undef, Integer[1]]":     "a whole number of at least 1 or null",
		"Variant[Enum[a], Enum[b]]":      "one of a, b",
		"Variant[Enum[a], Pattern[/b/]]": "text",
		"Variant[Integer, String]":       "any value",
		"NotUndef[Optional[Integer]]":    "a whole number",
		"NotUndef":                       "any value",
		"Array[String, 1]":               "a list of text of at least 1 element",
		"Tuple[Integer, Integer]":        "a list of whole numbers of 2 to 2 elements",
		"Tuple[Integer, String]":         "a list of 2 to 2 elements",
		"Hash[String, Integer]":          "a map of whole numbers",
		"Hash":                           "a map",
		"Hash[Integer, String]":          "any value",
		"Struct[{a => Integer}]":         "a map with the keys a",
		"Sensitive[Integer]":             "secret text",
		"Timespan":                       "a length of time such as 500ms or 1h30m",
		"Timestamp":                      "text",
		"SemVer":                         "a version such as 1.2.3 or 2.0.0-rc.1",
		"SemVer['1.x']":                  "a version such as 1.2.3 or 2.0.0-rc.1",
		"Data":                           "any value",
	} {
		st := puppettype.MustParse(text).Lower()
		if st.String() != want {
			t.Errorf("%s: %s, not %s", text, st, want)
		}
	}
	st := puppettype.MustParse("Struct[{a => Integer, Optional[b] => String, c => Optional[String]}]").Lower()
	var got []bool
	for _, f := range st.Fields {
		got = append(got, f.Required, f.Type.Optional)
	}
	if diff := cmp.Diff([]bool{true, false, false, true, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLowerOfInfinity: a bound without an end is none, since a schema.Type refuses it.
func TestLowerOfInfinity(t *testing.T) {
	for _, v := range []float64{math.Inf(1), math.Inf(-1)} {
		if st := puppettype.InferEach(v).Lower(); st.Kind != schema.KindFloat || st.FloatMin != nil || st.FloatMax != nil {
			t.Errorf("%v is %s", v, st)
		}
	}
}

// TestDecodeAndLift goes the way of an attribute: a node, a plain value, a value.
func TestDecodeAndLift(t *testing.T) {
	at := time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		text  string
		plain any
		want  any
	}{
		{"Integer", 5, int64(5)},
		{"Float", 5, 5.0},
		{"Optional[Float]", nil, nil},
		{"Timestamp", "2020-01-31", at},
		{"Array[Optional[Timestamp]]", []any{"2020-01-31", nil}, []any{at, nil}},
		{"Variant[Integer, Timestamp]", "2020-01-31", at},
		{"Variant[String, Timestamp]", "2020-01-31", "2020-01-31"},
		{"Tuple[Timestamp, Integer]", []any{"2020-01-31", 1}, []any{at, int64(1)}},
		{"Struct[{a => Binary, Optional[b] => SemVer}]", map[string]any{"a": "aGk=", "b": "1.2.3"},
			map[string]any{"a": []byte("hi"), "b": puppettype.Version{Major: 1, Minor: 2, Patch: 3}}},
		{"Hash[String, URI]", map[string]any{"a": "http://x/"}, map[string]any{"a": puppettype.URI("http://x/")}},
		{"Timespan", "90s", 90 * time.Second},
		{"Default", "default", puppettype.Default{}},
		{"Hash[String, Variant[Integer, Array[Integer]]]", map[string]any{"a": []any{1}}, map[string]any{"a": []any{int64(1)}}},
	}
	for _, tt := range tests {
		ty := puppettype.MustParse(tt.text)
		n, err := schema.NodeOf(tt.plain)
		if err != nil {
			t.Fatal(err)
		}
		plain, ds := schema.Value(ty.Lower(), n)
		if len(ds) > 0 {
			t.Errorf("%s: %v", tt.text, ds)
			continue
		}
		got, err := ty.Lift("k.a", plain)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.text, err, diff)
		}
		if back, err := ty.Lift("k.a", puppettype.Plain(got)); err != nil || !cmp.Equal(back, got) {
			t.Errorf("%s: back from %#v: %#v, %v", tt.text, puppettype.Plain(got), back, err)
		}
	}
}

func TestLiftRefuses(t *testing.T) {
	for text, plain := range map[string]any{
		"Pattern[/a/]":                   "b",
		"Timestamp":                      "soon",
		"Tuple[Integer, String]":         []any{"a", int64(1)},
		"Variant[Integer[1], Timestamp]": "x",
		"Binary":                         "%",
		"SemVer['1.x']":                  "2.0.0",
		"Regexp":                         "(?=a)",
		"Type":                           "Strin",
		"NotUndef":                       nil,
		"Integer":                        "5",
	} {
		if v, err := puppettype.MustParse(text).Lift("k.a", plain); err == nil {
			t.Errorf("%s lifts %v to %v", text, plain, v)
		}
	}
}

func TestLiftSecrets(t *testing.T) {
	v, err := puppettype.MustParse("Sensitive[Integer[1, 9]]").Lift("k.a", schema.NewSecret("5"))
	if s, ok := v.(puppettype.Sensitive); err != nil || !ok || s.Reveal() != int64(5) {
		t.Errorf("%v, %v", v, err)
	}
	if got, ok := puppettype.Plain(v).(schema.Secret); !ok || got.Reveal() != "5" {
		t.Errorf("%v", got)
	}
	if _, err := puppettype.MustParse("Sensitive[Integer[1, 9]]").Lift("k.a", schema.NewSecret("77")); err == nil {
		t.Error("77 is lifted")
	}
	for text, plain := range map[string]string{
		"Sensitive[Array[String]]":                             `["a","b c"]`,
		"Sensitive[Array[Integer]]":                            `[1,2]`,
		"Sensitive[Hash[String, Variant[Integer,String]]]":     `{"a":1,"b":"x"}`,
		"Sensitive[Struct[{a => Float, b => Array[Boolean]}]]": `{"a":1.5,"b":[true]}`,
	} {
		v, err := puppettype.MustParse(text).Lift("k.a", schema.NewSecret(plain))
		if _, ok := v.(puppettype.Sensitive); err != nil || !ok {
			t.Errorf("%s: %v, %v", text, v, err)
		}
		if got, ok := puppettype.Plain(v).(schema.Secret); !ok || got.Reveal() != plain {
			t.Errorf("%s: the way back", text)
		}
	}
	for _, wrong := range []string{"[1]", "{}", `["a"`, `["a"] x`, ""} {
		_, err := puppettype.MustParse("Sensitive[Array[String]]").Lift("k.a", schema.NewSecret(wrong))
		if err == nil || err.Error() != "k.a expects a Sensitive[Array[String]] value, got Sensitive[String]" {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	v, err = puppettype.MustParse("Optional[Sensitive[String[1]]]").Lift("k.a", schema.NewSecret("x"))
	if s, ok := v.(schema.Secret); err != nil || !ok || s.Reveal() != "x" {
		t.Errorf("%v, %v", v, err)
	}
}

// TestFindingE6VariantOfSecrets: a graph gives the values of a union that has a Sensitive
// somewhere inside. Each text in them is a secret on the way.
func TestFindingE6VariantOfSecrets(t *testing.T) {
	for _, c := range []struct{ ty, text, want string }{
		{"Optional[Variant[Array[Sensitive[String]], Integer]]", `["canary", "b"]`, "Array[Sensitive[String]]"},
		{"Optional[Variant[Array[Sensitive[String]], Integer]]", `7`, "Integer"},
		{"Variant[Sensitive[String], Array[Integer]]", `"canary"`, "Sensitive[String]"},
		{"Variant[Array[Sensitive[String]], String]", `"open"`, "String"},
		{"Variant[Integer, Struct[{user => String, key => Sensitive[String]}]]", `{"user": "u", "key": "canary"}`, "Struct[{'user' => String, 'key' => Sensitive[String]}]"},
		{"Array[Variant[Hash[String, Variant[Integer, Sensitive[String]]], Float]]", `[{"a": 1, "b": "canary"}, 1.5]`, "Array"},
		{"Variant[Integer, Sensitive[Array[String]]]", `["canary"]`, "Sensitive[Array[String]]"},
	} {
		ty := puppettype.MustParse(c.ty)
		n, err := readNode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		plain, ds := schema.Value(ty.Lower(), n)
		if ds.Err() != nil || strings.Contains(fmt.Sprintf("%v %+v %#v", plain, plain, plain), "canary") {
			t.Errorf("%s of %s is %v, %v", c.text, c.ty, plain, ds)
		}
		v, err := ty.Lift("k.a", plain)
		if err != nil || !puppettype.MustParse(c.want).Accepts(v) || strings.Contains(fmt.Sprintf("%v %+v %#v", v, v, v), "canary") {
			t.Errorf("%s of %s becomes %v, %v", c.text, c.ty, v, err)
		}
	}
	for _, wrong := range []string{`["canary", 7]`, `"canary"`, `{"a": "canary"}`, `true`} {
		n, err := readNode(wrong)
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := schema.Value(puppettype.MustParse("Variant[Array[Sensitive[String]], Integer]").Lower(), n)
		if v, err := puppettype.MustParse("Variant[Array[Sensitive[String]], Integer]").Lift("k.a", plain); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v", wrong, v, err)
		}
	}
}

// readNode reads a value of a graph that is written as JSON.
func readNode(text string) (*schema.Node, error) {
	n, ds := jsonnode.Parse([]byte(text), jsonnode.Options{})
	return n, ds.Err()
}

func TestAsSensitive(t *testing.T) {
	for text, want := range map[string]string{
		"Pattern[/x/]": "Sensitive[Pattern[/x/]]", "Optional[Integer]": "Optional[Sensitive[Integer]]", "Sensitive[Integer]": "Sensitive[Integer]",
		"Any": "Sensitive", "Optional": "Sensitive[Optional]",
	} {
		ty := puppettype.MustParse(text).AsSensitive()
		if ty.String() != want || !ty.Equal(puppettype.MustParse(want)) {
			t.Errorf("%s: %s, not %s", text, ty, want)
		}
	}
	ty := puppettype.MustParse("Optional[Pattern[/x/]]").AsSensitive()
	if st := ty.Lower(); !st.Secret || !st.Optional {
		t.Error(st)
	}
	_, err := ty.Lift("k.a", schema.NewSecret(canary))
	if err == nil || err.Error() != "k.a expects a value of type Undef or Sensitive[Pattern[/x/]], got Sensitive[String]" {
		t.Error(err)
	}
}
