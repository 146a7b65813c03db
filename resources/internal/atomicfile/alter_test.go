package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/kept", nil, 0o644))
	must(t, os.MkdirAll(dir+"/a/b/c", 0o755))
	must(t, os.WriteFile(dir+"/a/b/f", nil, 0o000))
	must(t, os.Symlink(outside, dir+"/a/b/link"))
	must(t, os.Symlink(outside, dir+"/link"))
	d := At(dir)
	if err := d.Remove("a", false); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("removing a full folder: %v", err)
	}
	for _, name := range []string{"a", "link", "missing"} {
		must(t, d.Remove(name, true))
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left are %v", got)
	}
	if got := names(t, outside); len(got) != 1 {
		t.Error("a link was followed")
	}
}

func TestSetAttrs(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	must(t, unix.Chmod(dir+"/f", 0o4755))
	d := At(dir)
	st, err := d.Lstat("f")
	must(t, err)
	if st, err = d.SetAttrs("f", st, -1, 12, -1); err != nil || st.Perm() != 0o755 || st.UID != 12 || st.GID != 0 {
		t.Errorf("after chown: %+v, %v", st, err)
	}
	if st, err = d.SetAttrs("f", st, 0o2700, -1, 34); err != nil || st.Perm() != 0o2700 || st.GID != 34 {
		t.Errorf("after chmod: %+v, %v", st, err)
	}
	must(t, os.WriteFile(dir+"/g", nil, 0o644))
	if _, err := d.SetAttrs("g", st, 0o777, -1, -1); err == nil {
		t.Error("another file was altered")
	}
	must(t, os.Symlink("g", dir+"/l"))
	st, err = d.Lstat("l")
	must(t, err)
	if st, err = d.SetAttrs("l", st, -1, 12, 34); err != nil || st.UID != 12 || !st.IsLink() {
		t.Errorf("a link: %+v, %v", st, err)
	}
	if g, err := d.Lstat("g"); err != nil || g.UID != 0 {
		t.Errorf("the link was followed: %+v, %v", g, err)
	}
}

func TestSymlinkReplaces(t *testing.T) {
	dir := t.TempDir()
	d := At(dir)
	for _, target := range []string{"one", "two", "two"} {
		must(t, d.Symlink("l", target, -1, -1))
		if got, err := d.Readlink("l"); err != nil || got != target {
			t.Errorf("the link is %q, %v", got, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left are %v", got)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(dir+"/pipe", 0o600))
	must(t, os.Mkdir(dir+"/dir", 0o700))
	must(t, os.Symlink("f", dir+"/link"))
	must(t, os.WriteFile(dir+"/f", nil, 0o600))
	d := At(dir)
	for _, name := range []string{"pipe", "dir", "link", "missing"} {
		if f, _, err := d.Open(name); err == nil {
			t.Errorf("%s was opened", name)
			_ = f.Close()
		}
	}
	must(t, os.Symlink("dir", dir+"/dirlink"))
	if _, err := d.OpenDir("dirlink"); err == nil {
		t.Error("a link was opened as a folder")
	}
	f, _, err := Open(filepath.Join(dir, "link")) // by path a link is followed
	must(t, err)
	must(t, f.Close())
}

// On a file system that ClockOf calls fine, every change after a look shows.
func TestClockTellsChangesApart(t *testing.T) {
	dir := t.TempDir()
	clock := ClockOf(dir)
	t.Logf("the clock here is %d", clock)
	d := At(dir)
	last := write(t, text(dir, "f", "0")).Stat
	for i := range 2000 {
		must(t, os.WriteFile(dir+"/f", []byte{byte('0' + i%10)}, 0o644))
		now, err := d.Lstat("f")
		must(t, err)
		if now == last && last.Settled(clock, time.Now()) {
			t.Fatalf("write %d did not show, but its Stat was called settled", i)
		}
		last = now
	}
}

func TestSettled(t *testing.T) {
	now := time.Unix(1000, 500)
	at := func(d time.Duration) Stat { return Stat{Ctime: now.Add(d).UnixNano()} }
	for _, c := range []struct {
		name  string
		stat  Stat
		clock Clock
		want  bool
	}{
		{"fine and new", at(-time.Microsecond), ClockFine, true},
		{"fine, but only seconds are kept", Stat{Ctime: now.Truncate(time.Second).UnixNano()}, ClockFine, false},
		{"coarse and new", at(-time.Millisecond), ClockCoarse, false},
		{"coarse and old", at(-time.Minute), ClockCoarse, true},
		{"coarse, from the future", at(time.Hour), ClockCoarse, false},
		{"another machine's and old", at(-time.Hour), ClockUntold, false},
		{"old mtime, new ctime", Stat{Mtime: 1, Ctime: now.UnixNano()}, ClockCoarse, false},
	} {
		if got := c.stat.Settled(c.clock, now); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestFlush(t *testing.T) {
	dir := t.TempDir()
	must(t, Flush(safepath.System(), dir))
	must(t, Flush(safepath.System(), dir+"/missing/below/")) // stands for what is above it
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	if err := Flush(safepath.System(), dir+"/file"); err == nil {
		t.Error("a file was flushed as a folder")
	}
}
