package gapi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingJ3Unwritten: a pipe that nobody writes is an error where nothing else ends the wait. A silent writer is waited for.
func TestFindingJ3Unwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Source{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, b := patient{context.Background(), f, 1}, make([]byte, 10)
	if n, err := p.Read(b); n != 0 || !errors.Is(err, ErrUnwritten) {
		t.Errorf("nobody writes: %d, %v", n, err)
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.written(b); n != 0 || err != nil {
		t.Errorf("the writer is silent: %d, %v", n, err)
	}
	if _, err := w.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if n, err := p.written(b); string(b[:n]) != "text" || err != nil {
		t.Errorf("it has written: %q, %v", b[:n], err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.written(b); n != 0 || err != nil {
		t.Errorf("it has gone: %d, %v", n, err)
	}
}
