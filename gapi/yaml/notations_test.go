package yaml_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestNotationsByName: the name of a file decides what it is, everywhere. Names that look alike are others.
func TestNotationsByName(t *testing.T) {
	for name, want := range map[string]struct {
		notation, tests       string
		graph, test, document bool
	}{
		"web.yaml":      {"YAML", "web_test.yaml", true, false, true},
		"a/web.yml":     {"YAML", "a/web_test.yaml", true, false, true},
		"web_test.yaml": {"YAML", "web_test_test.yaml", false, true, true},
		"web_test.yml":  {"YAML", "web_test_test.yaml", true, false, true},
		".web.yaml":     {"YAML", "_test.yaml", false, false, true},
		"web.json":      {"JSON", "web_test.yaml", false, false, true},
		"web_test.json": {"JSON", "web_test_test.yaml", false, false, true},
		"web.toml":      {"TOML", "web_test.toml", true, false, true},
		"web_test.toml": {"TOML", "web_test_test.toml", false, true, true},
		"main.ts":       {"TypeScript", "main_test.yaml", false, false, false},
		"web.YAML":      {"", "web_test.yaml", false, false, false},
		"yaml":          {"", "yaml_test.yaml", false, false, false},
		"-":             {"", "-_test.yaml", false, false, false},
	} {
		n := yaml.NotationOf(name)
		if n.Name != want.notation || yaml.IsGraphName(name) != want.graph || yaml.IsTest(name) != want.test || n.IsDocument() != want.document {
			t.Errorf("%s: %s, graph %v, test %v, document %v", name, n.Name, yaml.IsGraphName(name), yaml.IsTest(name), n.IsDocument())
		}
		if got := yaml.TestsOf(name); name != ".web.yaml" && got != want.tests {
			t.Errorf("%s: tests in %s, not %s", name, got, want.tests)
		}
	}
}

// TestNotationsTable: each flag has files, each file of a folder can be formatted, and the first extension of a row leads to the row, but for
// a row whose graphs only a flag names.
func TestNotationsTable(t *testing.T) {
	for _, n := range yaml.Notations() {
		if !slices.Contains(yaml.FlagExtensions(n.Flag), n.Extensions[0][1:]) {
			t.Errorf("%s: --%s does not complete it", n.Name, n.Flag)
		}
		if n.Folder && (n.Format == nil || !n.IsDocument()) {
			t.Errorf("%s: a folder has it, and fmt does not", n.Name)
		}
		if of := yaml.NotationOf("x" + n.Extensions[0]); of.Name != n.Name && n.Flag != "puppet-catalog" {
			t.Errorf("%s: its extension is that of %s", n.Name, of.Name)
		}
	}
}
