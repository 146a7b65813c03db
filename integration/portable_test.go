package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingD11Portable: the lint compiles what needs no Linux for other systems, and the contract is a part of that.
func TestFindingD11Portable(t *testing.T) {
	script, err := os.ReadFile("../.ci/portable")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"./graph", "./engine", "./engine/schema", "./engine/reactor", "./engine/transform", "./gapi/words", "./traits"} {
		if !strings.Contains(string(script), "\n"+want+"\n") {
			t.Errorf("%s is not compiled for other systems", want)
		}
	}
	for _, want := range []string{"darwin/arm64", "windows/amd64", "freebsd/amd64"} {
		if !strings.Contains(string(script), want) {
			t.Errorf("nothing is compiled for %s", want)
		}
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil || !strings.Contains(string(makefile), "\n\t@.ci/portable\n") {
		t.Errorf("make lint does not run .ci/portable: %v", err)
	}
}

// TestFindingD11Compiles: the script fails where a package uses a system call of Linux, and only there.
func TestFindingD11Compiles(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("../.ci/portable")
	if err != nil {
		t.Fatal(err)
	}
	start, end := strings.Index(string(script), "packages='"), strings.Index(string(script), "\n'\n")
	if start < 0 || end < start {
		t.Fatal("the script has no list of packages")
	}
	files := map[string]string{
		".ci/portable": string(script[:start]) + "packages=./one" + string(script[end+2:]),
		"go.mod":       "module example.com/sample\n\ngo 1.26.0\n",
		"one/one.go":   "// Package one is for a test.\npackage one\n",
	}
	run := func() (string, error) {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/portable"), "windows/amd64").CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	files["one/one.go"] = "// Package one is for a test.\npackage one\n\nimport \"syscall\"\n\n// Lock is of Linux.\nconst Lock = syscall.LOCK_EX\n"
	if out, err := run(); err == nil || !strings.Contains(out, "windows/amd64: these packages have to compile there") {
		t.Errorf("%v: %s", err, out)
	}
}
