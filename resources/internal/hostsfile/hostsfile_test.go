package hostsfile

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = "# the machine itself\n127.0.0.1\tlocalhost\n::1 localhost ip6-localhost # v6\n\n10.0.0.5  db db.example.com\t#  main  \n10.0.0.6 web\r\nnonsense here\n300.1.1.1 bad\n10.0.0.7 DB"

func entry(ip, name string, aliases ...string) Entry {
	return Entry{IP: netip.MustParseAddr(ip), Name: name, Aliases: aliases}
}

func TestParse(t *testing.T) {
	f := Parse(sample)
	want := []Entry{
		entry("127.0.0.1", "localhost"),
		{netip.MustParseAddr("::1"), "localhost", []string{"ip6-localhost"}, "v6"},
		{netip.MustParseAddr("10.0.0.5"), "db", []string{"db.example.com"}, "main"},
		entry("10.0.0.6", "web"),
		entry("10.0.0.7", "DB"),
	}
	if got := f.Entries(); !slices.EqualFunc(got, want, Entry.Equal) {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct {
		name string
		fam  Family
		n    int
	}{{"localhost", Any, 2}, {"localhost", IPv4, 1}, {"LOCALHOST", IPv6, 1}, {"db", Any, 2}, {"db", IPv6, 0}, {"bad", Any, 0}, {"db.example.com", Any, 0}} {
		if got := f.Find(c.name, c.fam); len(got) != c.n {
			t.Errorf("%s, %d: %+v", c.name, c.fam, got)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, l := range []string{"", "\n", "# 1.2.3.4 a\n", "1.2.3.4\n", "1.2.3.4 #a\n", "1.2.3 a\n", "a 1.2.3.4\n", "1.2.3.4 ä\n", "1.2.3.4 a\x00b\n", "1.2.3.4 a # \xff\n", "1.2.3.4 a # \x1b[2J\n"} {
		if e, ok := parseLine(l); ok {
			t.Errorf("%q is %+v", l, e)
		}
	}
}

func TestPut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fam        Family
		e          Entry
		want       string
	}{
		{"into nothing", "", Any, entry("10.0.0.1", "a"), "10.0.0.1\ta\n"},
		{"after a line without end", "# x", Any, entry("10.0.0.1", "a", "b"), "# x\n10.0.0.1\ta b\n"},
		{"the same is left", "10.0.0.1   a # c \n", Any, Entry{netip.MustParseAddr("10.0.0.1"), "a", nil, "c"}, "10.0.0.1   a # c \n"},
		{"another address", "# x\n10.0.0.1 a\n# y\n", Any, entry("10.0.0.2", "a"), "# x\n10.0.0.2\ta\n# y\n"},
		{"no end stays none", "10.0.0.1 a", Any, entry("10.0.0.2", "a"), "10.0.0.2\ta"},
		{"the end stays", "10.0.0.1 a\r\n", Any, entry("10.0.0.2", "a"), "10.0.0.2\ta\r\n"},
		{"the other family is foreign", "::1 a\n10.0.0.1 a\n", IPv4, entry("10.0.0.2", "a"), "::1 a\n10.0.0.2\ta\n"},
		{"and belongs to any", "::1 a\n10.0.0.1 a\n", Any, entry("10.0.0.2", "a"), "10.0.0.2\ta\n"},
		{"one is left", "10.0.0.1 a\n#\n10.0.0.1 a\n", Any, entry("10.0.0.1", "a"), "10.0.0.1 a\n#\n"},
		{"a name in other case", "10.0.0.1 A\n", Any, entry("10.0.0.1", "a"), "10.0.0.1\ta\n"},
	} {
		f := Parse(c.text)
		if err := f.Put(c.fam, c.e); err != nil || f.String() != c.want {
			t.Errorf("%s: %q, %v", c.name, f.String(), err)
		}
	}
}

func TestRefused(t *testing.T) {
	ok := entry("10.0.0.1", "a")
	for name, c := range map[string]struct {
		spoil func(*Entry)
		says  string
	}{
		"no address":            {func(e *Entry) { e.IP = netip.Addr{} }, "address"},
		"no name":               {func(e *Entry) { e.Name = "" }, `"" can't be a name`},
		"two names":             {func(e *Entry) { e.Name = "a b" }, "a b"},
		"a line in the name":    {func(e *Entry) { e.Name = "a\n6.6.6.6 bank" }, "name"},
		"a comment in the name": {func(e *Entry) { e.Name = "a#" }, "name"},
		"a line in an alias":    {func(e *Entry) { e.Aliases = []string{"b\n6.6.6.6"} }, "name"},
		"an empty alias":        {func(e *Entry) { e.Aliases = []string{""} }, "name"},
		"a line in the comment": {func(e *Entry) { e.Comment = "x\n6.6.6.6 bank" }, "comment"},
		"a return in it":        {func(e *Entry) { e.Comment = "x\ry" }, "comment"},
		"a blank before it":     {func(e *Entry) { e.Comment = " x" }, "comment"},
		"the other family":      {func(e *Entry) { e.IP = netip.MustParseAddr("::1") }, "family"},
	} {
		e := ok
		c.spoil(&e)
		f := Parse(sample)
		err := f.Put(IPv4, e)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if f.String() != sample {
			t.Errorf("%s: the file was altered", name)
		}
	}
}

func genName() *rapid.Generator[string] { return rapid.StringMatching(`[a-cA-C]{1,2}(\.x)?`) }

func genEntry() *rapid.Generator[Entry] {
	return rapid.Custom(func(t *rapid.T) Entry {
		return Entry{
			IP:      netip.MustParseAddr(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "::1", "fd00::2", "fe80::1%eth0", "::ffff:1.2.3.4"}).Draw(t, "ip")),
			Name:    genName().Draw(t, "name"),
			Aliases: rapid.SliceOfN(genName(), 0, 2).Draw(t, "aliases"),
			Comment: strings.TrimSpace(rapid.StringMatching(`[a-z #é]{0,4}`).Draw(t, "comment")),
		}
	})
}

