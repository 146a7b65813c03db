package puppettype_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestMessagesOfEveryKind has one refusal for each kind of type. The words are those of
// Puppet's describer of misfits.
func TestMessagesOfEveryKind(t *testing.T) {
	for _, c := range []struct {
		text  string
		value any
		want  string
	}{
		{"Undef", 1, "expects an Undef value, got Integer"},
		{"Default", 1, "expects a Default value, got Integer"},
		{"NotUndef", nil, "expects a NotUndef value, got Undef"},
		{"Boolean", "a", "expects a Boolean value, got String"},
		{"Boolean[true]", false, "expects a Boolean[true] value, got Boolean[false]"},
		{"Integer", 1.5, "expects an Integer value, got Float"},
		{"Integer[1, 2]", 3, "expects an Integer[1, 2] value, got Integer[3, 3]"},
		{"Integer[1]", "3", "expects an Integer value, got String"},
		{"Float", 1, "expects a Float value, got Integer"},
		{"Float[0.5, 1.0]", 2.0, "expects a Float[0.5, 1.0] value, got Float[2.0, 2.0]"},
		{"Numeric", "1", "expects a Numeric value, got String"},
		{"String", 1, "expects a String value, got Integer"},
		{"String[2]", "a", "expects a String[2] value, got String"},
		{"String[0, 2]", "abc", "expects a String[0, 2] value, got String"},
		{"Enum[a, b]", "c", "expects a match for Enum['a', 'b'], got 'c'"},
		{"Enum[a, b]", 1, "expects a match for Enum['a', 'b'], got Integer"},
		{"Optional[Enum[a]]", "c", "expects an undef value or a match for Enum['a'], got 'c'"},
		{"Pattern[/a/]", "c", "expects a match for Pattern[/a/], got 'c'"},
		{"Pattern[/a/]", []any{}, "expects a match for Pattern[/a/], got Array"},
		{"Regexp", "a", "expects a Regexp value, got String"},
		{"Scalar", []any{}, "expects a Scalar value, got Array"},
		{"ScalarData", nil, "expects a ScalarData value, got Undef"},
		{"Timestamp", "a", "expects a Timestamp value, got String"},
		{"Timespan[0]", -time.Second, "expects a Timespan['0-00:00:00.0'] value, got Timespan['-0-00:00:01.0', '-0-00:00:01.0']"},
		{"SemVer['1.x']", puppettype.Version{Major: 2}, "expects a SemVer['1.x'] value, got SemVer['2.0.0 - 2.0.0']"},
		{"SemVerRange", 1, "expects a SemVerRange value, got Integer"},
		{"Binary", "a", "expects a Binary value, got String"},
		{"URI", "a", "expects an URI value, got String"},
		{"Type", "a", "expects a Type value, got String"},
		{"Variant[Integer, Boolean]", "a", "expects a value of type Integer or Boolean, got String"},
		{"Variant[Integer, Boolean, Float]", "a", "expects a value of type Integer, Boolean, or Float, got String"},
		{"Optional[Integer]", "a", "expects a value of type Undef or Integer, got String"},
		{"Optional[Integer[1]]", 0, "expects a value of type Undef or Integer[1], got Integer[0, 0]"},
		{"Array", "a", "expects an Array value, got String"},
		{"Array[String, 1]", []any{}, "expects size to be at least 1, got 0"},
		{"Array[String, 0, 1]", []any{"a", "b"}, "expects size to be at most 1, got 2"},
		{"Array[String, 2, 3]", []any{"a"}, "expects size to be between 2 and 3, got 1"},
		{"Array[String, 2, 2]", []any{"a"}, "expects size to be 2, got 1"},
		{"Array[String]", []any{"a", 1}, "index 1 expects a String value, got Integer"},
		{"Array[Array[String]]", []any{[]any{"a", 1}}, "index 0 index 1 expects a String value, got Integer"},
		{"Tuple[String, Integer]", []any{"a"}, "expects size to be 2, got 1"},
		{"Tuple[String, Integer]", []any{"a", "b"}, "index 1 expects an Integer value, got String"},
		{"Tuple[String]", map[string]any{"a": 1}, "expects a Tuple value, got Struct"},
		{"Hash", []any{}, "expects a Hash value, got Array"},
		{"Hash[String, Integer]", map[string]any{"a": "b"}, "entry 'a' expects an Integer value, got String"},
		{"Hash[Enum[b], Integer]", map[string]any{"a": 1}, "key of entry 'a' expects a match for Enum['b'], got 'a'"},
		{"Hash[String, Integer, 2]", map[string]any{"a": 1}, "expects size to be at least 2, got 1"},
		{"Hash[String, Any]", puppettype.Map{{Key: 1, Value: 1}}, "expects a Hash[String, Any] value, got Hash[Integer[1, 1], Integer[1, 1]]"},
		{"Collection[1]", []any{}, "expects size to be at least 1, got 0"},
		{"Struct[{a => Integer}]", map[string]any{}, "expects size to be 1, got 0"},
		{"Struct[{a => Integer}]", map[string]any{"a": "b"}, "entry 'a' expects an Integer value, got String"},
		{"Struct[{a => Integer}]", 1, "expects a Struct value, got Integer"},
		{"Struct[{Optional[a] => Struct[{b => Integer}]}]", map[string]any{"a": map[string]any{"b": "c"}}, "entry 'a' entry 'b' expects an Integer value, got String"},
		{"Sensitive", "a", "expects a Sensitive value, got String"},
		{"Sensitive[Integer]", schema.NewSecret("abc"), "expects a Sensitive[Integer] value, got Sensitive[String]"},
		{"Class", "a", "expects a Class value, got String"},
		{"Runtime", "a", "expects a Runtime value, got String"},
		{"Callable", "a", "expects a Callable value, got String"},
		{"CatalogEntry", "a", "expects a CatalogEntry value, got String"},
		{"Iterable", true, "expects an Iterable value, got Boolean"},
		{"Iterable[String]", []any{1}, "expects an Iterable[String] value, got Tuple"},
		{"Init[Integer]", "x", "expects an Init[Integer] value, got String"},
		{"Data", puppettype.Symbol("s"), "expects a Data value, got Runtime"},
		{"Variant", 1, "expects a Variant value, got Integer"},
		{"Optional", 1, "expects an Undef value, got Integer"},
	} {
		err := puppettype.MustParse(c.text).Check("k.a", c.value)
		if err == nil || err.Error() != "k.a "+c.want {
			t.Errorf("%s of %#v:\n got %q\nwant %q", c.text, c.value, err, "k.a "+c.want)
		}
	}
}

