package integration_test

import (
	"os"
	"testing"
)

// TestCompositeModule: a resource that holds another one, in a module of its own,
// builds against this tree, keeps the laws and runs.
func TestCompositeModule(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/composite")); err != nil {
		t.Fatal(err)
	}
	joinTree(t, dir)
	goCommand(t, dir, "vet", "./...")
	t.Log(goCommand(t, dir, "test", "-count=1", "./..."))
}
