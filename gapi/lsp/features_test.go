package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const graphSource = `graph: web
vars:
  domain: {type: text, default: a.example, doc: The name of the site.}
  sites: {type: map, default: {one: {port: 80, owner: ann}}}
data:
  files: [common.yaml]
secrets:
- age: keys.yaml
use:
- {module: ./mod, name: front, with: {port: 80}}
resources:
  note:
  - name: /a
    text: ${{ vars.domain }}
  - name: "b"
    depend: ["note[/a]"]
    recv: {text: "note[/a].said"}
  - name: "${{ each.key }}"
    for_each: ${{ vars.sites }}
    text: ${{ each.value.owner }}
edges:
- {from: "note[b]", to: {kind: note, name: /a}}
`

var featureFiles = map[string]string{
	"common.yaml":     "key: value\n",
	"keys.yaml":       "db: {password: \"ENC[age,x]\"}\ntoken: \"ENC[age,x]\"\n",
	"mod/module.yaml": "module: nginx\ncomment: A web server.\ninputs:\n  port: {type: int, doc: Where it listens.}\noutputs:\n  url: x\nresources:\n  note:\n  - name: inner\n",
}

// features begins a session with the graph, once it is read.
func features(t *testing.T) *client {
	t.Helper()
	c := start(t, testOptions(t, nil), featureFiles)
	src := strings.Replace(graphSource, "- {from: \"note[b]\", to: {kind: note, name: /a}}", "- {from: \"note[/a]\", to: {kind: note, name: b}}", 1)
	c.edit("g.yaml", src)
	if got := c.findings("g.yaml"); len(got) != 0 {
		t.Fatalf("the graph of the test is wrong: %q", got)
	}
	return c
}

// aimed puts the cursor into the graph, behind the first place with this text.
func aimed(t *testing.T, c *client, before, after string) string {
	t.Helper()
	src := c.typed["g.yaml"]
	if !strings.Contains(src, before+after) {
		t.Fatalf("%q is not in the graph", before+after)
	}
	return strings.Replace(src, before+after, before+"‸"+after, 1)
}

// TestComplete: at each place the editor offers what may stand there, and nothing else.
func TestComplete(t *testing.T) {
	c := features(t)
	base := c.typed["g.yaml"]
	for _, x := range []struct{ name, old, now, has, hasNot string }{
		{"top", "edges:\n", "def‸\nedges:\n", "defaults", "graph"},
		{"kind", "  note:\n", "  no‸\n  note:\n", "note", "text"},
		{"parameter", "    text: ${{ vars.domain }}\n", "    text: x\n    lo‸\n", "loud", "text"},
		{"parameters that are there", "    text: ${{ vars.domain }}\n", "    text: x\n    ‸\n", "tags when for_each meta state", "text name"},
		{"enum", "    text: ${{ vars.domain }}\n", "    state: ‸\n", "present absent", "true"},
		{"bool", "    text: ${{ vars.domain }}\n", "    loud: t‸\n", "true", "false"},
		{"meta", "    text: ${{ vars.domain }}\n", "    meta: {re‸}\n", "retry reverse", "noop"},
		{"meta value", "    text: ${{ vars.domain }}\n", "    meta: {drift: ‸}\n", "fix report", ""},
		{"reference", `depend: ["note[/a]"]`, `depend: ["no‸"]`, "note[/a] note[b] note[one]", ""},
		{"module as a reference", `depend: ["note[/a]"]`, `depend: ["mo‸"]`, "module[front]", "note[/a]"},
		{"received key", `recv: {text: "note[/a].said"}`, `recv: {te‸}`, "text", ""},
		{"sender", `recv: {text: "note[/a].said"}`, `recv: {text: "‸"}`, "note[/a].said", ""},
		{"edge", `from: "note[/a]"`, `from: "n‸"`, "note[/a]", ""},
		{"names", "${{ vars.domain }}", "${{ ‸ }}", "vars facts data module size json", "each"},
		{"variables", "${{ vars.domain }}", "${{ vars.‸ }}", "domain sites", "vars"},
		{"facts", "${{ vars.domain }}", "${{ facts.host‸ }}", "hostname", "os_family"},
		{"data", "${{ vars.domain }}", "${{ data.‸ }}", "key", ""},
		{"module", "${{ vars.domain }}", "${{ module.‸ }}", "front", ""},
		{"output", "${{ vars.domain }}", "${{ module.front.‸ }}", "url", ""},
		{"loop", "${{ each.value.owner }}", "${{ ea‸ }}", "each", ""},
		{"each", "${{ each.value.owner }}", "${{ each.‸ }}", "key value index", ""},
		{"element", "${{ each.value.owner }}", "${{ each.value.‸ }}", "owner port", ""},
		{"inputs", "with: {port: 80}", "with: {‸}", "port", ""},
		{"file", "files: [common.yaml]", "files: [co‸]", "common.yaml", ""},
		{"methods", "${{ vars.domain }}", "${{ vars.domain.s‸ }}", "split", "sha256"},
		{"secret", "${{ vars.domain }}", "${{ secret('‸') }}", "db/password token", ""},
		{"type of a variable", "type: text", "type: ‸", "text int list", "name"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if !strings.Contains(base, x.old) {
				t.Fatalf("%q is not in the graph", x.old)
			}
			var got completionList
			if f := c.ask("textDocument/completion", c.cursor("g.yaml", strings.Replace(base, x.old, x.now, 1)), &got); f != nil {
				t.Fatal(f)
			}
			var labels []string
			for _, i := range got.Items {
				labels = append(labels, i.Label)
			}
			for want := range strings.FieldsSeq(x.has) {
				if !slices.Contains(labels, want) {
					t.Errorf("%q lacks %s", labels, want)
				}
			}
			for other := range strings.FieldsSeq(x.hasNot) {
				if slices.Contains(labels, other) {
					t.Errorf("%q has %s", labels, other)
				}
			}
		})
	}
}

