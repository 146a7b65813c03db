package safepath

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree is what the tables walk in. sys is root's, home hers.
var tree = []string{
	"d sys 0 0755", "f sys/conf 0 0644", "d sys/sub 0 0755", "f sys/sub/f 0 0600",
	"l sys/link 0 sub", "l sys/abs 0 DIR/sys/sub", "l sys/up 0 ../sys/./sub/../sub", "l sys/last 0 sub/f",
	"l sys/none 0 sub/missing", "l sys/a 0 b", "l sys/b 0 a", "l sys/hers 12345 sub", "l sys/file 0 conf/x",
	"p sys/pipe 0 0600",
	"d tmp 0 1777", "l tmp/root 0 DIR/sys/sub", "l tmp/hers 12345 DIR/sys/sub", "d tmp/priv 0 0755", "l tmp/priv/l 0 DIR/sys/sub",
	"d wide 0 0777", "l wide/l 0 ../sys/sub", "d wide/sub 0 0755", "l wide/sub/l 0 DIR/sys/sub",
	"d staff 0 0775", "l staff/l 0 ../sys/sub",
	"d home 0 0755", "d home/u 12345 0755", "f home/u/f 12345 0644", "l home/u/sys 12345 DIR/sys/sub", "l home/u/passwd 12345 DIR/sys/conf",
	"d home/u/dot 12345 0700", "d home/u/dot/config 12345 0700", "f home/u/dot/config/rc 12345 0600", "f home/u/dot/config/root 0 0600",
	"l home/u/.config 12345 dot/config", "l home/u/.abs 12345 DIR/home/u/dot/config", "l home/u/.root 0 dot/config",
	"l home/u/.rc 12345 dot/config/rc", "l home/u/.theirs 12345 dot/config/root", "l home/u/.new 12345 dot/config/new",
	"d home/u/rootdir 0 0755", "l home/u/rootdir/l 0 DIR/sys/sub",
	"d pub 0 0777", "l home/u/pub 12345 DIR/pub", "d home/o 12346 0777", "l home/u/o 12345 DIR/home/o", "l home/u/loop 12345 loop",
	"d home/o/mine 12345 0755", "l home/u/over 12345 DIR/home/o/mine",
	"d sys/closed 0 0700", "d sys/closed/mine 12345 0755", "l home/u/closed 12345 DIR/sys/closed/mine",
}

type walkCase struct {
	path  string
	owner int    // 0 for none
	want  string // the file that is read by it, a part of the error, or "new" where it can be made
	as    int
}

var walkCases = []walkCase{
	{path: "sys/sub/f", want: "sys/sub/f"},
	{path: "sys/link/f", want: "sys/sub/f"},
	{path: "sys/abs/f", want: "sys/sub/f"},
	{path: "sys/up/f", want: "sys/sub/f"},
	{path: "sys/sub/../sub//./f", want: "sys/sub/f"},
	{path: "sys/last", want: "sys/sub/f"},
	{path: "sys/none", want: "new"},
	{path: "sys/sub/none", want: "new"},
	{path: "../../../../../../../../../../../../DIR/sys/sub/f", want: "sys/sub/f"},
	{path: "sys/a/f", want: "more than 40 links"},
	{path: "sys/a", want: "more than 40 links"},
	{path: "sys/file", want: "not a directory"},
	{path: "sys/nodir/f", want: "no such file"},
	{path: "sys/pipe", want: "not a plain file"},
	{path: "sys/sub", want: "not a plain file"},
	{path: "sys/hers/f", want: "DIR/sys/hers is a link (to \"sub\") that belongs to the user 12345, and is not followed: name the real path, or chown -h root DIR/sys/hers, or set owner: 12345"},
	{path: "tmp/hers/f", want: "belongs to the user 12345"},
	{path: "tmp/root/f", want: "because every user can write to DIR/tmp"},
	{path: "tmp/priv/l/f", want: "sys/sub/f"},
	{path: "wide/l/f", want: "because every user can write to DIR/wide"},
	{path: "wide/sub/l/f", want: "because every user can write to DIR/wide"},
	{path: "staff/l/f", want: "because the group 12345 can write to DIR/staff"},
	{path: "home/u/f", want: "home/u/f"},
	{path: "home/u/sys/f", want: "belongs to the user 12345"},
	{path: "home/u/passwd", want: "belongs to the user 12345"},
	{path: "home/u/.config/rc", want: "belongs to the user 12345"},
	{path: "home/u/.root/rc", want: "because the user 12345 can write to DIR/home/u"},
	{path: "home/u/rootdir/l/f", want: "because the user 12345 can write to DIR/home/u"},
	{path: "home/u/loop/f", want: "belongs to the user 12345"},

	{path: "home/u/.config/rc", owner: her, want: "home/u/dot/config/rc", as: her},
	{path: "home/u/.abs/rc", owner: her, want: "home/u/dot/config/rc", as: her},
	{path: "home/u/.root/rc", owner: her, want: "home/u/dot/config/rc", as: her},
	{path: "home/u/.rc", owner: her, want: "home/u/dot/config/rc", as: her},
	{path: "home/u/.new", owner: her, want: "new", as: her},
	{path: "home/u/.config/new", owner: her, want: "new", as: her},
	{path: "home/u/f", owner: her, want: "home/u/f"},
	{path: "home/u/.config/root", owner: her, want: "belongs to root"},
	{path: "home/u/.theirs", owner: her, want: "belongs to the user root"},
	{path: "home/u/sys/f", owner: her, want: "belongs to the user root"},
	{path: "home/u/passwd", owner: her, want: "belongs to the user root"},
	{path: "home/u/pub/new", owner: her, want: "belongs to the user root"},
	{path: "home/u/o/new", owner: her, want: "belongs to the user 12346"},
	{path: "home/u/over/new", owner: her, want: "to DIR/home/o, which belongs to the user 12346"},
	{path: "home/u/closed/new", owner: her, want: "the user 12345 can't pass DIR/sys/closed/mine, and the path leads there by a link of that user"},
	{path: "home/u/loop/f", owner: her, want: "more than 40 links"},
	{path: "home/u/.config/rc", owner: other, want: "belongs to the user 12345"},
	{path: "home/u/.config/rc", owner: 0, want: "belongs to the user 12345"},
}

