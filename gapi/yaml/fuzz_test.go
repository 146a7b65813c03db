package yaml_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// explain loads and builds a source and returns all findings.
func explain(t *testing.T, src []byte, reg *engine.Registry) schema.Diagnostics {
	t.Helper()
	d, err := yaml.Load("-", yaml.Options{}, bytes.NewReader(src))
	if err != nil {
		ds, ok := errors.AsType[schema.Diagnostics](err)
		if !ok || len(ds) == 0 {
			t.Fatalf("an error of type %T: %v", err, err)
		}
		return ds
	}
	g, ds := gapi.Build(reg, d)
	if (g == nil) != (ds.Err() != nil) {
		t.Fatalf("graph %v with %v", g, ds)
	}
	return ds
}

// Any input is read or refused, with places in the input; and what can be
// formatted keeps its meaning.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(web))
	f.Add([]byte(laughs(9, 10)))
	f.Add([]byte("a: &a [*a]\nb: {<<: *a, <<: [*a]}\n? [x]\n: !!binary x\n"))
	f.Add([]byte(strings.Repeat("[", 200) + "\x00\xff\xfe"))
	f.Add([]byte(strings.Repeat("{a: ", 90)))
	f.Add([]byte("resources:\r\n  noop:\r\n\t- name: a\r\n"))
	f.Add([]byte("a: |+\n\n\n\n# x\nb: >-\n  x\n\n   y\n"))
	f.Add([]byte("'" + strings.Repeat("x", 1<<16)))
	reg := registry(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		if bytes.Contains(src, []byte("include")) {
			return // it would read files
		}
		ds := explain(t, src, reg)
		lines := int32(bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte("\r")) + bytes.Count(src, []byte("\u2028")) +
			bytes.Count(src, []byte("\u2029")) + bytes.Count(src, []byte("\u0085")) + 2)
		for _, d := range ds {
			if d.Message == "" || d.Pos.File != "stdin" || d.Pos.Line > lines || d.Pos.Line < 0 || d.Pos.Col < 0 {
				t.Fatalf("%+v", d)
			}
		}
		if out, err := yaml.Format(src); err == nil {
			checkFormatted(t, src, out)
		}
	})
}
