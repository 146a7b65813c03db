package puppettype_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// written is a type as somebody writes it, and its canonical text.
type written struct{ text, want string }

// notations has each type in the ways in which its page of Puppet's specification
// writes it.
var notations = map[string][]written{
	"abstract": {
		{"Any", "Any"},
		{"any", ""},
		{"ANY", "Any"},
		{"::Any", "Any"},
		{"Scalar", "Scalar"},
		{"ScalarData", "ScalarData"},
		{"Scalardata", "ScalarData"},
		{"Data", "Data"},
		{"RichData", "RichData"},
		{"Numeric", "Numeric"},
		{"CatalogEntry", "CatalogEntry"},
		{"Undef", "Undef"},
		{"Default", "Default"},
	},
	"Boolean": {
		{"Boolean", "Boolean"},
		{"Boolean[true]", "Boolean[true]"},
		{"Boolean[false]", "Boolean[false]"},
		{"Boolean[ true ]", "Boolean[true]"},
		{"Boolean[true,]", "Boolean[true]"},
	},
	"Integer": {
		{"Integer", "Integer"},
		{"Integer[0]", "Integer[0]"},
		{"Integer[0, default]", "Integer[0]"},
		{"Integer[default, 0]", "Integer[default, 0]"},
		{"Integer[default]", "Integer"},
		{"Integer[default, default]", "Integer"},
		{"Integer[7, 7]", "Integer[7, 7]"},
		{"Integer[-5, -1]", "Integer[-5, -1]"},
		{"Integer[0x10, 0x1F]", "Integer[16, 31]"},
		{"Integer[010, 011]", "Integer[8, 9]"},
		{"Integer[9223372036854775807]", "Integer[9223372036854775807]"},
		{"Integer[-9223372036854775808]", "Integer[-9223372036854775808]"},
	},
	"Float": {
		{"Float", "Float"},
		{"Float[0]", "Float[0.0]"},
		{"Float[0.1, 0.2]", "Float[0.1, 0.2]"},
		{"Float[default, 1e3]", "Float[default, 1000.0]"},
		{"Float[1E-7]", "Float[1.0e-07]"},
		{"Float[-0.5, 0.5]", "Float[-0.5, 0.5]"},
		{"Float[default, default]", "Float"},
		{"Float[1.5e300, 1.5e301]", "Float[1.5e+300, 1.5e+301]"},
	},
	"String": {
		{"String", "String"},
		{"String[1]", "String[1]"},
		{"String[0]", "String[0]"},
		{"String[1, default]", "String[1]"},
		{"String[default, 3]", "String[0, 3]"},
		{"String[2, 3]", "String[2, 3]"},
		{"String[-4, 3]", "String[0, 3]"},
		{"String[Integer[1, 8]]", "String[1, 8]"},
	},
	"Enum": {
		{"Enum[a]", "Enum['a']"},
		{"Enum[a, b]", "Enum['a', 'b']"},
		{"Enum['a', \"b\"]", "Enum['a', 'b']"},
		{"Enum[b, a]", "Enum['a', 'b']"},
		{"Enum[a, a]", "Enum['a']"},
		{"Enum[a, true]", "Enum['a', true]"},
		{"Enum[a, false]", "Enum['a']"},
		{"Enum['true', 'false']", "Enum['false', 'true']"},
		{"Enum['']", "Enum['']"},
		{"Enum[a-b]", "Enum['a-b']"},
		{"Enum['a b']", "Enum['a b']"},
	},
	"Pattern": {
		{"Pattern[/a/]", "Pattern[/a/]"},
		{"Pattern['a']", "Pattern[/a/]"},
		{"Pattern[a]", "Pattern[/a/]"},
		{"Pattern[/a/, /b/]", "Pattern[/a/, /b/]"},
		{"Pattern[/b/, /a/]", "Pattern[/b/, /a/]"},
		{"Pattern[/\\//]", "Pattern[/\\//]"},
		{"Pattern[/ a /]", "Pattern[/ a /]"},
		{"Pattern[Regexp[/a/]]", "Pattern[/a/]"},
	},
	"Regexp": {
		{"Regexp", "Regexp"},
		{"Regexp[/a/]", "Regexp[/a/]"},
		{"Regexp['a/b']", "Regexp[/a\\/b/]"},
	},
	"Timestamp": {
		{"Timestamp", "Timestamp"},
		{"Timestamp['2020-01-31']", "Timestamp['2020-01-31T00:00:00.000000000 UTC']"},
		{"Timestamp[253402300799]", "Timestamp['9999-12-31T23:59:59.000000000 UTC']"},
		{"Timestamp[-62167219200]", "Timestamp['0000-01-01T00:00:00.000000000 UTC']"},
		{"Timestamp[-0.5]", "Timestamp['1969-12-31T23:59:59.500000000 UTC']"},
		{"Timestamp[0]", "Timestamp['1970-01-01T00:00:00.000000000 UTC']"},
		{"Timestamp[default, '2020-01-31T12:30:15.5 UTC']", "Timestamp[default, '2020-01-31T12:30:15.500000000 UTC']"},
		{"Timestamp['2020-01-01', '2021-01-01']", "Timestamp['2020-01-01T00:00:00.000000000 UTC', '2021-01-01T00:00:00.000000000 UTC']"},
		{"Timestamp[default]", "Timestamp"},
	},
	"Timespan": {
		{"Timespan", "Timespan"},
		{"Timespan[60]", "Timespan['0-00:01:00.0']"},
		{"Timespan['1-00:00:00']", "Timespan['1-00:00:00.0']"},
		{"Timespan[0, 0.5]", "Timespan['0-00:00:00.0', '0-00:00:00.5']"},
		{"Timespan[-1]", "Timespan['-0-00:00:01.0']"},
		{"Timespan[default, 3600]", "Timespan[default, '0-01:00:00.0']"},
	},
	"SemVer": {
		{"SemVer", "SemVer"},
		{"SemVer['1.x']", "SemVer['1.x']"},
		{"SemVer['>=1.0.0 <2.0.0']", "SemVer['>=1.0.0 <2.0.0']"},
		{"SemVer['1.x', '3.x']", "SemVer['1.x', '3.x']"},
		{"SemVerRange", "SemVerRange"},
		{"Semverrange", "SemVerRange"},
	},
	"bytes and places": {
		{"Binary", "Binary"},
		{"URI", "URI"},
		{"Uri", "URI"},
	},
	"Variant": {
		{"Variant", "Variant"},
		{"Variant[String]", "String"},
		{"Variant[String, Integer]", "Variant[String, Integer]"},
		{"Variant[String, String]", "String"},
		{"Variant[String, Variant[Integer, Float]]", "Variant[String, Integer, Float]"},
	},
	"Optional": {
		{"Optional", "Optional"},
		{"Optional[String]", "Optional[String]"},
		{"Optional[a]", "Optional['a']"},
		{"Optional['a b']", "Optional['a b']"},
		{"Optional[Optional[String]]", "Optional[Optional[String]]"},
	},
	"NotUndef": {
		{"NotUndef", "NotUndef"},
		{"NotUndef[]", ""},
		{"NotUndef[String]", "NotUndef[String]"},
		{"NotUndef['a']", "NotUndef['a']"},
		{"NotUndef[Any]", "NotUndef"},
	},
	"Array": {
		{"Array", "Array"},
		{"Array[Any]", "Array"},
		{"Array[String]", "Array[String]"},
		{"Array[String, 1]", "Array[String, 1]"},
		{"Array[String, 1, 3]", "Array[String, 1, 3]"},
		{"Array[String, default, 3]", "Array[String, 0, 3]"},
		{"Array[String, 0, default]", "Array[String, 0]"},
		{"Array[0, 0]", "Array[0, 0]"},
		{"Array[String, 0, 0]", "Array[0, 0]"},
		{"Array[Array[Array[Integer]]]", "Array[Array[Array[Integer]]]"},
	},
	"Hash": {
		{"Hash", "Hash"},
		{"Hash[Any, Any]", "Hash"},
		{"Hash[String, Integer]", "Hash[String, Integer]"},
		{"Hash[String, Integer, 1]", "Hash[String, Integer, 1]"},
		{"Hash[String, Integer, 1, 2]", "Hash[String, Integer, 1, 2]"},
		{"Hash[0, 0]", "Hash[0, 0]"},
		{"Hash[Enum[a], Hash[String, Data]]", "Hash[Enum['a'], Hash[String, Data]]"},
	},
	"Collection": {
		{"Collection", "Collection"},
		{"Collection[1]", "Collection[1]"},
		{"Collection[1, 2]", "Collection[1, 2]"},
		{"Collection[default, 2]", "Collection[0, 2]"},
	},
	"Tuple": {
		{"Tuple", "Tuple"},
		{"Tuple[String]", "Tuple[String]"},
		{"Tuple[String, Integer]", "Tuple[String, Integer]"},
		{"Tuple[String, 1, 3]", "Tuple[String, 1, 3]"},
		{"Tuple[String, Integer, 1]", "Tuple[String, Integer, 1]"},
		{"Tuple[String, Integer, default, 3]", "Tuple[String, Integer, 0, 3]"},
	},
	"Struct": {
		{"Struct[{a => String}]", "Struct[{'a' => String}]"},
		{"Struct[{'a' => String,}]", "Struct[{'a' => String}]"},
		{"Struct[{a => String, b => Integer}]", "Struct[{'a' => String, 'b' => Integer}]"},
		{"Struct[{Optional[a] => String}]", "Struct[{Optional['a'] => String}]"},
		{"Struct[{Optional['a'] => Optional[String]}]", "Struct[{'a' => Optional[String]}]"},
		{"Struct[{NotUndef[a] => Optional[String]}]", "Struct[{NotUndef['a'] => Optional[String]}]"},
		{"Struct[{NotUndef[a] => String}]", "Struct[{'a' => String}]"},
		{"Struct[{a => Struct[{b => Any}]}]", "Struct[{'a' => Struct[{'b' => Any}]}]"},
		{"Struct[{}]", "Struct"},
		{"Struct", "Struct"},
	},
	"holders": {
		{"Sensitive", "Sensitive"},
		{"Sensitive[String[1]]", "Sensitive[String[1]]"},
		{"Type", "Type"},
		{"Type[Integer]", "Type[Integer]"},
		{"Type[Any]", "Type[Any]"},
		{"Iterable", "Iterable"},
		{"Iterable[Integer]", "Iterable[Integer]"},
		{"Init", "Init"},
		{"Init[Integer]", "Init[Integer]"},
		{"Callable", "Callable"},
		{"Callable[String]", "Callable[String]"},
		{"Callable[String, Integer, 1, 2]", "Callable[String, Integer, 1, 2]"},
		{"Callable[0, 0]", "Callable[0, 0]"},
	},
	"references": {
		{"Class", "Class"},
		{"Class[apache]", "Class[apache]"},
		{"Class['apache::mod']", "Class[apache::mod]"},
		{"Class['a b']", "Class['a b']"},
		{"Class['A']", "Class['A']"},
		{"Class['']", "Class['']"},
		{"Class['a-']", "Class['a-']"},
		{"Class['if']", "Class['if']"},
		{"Class['private']", "Class['private']"},
		{"Class['in::out']", "Class[in::out]"},
		{"Class['é']", "Class['é']"},
		{"Runtime['a b', 'c']", "Runtime['a b', 'c']"},
		{"Runtime['', '']", "Runtime['', '']"},
		{"Resource", "Resource"},
		{"Resource[File]", "File"},
		{"Resource['file']", "File"},
		{"Resource[File, '/tmp']", "File['/tmp']"},
		{"File", "File"},
		{"File['/tmp']", "File['/tmp']"},
		{"file", ""},
		{"Service[nginx]", "Service['nginx']"},
		{"Resource['my::thing']", "Resource['my::thing']"},
		{"Runtime", "Runtime"},
		{"Runtime[ruby, 'Symbol']", "Runtime[ruby, 'Symbol']"},
	},
	"blanks and notes": {
		{" String ", "String"},
		{"\n\tString\r\n", "String"},
		{"# a note\nString", "String"},
		{"String # a note", "String"},
		{"/* a note */ String", "String"},
		{"Variant[ # one\n String, # two\n Integer ]", "Variant[String, Integer]"},
		{"Array[/* of */ String]", "Array[String]"},
	},
}

