package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestTestIsInterrupted: a signal ends the present test, and nothing is left of its machine.
func TestTestIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	temp := t.TempDir()
	for name, text := range map[string]string{
		"g.yaml":      "graph: g\nresources:\n  file: [{name: /a, content: x, meta: {poll: 1s}}]\n",
		"g_test.yaml": "graph: g.yaml\ntests:\n- {name: long, steps: [{after: 100000h}]}\n- {name: next}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	c := exec.Command(os.Args[0], "test", "g_test.yaml")
	c.Env, c.Stderr = append(os.Environ(), asProgram+"=1", "TMPDIR="+temp), &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	there := func() []os.DirEntry {
		list, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for end := time.Now().Add(await.Left()); len(there()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the test does not begin")
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended, ok := errors.AsType[*exec.ExitError](c.Wait())
	if !ok || ended.ExitCode() != cli.ExitFailed || !strings.Contains(said.String(), "ended before all tests had run: signal interrupt") {
		t.Errorf("%v: %s", ended, said.String())
	}
	if list := there(); len(list) > 0 {
		t.Errorf("%v is left", list)
	}
}
