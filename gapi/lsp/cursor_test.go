package lsp

import (
	"strings"
	"testing"
)

// TestCursor: what stands at the cursor is found, whatever the style. The cursor is the character ‸.
func TestCursor(t *testing.T) {
	const head = "graph: g\nresources:\n"
	for _, x := range []struct {
		name, src, path, prefix string
		key, expression         bool
	}{
		{"top", "gra‸", "", "gra", true, false},
		{"kind", head + "  fi‸", "resources", "fi", true, false},
		{"entry in compact style", head + "  file:\n  - na‸", "resources file -", "na", true, false},
		{"entry further in", head + "  file:\n    - name: x\n      mo‸", "resources file -", "mo", true, false},
		{"second key", head + "  file:\n  - name: x\n    mo‸", "resources file -", "mo", true, false},
		{"second entry", head + "  file:\n  - name: x\n    mode: a\n  - name: y\n    con‸", "resources file -", "con", true, false},
		{"second kind", head + "  file:\n  - name: x\n  exec:\n  - name: y\n    c‸md: z\n", "resources exec -", "c", true, false},
		{"value", head + "  file:\n  - name: x\n    state: ex‸", "resources file - state", "ex", false, false},
		{"quoted value", head + "  file:\n  - name: x\n    state: \"ex‸", "resources file - state", "ex", false, false},
		{"nested map", head + "  file:\n  - name: x\n    meta:\n      re‸", "resources file - meta", "re", true, false},
		{"flow map", head + "  file:\n  - name: x\n    meta: {retry: 3, de‸", "resources file - meta", "de", true, false},
		{"value in a flow map", head + "  file:\n  - name: x\n    meta: {drift: f‸", "resources file - meta drift", "f", false, false},
		{"flow list", head + "  file:\n  - name: x\n    depend: [\"exec[y]\", \"pk‸", "resources file - depend -", "pk", false, false},
		{"entry in flow style", head + "  file: [{name: x, mo‸", "resources file -", "mo", true, false},
		{"block list", head + "  file:\n  - name: x\n    depend:\n    - \"pk‸", "resources file - depend -", "pk", false, false},
		{"block scalar", head + "  file:\n  - name: x\n    content: |\n      a: b\n      c‸", "resources file - content", "      c", false, false},
		{"expression", head + "  file:\n  - name: x\n    content: a ${{ facts.h‸", "resources file - content", " facts.h", false, true},
		{"expression in a block", head + "  file:\n  - name: x\n    content: |\n      a ${{ fa‸", "resources file - content", " fa", false, true},
		{"expression in a list", head + "  file:\n  - name: x\n    sema: ['${{ va‸", "resources file - sema -", " va", false, true},
		{"behind an expression", head + "  file:\n  - name: x\n    content: ${{ a }} b‸", "resources file - content", "${{ a }} b", false, false},
		{"edge", "edges:\n- from: \"fi‸", "edges - from", "fi", false, false},
		{"edge in flow style", "edges:\n- {from: \"a[b]\", t‸", "edges -", "t", true, false},
		{"comment between", head + "  file:\n# x\n  - name: x\n\n    mo‸", "resources file -", "mo", true, false},
		{"nothing", "‸", "", "", true, false},
		{"wide characters", head + "  file:\n  - name: \"😀 ‸", "resources file - name", "😀 ", false, false},
		{"carriage returns", "resources:\r\n  file:\r\n  - name: x\r\n    mo‸", "resources file -", "mo", true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			at := strings.Index(x.src, "‸")
			c := cursorAt(newText(strings.Replace(x.src, "‸", "", 1)), at)
			if got := strings.Join(c.path, " "); got != x.path || c.key != x.key || c.prefix != x.prefix || c.expression != x.expression {
				t.Errorf("path %q, key %v, prefix %q, expression %v", got, c.key, c.prefix, c.expression)
			}
		})
	}
}

// FuzzCursor: any text at any offset is borne.
func FuzzCursor(f *testing.F) {
	f.Add("resources:\n  file:\n  - {name: x, meta: {a: [b", 20)
	f.Add("- - - a: |\n  ${{ 'x", 12)
	f.Fuzz(func(t *testing.T, src string, at int) {
		c := cursorAt(newText(src), at)
		if c.from < 0 || c.from > len(src) {
			t.Errorf("the prefix begins at %d of %d", c.from, len(src))
		}
		c.siblings()
		c.sibling("name")
	})
}

// TestLineEnds: each of the three ends of a line counts as one, as in the protocol and in YAML.
func TestLineEnds(t *testing.T) {
	x := newText("a\nb\r\nc\rd\r")
	for i, want := range []string{"a", "b", "c", "d", ""} {
		if got := x.line(i); got != want {
			t.Errorf("line %d: %q, and not %q", i, got, want)
		}
	}
	if got := x.position(strings.Index(x.src, "d")); got != (position{3, 0}) {
		t.Errorf("d is at %v", got)
	}
}
