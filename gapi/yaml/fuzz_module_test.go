package yaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// findingsOf loads and builds files, and returns all findings. Each has a message and a place in one of the files, or none.
func findingsOf(t *testing.T, files map[string]string, o yaml.Options) (*gapi.Declared, schema.Diagnostics) {
	t.Helper()
	reg := registry(t)
	o.Registry = func() *engine.Registry { return reg }
	d, dir, err := loadFiles(t, files, o)
	ds, known := errors.AsType[schema.Diagnostics](err)
	if err != nil && !known {
		t.Fatalf("an error of type %T: %v", err, err)
	}
	if d != nil {
		var g *resgraph.Graph
		if g, ds = gapi.Build(reg, d); (g == nil) != (ds.Err() != nil) {
			t.Fatalf("graph %v with %v", g, ds)
		}
	}
	for _, f := range ds {
		name := strings.TrimPrefix(f.Pos.File, dir+"/")
		src, ours := files[name]
		lines := int32(strings.Count(src, "\n") + strings.Count(src, "\r") + strings.Count(src, "\u2028") + strings.Count(src, "\u2029") + strings.Count(src, "\u0085") + 2)
		if f.Message == "" || f.Pos.Line < 0 || f.Pos.Col < 0 || ours && f.Pos.Line > lines {
			t.Fatalf("%+v", f)
		}
	}
	return d, ds
}

// FuzzModule: any file of a module is read or refused with places in it, and two readings of it say the same.
func FuzzModule(f *testing.F) {
	for _, src := range []string{
		"module: m\ninputs: {k: {type: text, default: a}}\noutputs: {o: \"${{ module.inputs.k }}\"}\nresources: {noop: [{name: \"${{ module.name }}\"}]}\n",
		"module: m\nuse: [{module: ., name: x}]\n", "module: name\n", "module: [m]\n", "outputs: {o: 1}\n", "module: m\ninputs: {k: {type: nope}, 1: 2}\n",
		"module: m\nvars: {a: 1}\ndata: {files: [\"${{ vars.a }}\"]}\ndefaults: {noop: {comment: x}}\n", "module: m\nedges: [{from: noop[a], to: module[m]}]\n",
		"module: m\nresources: {noop: [{name: a, when: \"${{ module.inputs.k\"}]}", "", "\xff", "module: &m m\noutputs: {o: *m}\n",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "read") || strings.Contains(src, "template") || strings.Contains(src, "..") || strings.Contains(src, "/") {
			return // it would read files of this machine
		}
		files := map[string]string{
			"g.yaml":        "use: [{module: ./m, name: one, with: {k: v}}, {module: ./m, name: two}]\nresources: {noop: [{name: z, comment: \"${{ module.one.?o.orValue('') }}\"}]}\n",
			"m/module.yaml": src,
		}
		_, first := findingsOf(t, files, yaml.Options{})
		_, again := findingsOf(t, files, yaml.Options{})
		if len(first) != len(again) {
			t.Fatalf("%v\nand then\n%v", first, again)
		}
	})
}

// FuzzSecrets: any file of encrypted values is read or refused, and no finding and no value that is shown has a part of a clear text.
func FuzzSecrets(f *testing.F) {
	for _, src := range []string{
		"api: {token: \"ENC[age,x]\"}\n", "api: {token: \"ENC[\"}\n", "api: {token: clear}\n", "api: [1]\n", "api: {token: {deeper: \"ENC[age,x]\"}}\n", "", "{", "\xff",
		"api: &a {token: \"ENC[age,x]\"}\nb: *a\n", "api: {token: !!binary RU5DW2FnZSx4XQ==}\n", "api: {token: ENC[age,${{ facts.hostname }}]}\n",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, theSecret) {
			return
		}
		unsealed := false
		files := map[string]string{
			"g.yaml":       "secrets: [{age: secrets.yaml}]\nresources:\n  file: [{name: /a, content: \"<${{ base64(secret('api/token')) }}> ${{ secret('api/token') }}\"}]\n",
			"secrets.yaml": src,
		}
		d, ds := findingsOf(t, files, yaml.Options{Unseal: func(text string) (string, error) {
			unsealed = true
			if strings.Contains(text, "bad") {
				return "", errors.New("it is for another identity")
			}
			return theSecret, nil
		}})
		if strings.Contains(ds.Error(), theSecret) {
			t.Fatalf("a finding shows the secret: %v", ds)
		}
		if d == nil || ds.Err() != nil || !unsealed {
			return
		}
		r := d.Resources[0]
		if marks := marksOf(t, r.Meta); len(marks) != 1 || strings.Contains(r.Value.Get("content").Text, theSecret) {
			t.Fatalf("the parameter is not hidden: %v", marks)
		}
	})
}