// TestCompleteReplaces: a completion replaces what is typed, and a reference without quotes gets some.
func TestCompleteReplaces(t *testing.T) {
	c := features(t)
	var got completionList
	c.ask("textDocument/completion", c.cursor("g.yaml", strings.Replace(c.typed["g.yaml"], `depend: ["note[/a]"]`, "depend: [not‸]", 1)), &got)
	i := slices.IndexFunc(got.Items, func(i completionItem) bool { return i.Label == "note[/a]" })
	if i < 0 {
		t.Fatalf("%+v", got)
	}
	if e := got.Items[i].TextEdit; e.NewText != `"note[/a]"` || e.Range.End.Character-e.Range.Start.Character != len("not") {
		t.Errorf("%+v", e)
	}
}

// TestHover: kinds, keys, references, names and modules are explained.
func TestHover(t *testing.T) {
	c := features(t)
	for _, x := range []struct{ before, after, want string }{
		{"  no", "te:\n", "It has more to say."},
		{"    te", "xt: ${{ vars", "What it says."},
		{"    dep", "end:", "this one waits for"},
		{"gra", "ph: web", "The name of the graph"},
		{"${{ vars.dom", "ain }}", "The name of the site."},
		{"${{ vars.dom", "ain }}", "a.example"},
		{"depend: [\"note[", "/a]", "Declared at"},
		{"{module: ./m", "od, name", "Where it listens."},
	} {
		var got *hover
		if f := c.ask("textDocument/hover", c.cursor("g.yaml", aimed(t, c, x.before, x.after)), &got); f != nil || got == nil || !strings.Contains(got.Contents.Value, x.want) {
			t.Errorf("%s‸%s: %+v, %v", x.before, x.after, got, f)
		}
	}
}

// spans writes locations as file:line:column-column.
func (c *client) spans(list []location) (out []string) {
	for _, l := range list {
		name := strings.TrimPrefix(pathOf(l.URI), c.dir+"/")
		out = append(out, fmt.Sprintf("%s:%d:%d-%d", name, l.Range.Start.Line, l.Range.Start.Character, l.Range.End.Character))
	}
	return out
}

// TestDefinition: from a reference, a file, a variable, a key of the data and a module to where they are declared.
func TestDefinition(t *testing.T) {
	c := features(t)
	for _, x := range []struct{ before, after, want string }{
		{"depend: [\"no", "te[/a]", "g.yaml:12:10-12"},
		{"recv: {text: \"note[/", "a].said", "g.yaml:12:10-12"},
		{"files: [comm", "on.yaml]", "common.yaml:0:0-0"},
		{"{module: ./m", "od, name", "mod/module.yaml:0:0-0"},
		{"${{ vars.dom", "ain }}", "g.yaml:2:2-8"},
	} {
		var got []location
		if f := c.ask("textDocument/definition", c.cursor("g.yaml", aimed(t, c, x.before, x.after)), &got); f != nil || len(got) != 1 || c.spans(got)[0] != x.want {
			t.Errorf("%s‸%s: %q, %v", x.before, x.after, c.spans(got), f)
		}
	}
}