// TestFindingA3Walk: which links are followed, and what is said of the others.
func TestFindingA3Walk(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, tree...)
	must(t, os.Chown(dir+"/staff", 0, her))
	must(t, os.WriteFile(dir+"/home/u/dot/config/root", []byte("x"), 0o600))
	root, err := os.Open("/")
	must(t, err)
	defer root.Close()
	self := User{UID: 0, GID: 0}
	for name, w := range map[string]Walker{"fast": System(), "slow": {root: unix.AT_FDCWD, self: self, slow: true}, "by root": In(int(root.Fd()), "", self)} {
		t.Run(name, func(t *testing.T) {
			before := open(t)
			for _, c := range walkCases {
				if got, as := c.walk(w, dir); !strings.Contains(got, strings.ReplaceAll(c.wanted(), "DIR", dir)) || as != c.as {
					t.Errorf("%s, owner %d: as %d, %s", c.path, c.owner, as, got)
				}
			}
			if after := open(t); after != before {
				t.Errorf("%d descriptors are left open", after-before)
			}
		})
	}
}

func (c walkCase) wanted() string {
	return strings.ReplaceAll(c.want, "belongs to root", "belongs to the user root")
}

// walk says what a case gives: by Open, and by Place and as whom.
func (c walkCase) walk(w Walker, dir string) (string, int) {
	if c.owner != 0 {
		w = w.For(User{UID: c.owner, GID: c.owner})
	}
	path := dir + "/" + c.path
	if rest, ok := strings.CutPrefix(c.path, "../"); ok {
		path = "/../" + strings.Replace(rest, "DIR", dir, 1)
	}
	p, err := w.Place(path)
	if err != nil {
		return err.Error(), c.as
	}
	defer p.Close()
	as := 0
	if p.As() != nil {
		as = p.As().UID
	}
	f, err := w.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "new", as
	case err != nil:
		return err.Error(), as
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error(), as
	}
	if st, err := w.Stat(path); err != nil || st.Ino != p.Stat.Ino {
		return "Stat tells of another file", as
	}
	return string(data), as
}

// An access list counts as the mode bits do.
func TestFindingA3AccessList(t *testing.T) {
	asRoot(t)
	const list = "\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\x39\x30\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x05\x00\xff\xff\xff\xff"
	dir := t.TempDir()
	build(t, dir, "d a 0 0755", "d b 0 0755", "f b/f 0 0644", "l a/l 0 ../b")
	f, err := System().Open(dir + "/a/l/f")
	must(t, err)
	must(t, f.Close())
	must(t, unix.Setxattr(dir+"/a", "system.posix_acl_access", []byte(list), 0))
	if _, err := System().Open(dir + "/a/l/f"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "the user 12345 (by an access list) can write to "+dir+"/a") {
		t.Error(err)
	}
}

// The daemon of a common user follows that user's links, and those of root.
func TestOwnUsersLinks(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, tree...)
	root, err := os.Open("/")
	must(t, err)
	defer root.Close()
	w := In(int(root.Fd()), "", User{UID: her, GID: her})
	for path, want := range map[string]bool{"home/u/.config/rc": true, "sys/link/f": true, "home/u/.rc": true, "home/u/sys/f": true, "tmp/hers/f": false} {
		f, err := w.Open(dir + "/" + path)
		if (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			must(t, f.Close())
		}
	}
	if _, err := w.For(User{UID: other, GID: other}).Open(dir + "/tmp/hers/f"); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// A simulated machine's links stay in it.
