package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFullStatusFile: a status file that can't be written is told at the end, and leaves the code of a graph that failed as it is.
func TestFullStatusFile(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"noop: [{name: n}]": cli.ExitUsage, "exec: [{name: /bin/false}]": cli.ExitFailed} {
		graph := filepath.Join(dir, "graph.yaml")
		if err := os.WriteFile(graph, []byte("resources: {"+text+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, code := verb(t, "run", graph, "--tmp-prefix", "--converged-exit", "--converged-timeout=1ms", "--converged-status-file=/dev/full")
		if code != want || !strings.Contains(errs, "--converged-status-file: write /dev/full") {
			t.Errorf("%s: code %d, want %d:\n%s", text, code, want, errs)
		}
	}
}
