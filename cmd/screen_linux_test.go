package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// terminalPair returns a terminal, and the end that gets what is written to it.
func terminalPair(t *testing.T) (terminal, reader *os.File) {
	t.Helper()
	reader, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	fd := int(reader.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal, reader
}

// TestEvalOnATerminal: a text of a hostile file alters no terminal; a file or a pipe gets it as it is.
func TestEvalOnATerminal(t *testing.T) {
	const expression, raw, shown = `'a\u001b[31mb'`, "a\x1b[31mb\n", `a\x1b[31mb`
	if out, code := invoke(t, "", "eval", expression); code != cli.ExitOK || out != raw {
		t.Errorf("a pipe gets %q, code %d", out, code)
	}
	terminal, reader := terminalPair(t)
	a := &cli.App{In: strings.NewReader(""), Out: terminal, Err: io.Discard, Exit: func(int) {}}
	if code := execute(context.WithoutCancel(t.Context()), a, []string{"eval", expression}); code != cli.ExitOK {
		t.Fatalf("code %d", code)
	}
	buf := make([]byte, 4096)
	n, err := reader.Read(buf)
	if err != nil || strings.TrimSpace(string(buf[:n])) != shown {
		t.Errorf("a terminal gets %q, want %q: %v", buf[:n], shown, err)
	}
}

// TestFindingJ9Verbs: what a graph of somebody else has in its names, comments and texts reaches no terminal as it is, whatever verb
// shows it. Escapes of a person stay escapes when the graph is formatted.
func TestFindingJ9Verbs(t *testing.T) {
	dir := t.TempDir()
	graph := filepath.Join(dir, "a\u202e\x1b[31m.yaml")
	text := `graph: "g\u202e\x1b"
comment: "c\u2066\x9b"
# of a person: ` + "\u200f" + `
resources:
  noop:
  - name: "n\u202e\x1b[31m"
    comment: "\u061c"
  - name: two
    depend: ["noop[n\u202e\x1b[31m]"]
  file:
  - {name: "/tmp/f\u202e", content: "x\u2067\x07", state: "\u202e"}
`
	if err := os.WriteFile(graph, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain.yaml")
	if err := os.WriteFile(plain, []byte("graph: \"g\\u202E\"\nresources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"render", graph}, {"render", graph, "--positions"}, {"render", graph, "--explain", "noop[two].meta"}, {"render", graph, "--explain", "noop[n\u202e\x1b[31m].comment"},
		{"validate", graph}, {"validate", graph, "--format", "json"}, {"validate", graph, "--format", "github"},
		{"graph", graph}, {"graph", graph, "--format", "dot"}, {"graph", graph, "--format", "json"}, {"graph", graph, "--explain"},
		{"fmt", graph}, {"fmt", "--diff", graph}, {"fmt", "--list", graph}, {"plan", graph, "--prefix", dir}, {"plan", graph, "--prefix", dir, "-o", "json"},
	} {
		terminal, reader := terminalPair(t)
		var errs strings.Builder
		a := &cli.App{In: strings.NewReader(""), Out: terminal, Err: &errs, Exit: func(int) {}}
		got := make(chan string)
		go func() {
			var b strings.Builder
			_, _ = io.Copy(&b, reader) // a terminal without a program at it is an error of the reader
			got <- b.String()
		}()
		execute(context.WithoutCancel(t.Context()), a, args)
		_ = terminal.Close()
		for _, out := range []string{<-got, errs.String()} {
			out = strings.ReplaceAll(out, "\r\n", "\n")
			if render.VisibleLines(out) != out {
				t.Errorf("%q: %q", args, out)
			}
		}
	}
	if out, code := invoke(t, "", "fmt", plain); code != cli.ExitOK || !strings.Contains(out, `"g\u202E"`) {
		t.Errorf("an escape is formatted as %q, code %d", out, code)
	}
}
