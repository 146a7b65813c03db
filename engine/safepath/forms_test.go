package safepath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// TestForms: a path is taken apart as the system takes it.
func TestForms(t *testing.T) {
	for path, want := range map[string]struct {
		dir, name string
		plain, up bool
		elements  string
	}{
		"":             {"/", "", false, false, ""},
		"/":            {"/", "", false, false, ""},
		"//":           {"/", "", false, false, ""},
		"a":            {"/", "a", true, false, "a"},
		"/a":           {"/", "a", true, false, "a"},
		"/a/":          {"/", "a", true, false, "a"},
		"/a//b":        {"/a/", "b", true, false, "a b"},
		"a/./b/.":      {"a/./b", ".", false, false, "a b"},
		"..":           {"/", "..", false, true, ".."},
		"/a/..":        {"/a", "..", false, true, "a .."},
		"/a/../b":      {"/a/..", "b", true, true, "a .. b"},
		"/..a/b..":     {"/..a", "b..", true, false, "..a b.."},
		"/a..b/c":      {"/a..b", "c", true, false, "a..b c"},
		"/.../c":       {"/...", "c", true, false, "... c"},
		"/a../..b/../": {"/a../..b", "..", false, true, "a.. ..b .."},
		"/a/ /b\n":     {"/a/ ", "b\n", true, false, "a   b\n"},
	} {
		dir, name, plain := split(path)
		if dir != want.dir || name != want.name || plain != want.plain {
			t.Errorf("%q is parted into %q, %q, %t", path, dir, name, plain)
		}
		if up := hasUp(path); up != want.up {
			t.Errorf("%q goes up: %t", path, up)
		}
		if got := strings.Join(elements(path), " "); got != want.elements {
			t.Errorf("%q has the elements %q", path, got)
		}
	}
}

// TestShort: a message has room for the two ends of a long path, whose characters stay whole.
func TestShort(t *testing.T) {
	for _, path := range []string{"/a", strings.Repeat("/b", 256), ""} {
		if got := Short(path); got != path {
			t.Errorf("%q is shown as %q", path, got)
		}
	}
	for _, unit := range []string{"/bc", "/ä", "/𝄞", "é"} {
		path := "/begin" + strings.Repeat(unit, 400) + "/end"
		got := Short(path)
		if len(got) > 512 || !strings.HasPrefix(got, "/begin"+unit) || !strings.HasSuffix(got, unit+"/end") || !strings.Contains(got, "/.../") || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %q: %q", len(got), unit, got)
		}
	}
}

// TestShownPath: a message and Folder.Path have the path as a user of the machine writes it, with the folder of a simulated machine.
func TestShownPath(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/m/a/b", 0o755))
	must(t, os.Symlink("a", dir+"/m/l"))
	root, err := os.Open(dir + "/m")
	must(t, err)
	defer root.Close()
	me := User{UID: os.Geteuid(), GID: os.Getegid()}
	for _, c := range []struct {
		w                  Walker
		folder, name, want string
	}{
		{System(), "/", "x", "/x"},
		{System(), "/", "", "/"},
		{System(), dir + "/m/a/", "x", dir + "/m/a/x"},
		{System(), dir + "/m//l/b", "x", dir + "/m//l/b/x"},
		{System(), dir + "/m/a/../a", "x", dir + "/m/a/x"},
		{In(int(root.Fd()), "/machine/", me), "/", "x", "/machine/x"},
		{In(int(root.Fd()), "/machine", me), "a", "", "/machine/a"},
		{In(int(root.Fd()), "/machine", me), "/../a/b", "x", "/machine/a/b/x"},
		{In(int(root.Fd()), "/machine", me), "l/b", "x", "/machine/l/b/x"},
	} {
		for _, slow := range []bool{false, true} {
			c.w.slow = slow
			f, err := c.w.Folder(c.folder)
			must(t, err)
			if got := f.Path(c.name); got != c.want {
				t.Errorf("%q in %q is %q, want %q", c.name, c.folder, got, c.want)
			}
			if f.As() != nil || f.FD() < 0 {
				t.Errorf("%q is open as %v", c.folder, f.As())
			}
			f.Close()
		}
	}
	_, err = In(int(root.Fd()), "/machine", me).Open("/none/f")
	if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Path != "/machine/none/f" && e.Path != "/machine/none" {
		t.Errorf("the error is %v", err)
	}
}

