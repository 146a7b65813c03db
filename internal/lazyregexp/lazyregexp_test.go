package lazyregexp

import (
	"regexp"
	"slices"
	"testing"
)

// TestSameAsRegexp compares every method with the method of package regexp.
func TestSameAsRegexp(t *testing.T) {
	const expr = `(a+)(b?)`
	lazy, eager := New(expr), regexp.MustCompile(expr)
	for _, s := range []string{"", "b", "xaab", "aaa ab"} {
		if got, want := lazy.MatchString(s), eager.MatchString(s); got != want {
			t.Errorf("MatchString(%q) = %v, want %v", s, got, want)
		}
		if got, want := lazy.FindString(s), eager.FindString(s); got != want {
			t.Errorf("FindString(%q) = %q, want %q", s, got, want)
		}
		if got, want := lazy.FindStringSubmatch(s), eager.FindStringSubmatch(s); !slices.Equal(got, want) {
			t.Errorf("FindStringSubmatch(%q) = %q, want %q", s, got, want)
		}
		if got, want := lazy.ReplaceAllString(s, "[$1]"), eager.ReplaceAllString(s, "[$1]"); got != want {
			t.Errorf("ReplaceAllString(%q) = %q, want %q", s, got, want)
		}
		if got, want := lazy.FindAllString(s, -1), eager.FindAllString(s, -1); !slices.Equal(got, want) {
			t.Errorf("FindAllString(%q) = %q, want %q", s, got, want)
		}
		if got, want := lazy.FindAllStringIndex(s, -1), eager.FindAllStringIndex(s, -1); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("FindAllStringIndex(%q) = %v, want %v", s, got, want)
		}
		if got, want := lazy.FindAllStringSubmatch(s, -1), eager.FindAllStringSubmatch(s, -1); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("FindAllStringSubmatch(%q) = %q, want %q", s, got, want)
		}
		if got, want := lazy.FindIndex([]byte(s)), eager.FindIndex([]byte(s)); !slices.Equal(got, want) {
			t.Errorf("FindIndex(%q) = %v, want %v", s, got, want)
		}
	}
}

// TestNames shows the names of the groups as package regexp gives them.
func TestNames(t *testing.T) {
	const expr = `(?P<first>a)(b)(?P<last>c)`
	if got, want := New(expr).SubexpNames(), regexp.MustCompile(expr).SubexpNames(); !slices.Equal(got, want) {
		t.Errorf("SubexpNames = %q, want %q", got, want)
	}
}

// TestCompiledOnFirstUse shows that New compiles nothing: a wrong expression panics at its first use.
func TestCompiledOnFirstUse(t *testing.T) {
	wrong := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression did not panic at its first use")
		}
	}()
	wrong.MatchString("x")
}
