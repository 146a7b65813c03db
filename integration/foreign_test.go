package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestForeignModule: a resource written from the guide, in a module of its own,
// builds against this tree and runs, with no help from the network.
func TestForeignModule(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/foreign")); err != nil {
		t.Fatal(err)
	}
	joinTree(t, dir)
	goCommand(t, dir, "vet", "./...")
	t.Log(goCommand(t, dir, "test", "-count=1", "./..."))
}

// joinTree makes the module in dir use this tree, without the network.
func joinTree(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	goCommand(t, dir, "mod", "edit", "-replace="+module+"="+root, "-require="+module+"@v0.0.0")
}

// foreignModule makes a module of some files that uses this tree.
func foreignModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.org/foreign\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	joinTree(t, dir)
	return dir
}

// goCommand runs the go command in a module, and returns what it said.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestForeignKnowsTheContractOnly: the resource itself imports nothing of ours but
// engine and traits.
func TestForeignKnowsTheContractOnly(t *testing.T) {
	files, err := filepath.Glob("testdata/foreign/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n++
		for line := range strings.Lines(string(text)) {
			imp := strings.Trim(strings.TrimSpace(line), `"`)
			if strings.HasPrefix(imp, module) && !slices.Contains([]string{module + "/engine", module + "/engine/autoedge", module + "/traits"}, imp) {
				t.Errorf("%s imports %s", f, imp)
			}
		}
	}
	if n == 0 {
		t.Error("there is no resource")
	}
}
