package puppettype_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Strin", `is not recognised: there is no type Strin (line: 1, column: 1; did you mean "String"?)`},
		{"Array[Interger]", `is not recognised: there is no type Interger (line: 1, column: 7; did you mean "Integer"?)`},
		{"Hash[String,\n  strin]", `is not recognised: strin is not a type (line: 2, column: 3; did you mean "String"?)`},
		{"Stdlib::Absolutepath", "is not recognised: Stdlib::Absolutepath is an alias of a module, which is not known here; write out the type that it stands for (line: 1, column: 1)"},
		{"Object", "is not recognised: no value of an attribute is of the type Object (line: 1, column: 1)"},
		{"", "is not recognised: it is empty; Any takes every value (line: 1, column: 1)"},
		{"String[", "could not be parsed: syntax error at the end (line: 1, column: 8)"},
		{"String[é]", "could not be parsed: syntax error at 'é' (line: 1, column: 8)"},
		{"Enum['é', )", "could not be parsed: syntax error at ')' (line: 1, column: 11)"},
		{"Integer[5, 1]", "is not recognised: the lower bound of Integer[5, 1] is above the upper one (line: 1, column: 1)"},
		{"Integer[99999999999999999999]", "could not be parsed: 99999999999999999999 is no number of 64 bits (line: 1, column: 10)"},
		{"Boolean[yes]", "is not recognised: Boolean takes true or false, not yes (line: 1, column: 9)"},
		{"String[1,2,3]", "is not recognised: String takes 1 to 2 parameters, not 3 (line: 1, column: 1)"},
		{"Undef[1]", "is not recognised: Undef takes no parameters (line: 1, column: 1)"},
		{"Enum[true]", "is not recognised: Enum takes at least one word; write 'true' in quotes where it is one (line: 1, column: 1)"},
		{"Enum[a, true, b]", "is not recognised: Enum takes words; write 'true' in quotes (line: 1, column: 9)"},
		{"Struct[{a => String, a => Integer}]", "is not recognised: the key 'a' is given twice (line: 1, column: 22)"},
		{"Struct[{1 => String}]", "is not recognised: 1 is not a key: it is a word, Optional[word] or NotUndef[word] (line: 1, column: 9)"},
		{"Struct[{optional[a] => Any}]", "is not recognised: optional[a] is not a key: it is a word, Optional[word] or NotUndef[word] (line: 1, column: 9)"},
		{"Struct[{a => 1}]", "is not recognised: 1 is not a type (line: 1, column: 14)"},
		{"Array[1, 2]", "is not recognised: Array takes its size behind its types: Array[Any, ...] (line: 1, column: 7)"},
		{"Pattern[/(/]", "is not recognised: the regular expression /(/ is wrong: missing closing ) at \"(\" (line: 1, column: 9)"},
		{`Pattern[/a(?=b)/]`, "is not recognised: the regular expression /a(?=b)/ has look-ahead, which RE2 cannot do; write it without (line: 1, column: 9)"},
		{"Timestamp['soon']", "is not recognised: 'soon' is not a time; write it as 2020-01-31T12:30:00 UTC (line: 1, column: 11)"},
		{"SemVer['newest']", "is not recognised: 'newest' is not a range of versions; write it as '>=1.0.0 <2.0.0', '1.x' or '^1.2' (line: 1, column: 8)"},
		{"'String'", `is not recognised: 'String' is not a type (line: 1, column: 1; did you mean "String"?)`},
		{"Array[String] /* x", "could not be parsed: the comment has no end (line: 1, column: 15)"},
		{"Enum['a", "could not be parsed: the string has no end (line: 1, column: 7)"},
		{`Enum["$x"]`, `is not recognised: a type has no variables; write \$ for a dollar (line: 1, column: 7)`},
		{"String or Integer", "is not recognised: a type is not calculated; Variant[...] takes one of several (line: 1, column: 1)"},
		{"String Integer", "is not recognised: one type is enough (line: 1, column: 8)"},
		{"Array[String > ]", "could not be parsed: syntax error at ']' (line: 1, column: 16)"},
		{"Optional[Integer[1, 2+]]", "could not be parsed: syntax error at ']' (line: 1, column: 23)"},
		{"String?", "could not be parsed: syntax error at the end (line: 1, column: 8)"},
		{"Enum[a]{", "could not be parsed: syntax error at the end (line: 1, column: 9)"},
		{"Str;ing", `is not recognised: one type is enough (line: 1, column: 4)`},
		{"Enum[a, if]", "could not be parsed: syntax error at ']' (line: 1, column: 11)"},
		{"Struct[{in => String}]", "could not be parsed: syntax error at 'in' (line: 1, column: 9)"},
		{"Enum[private]", "is not recognised: private is a reserved word; write 'private' in quotes (line: 1, column: 6)"},
		{"Optional[true]", "is not recognised: true is not a type (line: 1, column: 10)"},
		{"Struct[{default => Any}]", "is not recognised: default is not a key: it is a word, Optional[word] or NotUndef[word] (line: 1, column: 9)"},
		{"Pattern[undef]", "is not recognised: undef is not a regular expression (line: 1, column: 9)"},
		{"Pattern[/*/]", "could not be parsed: the comment has no end (line: 1, column: 9)"},
		{"Array[Str::ing]", "could not be parsed: a name of a type goes on in capitals behind :: (line: 1, column: 11)"},
		{"Enum[a, ::]", "could not be parsed: there is no name behind :: (line: 1, column: 11)"},
	}
	for _, tt := range tests {
		_, err := puppettype.Parse(tt.text)
		if err == nil {
			t.Errorf("%s: no error", tt.text)
			continue
		}
		if diff := cmp.Diff("the type `"+tt.text+"` "+tt.want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseErrorForAnAttribute(t *testing.T) {
	_, err := puppettype.Parse("Array[\nStrin]")
	e, ok := errors.AsType[*puppettype.Error](err)
	if !ok {
		t.Fatal(err)
	}
	want := "The type of the `id` attribute `Array[\nStrin]` is not recognised: there is no type Strin (line: 2, column: 1; did you mean \"String\"?)"
	if got := e.For("id"); got != want {
		t.Error(got)
	}
	if got := e.Pos(schema.Pos{File: "f", Line: 10, Col: 5}); got != (schema.Pos{File: "f", Line: 11, Col: 1}) {
		t.Error(got)
	}
	_, err = puppettype.Parse("Array[Strin]")
	e, _ = errors.AsType[*puppettype.Error](err)
	if got := e.Pos(schema.Pos{File: "f", Line: 10, Col: 5}); got != (schema.Pos{File: "f", Line: 10, Col: 11}) {
		t.Error(got)
	}
	if got := e.Pos(schema.Pos{}); got != (schema.Pos{}) {
		t.Error(got)
	}
}

func TestParseIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"deep":         strings.Repeat("Array[", 1000),
		"deep, closed": strings.Repeat("Optional[", 100) + "Any" + strings.Repeat("]", 100),
		"marks":        strings.Repeat("!", 1000),
		"long":         "Enum[" + strings.Repeat("'aaaaaaaa',", 10000) + "b]",
		"repeats":      "Pattern[/" + strings.Repeat("(abcdefgh){1000}", 100) + "/]",
		"steps":        "Pattern[/" + strings.Repeat("(a|b){1000}", 8) + "/]",
		"classes":      "Pattern[/" + strings.Repeat("[", 1000) + "/]",
		"pattern":      "Pattern[/" + strings.Repeat("a", 20000) + "/]",
	} {
		if _, err := puppettype.Parse(text); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

func TestCanonicalText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Variant[String,Variant[Integer,String]]", "Variant[String, Integer]"},
		{"Enum[b, a, b]", "Enum['a', 'b']"},
		{"Enum[\"it's\", \"a\\nb\\u00e9\", '$x']", `Enum['$x', "a\nbé", 'it\'s']`},
		{`Enum['a\d', 'b\\', 'c\\\\d', 'e\\\'', "\u{1b}$"]`, `Enum["\u{1B}\$", 'a\d', 'b\\', 'c\\\d', 'e\\\'']`},
		{"Enum[a-b, a--b, _a, ::a-1]", "Enum['::a-1', '_a', 'a--b', 'a-b']"},
		{"Struct[a-b => String, Optional[c] => Any]", "Struct[{'a-b' => String, 'c' => Any}]"},
		{"Struct[{type => String, function => Any}]", "Struct[{'type' => String, 'function' => Any}]"},
		{"Timestamp[1.5, '2000-1-2 03:04:05 +0100']", "Timestamp['1970-01-01T00:00:01.500000000 UTC', '2000-01-02T02:04:05.000000000 UTC']"},
		{"Integer[-0x10, 1_0]", ""},
		{"Integer[-0x10, 010]", "Integer[-16, 8]"},
		{"Float[1, 1e20]", "Float[1.0, 1.0e+20]"},
		{"Float[-1.5e-5, default]", "Float[-1.5e-05]"},
		{"String[Integer[2, 3]]", "String[2, 3]"},
		{"Array[Any, 1]", "Array[Any, 1]"},
		{"Hash[String, Any, 0, 0]", "Hash[0, 0]"},
		{"Sensitive[Any]", "Sensitive"},
		{"::INTEGER[1]", "Integer[1]"},
		{"Notundef[a]", "NotUndef['a']"},
		{"Struct[{OPTIONAL[a] => Semver}]", "Struct[{Optional['a'] => SemVer}]"},
		{"NotUndef[Any]", "NotUndef"},
		{"Pattern[Pattern[/a/], 'b', Regexp[/c\\/d/]]", `Pattern[/a/, /b/, /c\/d/]`},
		{"Timespan['1:30', 90061.5]", "Timespan['0-00:01:30.0', '1-01:01:01.5']"},
		{"Timestamp[default, '2020-01-31 12:30']", "Timestamp[default, '2020-01-31T12:30:00.000000000 UTC']"},
		{"Resource['foo_bar', x]", "Resource['foo_bar', 'x']"},
		{"Resource[File]", "File"},
		{"Struct[{Optional[a] => Optional[String], b => Undef, NotUndef[c] => Any, 'd e' => Integer[1]}]",
			"Struct[{'a' => Optional[String], 'b' => Undef, NotUndef['c'] => Any, 'd e' => Integer[1]}]"},
		{"/* a */ Tuple[ String, # b\n Integer, 1, default ]", "Tuple[String, Integer, 1]"},
	}
	for _, tt := range tests {
		ty, err := puppettype.Parse(tt.text)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s: no error", tt.text)
		case tt.want == "":
		case err != nil:
			t.Error(err)
		case ty.String() != tt.want:
			t.Errorf("%s: %s, not %s", tt.text, ty, tt.want)
		}
	}
}

func TestNamesAreTypes(t *testing.T) {
	if len(puppettype.Names()) < 30 {
		t.Fatal(puppettype.Names())
	}
	for _, name := range puppettype.Names() {
		ty, err := puppettype.Parse(name)
		if err != nil || ty.String() != name || ty.Kind().String() != name {
			t.Errorf("%s: %v, %v", name, ty, err)
		}
	}
}

// TestFindingE6EnumOfTypes: a bare capital word in an Enum is a type, which no text is equal
// to, and no error.
func TestFindingE6EnumOfTypes(t *testing.T) {
	ty, err := puppettype.Parse("Enum[Present, absent]")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{"absent": true, "Present": false, "present": false} {
		if got := ty.Accepts(value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}
