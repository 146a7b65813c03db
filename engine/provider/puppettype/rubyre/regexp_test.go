package rubyre_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// TestRegexpIsRuby holds sources against what Ruby finds. A text that ends in ! is
// one in which nothing is found.
func TestRegexpIsRuby(t *testing.T) {
	tests := []struct{ source, texts string }{
		{`b`, "abc|b|ac!"},
		{`^b$`, "b|a\nb\nc|ab!"},
		{`\Ab\z`, "b|b\n!|a\nb!"},
		{`\Ab\Z`, "b|b\n|b\n\n!"},
		{`a\Z|b`, "a|b|ac!"},
		{`\A\h+\z`, "0fF|g!"},
		{`\A\H\z`, "g|f!"},
		{`\A[\h_]+\z`, "a_F|g!"},
		{`\A[\H]\z`, "g|-|a!"},
		{`\A[^\h]\z`, "g|a!"},
		{`\A\s\z`, "\v| |a!"},
		{`\A\S+\z`, "aé|\v!"},
		{`\A\d\z`, "5|٣!"},
		{`\A\w\z`, "_|é!"},
		{`(?<year>\d+)-(?<year>\d+)`, "1-2"},
		{`(?<naïve>a)`, "a"},
		{`(?'q'a)b`, "ab"},
		{`\Aa.b\z`, "axb|a\nb!"},
		{`(?m)\Aa.b\z`, "axb|a\nb"},
		{`(?m:a.)b.`, "a\nbx|a\nb\n!"},
		{`(?i)\Aabc\z`, "aBc|abd!"},
		{`a(?i)b(?-i)c`, "aBc|abC!|Abc!"},
		{`(?i-m:b)c`, "Bc|BC!"},
		{`(?x) a b # and
c`, "abc|a b!"},
		{`(?x: a \ b ) c`, "a b c|ab c!"},
		{`\Aa{,2}\z`, "|a|aa|aaa!"},
		{`\Aa{1,2}+\z`, "aaaaa|!"},
		{`\A(?:ab){2}?\z`, "|abab|ab!"},
		{`\A(ab){1,2}?\z`, "ab|abab|!"},
		{`a{x}`, "a{x}|a!"},
		{`\A[a-z&&[^aeiou]]+\z`, "bcd|a!"},
		{`\A[a-c[x-z]]+\z`, "ax|d!"},
		{`\A[[:alpha:]]+\z`, "aé|1!"},
		{`\A[[:^alpha:]_]+\z`, "1_|a!"},
		{`\A[^[:space:]]+\z`, "ab|a b!"},
		{`\A\p{Alpha}\P{L}\p{^L}\p{Greek}\z`, "a11λ|aa1λ!"},
		{`\A[\p{Lu}\d]\z`, "É|5|é!"},
		{`\A[]a]\z`, "]|a"},
		{`\A[a\-c]\z`, "-|a|b!"},
		{`\A[a-]\z`, "-|b!"},
		{`\A[\b]\z`, "\b"},
		{`\bfoo\b`, "a foo b|afoo!"},
		{`\u00e9\u{e8}\x41\101\e\cA\0`, "éèAA\x1b\x01\x00"},
		{`\A\R\z`, "\r\n|\n|a!"},
		{`foo\Kbar`, "foobar|bar!"},
		{`\/\-\_\:\é\y`, "/-_:éy"},
		{`a(?#not seen)b`, "ab"},
		{`[^&]&[^&]`, "a&b|&&!"},
		{`\A[[a-f]&&[d-z]&&[^e]]\z`, "d|f|e!|a!"},
		{`\A[[^a-zx-y]&&[a-z1]]\z`, "1|f!|z!"},
		{`(?i)\A[^k]\z`, "a|k!|K!"},
	}
	for _, tt := range tests {
		re, err := rubyre.New(tt.source)
		if err != nil {
			t.Error(err)
			continue
		}
		for text := range strings.SplitSeq(tt.texts, "|") {
			subject, none := strings.CutSuffix(text, "!")
			if re.Match(subject) == none {
				t.Errorf("/%s/ on %q: found is %v; compiled as %s", tt.source, subject, !none, re.Compiled())
			}
		}
	}
}

// seenRuby is what Ruby itself finds; testdata/ruby.rb writes the file. Cases has the numbers of the texts in which
// an expression is found, and nil for one that Ruby refuses.
type seenRuby struct {
	Ruby  string
	Texts []string
	Cases map[string][]int
}

// otherThanRuby are the expressions that find otherwise than Ruby, with the texts in which they do: a border of a
// word is one of ASCII, and ^ stands behind a last line break. An expression without texts is refused here.
var otherThanRuby = map[string][]string{
	`^$`:  {"a\n", "a\nb\n", "\r\n"},
	`\ba`: {"éa"}, `\Ba`: {"éa"}, `a\b`: {"aé"}, `a\B`: {"aé"},
	`\bé`: {"é", "éa", "aé", "a é"}, `é\b`: {"é", "éa", "aé", "a é"},
	`\u{61 62}`: nil, `\A\p{Emoji}\z`: nil,
}