// TestParentNames: the last name is not looked at, and that of the root is ".".
func TestParentNames(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/a/b", 0o755))
	must(t, os.Symlink("nowhere", dir+"/a/l"))
	for path, want := range map[string]string{
		"/": "/ .", "/..": "/ .", "": "/ .",
		dir + "/a/l": dir + "/a l", dir + "/a/l/": dir + "/a l", dir + "/a/none": dir + "/a none",
		dir + "/a/b/..": dir + " a", dir + "/a/b/../l": dir + "/a l", dir + "/a/.": dir + " a",
	} {
		for _, slow := range []bool{false, true} {
			w := System()
			w.slow = slow
			f, name, err := w.Parent(path)
			if err != nil {
				t.Errorf("%q: %v", path, err)
				continue
			}
			real, err := readPath(f.FD())
			must(t, err)
			if got := real + " " + name; got != want {
				t.Errorf("%q (slow %t) is %q, want %q", path, slow, got, want)
			}
			f.Close()
		}
	}
}

// TestPlaces: a place tells what has the name at that moment, and what is missing is no error.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/a", 0o755))
	put(t, dir+"/a/f", 0o640)
	must(t, os.Symlink("a/f", dir+"/l"))
	must(t, os.Symlink("a/none", dir+"/n"))
	for path, want := range map[string]string{"a/f": "f", "l": "f", "a/none": "none, missing", "n": "none, missing", "a": "a", "a/": "a", ".": "."} {
		p, err := System().Place(dir + "/" + path)
		must(t, err)
		got := p.Name
		if p.Missing {
			got += ", missing"
		}
		if path == "." {
			want = dir[strings.LastIndexByte(dir, '/')+1:]
		}
		if got != want || p.Missing != (p.Stat.Ino == 0) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		p.Close()
	}
	for path, want := range map[string]error{"none/f": unix.ENOENT, "a/f/x": unix.ENOTDIR, strings.Repeat("n", 300): unix.ENAMETOOLONG} {
		if p, err := System().Place(dir + "/" + path); !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
		if _, err := System().Stat(dir + "/" + path); !errors.Is(err, want) {
			t.Errorf("the stat of %s: %v", path, err)
		}
		if f, err := System().Open(dir + "/" + path); !errors.Is(err, want) {
			t.Errorf("opening %s: %v, %v", path, f, err)
		}
	}
	if _, err := System().Stat(dir + "/n"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the stat of a link that leads nowhere: %v", err)
	}
	if _, err := System().Folder(dir + "/a/f"); !errors.Is(err, unix.ENOTDIR) || !strings.Contains(err.Error(), "put a folder there, or name another path") {
		t.Errorf("a file as a folder: %v", err)
	}
}

// TestFolderAfterRemoval: a folder that is removed meanwhile is an error, and never another folder of that path.
func TestFolderAfterRemoval(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/a", 0o755))
	f, err := System().Folder(dir + "/a")
	must(t, err)
	defer f.Close()
	must(t, os.Remove(dir+"/a"))
	must(t, os.Mkdir(dir+"/a", 0o755))
	put(t, dir+"/a/x", 0o600)
	if _, err := f.Stat("x"); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), dir+"/a/x") {
		t.Errorf("the stat: %v", err)
	}
	if fd, err := f.Openat("x", unix.O_CREAT|unix.O_WRONLY, 0o600); !errors.Is(err, unix.ENOENT) || fd != -1 {
		t.Errorf("a file is made: %d, %v", fd, err)
	}
	if text, err := os.ReadFile(dir + "/a/x"); err != nil || string(text) != "old" {
		t.Errorf("the other file is %q: %v", text, err)
	}
}

