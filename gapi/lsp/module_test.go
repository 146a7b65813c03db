package lsp

import (
	"strings"
	"testing"
)

// moduleSource is a module with every sort of name that its expressions can use.
const moduleSource = `module: nginx
inputs:
  port: {type: int, doc: Where it listens.}
  sites: {type: map, default: {}}
vars:
  own: {type: text, default: x, doc: The module's own text.}
outputs:
  url: ${{ vars.own }}
resources:
  note:
  - name: inner
    text: ${{ vars.own }}
`

// TestCompleteInModule: an expression in a module sees the inputs and the variables of the module, and nothing of the graph that uses it.
func TestCompleteInModule(t *testing.T) {
	for _, alone := range []bool{true, false} {
		c := start(t, testOptions(t, nil), map[string]string{"common.yaml": "key: value\n", "keys.yaml": "db: x\n", "mod/module.yaml": moduleSource})
		if !alone {
			src := strings.Replace(graphSource, "- {from: \"note[b]\", to: {kind: note, name: /a}}", "- {from: \"note[/a]\", to: {kind: note, name: b}}", 1)
			c.edit("g.yaml", src)
			c.findings("g.yaml")
		}
		c.edit("mod/module.yaml", moduleSource)
		if got := c.findings("mod/module.yaml"); len(got) > 0 {
			t.Fatalf("alone %t: the module of the test is wrong: %q", alone, got)
		}
		for _, x := range []struct{ now, has, hasNot string }{
			{"${{ module.‸ }}", "inputs name", "front"},
			{"${{ module.inputs.‸ }}", "port sites", "own"},
			{"${{ vars.‸ }}", "own", "domain"},
		} {
			src := strings.Replace(moduleSource, "text: ${{ vars.own }}", "text: "+x.now, 1)
			labels := " " + strings.Join(c.labels("mod/module.yaml", src), " ") + " "
			for want := range strings.FieldsSeq(x.has) {
				if !strings.Contains(labels, " "+want+" ") {
					t.Errorf("alone %t, %s: %q lacks %s", alone, x.now, labels, want)
				}
			}
			if strings.Contains(labels, " "+x.hasNot+" ") {
				t.Errorf("alone %t, %s: %q has %s", alone, x.now, labels, x.hasNot)
			}
		}
	}
}

// labels returns the words that the server offers at the cursor.
func (c *client) labels(name, marked string) (labels []string) {
	c.t.Helper()
	var got completionList
	if f := c.ask("textDocument/completion", c.cursor(name, marked), &got); f != nil {
		c.t.Fatal(f)
	}
	for _, i := range got.Items {
		labels = append(labels, i.Label)
	}
	return labels
}

// TestModuleByItself: hover and definition know the inputs of a module that no graph uses, and a rename is refused, since the module
// does not show who refers to its resources.
func TestModuleByItself(t *testing.T) {
	c := start(t, testOptions(t, nil), map[string]string{"mod/module.yaml": moduleSource})
	c.edit("mod/module.yaml", moduleSource)
	c.findings("mod/module.yaml")
	at := c.cursor("mod/module.yaml", strings.Replace(moduleSource, "text: ${{ vars.own }}", "text: ${{ string(module.inputs.po‸rt) }}", 1))
	var h struct {
		Contents markup `json:"contents"`
	}
	if f := c.ask("textDocument/hover", at, &h); f != nil || !strings.Contains(h.Contents.Value, "Where it listens.") {
		t.Errorf("hover: %v %q", f, h.Contents.Value)
	}
	// A value would be wrong: each use of the module gives its own.
	if strings.Contains(h.Contents.Value, "```") {
		t.Errorf("hover shows a value: %q", h.Contents.Value)
	}
	var at2 []location
	if f := c.ask("textDocument/definition", at, &at2); f != nil || len(at2) != 1 || at2[0].URI != c.uri("mod/module.yaml") || at2[0].Range.Start.Line != 2 {
		t.Errorf("definition: %v %+v", f, at2)
	}
	p := c.cursor("mod/module.yaml", strings.Replace(moduleSource, "inner", "in‸ner", 1))
	p["newName"] = "other"
	if f := c.ask("textDocument/rename", p, nil); f == nil || !strings.Contains(f.Message, "open a graph that uses the module") {
		t.Errorf("rename: %v", f)
	}
}
