package integration_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// TestStubsCompile: the stubs of a type with every ability compile, and demand each ability of the author. They are laid over the module, so that
// nothing is written into it.
func TestStubsCompile(t *testing.T) {
	p, found := idl.Compile(t.Context(), fstest.MapFS{"lamps/lamp.go": {Data: []byte("package lamps\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\n" +
		"type Lamp struct {\n\tidl.NamedResource `lumi:\"watch,list,refresh,batch=20,createBeforeDelete\"`\n\tColor string\n\tMade *string `lumi:\"out\"`\n}\n")}}, idl.Options{Package: "demo"})
	if p == nil {
		t.Fatal(found)
	}
	target, err := generate.Find("go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := target.Files(p, generate.Options{Version: "1.0.0", Stubs: "github.com/reactivegraph/mgmt/integration/laid"})
	if err != nil {
		t.Fatal(err)
	}
	author := `package lamps

import (
	"context"
	"iter"

	"github.com/reactivegraph/mgmt/provider"
)

type impl struct{ provider.Ops[lamp] }

func (impl) Watch(context.Context, *provider.Call, *lamp, func(), func()) error { return nil }
func (impl) List(context.Context) iter.Seq2[provider.Item[lamp], error]          { return nil }
`
	batch := "func (impl) Batch(context.Context, []*provider.BatchCall[lamp]) {}\n"
	use := "var _ provider.BagBatcher = NewLampProvider(impl{})\n"
	for text, compiles := range map[string]bool{author + batch + use: true, author + use: false} {
		files["lamps/lamp.author.go"] = []byte(text)
		if out, err := laidOver(t, "laid", files); (err == nil) != compiles {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// laidOver builds Go files as if they were in a folder of this one. The folder of the result has no need to be there.
func laidOver(t *testing.T, folder string, files generate.Files) (string, error) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	over := map[string]string{}
	for name, text := range files {
		if filepath.Ext(name) != ".go" {
			continue
		}
		at := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
		over[filepath.Join(here, folder, name)] = at
	}
	text, err := json.Marshal(map[string]any{"Replace": over})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./"+folder+"/...").CombinedOutput()
	return string(out), err
}