// TestMessagesOfSeveralFindings holds how several findings stand below one another.
func TestMessagesOfSeveralFindings(t *testing.T) {
	ty := puppettype.MustParse("Struct[{a => Integer, b => String, Optional[c] => Boolean}]")
	err := ty.Check("k.a", map[string]any{"a": "x", "c": 1, "d": 2})
	want := " k.a entry 'a' expects an Integer value, got String\n  k.a expects a value for key 'b'\n  k.a entry 'c' expects a Boolean value, got Integer\n  k.a unrecognized key 'd'"
	if err == nil || err.Error() != want {
		t.Errorf("got %q\nwant %q", err, want)
	}
	m, ok := errors.AsType[*puppettype.Mismatch](err)
	if !ok || m.Subject != "k.a" || len(m.Lines) != 4 {
		t.Errorf("%#v", err)
	}
}

// TestMessagesAreBounded holds the bound of 20 lines, and that the last one counts the
// rest.
func TestMessagesAreBounded(t *testing.T) {
	for n, last := range map[int]string{1: "", 20: "", 21: "k.a does not fit in 1 more places", 500: "k.a does not fit in 480 more places"} {
		list := make([]any, n)
		for i := range list {
			list[i] = "x"
		}
		err := puppettype.MustParse("Array[Integer]").Check("k.a", list)
		m, ok := errors.AsType[*puppettype.Mismatch](err)
		if !ok || len(m.Lines) != min(n, 20)+min(len(last), 1) {
			t.Fatalf("%d: %v", n, err)
		}
		if got := m.Lines[len(m.Lines)-1]; last != "" && got != last {
			t.Errorf("%d: %s", n, got)
		}
		for i, line := range m.Lines[:min(n, 20)] {
			if !strings.HasPrefix(line, fmt.Sprintf("k.a index %d expects", i)) {
				t.Errorf("%d: %s", n, line)
			}
		}
	}
}