func genText() *rapid.Generator[string] {
	l := rapid.OneOf(
		rapid.SampledFrom([]string{"", "# note", "  # 10.0.0.1 a", "junk", "10.0.0.1", "10.0.0.1\ta  b\t#c", " ::1 A"}),
		rapid.Map(genEntry(), func(e Entry) string { s, _ := render(e); return s }))
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(l, 0, 8).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")) +
			rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "last")
	})
}

// others returns the lines that are not of the name and the family.
func others(text, name string, fam Family) []string {
	var left []string
	for l := range strings.SplitAfterSeq(text, "\n") {
		e, ok := parseLine(l)
		if l != "" && (!ok || !strings.EqualFold(e.Name, name) || !fam.Has(e.Family())) {
			left = append(left, strings.TrimSuffix(l, "\n"))
		}
	}
	return left
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, e := genText().Draw(t, "text"), genEntry().Draw(t, "entry")
		fam := rapid.SampledFrom([]Family{Any, e.Family()}).Draw(t, "family")
		f := Parse(text)
		if f.String() != text {
			t.Fatalf("printed %q", f.String())
		}
		before := others(text, e.Name, fam)
		if err := f.Put(fam, e); err != nil {
			t.Fatal(err)
		}
		put := f.String()
		if got := Parse(put).Find(e.Name, fam); len(got) != 1 || !got[0].Equal(e) {
			t.Fatalf("put %+v, got %+v", e, got)
		}
		if got := others(put, e.Name, fam); !slices.Equal(got, before) {
			t.Fatalf("foreign lines were %q, are %q", before, got)
		}
		if err := f.Put(fam, e); err != nil || f.String() != put {
			t.Fatalf("a second Put: %v, %q", err, f.String())
		}
		if !f.Remove(e.Name, fam) || f.Remove(e.Name, fam) {
			t.Fatal("Remove does not know what is there")
		}
		if got := others(f.String(), e.Name, fam); !slices.Equal(got, before) || len(Parse(f.String()).Find(e.Name, fam)) != 0 {
			t.Fatalf("after Remove: %q", f.String())
		}
	})
}

// Whatever the values are, one Put adds one line at most.
func FuzzPut(f *testing.F) {
	f.Add(sample, "db", "al", "note")
	f.Add("", "a\nb", "", "\r")
	f.Fuzz(func(t *testing.T, text, name, alias, comment string) {
		h := Parse(text)
		if h.String() != text {
			t.Fatal("not the same text")
		}
		e := Entry{netip.MustParseAddr("10.1.2.3"), name, []string{alias}, comment}
		if h.Put(Any, e) != nil {
			if h.String() != text {
				t.Fatal("refused and altered")
			}
			return
		}
		if got := Parse(h.String()).Find(name, Any); len(got) != 1 || !got[0].Equal(e) {
			t.Fatalf("put %+v, got %+v", e, got)
		}
		if before := others(text, name, Any); !slices.Equal(before, others(h.String(), name, Any)) {
			t.Fatal("foreign lines were altered")
		}
	})
}
