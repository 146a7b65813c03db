package idl_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// TestPropertyLaws: the name of a property differs in its capitals alone, begins with a small letter,
// and is its own property. Only the first run of capitals is touched.
func TestPropertyLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Z][A-Za-z0-9]{0,8}`).Draw(t, "name")
		got := idl.Property(name)
		if !strings.EqualFold(got, name) || got[0] < 'a' || got[0] > 'z' || idl.Property(got) != got {
			t.Fatalf("Property(%q) = %q, and of that %q", name, got, idl.Property(got))
		}
		run := len(name) - len(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		if got[run:] != name[run:] {
			t.Fatalf("Property(%q) = %q alters what is behind the first %d letters", name, got, run)
		}
	})
}

// diffText returns the differences of two texts, a line each.
func diffText(t *testing.T, before, after string) string {
	t.Helper()
	old, found := compile(before)
	if old == nil {
		t.Fatalf("%s: %v", before, found)
	}
	now, found := compile(after)
	if now == nil {
		t.Fatalf("%s: %v", after, found)
	}
	var got []string
	for _, c := range idl.Diff(old, now) {
		got = append(got, fmt.Sprintf("%s %s: %s", c.Level, c.Path, c.Message))
	}
	return strings.Join(got, "\n")
}

// TestDiffBothWays: each pair is compared there and back. Where one way breaks nothing, the other one
// mostly does, and a package does not differ from itself.
func TestDiffBothWays(t *testing.T) {
	base := head + "type R struct {\n\tidl.NamedResource\n\tA string\n\tO string `lumi:\"out\"`\n}\ntype E string\nconst (\n\tX E = \"x\"\n\tY E = \"y\"\n)\nconst N = 1\n"
	for _, c := range []struct{ from, to, there, back string }{
		{"A string", "A string `lumi:\"minLen=2\"`", "breaking m.R.a: it takes less than before", "compatible m.R.a: it takes more than before"},
		{"A string", "A string `lumi:\"regex=^a\"`", "breaking m.R.a: it takes less than before", "compatible m.R.a: it takes more than before"},
		{"A string", "A []string", "breaking m.R.a: its type was string, and is []string", "breaking m.R.a: its type was []string, and is string"},
		{"A string", "A string `lumi:\"secret\"`", "breaking m.R.a: its type was string, and is secret string", "breaking m.R.a: its type was secret string, and is string"},
		{"A string", "A E", "breaking m.R.a: its type was string, and is m.E", "breaking m.R.a: its type was m.E, and is string"},
		{"O string `lumi:\"out\"`", "O *string `lumi:\"out,optional\"`", "breaking m.R.o: it may be absent now", "compatible m.R.o: it is always there now"},
		{"O string `lumi:\"out\"`", "O string", "breaking m.R.o: an input and an output are not the same", "breaking m.R.o: an input and an output are not the same"},
		{"\tY E = \"y\"\n", "", "breaking m.E: the value \"y\" was removed\nbreaking m.Y: it was removed", "compatible m.E: the value \"y\" is new\ncompatible m.Y: it is new"},
		{"const N = 1", "const N = 2", "breaking m.N: its value was 1, and is 2", "breaking m.N: its value was 2, and is 1"},
		{"idl.NamedResource", "idl.NamedResource `lumi:\"watch\"`", "compatible m.R: watch is true now", "compatible m.R: watch is false now"},
		{"idl.NamedResource", "idl.NamedResource `lumi:\"list\"`", "compatible m.R: list is true now", "breaking m.R: it has not list any more"},
		{"idl.NamedResource", "idl.NamedResource `lumi:\"refresh\"`", "compatible m.R: refresh is true now", "breaking m.R: it has not refresh any more"},
		{"A string", "A string `lumi:\"deprecated=use O\"`", "cosmetic m.R.a: its text is another one", "cosmetic m.R.a: its text is another one"},
		{"type E string", "// E is one.\ntype E string", "cosmetic m.E: its text is another one", "cosmetic m.E: its text is another one"},
		{"X E = \"x\"", "// X is one.\n\tX E = \"x\"", "cosmetic m.X: its text is another one", "cosmetic m.X: its text is another one"},
		{"\tA string\n\tO string `lumi:\"out\"`", "\tO string `lumi:\"out\"`\n\tA string", "cosmetic m.R: its properties are in another order", "cosmetic m.R: its properties are in another order"},
	} {
		changed := strings.Replace(base, c.from, c.to, 1)
		if got := diffText(t, base, changed); got != c.there {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.from, c.to, got, c.there)
		}
		if got := diffText(t, changed, base); got != c.back {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.to, c.from, got, c.back)
		}
		if got := diffText(t, changed, changed); got != "" {
			t.Errorf("%q differs from itself: %s", c.to, got)
		}
	}
}
