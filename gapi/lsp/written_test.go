package lsp

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// renameFiles have the resource note[a] at every place where one may be named. The mark § stands for its name.
var renameFiles = map[string]string{
	"graph.yaml": `include: [base.yaml]
vars:
  on: {type: bool, default: false}
  none: {type: list, default: []}
use:
- {module: ./mod, name: front}
resources:
  note:
  - name: twice
    text: "${{ sent('note[§].said') }} ${{ sent('note[§].said') }}"
  - name: escaped
    text: "${{ sent(\"note[§].said\") }}"
  - name: doubled
    text: '${{ sent(''note[§].said'') }}'
  - name: block
    text: |
      a
      ${{ sent("note[§].said") }} and ${{ sent( 'note[§].said' ) }}
  - name: out
    when: ${{ vars.on }}
    depend: ["note[§]"]
    recv: {text: "note[§].said"}
  - name: other ${{ each.value }}
    for_each: ${{ vars.none }}
    listen: ["note[§]"]
  - {name: a2, before: ["note[aa]", 'note[§]'], text: a}
  - name: aa
edges:
- {from: {kind: note, name: §}, to: "note[aa]"}
`,
	"base.yaml": `resources:
  note:
  - name: §
    when: ${{ !vars.on }}
  - name: "§"
    when: ${{ vars.on }}
    text: a
`,
	"mod/module.yaml": "module: mod\nresources:\n  note:\n  - name: in\n    depend: [\"note[§]\"]\n",
	"graph_test.yaml": `graph: graph.yaml
tests:
- name: a
  machine:
    note: [{name: §}]
  steps:
  - expect:
      order: ["note[aa]", "note[§]"]
      ok: ["note[§]"]
      note: [{name: §, text: a}]
  - fail: {"note[§]": a}
`,
	"other_test.yaml": "graph: other.yaml\ntests:\n- name: a\n  steps:\n  - expect: {ok: [\"note[a]\"]}\n",
}

// TestRenameEverywhere: a rename alters each place that names the resource and nothing else, also where no resource of the present graph
// stands, and from each of these places.
//
// Seen failing with: places of the last check alone, in which a scalar counts once and resources that are left out are missing.
func TestRenameEverywhere(t *testing.T) {
	files, want := map[string]string{}, map[string]string{}
	for name, src := range renameFiles {
		files[name], want[name] = strings.ReplaceAll(src, "§", "a"), strings.ReplaceAll(src, "§", "b c")
	}
	for _, x := range []struct{ file, before string }{
		{"graph.yaml", "'} ${{ sent('note["}, {"graph.yaml", "depend: [\"note["}, {"base.yaml", "- name: \""}, {"base.yaml", "- name: "},
		{"graph_test.yaml", "ok: [\"note["}, {"graph_test.yaml", "note: [{name: "},
	} {
		c := start(t, testOptions(t, nil), files)
		c.edit("graph.yaml", files["graph.yaml"])
		if got := c.findings("graph.yaml"); len(got) != 0 {
			t.Fatal(got)
		}
		before := strings.Replace(x.before, "'} $", "') }} $", 1)
		p := c.cursor(x.file, strings.Replace(files[x.file], before, before+"‸", 1))
		if x.file != "graph.yaml" {
			c.findings(x.file)
		}
		p["newName"] = "b c"
		var got workspaceEdit
		if f := c.ask("textDocument/rename", p, &got); f != nil {
			t.Errorf("from %s %q: %v", x.file, x.before, f)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if now := applied(files[name], got.Changes[c.uri(name)]); now != want[name] {
				t.Errorf("from %s %q: %s is now\n%s", x.file, x.before, name, now)
			}
		}
	}
}

// TestRenameIsWhole: a place that can't be altered refuses the whole, with its place, also where the name stands in a line near it.
func TestRenameIsWhole(t *testing.T) {
	for _, x := range []struct{ what, last, want string }{
		{"a computed reference above a plain one", "    depend: [\"note[${{ 'a' }}]\"]\n  - name: d\n    depend: [\"note[a]\"]\n", "made by an expression"},
		{"a computed argument beside a plain one", "    text: ${{ sent('note[a].said') + sent('note[' + 'a].said') }}\n", "made by an expression"},
		{"an escape", "    depend: [\"note[\\x61]\"]\n", "written with escapes"},
		{"an escape in an expression that is left out", "    when: false\n    text: \"${{ sent('note[\\x61].said') }}\"\n", "written with escapes"},
		{"a name that is left out", "  - name: b\n    when: false\n", "declared already"},
	} {
		src := "resources:\n  note:\n  - name: a\n  - name: c\n" + x.last
		c := start(t, testOptions(t, nil), nil)
		c.edit("graph.yaml", src)
		if got := c.findings("graph.yaml"); len(got) != 0 {
			t.Errorf("%s: %v", x.what, got)
			continue
		}
		p := c.cursor("graph.yaml", strings.Replace(src, "- name: a", "- name: ‸a", 1))
		p["newName"] = "b"
		if f := c.ask("textDocument/rename", p, nil); f == nil || !strings.Contains(f.Message, x.want) {
			t.Errorf("%s: %v", x.what, f)
		}
	}
}
