package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is the program itself where the variable says so.
func TestMain(m *testing.M) {
	if os.Getenv("MGMT_DOCKER_TEST") == "program" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "MGMT_DOCKER_TEST=program", "MGMT_PREFIX="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestProgram: it is mgmt, with the two kinds: it documents them, and finds the place
// of what is wrong with one.
func TestProgram(t *testing.T) {
	for kind, want := range map[string]string{"docker_container": "restart policy", "docker_image": "latest", "file": "content"} {
		if out, err := program(t, "doc", kind); err != nil || !strings.Contains(out, want) {
			t.Errorf("doc %s: %v\n%s", kind, err, out)
		}
	}
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte("graph: x\nresources:\n  docker_container:\n  - name: web\n    image: -o\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, "validate", "--yaml", file); err == nil || !strings.Contains(out, "graph.yaml:5:") || !strings.Contains(out, `"-o" is no image`) {
		t.Errorf("validate: %v\n%s", err, out)
	}
}