// TestNotation holds how each type is written, that its canonical text is a fixed
// point, and that the two texts are one type.
func TestNotation(t *testing.T) {
	for name, cases := range notations {
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				ty, err := puppettype.Parse(c.text)
				if c.want == "" {
					if err == nil {
						t.Errorf("%q is %s", c.text, ty)
					}
					continue
				}
				if err != nil {
					t.Errorf("%q: %v", c.text, err)
					continue
				}
				if got := ty.String(); got != c.want {
					t.Errorf("%q is %s, not %s", c.text, got, c.want)
				}
				again, err := puppettype.Parse(c.want)
				if err != nil || again.String() != c.want || !again.Equal(ty) || !ty.Equal(again) {
					t.Errorf("%s reads back as %v, %v", c.want, again, err)
				}
			}
		})
	}
}

// TestNotationOfEveryKind holds that no kind is without a notation above.
func TestNotationOfEveryKind(t *testing.T) {
	seen := map[string]bool{}
	for _, cases := range notations {
		for _, c := range cases {
			if ty, err := puppettype.Parse(c.text); err == nil {
				seen[ty.Kind().String()] = true
			}
		}
	}
	for _, name := range puppettype.Names() {
		if !seen[name] {
			t.Errorf("no case has %s", name)
		}
	}
}

