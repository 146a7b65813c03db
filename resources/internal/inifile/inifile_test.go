package inifile

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = `top = 1
# a comment
[main]
  server=a.example.com
; port = 80
cache = on ; really

[other]
cache = off
junk
[main]
server = b.example.com
empty =
`

func TestParse(t *testing.T) {
	want := []Setting{
		{"", "top", "1"},
		{"main", "server", "a.example.com"},
		{"main", "cache", "on ; really"},
		{"other", "cache", "off"},
		{"main", "server", "b.example.com"},
		{"main", "empty", ""},
	}
	if got := Parse(sample, Usual).Settings(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Parse(sample, Usual).Values("main", "server"); !slices.Equal(got, []string{"a.example.com", "b.example.com"}) {
		t.Errorf("got %q", got)
	}
}

func TestSet(t *testing.T) {
	colon := Style{Separator: ": ", Prefix: "## ", Suffix: " ##", Indent: "\t"}
	blank := Style{Separator: " ", Prefix: "<", Suffix: ">"}
	arrow := Style{Separator: " => ", Suffix: ":"}
	for _, c := range []struct {
		name  string
		style Style
		text  string
		s     Setting
		want  string
	}{
		{"into nothing", Usual, "", Setting{"a", "b", "c"}, "[a]\nb = c\n"},
		{"into nothing, without a section", Usual, "", Setting{"", "b", "c"}, "b = c\n"},
		{"the same is left", Usual, "[a]\n  b=c  \n", Setting{"a", "b", "c"}, "[a]\n  b=c  \n"},
		{"another value", Usual, "[a]\n  b=c  \n", Setting{"a", "b", "d"}, "[a]\n  b = d\n"},
		{"an empty value", Usual, "[a]\nb = c\n", Setting{"a", "b", ""}, "[a]\nb =\n"},
		{"no end stays none", Usual, "[a]\nb = c", Setting{"a", "b", "d"}, "[a]\nb = d"},
		{"after a line without end", Usual, "[a]\nb = c", Setting{"a", "d", "e"}, "[a]\nb = c\nd = e\n"},
		{"before the blank lines", Usual, "[a]\nb = c\n\n[d]\n", Setting{"a", "e", "f"}, "[a]\nb = c\ne = f\n\n[d]\n"},
		{"into an empty section", Usual, "[a]\n[d]\n", Setting{"a", "e", "f"}, "[a]\ne = f\n[d]\n"},
		{"below the comment", Usual, "[a]\n#e = g\nb = c\n", Setting{"a", "e", "f"}, "[a]\n#e = g\ne = f\nb = c\n"},
		{"at the top", Usual, "# x\n\n[a]\n", Setting{"", "e", "f"}, "# x\ne = f\n\n[a]\n"},
		{"at the very top", Usual, "[a]\n", Setting{"", "e", "f"}, "e = f\n[a]\n"},
		{"a new section", Usual, "[a]\nb = c\n", Setting{"d", "e", "f"}, "[a]\nb = c\n[d]\ne = f\n"},
		{"the last one counts, one is left", Usual, "[a]\nb = 1\n#\nb = 2\n", Setting{"a", "b", "2"}, "[a]\n#\nb = 2\n"},
		{"lines that end as in DOS", Usual, "[a]\r\nb = c\r\n", Setting{"a", "b", "d"}, "[a]\r\nb = d\r\n"},
		{"and new ones", Usual, "[a]\r\n", Setting{"d", "b", "c"}, "[a]\r\n[d]\r\nb = c\r\n"},
		{"another style", colon, "## a ##\nb: c\n", Setting{"a", "d", "e: f"}, "## a ##\nb: c\n\td: e: f\n"},
		{"a new section of it", colon, "", Setting{"a", "d", "e"}, "## a ##\n\td: e\n"},
		{"blanks as separator", blank, "<a>\nb  c d\n", Setting{"a", "b", "e f"}, "<a>\nb e f\n"},
		{"a flag becomes a value", blank, "<a>\nb\n", Setting{"a", "b", "e"}, "<a>\nb e\n"},
		{"a suffix alone", arrow, "a:\nb => c\n", Setting{"a", "b", "d"}, "a:\nb => d\n"},
		{"brackets in a section", Usual, "[a \"b]\"]\nx = 1\n", Setting{`a "b]"`, "x", "2"}, "[a \"b]\"]\nx = 2\n"},
	} {
		f := Parse(c.text, c.style)
		if err := f.Set(c.s); err != nil || f.String() != c.want {
			t.Errorf("%s: %q, %v", c.name, f.String(), err)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		style Style
		s     Setting
		says  string
	}{
		"a line in the value":       {Usual, Setting{"main", "a", "b\nc = d"}, "one line"},
		"a return in the value":     {Usual, Setting{"main", "a", "b\rc"}, "one line"},
		"a NUL in the value":        {Usual, Setting{"main", "a", "b\x00"}, "one line"},
		"a blank at its end":        {Usual, Setting{"main", "a", "b "}, "blanks"},
		"a line in the name":        {Usual, Setting{"main", "a\nb", "c"}, "setting"},
		"no name":                   {Usual, Setting{"main", "", "c"}, "setting"},
		"a separator in the name":   {Usual, Setting{"main", "a=b", "c"}, "setting"},
		"a comment for a name":      {Usual, Setting{"main", "#a", "c"}, "setting"},
		"a section for a name":      {Usual, Setting{"main", "[a", "c]"}, "setting"},
		"a line in the section":     {Usual, Setting{"main]\n[x", "a", "b"}, "section"},
		"no separator":              {Style{Prefix: "["}, Setting{"main", "a", "b"}, "separator"},
		"a separator of two lines":  {Style{Prefix: "[", Separator: "=\n"}, Setting{"main", "a", "b"}, "one line"},
		"an indent that is none":    {Style{Prefix: "[", Separator: "=", Indent: "#"}, Setting{"main", "a", "b"}, "indent"},
		"nothing around a section":  {Style{Separator: "=", Prefix: " "}, Setting{"main", "a", "b"}, "around"},
		"a comment for a section":   {Style{Separator: "=", Suffix: ":"}, Setting{"#main", "a", "b"}, "section"},
		"two words, blanks between": {Style{Separator: " ", Prefix: "["}, Setting{"main", "a b", "c"}, "setting"},
	} {
		f := Parse(sample, c.style)
		if err := f.Set(c.s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if f.String() != sample {
			t.Errorf("%s: the file was altered", name)
		}
	}
}

// A value may be a secret: no error shows it.
func TestErrorsHideValues(t *testing.T) {
	for _, s := range []Setting{{"main", "a", "hidden\n"}, {"main", "[a", "hidden]"}, {"\n", "a", "hidden"}} {
		if err := Parse("", Usual).Set(s); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func genStyle() *rapid.Generator[Style] {
	return rapid.SampledFrom([]Style{
		Usual, {Separator: "=", Prefix: "[", Suffix: "]", Indent: "  "}, {Separator: ": ", Prefix: "-- ", Suffix: " --"},
		{Separator: " ", Prefix: "[", Suffix: "]"}, {Separator: "\t=>\t", Suffix: ":"},
	})
}

func genText() *rapid.Generator[string] {
	l := rapid.SampledFrom([]string{"", "  ", "[a]", " [b]  ", "[]", "-- a --", "a:", "x = 1", "x=2", " x : 3", "x 4", "x => 5", "#x = 6", "; y: 7", "junk", "=", "y =", "[x = 1]"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(l, 0, 10).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")) +
			rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "last")
	})
}

// others returns the lines that are not of the setting.
func others(f *File, section, name string) []string {
	var left []string
	for _, l := range f.lines {
		if l.kind != setting || l.section != section || l.name != name {
			left = append(left, strings.TrimRight(l.text, "\r\n"))
		}
	}
	return left
}

// without returns lines less the head of a section, if it is the last line.
func without(lines []string, head string) []string {
	if n := len(lines); n > 0 && lines[n-1] == head {
		return lines[:n-1]
	}
	return lines
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		style, text := genStyle().Draw(t, "style"), genText().Draw(t, "text")
		s := Setting{
			rapid.SampledFrom([]string{"", "a", "b", "new"}).Draw(t, "section"), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name"),
			rapid.SampledFrom([]string{"", "1", "2", "a b", "#c", "[d"}).Draw(t, "value"),
		}
		f := Parse(text, style)
		if f.String() != text {
			t.Fatalf("printed %q", f.String())
		}
		before := others(f, s.Section, s.Name)
		was := f.Values(s.Section, s.Name)
		if err := f.Set(s); err != nil {
			t.Fatal(err)
		}
		put := f.String()
		if len(was) == 1 && was[0] == s.Value && put != text {
			t.Fatalf("nothing was to be done, got %q", put)
		}
		again := Parse(put, style)
		if got := again.Values(s.Section, s.Name); !slices.Equal(got, []string{s.Value}) {
			t.Fatalf("in %q it is %q", put, got)
		}
		left := others(again, s.Section, s.Name)
		if !slices.Equal(left, before) && !slices.Equal(without(left, style.Prefix+s.Section+style.Suffix), before) {
			t.Fatalf("foreign lines were %q, are %q", before, left)
		}
		if err := again.Set(s); err != nil || again.String() != put {
			t.Fatalf("a second Set: %v, %q", err, again.String())
		}
		if !again.Remove(s.Section, s.Name) || again.Remove(s.Section, s.Name) {
			t.Fatal("Remove does not know what is there")
		}
		if got := others(Parse(again.String(), style), s.Section, s.Name); !slices.Equal(got, left) {
			t.Fatalf("after Remove %q, before %q", got, left)
		}
	})
}

// Whatever the values are: what was set is read back, and all else is as it was.
func FuzzSet(f *testing.F) {
	f.Add(sample, "main", "server", "x", " = ", "[", "]")
	f.Add("a:\nb c", "a", "b", "", " ", "", ":")
	f.Fuzz(func(t *testing.T, text, section, name, value, sep, prefix, suffix string) {
		style := Style{Separator: sep, Prefix: prefix, Suffix: suffix}
		i := Parse(text, style)
		if i.String() != text {
			t.Fatal("not the same text")
		}
		before := others(i, section, name)
		if i.Set(Setting{section, name, value}) != nil {
			if i.String() != text {
				t.Fatal("refused and altered")
			}
			return
		}
		again := Parse(i.String(), style)
		if got := again.Values(section, name); !slices.Equal(got, []string{value}) {
			t.Fatalf("set %q, got %q", value, got)
		}
		left := others(again, section, name)
		if !slices.Equal(left, before) && !slices.Equal(without(left, prefix+section+suffix), before) {
			t.Fatalf("foreign lines were %q, are %q", before, left)
		}
	})
}