func TestRootIsTheEnd(t *testing.T) {
	dir := t.TempDir()
	me := User{UID: os.Geteuid(), GID: os.Getegid()}
	must(t, os.MkdirAll(dir+"/m/etc", 0o755))
	must(t, os.WriteFile(dir+"/m/etc/f", []byte("in"), 0o600))
	must(t, os.WriteFile(dir+"/f", []byte("out"), 0o600))
	must(t, os.Symlink("/etc", dir+"/m/abs"))
	must(t, os.Symlink("../../../etc", dir+"/m/up"))
	fd, err := unix.Open(dir+"/m", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	w := In(fd, dir+"/m", me)
	for _, p := range []string{"/etc/f", "etc/f", "/abs/f", "/up/f", "/../../etc/f", "/abs/../../etc/f"} {
		f, err := w.Open(p)
		must(t, err)
		data, err := io.ReadAll(f)
		if err != nil || string(data) != "in" || f.Name() == "" {
			t.Errorf("%s: %q, %v", p, data, err)
		}
		must(t, f.Close())
	}
	if f, err := w.Open("/../f"); err == nil {
		t.Errorf("%s is outside", f.Name())
	} else if !strings.Contains(err.Error(), dir+"/m/f") {
		t.Errorf("where is it: %v", err)
	}
}

// TestRootOfEach: every function that takes a path begins at the Walker's root, and neither an
// absolute link nor "..", nor the place where a missing file is made, leads out of it.
func TestRootOfEach(t *testing.T) {
	dir := t.TempDir()
	me := User{UID: os.Geteuid(), GID: os.Getegid()}
	must(t, os.MkdirAll(dir+"/m/etc", 0o755))
	must(t, os.MkdirAll(dir+"/etc", 0o755))
	must(t, os.WriteFile(dir+"/m/etc/f", []byte("in"), 0o600))
	must(t, os.WriteFile(dir+"/etc/f", []byte("out"), 0o600))
	must(t, os.Symlink("/etc", dir+"/m/abs"))
	fd, err := unix.Open(dir+"/m", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	var want unix.Stat_t
	must(t, unix.Stat(dir+"/m/etc/f", &want))
	same := func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Ino != want.Ino {
			return fmt.Errorf("inode %d, want %d, %v", st.Ino, want.Ino, err)
		}
		return nil
	}
	for name, w := range map[string]Walker{"fast": In(fd, dir+"/m", me), "slow": {root: fd, prefix: dir + "/m", self: me, slow: true}} {
		for _, p := range []string{"/etc/f", "/abs/f", "/../../etc/f", "/abs/../../etc/f"} {
			for function, call := range map[string]func() error{
				"Folder": func() error {
					f, err := w.Folder(path.Dir(p))
					if err != nil {
						return err
					}
					defer f.Close()
					st, err := f.Stat("f")
					return cmp.Or(err, sameInode(st, want))
				},
				"Parent": func() error {
					f, name, err := w.Parent(p)
					if err != nil {
						return err
					}
					defer f.Close()
					st, err := f.Stat(name)
					return cmp.Or(err, sameInode(st, want))
				},
				"Place": func() error {
					at, err := w.Place(p)
					if err != nil {
						return err
					}
					defer at.Close()
					return sameInode(at.Stat, want)
				},
				"OpenFD": func() error {
					fd, _, err := w.OpenFD(p)
					if err != nil {
						return err
					}
					defer unix.Close(fd)
					return same(fd)
				},
				"Stat": func() error {
					st, err := w.Stat(p)
					return cmp.Or(err, sameInode(st, want))
				},
				"OpenAppend": func() error {
					f, err := w.OpenAppend(p, 0o600)
					if err != nil {
						return err
					}
					defer f.Close()
					return same(int(f.Fd()))
				},
				"WriteFile": func() error {
					return w.WriteFile(path.Dir(p)+"/new-"+name, []byte("new"), 0o600, true)
				},
			} {
				if err := call(); err != nil {
					t.Errorf("%s, %s of %s: %v", name, function, p, err)
				}
			}
			if got, err := os.ReadFile(dir + "/m/etc/new-" + name); err != nil || string(got) != "new" {
				t.Errorf("%s: WriteFile beside %s: %q, %v", name, p, got, err)
			}
			must(t, os.Remove(dir+"/m/etc/new-"+name))
		}
	}
	if entries, err := os.ReadDir(dir + "/etc"); err != nil || len(entries) != 1 {
		t.Errorf("outside of the root there is %v, %v", entries, err)
	}
	if got, err := os.ReadFile(dir + "/etc/f"); err != nil || string(got) != "out" {
		t.Errorf("the file outside of the root is %q, %v", got, err)
	}
}

func sameInode(st, want unix.Stat_t) error {
	if st.Ino != want.Ino {
		return fmt.Errorf("inode %d, want %d", st.Ino, want.Ino)
	}
	return nil
}

// Deep paths need no more descriptors than short ones, and messages stay short.
func TestFindingA10DeepPath(t *testing.T) {
	dir := t.TempDir()
	long := dir + strings.Repeat("/d", 1500)
	must(t, os.MkdirAll(long, 0o755))
	must(t, os.Symlink("d", dir+"/l"))
	before := open(t)
	f, err := System().Folder(dir + "/l" + strings.Repeat("/d", 1499))
	must(t, err)
	if n := open(t); n != before+1 {
		t.Errorf("%d descriptors", n-before)
	}
	f.Close()
	_, err = System().Folder(long + "/x")
	if !errors.Is(err, unix.ENOENT) || len(err.Error()) > 700 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}