// misfits are texts that are expressions and no types. The error stands at the mark
// ^ of the second text.
var misfits = []struct{ text, mark, want string }{
	{"Boolean[yes]", "        ^", "Boolean takes true or false, not yes"},
	{"Boolean['true']", "        ^", "Boolean takes true or false"},
	{"Boolean[true, false]", "^", "Boolean takes 1 parameter, not 2"},
	{"Integer[a]", "        ^", "a is not a whole number"},
	{"Integer['1']", "        ^", "is not a whole number"},
	{"Integer[1.5]", "        ^", "1.5 is not a whole number"},
	{"Integer[0, b]", "           ^", "b is not a whole number"},
	{"Integer[2, 1]", "^", "the lower bound of Integer[2, 1] is above the upper one"},
	{"Integer[1, 2, 3]", "^", "Integer takes 1 to 2 parameters, not 3"},
	{"Float[x]", "      ^", "x is not a number"},
	{"Float[0.2, 0.1]", "^", "the lower bound"},
	{"String[a]", "       ^", "a is not a whole number"},
	{"String[3, 2]", "^", "the lower bound"},
	{"String[Float[1.0]]", "       ^", "Float[1.0] is not a type"},
	{"Enum[true]", "^", "Enum takes at least one word"},
	{"Enum[A]", "     ^", "write 'A' in quotes"},
	{"Enum[undef]", "     ^", "write 'undef' in quotes"},
	{"Enum[1]", "     ^", "Enum takes words, 1 is none"},
	{"Enum[a[b]]", "     ^", "Enum takes words"},
	{"Pattern[1]", "        ^", "1 is not a regular expression"},
	{"Pattern[/(/]", "        ^", "missing closing )"},
	{"Pattern[String]", "        ^", "Pattern takes regular expressions, String is none"},
	{"Pattern[Regexp]", "        ^", "Pattern takes regular expressions, Regexp is none"},
	{"Regexp[/a/, /b/]", "^", "Regexp takes 1 parameter, not 2"},
	{"Timestamp['x']", "          ^", "'x' is not a time"},
	{"Timestamp[a]", "          ^", "a time must be in quotes, a is not"},
	{"Timestamp['2021-01-01', '2020-01-01']", "^", "the lower bound"},
	{"Timespan['x']", "         ^", "'x' is not a length of time"},
	{"Timespan[2, 1]", "^", "the lower bound"},
	{"Timespan[1e30]", "         ^", "1e30 seconds are more than 292 years"},
	{"Timestamp[1e30]", "          ^", "1e30 seconds are not within the years 0 to 9999"},
	{"Timestamp[253402300800]", "          ^", "253402300800 seconds are not within the years 0 to 9999"},
	{"Timestamp[-62167219201]", "          ^", "-62167219201 seconds are not within the years 0 to 9999"},
	{"SemVer['q']", "       ^", "'q' is not a range of versions"},
	{"SemVer[1]", "       ^", "a range of versions must be in quotes"},
	{"SemVerRange['1.x']", "^", "SemVerRange takes no parameters"},
	{"Any[1]", "^", "Any takes no parameters"},
	{"Data[String]", "^", "Data takes no parameters"},
	{"Undef[1]", "^", "Undef takes no parameters"},
	{"Variant[a]", "        ^", "a is not a type"},
	{"Variant[String, 7]", "                ^", "7 is not a type"},
	{"Optional[String, Integer]", "^", "Optional takes 1 parameter, not 2"},
	{"Optional[1]", "         ^", "1 is not a type"},
	{"Optional[undef]", "         ^", "undef is not a type"},
	{"Array[1]", "      ^", "Array takes its size behind its types: Array[Any, ...]"},
	{"Array[1, 2]", "      ^", "Array takes its size behind its types"},
	{"Array[String, a]", "              ^", "a is not a whole number"},
	{"Array[String, 2, 1]", "^", "the lower bound"},
	{"Hash[String]", "^", "Hash takes 2 to 4 parameters, not 1"},
	{"Hash[String, 1]", "             ^", "Hash takes its size behind its types: Hash[Any, Any, ...]"},
	{"Hash[String, Any, x]", "                  ^", "x is not a whole number"},
	{"Tuple[1, 2]", "^", "Tuple takes the types of its elements before their number"},
	{"Tuple[String, a]", "              ^", "a is not a type"},
	{"Struct[a]", "       ^", "Struct takes {key => Type, ...}, not a"},
	{"Struct[{a => 1}]", "             ^", "1 is not a type"},
	{"Struct[{1 => String}]", "        ^", "1 is not a key"},
	{"Struct[{'' => String}]", "        ^", "is not a key"},
	{"Struct[{Array[a] => String}]", "        ^", "Array[a] is not a key"},
	{"Struct[{a => String, a => Integer}]", "                     ^", "the key 'a' is given twice"},
	{"Class[1]", "      ^", "takes words, 1 is none"},
	{"Class[a, b]", "^", "Class takes 1 parameter, not 2"},
	{"Resource['']", "         ^", "is not a type"},
	{"Resource[file, a, b]", "^", "Resource takes 1 to 2 parameters, not 3"},
	{"File[a, b]", "^", "File takes one title"},
	{"Runtime[ruby]", "^", "Runtime takes 2 parameters, not 1"},
	{"Object", "^", "no value of an attribute is of the type Object"},
	{"Deferred", "^", "no value of an attribute is of the type Deferred"},
	{"Stdlib::Absolutepath", "^", "is an alias of a module, which is not known here"},
	{"Array[Stdlib::Port]", "      ^", "is an alias of a module"},
	{"Strng", "^", "there is no type Strng"},
	{"Sensitive[Bolean]", "          ^", "there is no type Bolean"},
	{"'String'", "^", "'String' is not a type"},
	{"7", "^", "7 is not a type"},
	{"/a/", "^", "/a/ is not a type"},
	{"[String]", "^", "[String] is not a type"},
	{"{a => String}", "^", "is not a type"},
	{"String, Integer", "      ^", "a list is no type"},
	{"String; Integer", "      ^", "one type is enough"},
	{"String Integer", "       ^", "one type is enough"},
	{"String [1]", "       ^", "no blank may stand before ["},
	{"String[1][2]", "^", "String[1] takes no more parameters"},
	{"String(1)", "^", "a type is not called"},
	{"String.new", "^", "a type is not called"},
	{"String ? {a => b}", "^", "a type is not chosen"},
	{"(String)", "^", "a type is not put in parentheses"},
	{"String + Integer", "^", "a type is not calculated"},
	{"String and Integer", "^", "a type is not calculated"},
	{"!String", "^", "! is no part of a type"},
	{"$x", "^", "$ is no part of a type"},
	{"*String", "^", "* is no part of a type"},
}