// TestDefinitionOfASecret: from secret('...') to its key, without its value.
func TestDefinitionOfASecret(t *testing.T) {
	c := features(t)
	src := strings.Replace(c.typed["g.yaml"], "${{ vars.domain }}", "${{ secret('db/pass‸word') }}", 1)
	var got []location
	if f := c.ask("textDocument/definition", c.cursor("g.yaml", src), &got); f != nil || len(got) != 1 || c.spans(got)[0] != "keys.yaml:0:5-13" {
		t.Errorf("%q, %v", c.spans(got), f)
	}
}

// TestReferences: all places that name a resource, in every notation.
func TestReferences(t *testing.T) {
	c := features(t)
	p := c.cursor("g.yaml", aimed(t, c, "- name: /", "a\n"))
	p["context"] = map[string]any{"includeDeclaration": true}
	var got []location
	if f := c.ask("textDocument/references", p, &got); f != nil {
		t.Fatal(f)
	}
	want := []string{"g.yaml:12:10-12", "g.yaml:15:19-21", "g.yaml:16:23-25", "g.yaml:21:15-17"}
	list := c.spans(got)
	slices.Sort(list)
	if !slices.Equal(list, want) {
		t.Errorf("%q", list)
	}
}

// TestRename: a name is altered in its declaration and in all references, over files, and the new graph is right.
func TestRename(t *testing.T) {
	c := start(t, testOptions(t, nil), map[string]string{
		"graph.yaml": "include: [base.yaml]\nresources:\n  note:\n  - name: \"b\"\n    depend: ['note[a]', \"note[a]\"]\n",
		"base.yaml":  "resources:\n  note:\n  - name: a\nedges:\n- from: {kind: note, name: a}\n  to: note[b]\n",
	})
	sources := map[string]string{
		"graph.yaml": "include: [base.yaml]\nresources:\n  note:\n  - name: \"b\"\n    depend: ['note[a]']\n    text: ${{ 'a' }}\n",
		"base.yaml":  "resources:\n  note:\n  - name: a\nedges:\n- from: {kind: note, name: a}\n  to: note[b]\n",
	}
	c.edit("graph.yaml", sources["graph.yaml"])
	if got := c.findings("graph.yaml"); len(got) != 0 {
		t.Fatal(got)
	}
	p := c.cursor("graph.yaml", strings.Replace(sources["graph.yaml"], "note[a]", "note[a‸]", 1))
	p["newName"] = "other one"
	var got workspaceEdit
	if f := c.ask("textDocument/rename", p, &got); f != nil {
		t.Fatal(f)
	}
	for name, want := range map[string]string{
		"graph.yaml": "include: [base.yaml]\nresources:\n  note:\n  - name: \"b\"\n    depend: ['note[other one]']\n    text: ${{ 'a' }}\n",
		"base.yaml":  "resources:\n  note:\n  - name: other one\nedges:\n- from: {kind: note, name: other one}\n  to: note[b]\n",
	} {
		if now := applied(sources[name], got.Changes[c.uri(name)]); now != want {
			t.Errorf("%s is now\n%s", name, now)
		}
	}
}

// applied returns a text after some edits, which do not overlap.
func applied(src string, edits []textEdit) string {
	slices.SortFunc(edits, func(a, b textEdit) int {
		if a.Range.Start.Line != b.Range.Start.Line {
			return b.Range.Start.Line - a.Range.Start.Line
		}
		return b.Range.Start.Character - a.Range.Start.Character
	})
	t := newText(src)
	for _, e := range edits {
		t = t.edited(contentChange{&e.Range, e.NewText})
	}
	return t.src
}

// TestRenameRefused: a rename that can't be whole says why, and alters nothing.
func TestRenameRefused(t *testing.T) {
	c := features(t)
	for _, x := range []struct{ before, after, name, want string }{
		{"- name: /", "a\n", "b", "is declared already"},
		{"- name: /", "a\n", "", "not empty"},
		{"- name: /", "a\n", "a\"b", "needs quotes"},
		{"gra", "ph: web", "x", "no name of a resource"},
	} {
		p := c.cursor("g.yaml", aimed(t, c, x.before, x.after))
		p["newName"] = x.name
		if f := c.ask("textDocument/rename", p, nil); f == nil || !strings.Contains(f.Message, x.want) {
			t.Errorf("%q: %v", x.name, f)
		}
	}
	// A loop makes the name, so no text has it.
	c.edit("g.yaml", strings.Replace(c.typed["g.yaml"], "note[/a]\"]", "note[one]\", \"note[/a]\"]", 1))
	if got := c.findings("g.yaml"); len(got) != 0 {
		t.Fatal(got)
	}
	p := c.cursor("g.yaml", aimed(t, c, "note[on", "e]"))
	p["newName"] = "two"
	if f := c.ask("textDocument/rename", p, nil); f == nil || !strings.Contains(f.Message, "made by an expression") {
		t.Errorf("%v", f)
	}
	// The graph is older than the text, which can't be read.
	c.edit("g.yaml", c.typed["g.yaml"]+"]\n")
	if got := c.findings("g.yaml"); len(got) == 0 {
		t.Fatal("it can be read")
	}
	p = c.cursor("g.yaml", aimed(t, c, "- name: /", "a\n"))
	p["newName"] = "z"
	if f := c.ask("textDocument/rename", p, nil); f == nil || !strings.Contains(f.Message, "since the last edit") {
		t.Errorf("%v", f)
	}
}

