package render

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"one line", "a\nb\nc\n", "a\nx\nc\n", []string{"@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"}},
		{"from nothing", "", "a\n", []string{"@@ -0,0 +1 @@", "+a"}},
		{"no end", "a", "a\n", []string{"@@ -1 +1 @@", "-a", `\ No newline at end of file`, "+a"}},
		{"binary", "a\x00b", "text", []string{"(3 bytes -> 4 bytes, not text)"}},
		{"not UTF-8", "text", "\xff", []string{"(4 bytes -> 1 bytes, not text)"}},
		{"large", strings.Repeat("x\n", maxDiffBytes), "y", []string{"(2097152 bytes -> 1 bytes, too large to show)"}},
	} {
		if got := unified(c.from, c.to); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := unified("", numbered(3000)); len(got) != maxDiffLines+1 || got[maxDiffLines] != "(1001 more lines)" {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
}

func TestLineCounts(t *testing.T) {
	for _, c := range [][3]string{
		{"", "a\nb", "+2 -0 lines"}, {"a\nb\n", "", "+0 -2 lines"}, {"a\nb\n", "b\nc\n", "+1 -1 lines"}, {"\x00", "ab", "1 bytes -> 2 bytes"},
	} {
		if got := LineCounts(c[0], c[1]); got != c[2] {
			t.Errorf("%q to %q is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// TestUnifiedIsTrue: applied to the one text, what is shown gives the other.
func TestUnifiedIsTrue(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 30), func(l []string) string {
		if len(l) == 0 {
			return ""
		}
		return strings.Join(l, "\n") + "\n"
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := text.Draw(t, "from"), text.Draw(t, "to")
		if from == to {
			return
		}
		if got := patched(t, from, unified(from, to)); got != to {
			t.Fatalf("%q by %q is %q; want %q", from, unified(from, to), got, to)
		}
	})
}

var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? `)

// patched applies a difference of texts whose lines all have an end.
func patched(t *rapid.T, from string, diff []string) string {
	rest := strings.SplitAfter(from, "\n")
	var out strings.Builder
	at := 1
	copyTo := func(line int) {
		for ; at < line && len(rest) > 0; at++ {
			out.WriteString(rest[0])
			rest = rest[1:]
		}
	}
	for _, line := range diff {
		switch line[0] {
		case '@':
			m := hunk.FindStringSubmatch(line)
			start, _ := strconv.Atoi(m[1])
			if m[2] == "0" {
				start++ // after this line
			}
			copyTo(start)
		case '+':
			out.WriteString(line[1:] + "\n")
		case ' ', '-':
			if rest[0] != line[1:]+"\n" {
				t.Fatalf("line %d is %q, the difference says %q", at, rest[0], line)
			}
			if line[0] == ' ' {
				out.WriteString(rest[0])
			}
			rest = rest[1:]
			at++
		}
	}
	copyTo(math.MaxInt)
	return out.String()
}
