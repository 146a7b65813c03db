package generate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

const definitions = "import \"github.com/reactivegraph/mgmt/idl\"\n"

// awkward are definitions whose words mean something in another language or notation.
var awkward = fstest.MapFS{
	"m/a.go": {Data: []byte("package m\n" + definitions + `
// Class ends a comment: */ and has "quotes", ` + "`ticks`" + `, a | bar, a \ and <tags>.
type Class struct {
	idl.NamedResource
	// Import is a word in most languages. """
	Import string
	Default *float64 ` + "`lumi:\"optional,min=0,max=5,default=1\"`" + `
	Token string ` + "`lumi:\"secret\"`" + `
	Kids []Tree ` + "`lumi:\"maxItems=3\"`" + `
	By map[string]Size
	Made string ` + "`lumi:\"out\"`" + `
}

type Tree struct {
	Of []Tree
	On bool
}
`)},
	"m/b.go": {Data: []byte("package m\n\ntype Size string\n\nconst (\n\tSmall Size = \"s\\\"mall\"\n\tLarge Size = \"l\\\\arge\"\n)\n\nconst Most = 12\n")},
	"n/c.go": {Data: []byte("package n\n" + definitions + "\ntype Range struct {\n\tidl.NamedResource\n\tLambda string `lumi:\"deprecated=use */ none\"`\n}\n")},
}

func compiled(t *testing.T) *idl.Package {
	t.Helper()
	p, found := idl.Compile(context.Background(), awkward, idl.Options{Package: "demo"})
	if p == nil {
		t.Fatal(found)
	}
	return p
}

// TestTargetLaws: each target gives the same bytes for the same package, stays inside its folder,
// and writes the mark where Sync looks for it. What is JSON or Go can be read as such.
func TestTargetLaws(t *testing.T) {
	for _, target := range generate.Targets {
		t.Run(target.Name, func(t *testing.T) {
			o := generate.Options{Version: "1.2.3", Stubs: "example.com/demo/stubs"}
			files, err := target.Files(compiled(t), o)
			if err != nil || len(files) == 0 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			again, err := target.Files(compiled(t), o)
			if err != nil || !slices.Equal(files.Names(), again.Names()) {
				t.Fatalf("the second time %q, %v; the first time %q", again.Names(), err, files.Names())
			}
			for name, text := range files {
				if !bytes.Equal(text, again[name]) {
					t.Errorf("%s has another text the second time", name)
				}
				if !filepath.IsLocal(name) || path.Clean(name) != name {
					t.Errorf("%q is no path inside of a folder", name)
				}
				readable(t, name, text)
			}
			dir := t.TempDir()
			if _, err := generate.Sync(dir, files); err != nil {
				t.Fatal(err)
			}
			if drift, err := generate.Compare(dir, nil); err != nil || !slices.Equal(drift.Stale, files.Names()) {
				t.Errorf("Sync knows %q as its own, %v; the target wrote %q", drift.Stale, err, files.Names())
			}
		})
	}
}

// readable parses a file in the languages that have a parser here.
func readable(t *testing.T, name string, text []byte) {
	t.Helper()
	switch path.Ext(name) {
	case ".json":
		if !json.Valid(text) {
			t.Errorf("%s is not JSON:\n%s", name, text)
		}
	case ".go":
		if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.AllErrors); err != nil {
			t.Errorf("%s is not Go: %v\n%s", name, err, text)
		}
	case ".ts":
		if opened, closed := bytes.Count(text, []byte("/*")), bytes.Count(text, []byte("*/")); opened != closed {
			t.Errorf("%s opens %d comments and closes %d:\n%s", name, opened, closed, text)
		}
	}
}

// TestFind: each name finds its target, and any other one is refused with the list of them.
func TestFind(t *testing.T) {
	names := generate.Names()
	for i, name := range names {
		if target, err := generate.Find(name); err != nil || target.Name != name || target.Doc == "" || slices.Index(names, name) != i {
			t.Errorf("Find(%q) = %+v, %v", name, target, err)
		}
	}
	for _, name := range []string{"", "Go", "go ", "rust"} {
		if _, err := generate.Find(name); err == nil || !strings.Contains(err.Error(), strings.Join(names, ", ")) {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
}