// TestCheckSecretSaysOnlyTheSort holds that the message about a value that must not be
// shown has the type that was expected, and the sort of the value.
func TestCheckSecretSaysOnlyTheSort(t *testing.T) {
	for text, want := range map[string]string{
		"Integer":                 "k.a expects an Integer value, got String",
		"String[100]":             "k.a expects a String[100] value, got String",
		"Enum[a]":                 "k.a expects a match for Enum['a'], got String",
		"Array[Integer]":          "k.a expects an Array value, got String",
		"Struct[{a => Integer}]":  "k.a expects a Struct value, got String",
		"Optional[Integer]":       "k.a expects a value of type Undef or Integer, got String",
		"Variant[Integer, Float]": "k.a expects a value of type Integer or Float, got String",
	} {
		err := puppettype.MustParse(text).CheckSecret("k.a", canary)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLawSecretsStayOut draws a type and puts a secret into a value: no message has it.
func TestLawSecretsStayOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		var secret any = puppettype.NewSensitive(canary)
		if rapid.Bool().Draw(t, "deep") {
			secret = puppettype.NewSensitive(map[string]any{canary: []any{canary}})
		}
		for _, v := range []any{secret, []any{secret}, map[string]any{"a": secret}, puppettype.Map{{Key: int64(1), Value: secret}}} {
			for _, err := range []error{ty.Check("k.a", v), ty.CheckSecret("k.a", v), second(ty.Lift("k.a", v)), second(ty.Clean("k.a", v)), second(ty.CleanText("k.a", v))} {
				if err != nil && strings.Contains(err.Error(), canary) {
					t.Fatalf("%s: %v", ty, err)
				}
			}
		}
		if err := ty.CheckSecret("k.a", canary); err != nil && strings.Contains(err.Error(), canary) {
			t.Fatalf("%s: %v", ty, err)
		}
	})
}

func second(_ any, err error) error { return err }

// TestLawMessagesAreOfTheWholeValue holds that the message about a part names the
// place of the part in the whole.
func TestLawMessagesAreOfTheWholeValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		v := rapid.SampledFrom(scalars()).Draw(t, "value")
		if ty.Accepts(v) {
			return
		}
		for frame, at := range map[string]struct {
			value any
			place string
		}{
			"Array[%]":              {[]any{v}, "k.a index 0 "},
			"Hash[String, %]":       {map[string]any{"x": v}, "k.a entry 'x' "},
			"Struct[{'x' => %}]":    {map[string]any{"x": v}, "k.a entry 'x' "},
			"Tuple[Integer[1], %]":  {[]any{int64(1), v}, "k.a index 1 "},
			"Array[Array[%], 1, 1]": {[]any{[]any{v}}, "k.a index 0 index 0 "},
		} {
			whole, err := puppettype.Parse(replaceMark(frame, ty.String()))
			if err != nil {
				t.Skip(err)
			}
			m, ok := errors.AsType[*puppettype.Mismatch](whole.Check("k.a", at.value))
			if !ok {
				t.Fatalf("%s accepts %#v", whole, at.value)
			}
			for _, line := range m.Lines {
				if !strings.HasPrefix(line, at.place) {
					t.Fatalf("%s of %#v: %s", whole, at.value, line)
				}
			}
		}
	})
}
