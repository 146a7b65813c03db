package idl_test

import (
	"fmt"
	"slices"
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

// TestDiffOfPackages: another name of a package in Go breaks the files of the provider, and nothing else of the definitions tells it.
func TestDiffOfPackages(t *testing.T) {
	before := "package m\ntype S struct{ A string }\n"
	if got, want := diffText(t, before, strings.Replace(before, "package m", "package other", 1)), "breaking m: its package in Go was m, and is other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMapKeysOfAnEnum: the schema of a map whose keys are an enum takes no other keys.
func TestMapKeysOfAnEnum(t *testing.T) {
	p, found := compile(head + "type R struct {\n\tidl.Resource\n\tA map[E]float64\n\tB map[string]E\n}\ntype E string\nconst (\n\tX E = \"x\"\n\tY E = \"y\"\n)\n")
	if p == nil {
		t.Fatal(found)
	}
	typ := p.Resources()[0].Type
	if a, b := typ.Field("a").Type, typ.Field("b").Type; fmt.Sprint(a.Enum, a.EnumNames, b.Enum, b.Elem.Enum) != "[x y] [X Y] [] [x y]" {
		t.Errorf("%v", typ)
	}
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

// properties are lines of a resource, each with another meaning. TestDiffOfSubsets draws from them.
var properties = []string{
	"A string", "B float64 `lumi:\"min=1\"`", "C *bool `lumi:\"optional,default=true\"`", "D string `lumi:\"out\"`", "E []string `lumi:\"replaces\"`", "F map[K]string", "G *R `lumi:\"optional\"`",
}

// TestDiffOfSubsets: of two resources that differ in their properties alone, each property that is gone breaks, each optional one and
// each output that is new does not, and each required one does. The way back says the opposite about each of them.
func TestDiffOfSubsets(t *testing.T) {
	source := func(lines []string) string {
		return head + "type R struct {\n\tidl.Resource\n\t" + strings.Join(lines, "\n\t") + "\n}\ntype K string\nconst X K = \"x\"\n"
	}
	compiled := map[string]*idl.Package{}
	pack := func(t *rapid.T, lines []string) *idl.Package {
		text := source(lines)
		if compiled[text] == nil {
			p, found := compile(text)
			if p == nil {
				t.Fatal(found)
			}
			compiled[text] = p
		}
		return compiled[text]
	}
	subset := rapid.SliceOfNDistinct(rapid.SampledFrom(properties), 0, len(properties), rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		before, after := subset.Draw(t, "before"), subset.Draw(t, "after")
		got := map[string]idl.Change{}
		for _, c := range idl.Diff(pack(t, before), pack(t, after)) {
			if _, twice := got[c.Path]; twice {
				t.Fatalf("%s is said twice", c.Path)
			}
			got[c.Path] = c
		}
		for _, line := range properties {
			path := "m.R." + strings.ToLower(line[:1])
			was, is := slices.Contains(before, line), slices.Contains(after, line)
			c, said := got[path]
			free := strings.Contains(line, "optional") || strings.Contains(line, "out")
			switch {
			case said != (was != is), said && is && (c.Level == idl.Breaking) == free, said && was && c.Level != idl.Breaking:
				t.Fatalf("%s was %t and is %t: %v", path, was, is, c)
			}
			delete(got, path)
		}
		order, said := got["m.R"]
		keep := func(lines, in []string) (kept []string) {
			for _, l := range lines {
				if slices.Contains(in, l) {
					kept = append(kept, l)
				}
			}
			return kept
		}
		if reordered := !slices.Equal(keep(before, after), keep(after, before)); said != reordered || said && order.Level != idl.Cosmetic {
			t.Fatalf("%v to %v: %v", before, after, order)
		}
		if delete(got, "m.R"); len(got) > 0 {
			t.Fatalf("more is said: %v", got)
		}
	})
}

// TestDiffOfParts: what one word of a definition changes, there and back.
func TestDiffOfParts(t *testing.T) {
	base := head + "type R struct {\n\tidl.Resource `lumi:\"batch=5,createBeforeDelete\"`\n\tA *float64 `lumi:\"optional,default=2,min=1,max=3\"`\n\tB []string `lumi:\"maxItems=3\"`\n\tC map[string]string\n\tD string\n\tF any\n\tG *R `lumi:\"optional\"`\n}\ntype S struct{ A string }\ntype K string\nconst X K = \"x\"\n"
	for _, c := range []struct{ from, to, there, back string }{
		{"batch=5", "batch=6", "compatible m.R: a batch had 5 calls at most, and has 6", "compatible m.R: a batch had 6 calls at most, and has 5"},
		{"batch=5,createBeforeDelete", "createBeforeDelete", "compatible m.R: a batch had 5 calls at most, and has 0", "compatible m.R: a batch had 0 calls at most, and has 5"},
		{",createBeforeDelete", "", "compatible m.R: createBeforeDelete is false now", "compatible m.R: createBeforeDelete is true now"},
		{"createBeforeDelete", "createBeforeDelete,collectable", "compatible m.R: collectable is true now", "breaking m.R: it has not collectable any more"},
		{"\tD string", "\tD string `lumi:\"lend=name\"`", "compatible m.R.d: another host may give it now", "breaking m.R.d: another host may not give each value any more"},
		{"default=2", "default=3", "breaking m.R.a: its default was 2, and is 3", "breaking m.R.a: its default was 3, and is 2"},
		{"default=2,", "", "breaking m.R.a: its default was 2, and is <nil>", "breaking m.R.a: its default was <nil>, and is 2"},
		{"min=1", "min=0.5", "compatible m.R.a: it takes more than before", "breaking m.R.a: it takes less than before"},
		{"min=1,max=3", "min=0,max=2", "breaking m.R.a: it takes less than before", "breaking m.R.a: it takes less than before"},
		{"maxItems=3", "maxItems=3,maxLen=9", "breaking m.R.b: it takes less than before", "compatible m.R.b: it takes more than before"},
		{"[]string", "[]any", "breaking m.R.b: its type was []string, and is []any", "breaking m.R.b: its type was []any, and is []string"},
		{"map[string]string", "map[K]string", "breaking m.R.c: its type was map[string]string, and is map[m.K]string", "breaking m.R.c: its type was map[m.K]string, and is map[string]string"},
		{"\tD string", "\tD string `lumi:\"format=ip\"`", "breaking m.R.d: it takes less than before", "compatible m.R.d: it takes more than before"},
		{"\tD string", "\tE string `lumi:\"name=d\"`", "breaking m.R.d: its field in Go was D, and is E", "breaking m.R.d: its field in Go was E, and is D"},
		{"\tD string", "\tD string `lumi:\"replaces\"`", "breaking m.R.d: another value makes another resource now", "compatible m.R.d: another value changes the resource now"},
		{"\tD string", "\tD *string `lumi:\"optional\"`", "compatible m.R.d: it is optional now", "breaking m.R.d: it is required now"},
		{"F any", "F any `lumi:\"secret\"`", "breaking m.R.f: its type was any, and is secret any", "breaking m.R.f: its type was secret any, and is any"},
		{"G *R", "G *idl.Resource", "breaking m.R.g: its type was *m.R, and is *idl.Resource", "breaking m.R.g: its type was *idl.Resource, and is *m.R"},
		{"type S struct{ A string }", "type S struct {\n\tidl.Resource\n\tA string\n}", "breaking m.S: it is another kind of declaration", "breaking m.S: it is another kind of declaration"},
		{"type S struct{ A string }", "type T struct{ A string }", "breaking m.S: it was removed\ncompatible m.T: it is new", "breaking m.T: it was removed\ncompatible m.S: it is new"},
	} {
		changed := strings.Replace(base, c.from, c.to, 1)
		if changed == base {
			t.Fatalf("%q is not there", c.from)
		}
		if got := diffText(t, base, changed); got != c.there {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.from, c.to, got, c.there)
		}
		if got := diffText(t, changed, base); got != c.back {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.to, c.from, got, c.back)
		}
	}
}
