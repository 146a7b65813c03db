package authkeys

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// blob is a key that holds its type and a little more.
func blob(typ, more string) string {
	raw := binary.BigEndian.AppendUint32(nil, uint32(len(typ)))
	return base64.StdEncoding.EncodeToString(append(append(raw, typ...), "\x00\x00\x00\x01"+more...))
}

var (
	one = blob("ssh-ed25519", "one")
	two = blob("ssh-ed25519", "two")
	rsa = blob("ssh-rsa", "three")
)

func sample() string {
	return "# keys\nssh-ed25519 " + one + " bob@laptop\n" +
		`command="echo \"a b\", c",no-pty ssh-rsa ` + rsa + "\tthe backup  key \n" +
		"ssh-ed25519 " + two + "\n\nssh-rsa " + one + " wrong type\nssh-ed25519 " + two + " bob@laptop"
}

func TestParse(t *testing.T) {
	want := []Key{
		{nil, "ssh-ed25519", one, "bob@laptop"},
		{[]string{`command="echo \"a b\", c"`, "no-pty"}, "ssh-rsa", rsa, "the backup  key"},
		{nil, "ssh-ed25519", two, "bob@laptop"},
	}
	f := Parse(sample())
	if got := f.Keys(); !slices.EqualFunc(got, want, Key.Equal) {
		t.Errorf("got %q", got)
	}
	if got := f.Find("bob@laptop"); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestForeign(t *testing.T) {
	for _, l := range []string{
		"", "\n", "# ssh-ed25519 " + one + " a", "ssh-ed25519 " + one, "ssh-ed25519", "ssh-ed25519 " + one[:20] + " a",
		"ssh-rsa " + one + " a", "no-pty, ssh-ed25519 " + one + " a", `command="x ssh-ed25519 ` + one + " a",
		"no-pty", "ssh-ed25519 !!!! a", "ssh-ed25519 AAAA a", "ssh-ed25519 " + one + " a\x00", "new-type " + one + " a",
	} {
		if k, ok := parseLine(l); ok {
			t.Errorf("%q is %q", l, k)
		}
	}
}

func TestPut(t *testing.T) {
	line := "ssh-ed25519 " + one + " a"
	k := Key{nil, "ssh-ed25519", one, "a"}
	for _, c := range []struct{ name, text, want string }{
		{"into nothing", "", line + "\n"},
		{"after a line without end", "# x", "# x\n" + line + "\n"},
		{"the same is left", "  ssh-ed25519  " + one + "\ta \r\n", "  ssh-ed25519  " + one + "\ta \r\n"},
		{"another key", "# x\nssh-ed25519 " + two + " a\n# y\n", "# x\n" + line + "\n# y\n"},
		{"an option goes", "no-pty ssh-ed25519 " + one + " a\r\n", line + "\r\n"},
		{"one is left", line + "\n#\nssh-ed25519 " + two + " a\n", line + "\n#\n"},
		{"another name is foreign", "ssh-ed25519 " + one + " A\n", "ssh-ed25519 " + one + " A\n" + line + "\n"},
	} {
		f := Parse(c.text)
		if err := f.Put(k); err != nil || f.String() != c.want {
			t.Errorf("%s: %q, %v", c.name, f.String(), err)
		}
	}
}

func TestRefused(t *testing.T) {
	ok := Key{[]string{"no-pty"}, "ssh-ed25519", one, "a"}
	for name, c := range map[string]struct {
		spoil func(*Key)
		says  string
	}{
		"no name":                {func(k *Key) { k.Name = "" }, "name"},
		"a line in the name":     {func(k *Key) { k.Name = "a\nssh-ed25519 " + two + " b" }, "name"},
		"a return in the name":   {func(k *Key) { k.Name = "a\r" }, "name"},
		"a blank before it":      {func(k *Key) { k.Name = " a" }, "name"},
		"no such type":           {func(k *Key) { k.Type = "ssh-x" }, "no type of key"},
		"another type":           {func(k *Key) { k.Type = "ssh-rsa" }, "not of the type"},
		"no key":                 {func(k *Key) { k.Key = "" }, "cut off"},
		"no base64":              {func(k *Key) { k.Key = "###" }, "base64"},
		"a line in the key":      {func(k *Key) { k.Key = one[:8] + "\n" + one[8:] }, "base64"},
		"an option with a line":  {func(k *Key) { k.Options = []string{"command=\"a\nb\""} }, "option"},
		"an option with a blank": {func(k *Key) { k.Options = []string{"no-pty x"} }, "option"},
		"an option with a comma": {func(k *Key) { k.Options = []string{"no-pty,no-x"} }, "option"},
		"an open quote":          {func(k *Key) { k.Options = []string{`command="x`} }, "option"},
		"an empty option":        {func(k *Key) { k.Options = []string{""} }, "option"},
		"a comment":              {func(k *Key) { k.Options = []string{"#no-pty"} }, "option"},
		"a type for an option":   {func(k *Key) { k.Options = []string{"ssh-ed25519"} }, "option"},
	} {
		k := ok
		c.spoil(&k)
		f := Parse(sample())
		if err := f.Put(k); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if f.String() != sample() {
			t.Errorf("%s: the file was altered", name)
		}
	}
}

func TestTypeOf(t *testing.T) {
	for short, want := range map[string]string{"rsa": "ssh-rsa", "ed25519": "ssh-ed25519", "dsa": "ssh-dss", "ssh-rsa": "ssh-rsa", "x": "x", "ed25519-sk": "sk-ssh-ed25519@openssh.com", "ecdsa-sk": "sk-ecdsa-sha2-nistp256@openssh.com"} {
		if got := TypeOf(short); got != want {
			t.Errorf("%s: %s", short, got)
		}
	}
}

func genKey() *rapid.Generator[Key] {
	return rapid.Custom(func(t *rapid.T) Key {
		typ := rapid.SampledFrom(Types()).Draw(t, "type")
		return Key{
			Type: typ, Key: blob(typ, rapid.StringN(1, 5, -1).Draw(t, "key")),
			Name:    rapid.SampledFrom([]string{"a", "b", "a b", "a#", "é"}).Draw(t, "name"),
			Options: rapid.SliceOfN(rapid.SampledFrom([]string{"no-pty", `from="a,b"`, `command="x \" y z"`, "cert-authority"}), 0, 3).Draw(t, "options"),
		}
	})
}

// others returns the lines that are not of the name.
func others(text, name string) []string {
	var left []string
	for l := range strings.SplitAfterSeq(text, "\n") {
		if k, ok := parseLine(l); l != "" && (!ok || k.Name != name) {
			left = append(left, strings.TrimSuffix(l, "\n"))
		}
	}
	return left
}

func TestLaws(t *testing.T) {
	l := rapid.OneOf(
		rapid.SampledFrom([]string{"", "# a", "junk", "ssh-ed25519 " + one, "no-pty ssh-ed25519  " + one + "  a ", "ssh-rsa " + one + " a"}),
		rapid.Map(genKey(), func(k Key) string { s, _ := render(k); return s }))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(l, 0, 8).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "last")
		k := genKey().Draw(t, "key")
		f := Parse(text)
		if f.String() != text {
			t.Fatalf("printed %q", f.String())
		}
		before := others(text, k.Name)
		if err := f.Put(k); err != nil {
			t.Fatal(err)
		}
		put := f.String()
		if got := Parse(put).Find(k.Name); len(got) != 1 || !got[0].Equal(k) {
			t.Fatalf("put %q, got %q", k, got)
		}
		if got := others(put, k.Name); !slices.Equal(got, before) {
			t.Fatalf("foreign lines were %q, are %q", before, got)
		}
		if err := f.Put(k); err != nil || f.String() != put {
			t.Fatalf("a second Put: %v", err)
		}
		if !f.Remove(k.Name) || f.Remove(k.Name) {
			t.Fatal("Remove does not know what is there")
		}
		if got := others(f.String(), k.Name); !slices.Equal(got, before) || len(Parse(f.String()).Find(k.Name)) != 0 {
			t.Fatalf("after Remove: %q", f.String())
		}
	})
}

// Whatever the values are, one Put adds one key at most.
func FuzzPut(f *testing.F) {
	f.Add(sample(), "no-pty", "ssh-ed25519", one, "bob@laptop")
	f.Add("", `command="x`, "ssh-rsa", rsa, "a\nb")
	f.Fuzz(func(t *testing.T, text, option, typ, key, name string) {
		a := Parse(text)
		if a.String() != text {
			t.Fatal("not the same text")
		}
		k := Key{[]string{option}, typ, key, name}
		before := others(text, name)
		if a.Put(k) != nil {
			if a.String() != text {
				t.Fatal("refused and altered")
			}
			return
		}
		if got := Parse(a.String()).Find(name); len(got) != 1 || !got[0].Equal(k) {
			t.Fatalf("put %q, got %q", k, got)
		}
		if got := others(a.String(), name); !slices.Equal(before, got) {
			t.Fatalf("foreign lines were %q, are %q", before, got)
		}
	})
}
