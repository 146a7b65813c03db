package puppettype_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// ordered is the order of versions by the specification of semantic versions, with its
// own examples.
var ordered = []string{
	"0.0.0-0", "0.0.0", "0.0.1", "0.1.0-alpha", "0.1.0", "0.9.9",
	"1.0.0-0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0--", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
	"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0", "2.1.0", "2.1.1", "10.0.0", "9223372036854775807.0.0",
}

func versionOf(t *testing.T, text string) puppettype.Version {
	t.Helper()
	v, err := puppettype.ParseVersion(text)
	must(t, err)
	return v
}

// TestVersionsAreOrdered compares each version with each other one.
func TestVersionsAreOrdered(t *testing.T) {
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := versionOf(t, a).Compare(versionOf(t, b)); got != want {
				t.Errorf("%s to %s: %d", a, b, got)
			}
		}
	}
	if versionOf(t, "1.0.0+a").Compare(versionOf(t, "1.0.0+b")) != 0 {
		t.Error("a build counts in the order")
	}
}

// TestVersionsReadBack holds that a version prints as it was written.
func TestVersionsReadBack(t *testing.T) {
	for _, text := range append(slices.Clone(ordered), "1.2.3+build.5", "1.2.3-rc.1+5-x", "1.2.3-a-b") {
		if got := versionOf(t, text).String(); got != text {
			t.Errorf("%s is %s", text, got)
		}
	}
	for _, text := range []string{"", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "01.2.3", "1.02.3", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-é", "1.2.3-a_b", "1.2.3-01", "1.2.3-a.00",
		"-1.2.3", "+1.2.3", "1.+2.3", " 1.2.3", "1.2.3 ", "1.2.3\n", "1..3", "9223372036854775808.0.0", "a.b.c", "1.2.3-a+b+c"} {
		if v, err := puppettype.ParseVersion(text); err == nil {
			t.Errorf("%q is %s", text, v)
		} else if !strings.Contains(err.Error(), "is not a version; write it as 1.2.3") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// seenRanges are ranges and what Puppet's library has in them; testdata/versions.rb writes the file.
type seenRanges struct {
	Library, Versions string
	Ranges            map[string]string
}

func readRanges(t *testing.T) (seen seenRanges) {
	t.Helper()
	text, err := os.ReadFile("testdata/versions.json")
	must(t, err)
	must(t, json.Unmarshal(text, &seen))
	if len(seen.Ranges) < 300 || len(strings.Fields(seen.Versions)) < 40 {
		t.Fatalf("%d ranges of %s", len(seen.Ranges), seen.Library)
	}
	return seen
}

// TestRanges asks each range about each version. The answers are those of Puppet's own library.
func TestRanges(t *testing.T) {
	seen := readRanges(t)
	for text, in := range seen.Ranges {
		r, err := puppettype.ParseVersionRange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for v := range strings.FieldsSeq(seen.Versions) {
			if r.Has(versionOf(t, v)) {
				got = append(got, v)
			}
		}
		if got := strings.Join(got, " "); got != in {
			t.Errorf("%s has %s\nin %s it has %s", text, got, seen.Library, in)
		}
		if r.String() != text {
			t.Errorf("%s prints as %s", text, r)
		}
	}
}

// TestRangesCover: where one range is assigned to another one, it has no version that the other one lacks.
func TestRangesCover(t *testing.T) {
	seen := readRanges(t)
	types, in := map[string]*puppettype.Type{}, map[string][]string{}
	for text, versions := range seen.Ranges {
		types[text], in[text] = puppettype.MustParse("SemVer['"+text+"']"), strings.Fields(versions)
	}
	pairs := 0
	for a, whole := range types {
		if !whole.Assignable(whole) {
			t.Errorf("%s does not take itself", whole)
		}
		for b, part := range types {
			if !whole.Assignable(part) {
				continue
			}
			pairs++
			for _, v := range in[b] {
				if !slices.Contains(in[a], v) {
					t.Fatalf("%s takes %s, which has %s", a, b, v)
				}
			}
		}
	}
	if pairs < 2*len(seen.Ranges) {
		t.Errorf("only %d pairs cover: the test says little", pairs)
	}
}

// TestBrokenRanges are texts that are no ranges.
func TestBrokenRanges(t *testing.T) {
	for _, text := range []string{"", " ", "a", "1.2.3.4", ">", ">=", "<>1.0.0", "=>1.0.0", "1.0.0 -", "- 1.0.0", "1.0.0 || ", "|| 1.0.0", "1.x.3", ">x", "~~1",
		"1.0.0,2.0.0", "^", "v1", "1.-1.0", "1.0.0 & 2.0.0"} {
		if r, err := puppettype.ParseVersionRange(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}

// drawn draws a version with small numbers, so that two of them meet.
var drawn = rapid.Custom(func(t *rapid.T) puppettype.Version {
	n := rapid.Uint64Range(0, 2)
	return puppettype.Version{Major: n.Draw(t, "major"), Minor: n.Draw(t, "minor"), Patch: n.Draw(t, "patch"),
		Pre: rapid.SampledFrom([]string{"", "", "0", "rc.1", "rc.2"}).Draw(t, "pre")}
})

// TestLawComparators holds what each operator means by the order of versions.
func TestLawComparators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn.Draw(t, "a"), drawn.Draw(t, "b")
		c := b.Compare(a)
		// A prerelease counts only where the range has one of the same three numbers.
		near := a.Pre != "" && a.Major == b.Major && a.Minor == b.Minor && a.Patch == b.Patch
		for op, want := range map[string]bool{"": c == 0, "=": c == 0, ">": c > 0, ">=": c >= 0, "<": c < 0, "<=": c <= 0} {
			want = want && (b.Pre == "" || near)
			r, err := puppettype.ParseVersionRange(op + a.String())
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Has(b); got != want {
				t.Fatalf("%s has %s: %v", r, b, got)
			}
		}
	})
}

// TestLawRangesCombine holds that blanks mean and, || means or, and that types of
// versions agree with their ranges. One part of an and lets a prerelease in for all parts.
func TestLawRangesCombine(t *testing.T) {
	part := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{">", ">=", "<", "<=", "", "^", "~"}).Draw(t, "operator") + drawn.Draw(t, "version").String()
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y, v := part.Draw(t, "x"), part.Draw(t, "y"), drawn.Draw(t, "v")
		has := func(text string) bool {
			r, err := puppettype.ParseVersionRange(text)
			if err != nil {
				t.Fatal(err)
			}
			return r.Has(v)
		}
		switch got := has(x + " " + y); {
		case v.Pre == "" && got != (has(x) && has(y)), !got && has(x) && has(y), got && !has(x) && !has(y):
			t.Fatalf("%s %s has %s: %v", x, y, v, got)
		}
		if got := has(x + " || " + y); got != (has(x) || has(y)) {
			t.Fatalf("%s || %s has %s: %v", x, y, v, got)
		}
		a, b := puppettype.MustParse("SemVer['"+x+"']"), puppettype.MustParse("SemVer['"+y+"']")
		if a.Accepts(v) != has(x) {
			t.Fatalf("%s accepts %s", a, v)
		}
		if a.Assignable(b) && has(y) && !has(x) {
			t.Fatalf("%s takes %s, and not %s", a, b, v)
		}
	})
}
