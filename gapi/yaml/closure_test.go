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

// TestClosureIncludes: the files that another machine includes by way of a computed include come along, however include is written.
func TestClosureIncludes(t *testing.T) {
	for _, x := range []struct{ name, include, there, want string }{
		{"a list", `["os/${{ facts.os }}.yaml"]`, "include: [common/base.yaml]\n", "os/a.yaml os/b.yaml os/common/base.yaml"},
		{"one path", `"os/${{ facts.os }}.yaml"`, "include: common/base.yaml\n", "os/a.yaml os/b.yaml os/common/base.yaml"},
		{"a folder", `["o${{ facts.os == 'a' ? 't' : 's' }}/"]`, "include: common\n", "os/a.yaml os/b.yaml os/common/base.yaml"},
		{"a circle", `["os/${{ facts.os }}.yaml"]`, "include: [b.yaml, ../g.yaml, none.yaml]\n", "os/a.yaml os/b.yaml"},
		{"a layer of data", `["os/${{ facts.os }}.yaml"]`, "data: {files: [common/base.yaml]}\n", "os/a.yaml os/b.yaml os/common/base.yaml"},
		{"a folder in it", `["os/${{ facts.os }}.yaml"]`, "include: [common/]\n", "os/a.yaml os/b.yaml os/common/base.yaml"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "g.yaml", "include: "+x.include+"\nresources:\n  noop:\n  - name: a\n")
			write(t, dir, "ot/none.yaml", "resources: {}\n")
			write(t, dir, "os/a.yaml", "resources: {}\n")
			write(t, dir, "os/b.yaml", x.there)
			write(t, dir, "os/common/base.yaml", "resources: {}\n")
			write(t, dir, "os/common/base_test.yaml", "tests: []\n")
			taken := map[string]bool{}
			o := yaml.Options{Facts: func() map[string]any { return map[string]any{"os": "a"} }}
			d, err := yaml.Files(path, o, nil, func(path string, _ []byte) {
				rel, _ := filepath.Rel(dir, path)
				taken[filepath.ToSlash(rel)] = true
			})
			if err == nil {
				err = d.Problems.Err()
			}
			delete(taken, "g.yaml")
			delete(taken, "ot/none.yaml")
			if got := strings.Join(slices.Sorted(maps.Keys(taken)), " "); err != nil || got != x.want {
				t.Errorf("taken: %s, want %s; error: %v", got, x.want, err)
			}
		})
	}
}

// TestClosureOfAModuleInUse: a module that this machine uses may name other files on another one.
func TestClosureOfAModuleInUse(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", "use: [{module: m}]\n")
	write(t, dir, "m/module.yaml", "module: m\ndata: {files: [\"../os/${{ facts.os }}.yaml\"]}\nresources: {noop: [{name: a}]}\n")
	write(t, dir, "os/b.yaml", "x: 1\n")
	taken := map[string]bool{}
	o := yaml.Options{Facts: func() map[string]any { return map[string]any{"os": "a"} }}
	_, err := yaml.Files(path, o, nil, func(path string, _ []byte) { taken[filepath.Base(path)] = true })
	if got := slices.Sorted(maps.Keys(taken)); err != nil || !slices.Equal(got, []string{"b.yaml", "g.yaml", "module.yaml"}) {
		t.Errorf("taken: %v; error: %v", got, err)
	}
}

// TestIncludeAFolderFromMemory: an include of a folder means the same where the files came with a deploy.
func TestIncludeAFolderFromMemory(t *testing.T) {
	noop := func(name string) []byte { return []byte("resources: {noop: [{name: " + name + "}]}\n") }
	files := map[string][]byte{
		"g.yaml": []byte("include: [more/, none]\n"), "more/2.yml": noop("b"), "more/1.yaml": noop("a"), "more/1_test.yaml": []byte("tests: []\n"),
		"more/.hidden.yaml": noop("c"), "more/deep/3.yaml": noop("d"), "more/t.txt": []byte("text"),
	}
	d, err := yaml.LoadFiles("g.yaml", files, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(d); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the resources are %v", got)
	}
	if err := d.Problems.Err(); err == nil || !strings.Contains(err.Error(), "none: it is not among the files") {
		t.Errorf("the error is %v", err)
	}
}
