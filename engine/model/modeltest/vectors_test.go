package modeltest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model/modeltest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

func config(t testing.TB) modeltest.Config {
	dir, n := t.TempDir(), 0
	return modeltest.Config{Stores: modeltest.Stores(), Worlds: []modeltest.NamedWorld{
		{Name: "memory", Open: func() (world.World, error) { return memory.New(), nil }},
		{Name: "bolt", Open: func() (world.World, error) {
			n++
			return bolt.Open(filepath.Join(dir, fmt.Sprintf("%d.db", n)), bolt.Options{})
		}},
	}}
}

func TestVectors(t *testing.T) { modeltest.Vectors(t, config(t)) }

func TestFalsifiedVectorsFail(t *testing.T) { modeltest.Falsify(t, config(t)) }

func TestStores(t *testing.T) {
	for _, s := range modeltest.Stores() {
		t.Run(s.Name, func(t *testing.T) { modeltest.Store(t, s.New) })
	}
}

// TestFolderWithoutVectorsFails runs this program with folders that have no scenarios.
func TestFolderWithoutVectorsFails(t *testing.T) {
	empty := t.TempDir()
	if err := os.MkdirAll(filepath.Join(empty, "dragonflow"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.MkdirAll(filepath.Join(broken, "dragonflow"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "dragonflow", "a.json"), []byte(`{"group": "a", "scenarios": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{empty: "has no scenarios", filepath.Join(empty, "none"): "the folder of the scenarios", broken: "a.json has no scenarios"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestVectors$")
		cmd.Env = append(os.Environ(), "VECTORS="+folder)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", folder, err, out)
		}
	}
}