// TestMisfitsNameTheirPlace holds the position and the words of each refusal.
func TestMisfitsNameTheirPlace(t *testing.T) {
	for _, c := range misfits {
		ty, err := puppettype.Parse(c.text)
		e, ok := errors.AsType[*puppettype.Error](err)
		if !ok {
			t.Errorf("%s is %v, %v", c.text, ty, err)
			continue
		}
		if col := strings.Index(c.mark, "^") + 1; e.Line != 1 || e.Col != col || e.Syntax {
			t.Errorf("%s: line %d, column %d instead of %d: %s", c.text, e.Line, e.Col, col, e.Message)
		}
		if !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %q, not %q", c.text, e.Message, c.want)
		}
	}
}

// TestMisfitsFurtherDown moves each misfit to another line and into another type; the
// position follows, and the words stay.
func TestMisfitsFurtherDown(t *testing.T) {
	for _, c := range misfits {
		_, plain := puppettype.Parse(c.text)
		_, below := puppettype.Parse("# a note\n\n  " + c.text)
		a, okA := errors.AsType[*puppettype.Error](plain)
		b, okB := errors.AsType[*puppettype.Error](below)
		if !okA || !okB || b.Line != 3 || b.Col != a.Col+2 || a.Message != b.Message || a.Suggestion != b.Suggestion {
			t.Errorf("%s: %v, further down %v", c.text, plain, below)
		}
	}
}

