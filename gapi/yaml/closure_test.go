package yaml_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestClosureRefuses: a file that only another machine reads, and that is there and can't be taken along, is an error at the place that names
// it. One that is missing is none: another condition may rule it out.
func TestClosureRefuses(t *testing.T) {
	const head = "vars: {on: false}\nresources:\n  noop:\n  - {name: a}\n"
	for _, x := range []struct{ name, src, want string }{
		{"missing", head + "  - {name: b, when: \"${{ vars.on }}\", comment: \"${{ read('none') }}\"}\n", ""},
		{"pipe", head + "  - {name: b, when: \"${{ vars.on }}\", comment: \"${{ read('pipe') }}\"}\n", "g.yaml:5:"},
		{"refused", head + "  - {name: b, when: \"${{ vars.on }}\", comment: \"${{ read('refused') }}\"}\n", "g.yaml:5:"},
		{"part of a name", head + "  - {name: b, when: \"${{ vars.on }}\", comment: \"${{ read('ref' + vars.x) }}\"}\n", "g.yaml:5:"},
		{"data", "data: {files: [\"${{ facts.hostname == 'w2' ? 'refused' : 'none' }}\"]}\n" + head, ""}, // any name fits, so only what is there counts
		{"layer", "data: {files: [\"ref${{ facts.hostname == 'w2' ? 'used' : 'none' }}\"]}\n" + head, "g.yaml:1:"},
		{"module", "use: [{module: m, when: \"${{ facts.hostname == 'w2' }}\"}]\n" + head, "g.yaml:1:"},
		{"template", head + "  - {name: b, when: \"${{ vars.on }}\", comment: \"${{ template('t') }}\"}\n", "t: can't take"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "g.yaml", x.src)
			write(t, dir, "refused", strings.Repeat("large\n", 1000))
			write(t, dir, "m/module.yaml", "module: m\n")
			write(t, dir, "m/refused", strings.Repeat("large\n", 1000))
			write(t, dir, "t", "{{ read \"refused\" }}\n")
			if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			taken := map[string]bool{}
			o := yaml.Options{Facts: func() map[string]any { return map[string]any{"hostname": "w1"} }, MaxBytes: 4 << 10}
			d, err := yaml.Files(path, o, nil, func(path string, _ []byte) { taken[filepath.Base(path)] = true })
			if err == nil {
				err = d.Problems.Err()
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			switch {
			case x.want == "" && text != "":
				t.Errorf("an error: %s", text)
			case !strings.Contains(text, x.want):
				t.Errorf("the error is %q, without %q; taken: %q", text, x.want, slices.Sorted(maps.Keys(taken)))
			}
		})
	}
}
