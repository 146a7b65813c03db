package rubyre_test

import (
	"testing"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// FuzzRegexp holds that no source panics, and that what compiles is what it says.
func FuzzRegexp(f *testing.F) {
	for _, source := range []string{`a(?=b)`, `[a-z&&[^aeiou]]+`, `(?<n>\h{2,})\Z`, `(?x) a # b`, `\p{^Alpha}`, `a{,2}+`, `[[:alpha:]\]]`, `\u{e9}`} {
		f.Add(source, "abc")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		re, err := rubyre.New(source)
		if err != nil {
			return
		}
		_ = re.Match(text)
		if utf8.ValidString(source) && re.Source() != source {
			t.Fatalf("%q", re.Source())
		}
	})
}