// TestSyntaxErrors holds the place at which a text stops to be an expression.
func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]struct {
		line, col int
		message   string
	}{
		"String[":             {1, 8, "syntax error at the end"},
		"String[1":            {1, 9, "syntax error at the end"},
		"String[1 2]":         {1, 10, "syntax error at '2'"},
		"String]":             {1, 7, "syntax error at ']'"},
		"Array[String,,]":     {1, 14, "syntax error at ','"},
		"Struct[{a}]":         {1, 10, "syntax error at '}'"},
		"Struct[{a =>}]":      {1, 13, "syntax error at '}'"},
		"Struct[{a => b c}]":  {1, 16, "syntax error at 'c'"},
		"Enum['a":             {1, 7, "the string has no end"},
		"Enum[\n'a":           {2, 2, "the string has no end"},
		"String /* a":         {1, 8, "the comment has no end"},
		"Integer[0x]":         {1, 9, "0x is no number of 64 bits"},
		"Integer[1a]":         {1, 10, "1a is no number of 64 bits"},
		"Integer[089]":        {1, 9, "089 is no number of 64 bits"},
		"Float[1e999]":        {1, 8, "1e999 is no number of 64 bits"},
		"Array[\n\n  if]":     {3, 5, "syntax error at ']'"},
		"Enum[é]":             {1, 6, "syntax error at 'é'"},
		"Enum['é', é]":        {1, 11, "syntax error at 'é'"},
		"Variant[String,\n)]": {2, 1, "syntax error at ')'"},
	} {
		_, err := puppettype.Parse(text)
		e, ok := errors.AsType[*puppettype.Error](err)
		if !ok || !e.Syntax || e.Line != want.line || e.Col != want.col || e.Message != want.message {
			t.Errorf("%q: %#v", text, err)
		}
	}
}

