package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFindingQ15NamesWhatRuns: a terminal shows what runs, with its time, while it runs; and in the end neither that nor an escape
// is left below the last line.
func TestFindingQ15NamesWhatRuns(t *testing.T) {
	t.Setenv("MGMT_CONFIG", os.DevNull)
	t.Setenv("MGMT_TRUST_OTHERS", "true") // /tmp is above the folder of a test
	dir := t.TempDir()
	goOn, graph := filepath.Join(dir, "go"), filepath.Join(dir, "g.yaml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write(graph, "resources: {exec: [{name: slow, shell: /bin/sh, cmd: 'until [ -e "+goOn+" ]; do sleep 0.01; done'}]}\n")
	terminal, reader := terminalPair(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 160, Row: 40}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() {
		a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: terminal, Exit: func(int) {}}
		code := execute(context.WithoutCancel(t.Context()), a, []string{"run", graph, "--tmp-prefix", "--converged-exit", "--color=always"})
		terminal.Close()
		ended <- code
	}()
	var out strings.Builder
	buf := make([]byte, 4096)
	for named := false; ; {
		n, err := reader.Read(buf)
		out.Write(buf[:n])
		if !named && strings.Contains(out.String(), "1s  exec[slow]") {
			named = true
			write(goOn, "")
		}
		if err != nil { // the terminal is closed
			break
		}
	}
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("code %d", code)
	}
	all := out.String()
	for _, want := range []string{"exec[slow]\x1b[0m \x1b[32mran", "converged\x1b[0m: 1 ok ("} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	// The live area is taken away in the end, where it was drawn once more after the last line.
	if _, end, _ := strings.Cut(all, "after the start)\r\n"); end != "" && !strings.HasSuffix(end, "\r\x1b[J") || t.Failed() {
		t.Errorf("the terminal got\n%q", all)
	}
}
