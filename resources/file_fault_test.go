package resources

import (
	"bytes"
	"errors"
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
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

const namespaceKey = "MGMT_TEST_NAMESPACE"

// inNamespace runs the test that calls it once more, in a process of its own
// that may mount: it returns true there, and false where the test has been run
// by the other one.
func inNamespace(t *testing.T) bool {
	t.Helper()
	return inNamespaces(t, 0)
}

// inNamespaces does the same with more namespaces of its own: unix.CLONE_NEWUTS for
// instance.
func inNamespaces(t *testing.T, more uintptr) bool {
	t.Helper()
	if outer := os.Getenv(namespaceKey); outer != "" {
		if more != 0 && outer == namespaces(t, more) {
			t.Fatal("it would alter the machine: the namespaces are not its own")
		}
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), namespaceKey+"="+namespaces(t, more))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | more}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())):
	case errors.Is(err, syscall.EPERM) && os.Getenv("CI") != "true":
		t.Skipf("no namespace for mounting: %v", err)
	default:
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	}
	return false
}

// namespaces names those namespaces of this process that the flags stand for.
func namespaces(t *testing.T, flags uintptr) string {
	t.Helper()
	links := []string{"mnt"}
	for _, n := range []struct {
		flag uintptr
		name string
	}{{unix.CLONE_NEWUTS, "uts"}, {unix.CLONE_NEWNET, "net"}} {
		if flags&n.flag != 0 {
			link, err := os.Readlink("/proc/self/ns/" + n.name)
			must(t, err)
			links = append(links, link)
		}
	}
	return strings.Join(links, " ")
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	must(t, unix.Mount(source, target, kind, flags, data))
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// left fails the test if a folder holds a temporary file.
func left(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if atomicfile.IsTemp(e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// A file that is a mount point, as /etc/hosts in a container, can't be replaced:
// it is written in place.
func TestFileBindMount(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	grow(t, dir, "real=old", "f=below", "host=0")
	must(t, os.Chmod(dir+"/real", 0o644))
	mount(t, dir+"/real", dir+"/f", "", unix.MS_BIND, "")
	r := &FileRes{Path: dir + "/f", Content: new("longer than the old one")}
	f := begin(t, "file", r)
	converge(t, f, r, `content: "old" -> "longer than the old one"`, dir+"/real", "real 0644 longer than the old one")
	put(t, dir+"/real", "drift")
	if got := verbs(t, f, r, true); got != `content: "drift" -> "longer than the old one"` {
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
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	grow(t, dir, "old=kept", "bound=kept")
	for name, c := range map[string]struct{ path, kept string }{
		"new": {"f", ""}, "old": {"old", "old 0644 kept"}, "in place": {"bound", "bound 0644 kept"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "in place" {
				mount(t, dir+"/bound", dir+"/bound", "", unix.MS_BIND, "")
			}
			r := &FileRes{Path: dir + "/" + c.path, Content: new(strings.Repeat("x", 1<<20))}
			f := begin(t, "file", r)
			if got := verbs(t, f, r, true); !strings.HasPrefix(got, "error: write "+dir+"/"+c.path) || !strings.HasSuffix(got, "no space left on device") {
				t.Errorf("it says %s", got)
			}
			if got := have(t, dir+"/"+c.path); got != c.kept {
				t.Errorf("there is %q", got)
			}
			left(t, dir)
		})
	}
}

// Only the file can be written to, not its folder, and the disk is full: the
// file is not destroyed.
func TestFileDiskFullInPlace(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	grow(t, dir, "disk/", "ro/")
	mount(t, "tmpfs", dir+"/disk", "tmpfs", 0, "size=64k")
	grow(t, dir, "disk/f=kept")
	mount(t, dir+"/disk", dir+"/ro", "", unix.MS_BIND, "")
	mount(t, dir+"/disk/f", dir+"/ro/f", "", unix.MS_BIND, "")
	must(t, unix.Mount("", dir+"/ro", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	r := &FileRes{Path: dir + "/ro/f", Content: new(strings.Repeat("x", 1<<20))}
	f := begin(t, "file", r)
	if got := verbs(t, f, r, true); !strings.HasSuffix(got, "no space left on device") {
		t.Errorf("it says %s", got)
	}
	if got := have(t, dir+"/disk"); got != "disk/ 1777\ndisk/f 0644 kept" {
		t.Errorf("there is %.100q", got)
	}
	r.Content = new("fits")
	converge(t, f, r, `content: "kept" -> "fits"`, dir+"/disk/f", "f 0644 fits")
}

func TestFileReadOnly(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
	grow(t, dir, "old=kept", "d/")
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, r := range []*FileRes{
		{Path: dir + "/f", Content: new("x")}, {Path: dir + "/old", Content: new("x")},
		{Path: dir + "/old", Mode: "0600"}, {Path: dir + "/old", State: FileAbsent},
		{Path: dir + "/new/"}, {Path: dir + "/l", Symlink: true, Source: "x"},
	} {
		f := begin(t, "file", r)
		if got := verbs(t, f, r, true); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "read-only file system") {
			t.Errorf("%+v says %s", r, got)
		}
	}
	ok := &FileRes{Path: dir + "/old", Content: new("kept")}
	want(t, begin(t, "file", ok), ok, "")
}

// What is mounted below a folder is never emptied with it.
func TestFilePurgeSparesMounts(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	grow(t, dir, "d/", "d/a/", "d/a/m/", "d/x=X")
	mount(t, "tmpfs", dir+"/d/a/m", "tmpfs", 0, "size=64k")
	grow(t, dir, "d/a/m/data=kept")
	r := &FileRes{Path: dir + "/d/", Recurse: true, Purge: true}
	f := begin(t, "file", r)
	if got := verbs(t, f, r, true); !strings.HasSuffix(got, "another file system is mounted there") && !strings.Contains(got, "device or resource busy") {
		t.Errorf("it says %s", got)
	}
	if got := have(t, dir+"/d"); got != "d/ 0755\nd/a/ 0755\nd/a/m/ 1777\nd/a/m/data 0644 kept" {
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
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	for d := exe; d != "/"; d = d[:max(strings.LastIndexByte(d, '/'), 1)] {
		if st, err := os.Stat(d); err == nil && st.Mode()&0o001 == 0 {
			must(t, os.Chmod(d, st.Mode()|0o055))
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
	grow(t, dir, "secret=hidden", "d/", "d/f=old", "d/own=old")
	must(t, os.Chmod(dir+"/secret", 0))
	must(t, os.Chmod(dir+"/d", 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir+"/d", 0o755) })
	for _, c := range []struct {
		res  FileRes
		what string
	}{
		{FileRes{Path: dir + "/secret", Content: new("x")}, "error: open DIR/secret: permission denied"},
		{FileRes{Path: dir + "/f", Source: dir + "/secret"}, "error: source: open DIR/secret: permission denied"},
		{FileRes{Path: dir + "/d/new", Content: new("x")}, "error: create DIR/d/new: permission denied"},
		{FileRes{Path: dir + "/f", Content: new("x"), Owner: "0"}, "error: chown DIR/f: operation not permitted"},
		{FileRes{Path: "/etc/passwd", Mode: "0600"}, "error: chmod /etc/passwd: operation not permitted"},
	} {
		f := begin(t, "file", &c.res)
		if got := verbs(t, f, &c.res, true); !strings.HasPrefix(got, strings.ReplaceAll(c.what, "DIR", dir)) {
			t.Errorf("%s: it says %s", c.res.Path, got)
		}
	}
	left(t, dir)
	// The folder can't be written to, but the file can.
	r := &FileRes{Path: dir + "/d/f", Content: new("new")}
	f := begin(t, "file", r)
	converge(t, f, r, `content: "old" -> "new"`, dir+"/d/f", "f 0644 new")
}

// The parent vanishes between a check and the next.
func TestFileParentVanishes(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "d/")
	r := &FileRes{Path: dir + "/d/f", Content: new("x")}
	f := begin(t, "file", r)
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/d", "d/ 0755\nd/f 0644 x")
	must(t, os.RemoveAll(dir+"/d"))
	want(t, f, r, fmt.Sprintf("error: %[1]s/d/f: the parent folder %[1]s/d does not exist; add file[%[1]s/d/] to the graph", dir))
	grow(t, dir, "d/")
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/d", "d/ 0755\nd/f 0644 x")
}

// A secret that is received is shown nowhere, and the file is nobody else's.
func TestFileSecret(t *testing.T) {
	dir := t.TempDir()
	const canary = "canary-3b1f"
	r := &FileRes{Path: dir + "/f", Content: new(canary)}
	f := begin(t, "file", r)
	f.SetRecv(map[string]*engine.Send{"content": {Key: "password", Changed: true, Secret: true}})
	for i, what := range []string{"state created content: (none) -> (secret) mode: (none) -> \"0600\"", "content: (secret) -> (secret)"} {
		want(t, f, r, what)
		for _, c := range f.Changes() {
			if s, ok := c.To.(schema.Secret); c.Field == "content" && (!ok || s.Reveal() != canary) {
				t.Errorf("To is %v", c.To)
			}
		}
		if got := have(t, dir+"/f"); got != "f 0600 "+canary {
			t.Errorf("%d: there is %q", i, got)
		}
		put(t, dir+"/f", "other "+canary)
	}
	if text := fmt.Sprint(f.Logs()); strings.Contains(text, canary) {
		t.Errorf("logged is %s", text)
	}
}

// realHost is this machine, for a Suite.
func realHost(tb testing.TB) engine.Host {
	h, err := host.New(tb.Context(), host.Options{})
	must(tb, err)
	tb.Cleanup(func() { must(tb, h.Close()) })
	return h
}

// The same laws on the real machine: the hub's watches see every drift.
func TestFileSuiteOnHost(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "file",
		Host: realHost,
		New: func(t *testing.T, dir string) engine.Res {
			return &FileRes{Path: dir + "/f", Content: new("hello\n"), Mode: "0640", Owner: "0", Group: "0", Force: true}
		},
		Drifts: fileDrifts("f"),
	})
}

// A run where nothing has changed costs one look, also right after the write.
func TestFileCleanRunReadsNothing(t *testing.T) {
	dir := t.TempDir()
	if atomicfile.ClockOf(dir) != atomicfile.ClockFine {
		t.Log("the clock of this file system is not fine: the file is read again for a while")
		return
	}
	r := &FileRes{Path: dir + "/f", Content: new("x")}
	f := begin(t, "file", r)
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/f", "f 0644 x")
	if !r.seen.ok {
		t.Error("the write was not remembered")
	}
	// Another content of the same size, with the times put back, still shows.
	st, err := os.Stat(dir + "/f")
	must(t, err)
	put(t, dir+"/f", "y")
	must(t, os.Chtimes(dir+"/f", time.Time{}, st.ModTime()))
	converge(t, f, r, `content: "y" -> "x"`, dir+"/f", "f 0644 x")
}

func TestFileSharedFlushes(t *testing.T) {
	dir := t.TempDir()
	s := newFileShared()
	r := &FileRes{Path: dir + "/f", Content: new("x")}
	f := begin(t, "file", r, enginetest.WithShared(s))
	s.Begin()
	want(t, f, r, `state created content: (none) -> "x"`)
	if len(s.dirty) != 1 {
		t.Errorf("%d file systems are dirty", len(s.dirty))
	}
	s.flushAtRest() // busy: not yet
	if len(s.dirty) != 1 {
		t.Error("flushed while files were due")
	}
	s.End()
	must(t, s.Close())
	if len(s.dirty) != 0 {
		t.Error("Close has not flushed")
	}
}

func TestFileSharedIDs(t *testing.T) {
	s := newFileShared()
	for range 2 {
		if id, err := s.uid("root"); id != 0 || err != nil {
			t.Errorf("root is %d, %v", id, err)
		}
		if id, err := s.gid("root"); id != 0 || err != nil {
			t.Errorf("root is %d, %v", id, err)
		}
	}
	calls := 0
	table := fileTable{}
	passwd := t.TempDir() + "/passwd"
	put(t, passwd, "1")
	look := func(string) (int, error) { calls++; return calls, nil }
	for _, c := range []struct{ edit, want int }{{0, 1}, {0, 1}, {1, 2}, {0, 2}} {
		if c.edit > 0 {
			put(t, passwd, "22")
		}
		if id, err := table.find(passwd, "ada", look); id != c.want || err != nil {
			t.Errorf("ada is %d, %v, not %d", id, err, c.want)
		}
	}
}