// TestRegexpIsRubyItself holds every expression against what Ruby finds in each text. An expression that is
// refused here says why, in the words of TestRegexpRefused.
func TestRegexpIsRubyItself(t *testing.T) {
	src, err := os.ReadFile("testdata/ruby.json")
	if err != nil {
		t.Fatal(err)
	}
	var seen seenRuby
	if err := json.Unmarshal(src, &seen); err != nil || len(seen.Cases) < 150 || len(seen.Texts) < 60 {
		t.Fatalf("%d expressions, %d texts, %v", len(seen.Cases), len(seen.Texts), err)
	}
	for source, found := range seen.Cases {
		re, err := rubyre.New(source)
		others, listed := otherThanRuby[source]
		switch {
		case listed && (err != nil) != (others == nil):
			t.Errorf("/%s/ is like in Ruby now: take it out of the list: %v", source, err)
			continue
		case listed && err != nil:
			continue
		case err != nil && (found == nil || strings.Contains(err.Error(), "which RE2 cannot do")):
			continue
		case err != nil:
			t.Errorf("%v; Ruby finds it in %d texts", err, len(found))
			continue
		case found == nil:
			t.Errorf("/%s/ is taken, and Ruby refuses it", source)
			continue
		}
		for i, text := range seen.Texts {
			if got := re.Match(text); (got != slices.Contains(found, i)) != slices.Contains(others, text) {
				t.Errorf("/%s/ on %q: found is %v, and not in Ruby %s", source, text, got, seen.Ruby)
			}
		}
	}
}

func TestRegexpRefused(t *testing.T) {
	for source, want := range map[string]string{
		`a(?=b)`:             "look-ahead",
		`a(?!b)`:             "look-ahead",
		`(?<=a)b`:            "look-behind",
		`(?<!a)b`:            "look-behind",
		`(?>a)`:              "an atomic group",
		`(?~a)`:              "an absence group",
		`(?(1)a|b)`:          "a condition",
		`(a)\1`:              "a back-reference",
		`(?<n>a)\k<n>`:       "a back-reference",
		`(?<n>a)\g<n>`:       "a call of a group",
		`a++`:                "a possessive repeat",
		`a*+`:                "a possessive repeat",
		`a?+`:                "a possessive repeat",
		`\X`:                 `\X`,
		`[a`:                 "a class without ]",
		`[z-a]`:              "a range upside down",
		`[[:nope:]]`:         "unknown class",
		`\p{Nope}`:           "invalid character class range",
		`*a`:                 "repeats nothing",
		`a|*`:                "repeats nothing",
		`a\`:                 "ends with a backslash",
		`(?<n`:               "whose name has no end",
		`(?z)`:               "unknown sort",
		`(`:                  "missing closing )",
		`a)`:                 "unexpected )",
		`\xg`:                "a character by number",
		`a{2,1}`:             "invalid repeat count",
		`(a{1000}){1000}`:    "invalid repeat count",
		`(abcdefgh){999}{9}`: "invalid repeat count",
	} {
		_, err := rubyre.New(source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("/%s/: %v", source, err)
		}
	}
}

// TestRegexpNames holds that the groups of a title pattern keep their names.
func TestRegexpNames(t *testing.T) {
	re, err := rubyre.New(`^(?<package>.*)/(?<manager>[^/]*)$`)
	if err != nil {
		t.Fatal(err)
	}
	c := re.Compiled()
	found := c.FindStringSubmatch("php/yum/gem")
	if got := found[c.SubexpIndex("package")] + " " + found[c.SubexpIndex("manager")]; got != "php/yum gem" {
		t.Error(got)
	}
}

// TestRegexpText: the text of an expression stands between slashes, and two with one source are equal.
func TestRegexpText(t *testing.T) {
	a, again, b := compiled(t, `a/b\d`), compiled(t, `a/b\d`), compiled(t, `a/b`)
	if a.String() != `/a\/b\d/` || a.Source() != `a/b\d` || a.Compiled() == nil {
		t.Errorf("%s of %s", a, a.Source())
	}
	var none *rubyre.Regexp
	for _, c := range []struct {
		a, b *rubyre.Regexp
		want bool
	}{{a, a, true}, {a, again, true}, {a, b, false}, {a, none, false}, {none, a, false}, {none, none, true}} {
		if got := c.a.Equal(c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

func compiled(t *testing.T, source string) *rubyre.Regexp {
	t.Helper()
	re, err := rubyre.New(source)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

// TestRegexpBounds: an expression that would take much memory is refused before it is compiled, and the error stays short.
func TestRegexpBounds(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"long":       {strings.Repeat("a", 16<<10), ""},
		"too long":   {strings.Repeat("a", 16<<10+1), "the regular expression is longer than 16384 bytes"},
		"large":      {`(?:` + strings.Repeat("a", 18) + `){1000}`, ""},
		"too large":  {`(?:` + strings.Repeat("a", 50) + `){1000}`, "its repeats come to more than 20000 steps"},
		"deep class": {strings.Repeat("[", 100) + "a" + strings.Repeat("]", 100), "the regular expression /[["},
		"no end":     {strings.Repeat("é", 5000) + "(", ".../ is wrong: "},
	} {
		_, err := rubyre.New(c.source)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && len(err.Error()) > 1500 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}