// TestActions: the word that was probably meant takes the place of the wrong one.
func TestActions(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	src := "resources:\n  note:\n  - name: a\n    lout: true\n"
	c.edit("g.yaml", src)
	var found published
	for m := c.read(); ; m = c.read() {
		if m.Method == "textDocument/publishDiagnostics" {
			if err := json.Unmarshal(m.Params, &found); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	var got []codeAction
	p := map[string]any{"textDocument": map[string]any{"uri": c.uri("g.yaml")}, "context": map[string]any{"diagnostics": found.Diagnostics}}
	if f := c.ask("textDocument/codeAction", p, &got); f != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, f)
	}
	if now := applied(src, got[0].Edit.Changes[c.uri("g.yaml")]); now != strings.Replace(src, "lout", "loud", 1) {
		t.Errorf("%s", now)
	}
}

// TestFormat: formatting gives the form of mgmt fmt, and a file that is no YAML is left alone.
func TestFormat(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	src := "resources:\n    note:\n      - name: a\n"
	p := c.cursor("g.yaml", src+"‸")
	var got []textEdit
	if f := c.ask("textDocument/formatting", p, &got); f != nil || applied(src, got) != "resources:\n  note:\n  - name: a\n" {
		t.Errorf("%v, %v", got, f)
	}
	if f := c.ask("textDocument/formatting", c.cursor("g.yaml", "a: [‸"), &got); f == nil {
		t.Error("a broken file was formatted")
	}
}

// TestTOML: a graph in TOML has findings, symbols and its usual form. Nothing is completed, since the words of YAML would be wrong there.
func TestTOML(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	p := c.cursor("g.toml", "[[resources.note]]\nname = 'a'\nlou‸t = 1\n")
	if got := c.findings("g.toml"); len(got) != 1 || !strings.Contains(got[0], "lout") {
		t.Errorf("%q", got)
	}
	var items completionList
	if f := c.ask("textDocument/completion", p, &items); f != nil || len(items.Items) > 0 {
		t.Errorf("%v, %v", items, f)
	}
	var symbols []documentSymbol
	if f := c.ask("textDocument/documentSymbol", p, &symbols); f != nil || len(symbols) != 1 || symbols[0].Name != "note[a]" {
		t.Errorf("%v, %v", symbols, f)
	}
}

// TestSymbols: a file has its resources, at their names.
func TestSymbols(t *testing.T) {
	c := features(t)
	var got []documentSymbol
	if f := c.ask("textDocument/documentSymbol", c.cursor("g.yaml", c.typed["g.yaml"]+"‸"), &got); f != nil {
		t.Fatal(f)
	}
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	if want := []string{"note[/a]", "note[b]", "note[one]"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// TestWorkspaceSymbols: the letters of a query find resources in every graph of the session, wherever they stand.
func TestWorkspaceSymbols(t *testing.T) {
	c := features(t)
	c.edit("other.yaml", "graph: other\nresources:\n  note:\n  - name: far\n")
	c.findings("other.yaml")
	for query, want := range map[string]string{
		"":      "note[/a]@g.yaml:12 note[b]@g.yaml:14 note[far]@other.yaml:3 note[inner]@mod/module.yaml:8 note[one]@g.yaml:17",
		"far":   "note[far]@other.yaml:3",
		"NtIR":  "note[inner]@mod/module.yaml:8",
		"other": "",
	} {
		var got []symbolInformation
		if f := c.ask("workspace/symbol", map[string]any{"query": query}, &got); f != nil {
			t.Fatal(f)
		}
		var list []string
		for _, x := range got {
			list = append(list, fmt.Sprintf("%s@%s:%d", x.Name, strings.TrimPrefix(x.Location.URI, uriOf(c.dir)+"/"), x.Location.Range.Start.Line))
		}
		slices.Sort(list)
		if strings.Join(list, " ") != want {
			t.Errorf("%q: %q, and not %q", query, list, want)
		}
	}
}
