package inifile

import "testing"

func TestRemoveSection(t *testing.T) {
	for _, c := range []struct{ text, section, want string }{
		{"[a]\nx=1\n", "a", ""},
		{"# one\n[a]\nx=1\n# about b\n[b]\ny=2\n", "a", "# one\n# about b\n[b]\ny=2\n"},
		{"[a]\nx=1\n y\n\n[b]\ny=2\n", "a", "[b]\ny=2\n"},
		{"[b]\ny=2\n\n[a]\nx=1\n\n[b]\nz=3\n[a]\nx=3", "a", "[b]\ny=2\n\n[b]\nz=3\n"},
		{"[b]\n", "a", "[b]\n"},
		{"x=1\n", "", "x=1\n"},
	} {
		f := Parse(c.text, Usual)
		if gone := f.RemoveSection(c.section); f.String() != c.want || gone != (c.text != c.want) {
			t.Errorf("%q without %q is %q, %v; want %q", c.text, c.section, f.String(), gone, c.want)
		}
		if f.Has(c.section) {
			t.Errorf("%q still has %q", f.String(), c.section)
		}
	}
}

func TestContinued(t *testing.T) {
	f := Parse("[a]\nx=1\ny=2\n  3\n", Usual)
	if x, y := f.Continued("a", "x"), f.Continued("a", "y"); x != 0 || y != 3 {
		t.Error(x, y)
	}
}
