package yaml_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// check loads and builds a graph and returns all that is said about it.
func check(t testing.TB, path string) schema.Diagnostics {
	t.Helper()
	d, err := yaml.Load(path, yaml.Options{}, nil)
	if err != nil {
		ds, ok := errors.AsType[schema.Diagnostics](err)
		if !ok {
			t.Fatalf("%s: an error of type %T: %v", path, err, err)
		}
		return ds
	}
	g, ds := gapi.Build(registry(t), d)
	if (g == nil) != (ds.Err() != nil) {
		t.Fatalf("%s: graph %v with %v", path, g, ds)
	}
	return ds
}

// Every broken graph has exactly these messages.
func TestBroken(t *testing.T) {
	t.Chdir("testdata/broken")
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 45 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			ds := check(t, file)
			if ds.Err() == nil {
				t.Errorf("nothing is wrong with it: %v", ds)
			}
			for _, d := range ds {
				if d.Pos.File == "" || d.Pos.Line == 0 && !strings.HasPrefix(file, "empty") {
					t.Errorf("no position: %v", d)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", ds)
		})
	}
}

func golden(t *testing.T, file string, ds schema.Diagnostics) {
	t.Helper()
	var got bytes.Buffer
	if err := gapi.WriteDiagnostics(&got, "text", ds); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