// TestSuggestions holds that a name with one slip finds the name that was meant.
func TestSuggestions(t *testing.T) {
	for _, name := range puppettype.Names() {
		if len(name) < 5 {
			continue
		}
		for i := 1; i < len(name); i++ {
			slip := name[:i] + name[i+1:]
			_, err := puppettype.Parse(slip)
			e, ok := errors.AsType[*puppettype.Error](err)
			if ok && e.Suggestion == "" {
				t.Errorf("%s, meant as %s: no suggestion", slip, name)
			}
		}
	}
}

// TestLawErrorsStandInTheText breaks types at random places: the position of each
// error is a place of the text, or its end.
func TestLawErrorsStandInTheText(t *testing.T) {
	marks := rapid.SampledFrom([]string{"[", "]", "{", "}", ",", "'", "/", "=>", "é", "\n", " ", "0x", "#", "/*", "default", "A", "$", "(", "::"})
	rapid.Check(t, func(t *rapid.T) {
		whole := types.Draw(t, "type").String()
		at := rapid.IntRange(0, len(whole)).Draw(t, "at")
		cut := rapid.IntRange(at, min(len(whole), at+3)).Draw(t, "cut")
		broken := whole[:at] + marks.Draw(t, "mark") + whole[cut:]
		_, err := puppettype.Parse(broken)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*puppettype.Error](err)
		if !ok {
			t.Fatalf("%q: %T", broken, err)
		}
		lines := strings.Split(broken, "\n")
		if e.Line < 1 || e.Line > len(lines) || e.Col < 1 || e.Col > len([]rune(lines[e.Line-1]))+1 || e.Message == "" {
			t.Fatalf("%q: %#v", broken, e)
		}
	})
}

// TestLawBlanksCountNothing spreads a type over lines with notes: it stays the type.
func TestLawBlanksCountNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		text := ty.String()
		if strings.ContainsAny(text, "'\"/") {
			return // a blank inside of quotes counts
		}
		blank := rapid.SampledFrom([]string{" ", "\n", "\t", " # note\n", " /* note */ "}).Draw(t, "blank")
		text = strings.NewReplacer(", ", blank+","+blank, "]", blank+"]", "[", "["+blank).Replace(text)
		again, err := puppettype.Parse(text)
		if err != nil || !again.Equal(ty) {
			t.Fatalf("%q is %v, %v", text, again, err)
		}
	})
}
