package file

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	kindtest.Must(t, unix.Mount(source, target, kind, flags, data))
	t.Cleanup(func() { kindtest.Must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// left fails the test if a folder holds a temporary file.
func left(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	kindtest.Must(t, err)
	for _, e := range entries {
		if atomicfile.IsTemp(e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// A file that is a mount point, as /etc/hosts in a container, can't be replaced:
// it is written in place.
func TestFileBindMount(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	kindtest.Grow(t, dir, "real=old", "f=below", "host=0")
	kindtest.Must(t, os.Chmod(dir+"/real", 0o644))
	mount(t, dir+"/real", dir+"/f", "", unix.MS_BIND, "")
	r := &Res{Path: dir + "/f", Content: new("longer than the old one")}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `content: "old" -> "longer than the old one"`, dir+"/real", "real 0644 longer than the old one")
	kindtest.Put(t, dir+"/real", "drift")
	if got := kindtest.Verbs(t, f, r, true); got != `content: "drift" -> "longer than the old one"` {
		t.Errorf("it says %s", got)
	}
	if logs := strings.Join(f.Logs(), "\n"); !strings.Contains(logs, "it was written in place") || strings.Contains(logs, "longer") {
		t.Errorf("logged is %s", logs)
	}
	r.Content, r.Mode = new("short"), "0600"
	converge(t, f, r, `content: (hidden, 23 bytes) -> (hidden, 5 bytes) mode: "0644" -> "0600"`, dir+"/real", "real 0600 short")
	left(t, dir)
}

func TestFileDiskFull(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	kindtest.Grow(t, dir, "old=kept", "bound=kept")
	for name, c := range map[string]struct{ path, kept string }{
		"new": {"f", ""}, "old": {"old", "old 0644 kept"}, "in place": {"bound", "bound 0644 kept"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "in place" {
				mount(t, dir+"/bound", dir+"/bound", "", unix.MS_BIND, "")
			}
			r := &Res{Path: dir + "/" + c.path, Content: new(strings.Repeat("x", 1<<20))}
			f := kindtest.Begin(t, "file", r)
			if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: write "+dir+"/"+c.path) || !strings.HasSuffix(got, "no space left on device") {
				t.Errorf("it says %s", got)
			}
			if got := kindtest.Have(t, dir+"/"+c.path); got != c.kept {
				t.Errorf("there is %q", got)
			}
			left(t, dir)
		})
	}
}

// Only the file can be written to, not its folder, and the disk is full: the
// file is not destroyed.
func TestFileDiskFullInPlace(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	kindtest.Grow(t, dir, "disk/", "ro/")
	mount(t, "tmpfs", dir+"/disk", "tmpfs", 0, "size=64k")
	kindtest.Grow(t, dir, "disk/f=kept")
	mount(t, dir+"/disk", dir+"/ro", "", unix.MS_BIND, "")
	mount(t, dir+"/disk/f", dir+"/ro/f", "", unix.MS_BIND, "")
	kindtest.Must(t, unix.Mount("", dir+"/ro", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	r := &Res{Path: dir + "/ro/f", Content: new(strings.Repeat("x", 1<<20))}
	f := kindtest.Begin(t, "file", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.HasSuffix(got, "no space left on device") {
		t.Errorf("it says %s", got)
	}
	if got := kindtest.Have(t, dir+"/disk"); got != "disk/ 1777\ndisk/f 0644 kept" {
		t.Errorf("there is %.100q", got)
	}
	r.Content = new("fits")
	converge(t, f, r, `content: "kept" -> "fits"`, dir+"/disk/f", "f 0644 fits")
}

func TestFileReadOnly(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	kindtest.Grow(t, dir, "old=kept", "d/")
	kindtest.Must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, r := range []*Res{
		{Path: dir + "/f", Content: new("x")}, {Path: dir + "/old", Content: new("x")},
		{Path: dir + "/old", Mode: "0600"}, {Path: dir + "/old", State: Absent},
		{Path: dir + "/new/"}, {Path: dir + "/l", Symlink: true, Source: "x"},
	} {
		f := kindtest.Begin(t, "file", r)
		if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "read-only file system") {
			t.Errorf("%+v says %s", r, got)
		}
	}
	ok := &Res{Path: dir + "/old", Content: new("kept")}
	kindtest.Want(t, kindtest.Begin(t, "file", ok), ok, "")
}

// What is mounted below a folder is never emptied with it.
func TestFilePurgeSparesMounts(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	kindtest.Grow(t, dir, "d/", "d/a/", "d/a/m/", "d/x=X")
	mount(t, "tmpfs", dir+"/d/a/m", "tmpfs", 0, "size=64k")
	kindtest.Grow(t, dir, "d/a/m/data=kept")
	r := &Res{Path: dir + "/d/", Recurse: true, Purge: true}
	f := kindtest.Begin(t, "file", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.HasSuffix(got, "another file system is mounted there") && !strings.Contains(got, "device or resource busy") {
		t.Errorf("it says %s", got)
	}
	if got := kindtest.Have(t, dir+"/d"); got != "d/ 0755\nd/a/ 0755\nd/a/m/ 1777\nd/a/m/data 0644 kept" {
		t.Errorf("there is\n%s", got)
	}
}

// asNobody runs a test once more as a user without rights.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	exe := t.TempDir() + "/test"
	data, err := os.ReadFile(os.Args[0])
	kindtest.Must(t, err)
	kindtest.Must(t, os.WriteFile(exe, data, 0o755))
	for d := exe; d != "/"; d = d[:max(strings.LastIndexByte(d, '/'), 1)] {
		if st, err := os.Stat(d); err == nil && st.Mode()&0o001 == 0 {
			kindtest.Must(t, os.Chmod(d, st.Mode()|0o055))
		}
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "HOME=/")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

func TestFileWithoutRights(t *testing.T) {
	if !asNobody(t) {
		return
	}
	dir := t.TempDir()
	kindtest.Grow(t, dir, "secret=hidden", "d/", "d/f=old", "d/own=old")
	kindtest.Must(t, os.Chmod(dir+"/secret", 0))
	kindtest.Must(t, os.Chmod(dir+"/d", 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir+"/d", 0o755) })
	for _, c := range []struct {
		res  Res
		what string
	}{
		{Res{Path: dir + "/secret", Content: new("x")}, "error: open DIR/secret: permission denied"},
		{Res{Path: dir + "/f", Source: dir + "/secret"}, "error: source: open DIR/secret: permission denied"},
		{Res{Path: dir + "/d/new", Content: new("x")}, "error: create DIR/d/new: permission denied"},
		{Res{Path: dir + "/f", Content: new("x"), Owner: "0"}, "error: chown DIR/f: operation not permitted"},
		{Res{Path: "/etc/passwd", Mode: "0604"}, "error: chmod /etc/passwd: operation not permitted"}, // no machine has that mode
	} {
		f := kindtest.Begin(t, "file", &c.res)
		if got := kindtest.Verbs(t, f, &c.res, true); !strings.HasPrefix(got, strings.ReplaceAll(c.what, "DIR", dir)) {
			t.Errorf("%s: it says %s", c.res.Path, got)
		}
	}
	left(t, dir)
	// The folder can't be written to, but the file can.
	r := &Res{Path: dir + "/d/f", Content: new("new")}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `content: "old" -> "new"`, dir+"/d/f", "f 0644 new")
}

// The parent vanishes between a check and the next.
func TestFileParentVanishes(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "d/")
	r := &Res{Path: dir + "/d/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/d", "d/ 0755\nd/f 0644 x")
	kindtest.Must(t, os.RemoveAll(dir+"/d"))
	kindtest.Want(t, f, r, fmt.Sprintf("error: %[1]s/d/f: the parent folder %[1]s/d does not exist; add file[%[1]s/d/] to the graph", dir))
	kindtest.Grow(t, dir, "d/")
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/d", "d/ 0755\nd/f 0644 x")
}

// A secret that is received is shown nowhere, and the file is nobody else's.
func TestFileSecret(t *testing.T) {
	dir := t.TempDir()
	const canary = "canary-3b1f"
	r := &Res{Path: dir + "/f", Content: new(canary)}
	f := kindtest.Begin(t, "file", r)
	f.SetRecv(map[string]*engine.Send{"content": {Key: "password", Changed: true, Secret: true}})
	for i, what := range []string{"state created content: (none) -> (secret) mode: (none) -> \"0600\"", "content: (secret) -> (secret)"} {
		kindtest.Want(t, f, r, what)
		for _, c := range f.Changes() {
			if s, ok := c.To.(schema.Secret); c.Field == "content" && (!ok || s.Reveal() != canary) {
				t.Errorf("To is %v", c.To)
			}
		}
		if got := kindtest.Have(t, dir+"/f"); got != "f 0600 "+canary {
			t.Errorf("%d: there is %q", i, got)
		}
		kindtest.Put(t, dir+"/f", "other "+canary)
	}
	if text := fmt.Sprint(f.Logs()); strings.Contains(text, canary) {
		t.Errorf("logged is %s", text)
	}
}

// The same laws on the real machine: the hub's watches see every drift.
func TestFileSuiteOnHost(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "file",
		Host: kindtest.RealHost,
		New: func(t *testing.T, dir string) engine.Res {
			return &Res{Path: dir + "/f", Content: new("hello\n"), Mode: "0640", Owner: "0", Group: "0", Force: true}
		},
		Drifts: drifts("f"),
	})
}