// TestHardLinks: a second name of a file is read where its owner, or none but root, can have made it. Elsewhere a file that not all
// may read is refused.
func TestHardLinks(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "d root 0 0755", "d hers 12345 0755", "d all 0 0777", "d group 0 0775", "f root/secret 0 0600", "f root/open 0 0644", "f hers/own 12345 0600", "f root/hers 12345 0600")
	must(t, os.Chown(dir+"/group", 0, other))
	must(t, unix.Chmod(dir+"/group", 0o775))
	for _, l := range [][2]string{
		{"root/secret", "root/two"}, {"root/secret", "all/secret"}, {"root/secret", "group/secret"}, {"root/secret", "hers/secret"},
		{"root/open", "all/open"}, {"hers/own", "hers/two"}, {"root/hers", "hers/three"}, {"root/hers", "all/hers"},
	} {
		must(t, os.Link(dir+"/"+l[0], dir+"/"+l[1]))
	}
	for path, want := range map[string]string{
		"root/secret": "", "root/two": "", "all/open": "", "hers/two": "", "hers/three": "",
		"all/secret":   "every user can write to its folder",
		"group/secret": "the group 12346 can write to its folder",
		"hers/secret":  "the user 12345 can write to its folder",
		"all/hers":     "every user can write to its folder",
	} {
		f, err := System().Open(dir + "/" + path)
		if err == nil {
			must(t, f.Close())
		}
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir+"/"+path)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestLongAccessList: an entry behind a thousand bytes of an access list counts, too.
func TestLongAccessList(t *testing.T) {
	asRoot(t)
	entry := func(tag, perm uint16, id uint32) []byte {
		return []byte{byte(tag), byte(tag >> 8), byte(perm), byte(perm >> 8), byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}
	}
	list := func(last uint16) []byte {
		acl := slices.Concat([]byte{2, 0, 0, 0}, entry(1, 7, 1<<32-1))
		for i := range uint32(200) {
			acl = append(acl, entry(2, 4, 20000+i)...)
		}
		return slices.Concat(acl, entry(2, last, 30000), entry(4, 5, 1<<32-1), entry(8, last, 30001), entry(16, 7, 1<<32-1), entry(32, 5, 1<<32-1))
	}
	dir := public(t)
	build(t, dir, "d a 0 0755")
	f, err := System().Folder(dir + "/a")
	must(t, err)
	defer f.Close()
	for last, want := range map[uint16]string{5: "", 7: "the user 30000 (by an access list)"} {
		if err := unix.Setxattr(dir+"/a", "system.posix_acl_access", list(last), 0); errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSPC) {
			t.Skipf("the file system has no such access list: %v", err)
		} else {
			must(t, err)
		}
		if who, err := System().OthersWrite(f); err != nil || who != want {
			t.Errorf("%q can write: %v, want %q", who, err, want)
		}
	}
}

// TestLookupUser: a number without a user has its own group alone, and root has the group of root.
func TestLookupUser(t *testing.T) {
	if u := LookupUser(her); u.UID != her || u.GID != her || len(u.Groups) > 0 {
		t.Errorf("a number without a user is %+v", u)
	}
	if u := LookupUser(0); u.UID != 0 || u.GID != 0 || slices.Contains(u.Groups, 0) {
		t.Errorf("root is %+v", u)
	}
}

// TestForOwner: a number alone is enough to follow the links of that user. For root, and for the daemon itself, nothing differs.
func TestForOwner(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, tree...)
	f, err := System().ForOwner(her).Open(dir + "/home/u/.config/rc")
	must(t, err)
	text, err := io.ReadAll(f)
	must(t, errors.Join(err, f.Close()))
	if string(text) != "home/u/dot/config/rc" {
		t.Errorf("the file is %q", text)
	}
	for _, uid := range []int{0, -1, os.Geteuid()} {
		w := System().ForOwner(uid)
		if w.owner != nil || w.lookup {
			t.Errorf("for %d the walker is %+v", uid, w)
		}
		if _, err := w.Open(dir + "/home/u/.config/rc"); !errors.Is(err, ErrRefused) {
			t.Errorf("for %d the link of another user: %v", uid, err)
		}
	}
	if got := System().Self(); got.UID != os.Geteuid() || got.GID != os.Getegid() {
		t.Errorf("the daemon is %+v", got)
	}
}

