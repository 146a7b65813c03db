package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
	if out, code := cli(t, "", "eval", expression); code != exitOK || out != raw {
		t.Errorf("a pipe gets %q, code %d", out, code)
	}
	terminal, reader := terminalPair(t)
	a := &app{in: strings.NewReader(""), out: terminal, err: io.Discard, exit: func(int) {}}
	if code := a.main(context.WithoutCancel(t.Context()), []string{"eval", expression}); code != exitOK {
		t.Fatalf("code %d", code)
	}
	buf := make([]byte, 4096)
	n, err := reader.Read(buf)
	if err != nil || strings.TrimSpace(string(buf[:n])) != shown {
		t.Errorf("a terminal gets %q, want %q: %v", buf[:n], shown, err)
	}
}