// A run where nothing has changed costs one look, also right after the write.
func TestFileCleanRunReadsNothing(t *testing.T) {
	dir := t.TempDir()
	if atomicfile.ClockOf(dir) != atomicfile.ClockFine {
		t.Log("the clock of this file system is not fine: the file is read again for a while")
		return
	}
	r := &Res{Path: dir + "/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/f", "f 0644 x")
	if !r.seen.ok {
		t.Error("the write was not remembered")
	}
	// Another content of the same size, with the times put back, still shows.
	st, err := os.Stat(dir + "/f")
	kindtest.Must(t, err)
	kindtest.Put(t, dir+"/f", "y")
	kindtest.Must(t, os.Chtimes(dir+"/f", time.Time{}, st.ModTime()))
	converge(t, f, r, `content: "y" -> "x"`, dir+"/f", "f 0644 x")
}

func TestFileSharedFlushes(t *testing.T) {
	dir := t.TempDir()
	s := files.New(nil)
	r := &Res{Path: dir + "/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r, enginetest.WithShared(s))
	s.Begin()
	kindtest.Want(t, f, r, `state created content: (none) -> "x"`)
	if s.Unflushed() != 1 {
		t.Errorf("%d file systems are dirty", s.Unflushed())
	}
	s.FlushAtRest() // busy: not yet
	if s.Unflushed() != 1 {
		t.Error("flushed while files were due")
	}
	s.End()
	kindtest.Must(t, s.Close())
	if s.Unflushed() != 0 {
		t.Error("Close has not flushed")
	}
}
