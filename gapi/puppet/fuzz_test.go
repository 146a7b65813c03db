package puppet_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// FuzzCatalog: any input is read or refused, with places, and what is read without an
// error can be built.
func FuzzCatalog(f *testing.F) {
	files, err := filepath.Glob("testdata/puppet/catalogs/*.catalog.*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, byte(0))
	}
	f.Add([]byte("Notice: {\n{\"resources\": [{\"type\": \"File\", \"title\": \"/\"}], \"edges\": [{}]}"), byte(3))
	f.Add([]byte(source([]string{entry(1, "Exec", "x", `{"command": ["a", ["b"]], "onlyif": [["c"], 3, null], "returns": [[0]]}`)})), byte(1))
	f.Add([]byte(source([]string{container("Class", "a", `{"before": "Class[b]"}`), container("Class", "b", `{"before": "Class[a]"}`)}, "Class[a] > Class[b]")), byte(4))
	f.Fuzz(func(t *testing.T, src []byte, flags byte) {
		o := puppet.Options{Lenient: flags&1 > 0}
		if flags&2 > 0 {
			o.Tags = []string{"class"}
		}
		if flags&4 > 0 {
			o.Ordering = puppet.Manifest
		}
		d, err := puppet.Read("c.json", src, kinds, o)
		if err != nil {
			ds, ok := errors.AsType[schema.Diagnostics](err)
			if !ok || len(ds) == 0 {
				t.Fatalf("an error of type %T: %v", err, err)
			}
			checkPlaces(t, src, ds)
			return
		}
		g, ds := gapi.Build(kinds, d)
		if (g == nil) != (ds.Err() != nil) {
			t.Fatalf("graph %v with %v", g, ds)
		}
		checkPlaces(t, src, ds)
	})
}

func checkPlaces(t *testing.T, src []byte, ds schema.Diagnostics) {
	lines := int32(bytes.Count(src, []byte("\n")) + 1)
	for _, d := range ds {
		if d.More > 0 {
			continue
		}
		inJSON := d.Pos.File == "c.json" && d.Pos.Line <= lines
		if d.Message == "" || d.Pos.Line < 0 || d.Pos.Col < 0 || d.Pos.File == "" || d.Pos.File == "c.json" && d.Pos.Col > 0 && !inJSON {
			t.Fatalf("%+v", d)
		}
	}
}
