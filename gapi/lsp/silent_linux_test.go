package lsp

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3SilentEditor: the editor is answered, although the folder of its file is on a file system that never answers.
func TestFindingJ3SilentEditor(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir, wake := nstest.Silent(t)
	o := testOptions(t, nil)
	o.YAML.Source.Asker = &gapi.Asker{Limit: 20 * time.Millisecond}
	c := start(t, o, nil)
	c.dir = dir
	c.edit("g.yaml", "resources: {note: [{name: x, txt: y}]}\n")
	if got := strings.Join(c.findings("g.yaml"), "\n"); !strings.Contains(got, `unknown key "txt"`) {
		t.Error(got)
	}
	var list struct{ Items []completionItem }
	c.ask("textDocument/completion", c.cursor("g.yaml", "include: [a‸]\nresources: {note: [{name: x}]}\n"), &list)
	c.ask("textDocument/completion", c.cursor("t.yaml", "graph: g.yaml\nresources: {note: [{name: \"‸\"}]}\n"), &list)
	var at []location
	c.ask("textDocument/definition", c.cursor("g.yaml", "include: [a‸.yaml]\nresources: {note: [{name: x}]}\n"), &at)
	wake()
	o.YAML.Source.Asker.Wait()
}
