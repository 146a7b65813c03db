package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSocketComesBack: a socket that is removed under a daemon, alone or with its folder, is
// made again each time, with one warning each.
func TestSocketComesBack(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Look = time.Millisecond
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	end := r.serve(t, mustListen(t, path))
	conn, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	for i, remove := range []func(string) error{os.Remove, os.Remove, func(string) error { return os.RemoveAll(dir) }} {
		if err := remove(path); err != nil {
			t.Fatal(err)
		}
		eventually(t, "another socket", func() bool {
			_, err := NewClient(path).Version(t.Context())
			return err == nil
		})
		warnings := func() int { return strings.Count(r.log.String(), "it is made again") }
		eventually(t, "a warning", func() bool { return warnings() > i }) // said a moment later
		if n := warnings(); n != i+1 {
			t.Errorf("after %d removals there are %d warnings: %s", i+1, n, r.log)
		}
	}
	for name, want := range map[string]os.FileMode{path: Mode | os.ModeSocket, dir: 0o750 | os.ModeDir} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("an open connection was cut: %q %v", line, err)
	}
	_ = conn.Close()
	end()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the end leaves the socket: %v", err)
	}
}

// TestSocketStaysAway: where it cannot be made again, or something else has its place, there is one
// warning, however often that is seen; and what is there stays.
func TestSocketStaysAway(t *testing.T) {
	r := newRig(t)
	r.frame.Limits.Look = time.Millisecond
	path := socketIn(t)
	end := r.serve(t, mustListen(t, path))
	if err := errors.Join(os.Rename(path, path+"2"), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a warning", func() bool { return strings.Contains(r.log.String(), "something else is in its place") })
	time.Sleep(20 * r.frame.Limits.Look) // more looks, none of which may say it again
	if n := strings.Count(r.log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, r.log)
	}
	if _, err := NewClient(path + "2").Version(t.Context()); err != nil {
		t.Errorf("the old one answers no more: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another socket", func() bool {
		_, err := NewClient(path).Version(t.Context())
		return err == nil
	})
	end()
}

// TestExposed: a folder in which everybody can put another socket is worth a warning.
func TestExposed(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o777: true, 0o777 | os.ModeSticky: false, 0o775: false} {
		r := newRig(t)
		path := socketIn(t)
		if err := os.Chmod(filepath.Dir(path), mode); err != nil {
			t.Fatal(err)
		}
		end := r.serve(t, mustListen(t, path))
		if _, err := NewClient(path).Version(t.Context()); err != nil {
			t.Error(err)
		}
		end()
		if got := strings.Contains(r.log.String(), "all users can write to the folder of the socket"); got != want {
			t.Errorf("%v: warned is %t", mode, got)
		}
	}
}

// TestNameTooLong: it is said what is too long, by both sides.
func TestNameTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 254))
	want := "has 254 bytes, and "
	if _, err := Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if _, err := NewClient(path).Version(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
