package yaml_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestAppendTexts: texts are added to the list at a key, whatever form it has, and the rest of the document says what it said.
func TestAppendTexts(t *testing.T) {
	for src, want := range map[string]string{
		"# top\nto: [a, b] # why\n\nx: 1\n":      "# top\nto: [a, b, c, d] # why\n\nx: 1\n",
		"to:\n- a\n- b # why\nx:\n  y: [1]\n":    "to:\n- a\n- b # why\n- c\n- d\nx:\n  y: [1]\n",
		"to: []\n":                               "to: [c, d]\n",
		"{\"to\": [\"a\"], \"x\": {\"to\": []}}": "{\"to\": [\"a\", c, d], \"x\": {\"to\": []}}\n",
	} {
		got, err := yaml.AppendTexts([]byte(src), "to", "c", "d")
		if err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v", src, got, err)
		}
	}
	for _, src := range []string{"", "x: 1\n", "to: a\n", "to: {a: b}\n", "- to\n", "x: {to: [a]}\n", "to: [\n"} {
		if got, err := yaml.AppendTexts([]byte(src), "to", "c"); err == nil {
			t.Errorf("%q becomes %q", src, got)
		}
	}
}