// TestWorkAsUser: in a folder behind the link of a user, each call is made as that user, and the kernel refuses the rest.
func TestWorkAsUser(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "d u 12345 0755", "d u/dir 12345 0700", "f u/dir/own 12345 0600", "f u/dir/roots 0 0600", "l u/link 12345 dir")
	f, err := System().For(User{UID: her, GID: her}).Folder(dir + "/u/link")
	must(t, err)
	defer f.Close()
	if f.As() == nil || f.As().UID != her {
		t.Fatalf("the folder is used as %+v", f.As())
	}
	fd, err := f.Openat("new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
	must(t, err)
	must(t, unix.Close(fd))
	st, err := f.Stat("new")
	if err != nil || st.Uid != her || st.Gid != her {
		t.Errorf("the new file belongs to %d:%d: %v", st.Uid, st.Gid, err)
	}
	if fd, err := f.Openat("roots", unix.O_RDONLY, 0); !errors.Is(err, unix.EACCES) || fd != -1 {
		t.Errorf("the file of root is opened: %d, %v", fd, err)
	}
	must(t, f.Remove("own"))
	must(t, unix.Chmod(dir+"/u/dir", 0o500))
	if err := f.Remove("new"); !errors.Is(err, unix.EACCES) {
		t.Errorf("in a folder without the right to write: %v", err)
	}
	must(t, unix.Chmod(dir+"/u/dir", 0))
	if _, err := f.Stat("new"); !errors.Is(err, unix.EACCES) {
		t.Errorf("in a folder without any right: %v", err)
	}
	err = System().For(User{UID: her, GID: her}).WriteFile(dir+"/u/link/new", []byte("x"), 0o600, false)
	if !errors.Is(err, fs.ErrPermission) && (err == nil || !strings.Contains(err.Error(), "can't pass")) {
		t.Errorf("a file is written: %v", err)
	}
}

// TestActingIsRefused: what is no common user is not acted as, and neither is anyone by a thread that is not root.
func TestActingIsRefused(t *testing.T) {
	asRoot(t)
	called := func() error { t.Error("it was called"); return nil }
	for _, u := range []User{{UID: 0, GID: 0}, {UID: -1, GID: 1}, {UID: her, GID: -1}} {
		if err := u.Do(called); err == nil || !strings.Contains(err.Error(), "is not possible") {
			t.Errorf("%+v: %v", u, err)
		}
	}
	many := make([]int, 70000) // more than the kernel has room for
	if err := (&User{UID: her, GID: her, Groups: many}).Do(called); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "acting as the user 12345") {
		t.Errorf("with too many groups: %v", err)
	}
	if uid, err := fsuid(-1); err != nil || uid != 0 {
		t.Errorf("this thread is %d: %v", uid, err)
	}
}

// TestSteadyErrors: what can't be passed is told with its path.
func TestSteadyErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", 0o600)
	for path, want := range map[string]error{"f/x": unix.ENOTDIR, "f/x/y": unix.ENOTDIR, strings.Repeat("n", 300): unix.ENAMETOOLONG} {
		if got, err := System().Steady(dir + "/" + path); !errors.Is(err, want) || got != "" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := System().SteadyName(dir + "/f/x"); !errors.Is(err, unix.ENOTDIR) || got != "" {
		t.Errorf("a name below a file: %q, %v", got, err)
	}
	if got, err := System().SteadyName(dir + "/none/x"); !errors.Is(err, unix.ENOENT) || got != "" {
		t.Errorf("a name in no folder: %q, %v", got, err)
	}
}
