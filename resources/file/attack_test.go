package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// her is a user of whom the machine knows nothing.
const her = 12345

// asHer does something as her.
func asHer(t testing.TB, do func() error) {
	t.Helper()
	kindtest.Must(t, (&safepath.User{UID: her, GID: her}).Do(do))
}

// field is a folder of root with her folder in it, and what she must not get at.
func field(t testing.TB) (dir, hers string) {
	t.Helper()
	dir = t.TempDir()
	kindtest.Must(t, unix.Chmod(dir, 0o755))
	kindtest.Must(t, unix.Chmod(filepath.Dir(dir), 0o755))
	hers = dir + "/hers"
	for _, d := range []string{dir + "/victim", dir + "/victim/sub", hers} {
		kindtest.Must(t, os.Mkdir(d, 0o755))
	}
	kindtest.Must(t, os.WriteFile(dir+"/victim/f", []byte("secret"), 0o600))
	kindtest.Must(t, os.WriteFile(dir+"/victim/sub/g", []byte("secret"), 0o600))
	kindtest.Must(t, os.Chown(hers, her, her))
	return dir, hers
}

// untouched fails unless the victims are as they were.
func untouched(t *testing.T, dir string) {
	t.Helper()
	const want = "victim/ 0755\nvictim/f 0600 secret\nvictim/sub/ 0755\nvictim/sub/g 0600 secret"
	if got := kindtest.Have(t, dir+"/victim"); got != want {
		t.Errorf("the victim is\n%s", got)
	}
	kindtest.Must(t, filepath.Walk(dir+"/victim", func(p string, _ os.FileInfo, err error) error {
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil || st.Uid != 0 || st.Gid != 0 {
			t.Errorf("%s belongs to %d:%d, %v", p, st.Uid, st.Gid, err)
		}
		return err
	}))
}

// attacked are graphs that a person writes in good faith for paths below HERS.
var attacked = map[string]Res{
	"content":          {Path: "HERS/a/f", Content: new("ours")},
	"content, owner":   {Path: "HERS/a/f", Content: new("ours"), Owner: "12345", Mode: "0644"},
	"owner and mode":   {Path: "HERS/a/f", Owner: "12345", Mode: "0644"},
	"mode":             {Path: "HERS/a/f", Mode: "0666"},
	"source":           {Path: "HERS/a/f", Source: "DIR/from"},
	"fragments":        {Path: "HERS/a/f", Fragments: []string{"DIR/from"}},
	"absent":           {Path: "HERS/a/f", State: Absent},
	"absent folder":    {Path: "HERS/a/sub/", State: Absent, Recurse: true},
	"absent by force":  {Path: "HERS/a/sub", State: Absent, Force: true},
	"folder":           {Path: "HERS/a/sub/", Owner: "12345", Mode: "0777"},
	"purge":            {Path: "HERS/a/sub/", Recurse: true, Purge: true},
	"purge above":      {Path: "HERS/a/", Recurse: true, Purge: true},
	"tree":             {Path: "HERS/a/", Recurse: true, Source: "DIR/tree/", Owner: "12345"},
	"tree, purge":      {Path: "HERS/a/", Recurse: true, Source: "DIR/tree/", Purge: true},
	"force":            {Path: "HERS/a/f", Content: new("ours"), Force: true},
	"force on folder":  {Path: "HERS/a/sub/", Force: true, Owner: "12345"},
	"link":             {Path: "HERS/a/f", Symlink: true, Source: "x", Force: true, Owner: "12345"},
	"missing parents":  {Path: "HERS/a/sub/new/", Recurse: true},
	"reads source":     {Path: "DIR/public", Source: "HERS/a/f", Mode: "0644"},
	"reads fragments":  {Path: "DIR/public", Fragments: []string{"HERS/a/f"}, Mode: "0644"},
	"reads fragments/": {Path: "DIR/public", Fragments: []string{"HERS/a/sub/"}, Mode: "0644"},
	"reads tree":       {Path: "DIR/publics/", Source: "HERS/a/", Recurse: true, Mode: "0755"},
}

// graphOf returns the resource for a field.
func graphOf(r Res, dir, hers string) *Res {
	at := strings.NewReplacer("HERS", hers, "DIR", dir).Replace
	r.Path, r.Source = at(r.Path), at(r.Source)
	parts := r.Fragments
	r.Fragments = nil
	for _, f := range parts {
		r.Fragments = append(r.Fragments, at(f))
	}
	return &r
}

func sources(t *testing.T, dir string) {
	t.Helper()
	kindtest.Must(t, os.WriteFile(dir+"/from", []byte("ours"), 0o644))
	kindtest.Must(t, os.MkdirAll(dir+"/tree/sub", 0o755))
	kindtest.Must(t, os.WriteFile(dir+"/tree/f", []byte("ours"), 0o644))
	kindtest.Must(t, os.WriteFile(dir+"/tree/sub/g", []byte("ours"), 0o644))
}

// leaked fails where what only root may read is in a file that others can read.
func leaked(t *testing.T, paths ...string) {
	t.Helper()
	for _, root := range paths {
		_ = filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				return nil
			}
			data, _ := os.ReadFile(p)
			var st unix.Stat_t
			_ = unix.Lstat(p, &st)
			if strings.Contains(string(data), "secret") && (st.Mode&0o044 != 0 || st.Uid == her) {
				t.Errorf("%s holds the secret, for all", p)
			}
			return nil
		})
	}
}

// plants are what she puts into the place of HERS/a.
var plants = map[string]func(dir, hers string) error{
	"a link to the folder": func(dir, hers string) error { return os.Symlink(dir+"/victim", hers+"/a") },
	"a relative link":      func(_, hers string) error { return os.Symlink("../victim", hers+"/a") },
	"a folder with links":  func(dir, hers string) error { return plantLinks(dir+"/victim", hers+"/a") },
	"a link to a link": func(dir, hers string) error {
		return errors.Join(os.Symlink("../victim", hers+"/b"), os.Symlink("b", hers+"/a"))
	},
	"a folder over a link": func(dir, hers string) error {
		return errors.Join(plantLinks(dir+"/victim", hers+"/b"), os.Symlink("b", hers+"/a"))
	},
	"a link by the own proc": func(dir, hers string) error { return os.Symlink("/proc/self/root"+dir+"/victim", hers+"/a") },
}

func plantLinks(victim, at string) error {
	return errors.Join(os.Mkdir(at, 0o755), os.Symlink(victim+"/f", at+"/f"), os.Symlink(victim+"/sub", at+"/sub"))
}

// TestFindingA2A3A6File: whatever links she puts into the way of a graph, nothing of root's is changed,
// given away or read.
func TestFindingA2A3A6File(t *testing.T) {
	enginetestRoot(t)
	for what, plant := range plants {
		for name, graph := range attacked {
			t.Run(what+" for "+name, func(t *testing.T) {
				dir, hers := field(t)
				sources(t, dir)
				asHer(t, func() error { return plant(dir, hers) })
				r := graphOf(graph, dir, hers)
				f := kindtest.Begin(t, "file", r)
				for _, apply := range []bool{false, true} {
					_ = kindtest.Verbs(t, f, r, apply)
					_, _ = r.Read(t.Context())
				}
				untouched(t, dir)
				leaked(t, dir+"/public", dir+"/publics", hers)
			})
		}
	}
}

// What is refused is said with who stands behind it and how to proceed.
func TestFindingA2FileSentence(t *testing.T) {
	enginetestRoot(t)
	dir, hers := field(t)
	asHer(t, func() error { return os.Symlink("../victim/f", hers+"/f") })
	r := &Res{Path: hers + "/f", Content: new("x")}
	kindtest.Want(t, kindtest.Begin(t, "file", r), r, "error: "+hers+`/f is a link (to "../victim/f") that belongs to the user 12345, and is not followed: name the real path, or chown -h root `+hers+"/f, or set owner: 12345 (or force: true, which replaces the link)")
	untouched(t, dir)
}

// TestFindingA3Dotfiles: where the graph names her as the owner, her links are followed as her.
func TestFindingA3Dotfiles(t *testing.T) {
	enginetestRoot(t)
	dir, hers := field(t)
	asHer(t, func() error {
		return errors.Join(os.MkdirAll(hers+"/dotfiles/config", 0o700), os.Symlink("dotfiles/config", hers+"/.config"),
			os.WriteFile(hers+"/dotfiles/rc", []byte("old"), 0o644), os.Symlink(hers+"/dotfiles/rc", hers+"/.rc"),
			os.Symlink(dir+"/victim", hers+"/.evil"))
	})
	for _, c := range []struct {
		res        Res
		what, path string
		result     string
	}{
		{Res{Path: "HERS/.config/app", Content: new("x"), Mode: "0644"}, `state created content: (none) -> "x" owner: (none) -> "12345" mode: (none) -> "0644"`, hers + "/dotfiles/config/app", "app 0644 x"},
		{Res{Path: "HERS/.config/app", Content: new("y")}, `content: "x" -> "y"`, hers + "/dotfiles/config/app", "app 0644 y"},
		{Res{Path: "HERS/.config/app", Mode: "0600"}, `mode: "0644" -> "0600"`, hers + "/dotfiles/config/app", "app 0600 y"},
		{Res{Path: "HERS/.rc", Content: new("new")}, `content: "old" -> "new"`, hers + "/dotfiles/rc", "rc 0644 new"},
		{Res{Path: "HERS/.config/l", Symlink: true, Source: "to"}, `state created source: (none) -> "to" owner: (none) -> "12345"`, hers + "/dotfiles/config/l", "l -> to"},
		{Res{Path: "HERS/.config/d/e/", Recurse: true, Mode: "0700"}, `state created owner: (none) -> "12345" mode: (none) -> "0700"`, hers + "/dotfiles/config/d", "d/ 0755\nd/e/ 0700"},
		{Res{Path: "HERS/.config/d/", State: Absent, Recurse: true}, `state deleted`, hers + "/dotfiles/config/d", ""},
	} {
		c.res.Owner = "12345"
		r := graphOf(c.res, dir, hers)
		f := kindtest.Begin(t, "file", r)
		converge(t, f, r, c.what, c.path, c.result)
	}
	kindtest.Must(t, filepath.Walk(hers, func(p string, _ os.FileInfo, err error) error {
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil || st.Uid != her {
			t.Errorf("%s belongs to %d, %v", p, st.Uid, err)
		}
		return err
	}))
	r := &Res{Path: hers + "/.evil/f", Content: new("x"), Owner: "12345"}
	if got := kindtest.Verbs(t, kindtest.Begin(t, "file", r), r, true); !strings.Contains(got, "behind such a link all has to belong to the user 12345") {
		t.Errorf("got %q", got)
	}
	untouched(t, dir)
}

// TestFindingA1File: her setuid file never becomes one of root's.
func TestFindingA1File(t *testing.T) {
	enginetestRoot(t)
	for name, c := range map[string]struct {
		res  Res
		mode uint32
		want string
	}{
		"owner":            {Res{Owner: "root", Group: "root"}, 0o6755, "tool 0755 hers"},
		"group":            {Res{Group: "root"}, 0o2755, "tool 0755 hers"},
		"symbolic mode":    {Res{Owner: "root", Group: "root", Mode: "go-w"}, 0o6777, "tool 0755 hers"},
		"octal mode":       {Res{Owner: "root", Group: "root", Mode: "4711"}, 0o6755, "tool 4711 hers"},
		"source":           {Res{Owner: "root", Source: "DIR/from"}, 0o4755, "tool 0644 ours"},
		"content":          {Res{Owner: "root", Content: new("ours")}, 0o777, "tool 0644 ours"},
		"symbolic content": {Res{Owner: "root", Content: new("ours"), Mode: "u+x"}, 0o4777, "tool 0744 ours"},
		"private content":  {Res{Owner: "root", Content: new("ours")}, 0o600, "tool 0600 ours"},
		"stays hers":       {Res{Content: new("ours")}, 0o4755, "tool 4755 ours"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, hers := field(t)
			sources(t, dir)
			asHer(t, func() error { return os.WriteFile(hers+"/tool", []byte("hers"), 0o600) })
			kindtest.Must(t, unix.Chmod(hers+"/tool", c.mode))
			c.res.Path = "HERS/tool"
			r := graphOf(c.res, dir, hers)
			f := kindtest.Begin(t, "file", r)
			says := kindtest.Verbs(t, f, r, false)
			if got := kindtest.Verbs(t, f, r, true); got != says || strings.Contains(got, "error") {
				t.Errorf("said %q, done %q", says, got)
			}
			if got := kindtest.Have(t, hers+"/tool"); got != c.want {
				t.Errorf("it is %s", got)
			}
			if moves := c.mode != modeOf(t, hers+"/tool"); moves != strings.Contains(says, "mode: ") {
				t.Errorf("said is %q", says)
			}
			kindtest.Want(t, f, r, "")
		})
	}
}

func modeOf(t *testing.T, path string) uint32 {
	var st unix.Stat_t
	kindtest.Must(t, unix.Lstat(path, &st))
	return st.Mode & 0o7777
}

// TestFindingA1FileHeldOpen: a file of hers that has the content already becomes root's as a new file. For she may have it open,
// or in her memory, and a change there takes no setuid bit away and wakes no watch.
func TestFindingA1FileHeldOpen(t *testing.T) {
	enginetestRoot(t)
	for name, c := range map[string]Res{
		"content":   {Content: new("ours"), Owner: "root", Mode: "4755"},
		"source":    {Source: "DIR/from", Owner: "root", Group: "root"},
		"fragments": {Fragments: []string{"DIR/from"}, Owner: "root"},
		"another's": {Content: new("ours"), Owner: "54321"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, hers := field(t)
			sources(t, dir)
			var held *os.File
			asHer(t, func() (err error) {
				err = os.WriteFile(hers+"/f", []byte("ours"), 0o644)
				if err == nil {
					held, err = os.OpenFile(hers+"/f", os.O_RDWR, 0)
				}
				return err
			})
			defer held.Close()
			memory, err := unix.Mmap(int(held.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			kindtest.Must(t, err)
			defer unix.Munmap(memory)
			c.Path = "HERS/f"
			r := graphOf(c, dir, hers)
			f := kindtest.Begin(t, "file", r)
			says := kindtest.Verbs(t, f, r, false)
			if got := kindtest.Verbs(t, f, r, true); got != says || strings.Contains(got, "error") || strings.Contains(got, "content") {
				t.Errorf("said %q, done %q", says, got)
			}
			copy(memory, "evil")
			if got := kindtest.Have(t, hers+"/f"); !strings.HasSuffix(got, " ours") {
				t.Errorf("it is %s", got)
			}
			kindtest.Want(t, f, r, "")
		})
	}
}

// A copy of her tree gives no setuid file, whatever was there.
func TestFindingA1FileTree(t *testing.T) {
	enginetestRoot(t)
	dir, hers := field(t)
	asHer(t, func() error {
		return errors.Join(os.MkdirAll(hers+"/tree/sub", 0o755), os.WriteFile(hers+"/tree/sub/x", []byte("sh"), 0o755), unix.Chmod(hers+"/tree/sub/x", 0o6755),
			os.MkdirAll(hers+"/to/sub", 0o755), os.WriteFile(hers+"/to/sub/x", []byte("sh"), 0o755), unix.Chmod(hers+"/to/sub/x", 0o6755))
	})
	for _, to := range []string{dir + "/copy", hers + "/to"} {
		r := &Res{Path: to + "/", Source: hers + "/tree/", Recurse: true, Owner: "root", Group: "root"}
		f := kindtest.Begin(t, "file", r)
		if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "error") {
			t.Fatal(got)
		}
		if mode := modeOf(t, to+"/sub/x"); mode != 0o755 {
			t.Errorf("%s has %o", to, mode)
		}
		kindtest.Want(t, f, r, "")
	}
}

// A second name of a file of root's is neither given away nor copied.
func TestFindingA1FileHardLink(t *testing.T) {
	enginetestRoot(t)
	dir, hers := field(t)
	kindtest.Must(t, os.Link(dir+"/victim/f", hers+"/f")) // as she could with protected_hardlinks off
	for _, c := range []struct {
		res   Res
		error bool
	}{
		{Res{Path: "HERS/f", Owner: "12345", Mode: "0644"}, true},
		{Res{Path: "HERS/f", Mode: "0644"}, true},
		{Res{Path: "DIR/public", Source: "HERS/f"}, true},
		{Res{Path: "DIR/public", Fragments: []string{"HERS/f"}}, true},
		{Res{Path: "DIR/publics/", Source: "HERS/", Recurse: true}, true},
		{Res{Path: "HERS/f", Content: new("ours"), Owner: "12345", Mode: "0644"}, false},
	} {
		r := graphOf(c.res, dir, hers)
		got := kindtest.Verbs(t, kindtest.Begin(t, "file", r), r, true)
		if strings.Contains(got, "(hard links), and the user 12345 can write to its folder") != c.error {
			t.Errorf("%+v: %s", r, got)
		}
		untouched(t, dir)
		leaked(t, dir+"/public", dir+"/publics")
	}
}

// TestFindingA3FileRace: she swaps the folder, the file and links to root's for as long as graphs are
// applied.
func TestFindingA3FileRace(t *testing.T) {
	enginetestRoot(t)
	for name, graph := range attacked {
		t.Run(name, func(t *testing.T) {
			dir, hers := field(t)
			sources(t, dir)
			asHer(t, func() error {
				return errors.Join(os.MkdirAll(hers+"/a/sub", 0o755), os.WriteFile(hers+"/a/f", []byte("hers"), 0o644),
					os.WriteFile(hers+"/a/sub/g", []byte("hers"), 0o644), os.Symlink("../victim", hers+"/l"),
					plantLinks(dir+"/victim", hers+"/b"))
			})
			stop := swapping(t, [2]string{hers + "/a", hers + "/l"}, [2]string{hers + "/a", hers + "/b"},
				[2]string{hers + "/a/f", hers + "/b/f"}, [2]string{hers + "/a/sub", hers + "/b/sub"})
			defer stop()
			r := graphOf(graph, dir, hers)
			kindtest.Begin(t, "file", r)
			for range 60 {
				_, _ = r.CheckApply(t.Context(), true)
				_, _ = r.Read(t.Context())
				leaked(t, dir+"/public", dir+"/publics")
			}
			stop()
			untouched(t, dir)
			leaked(t, hers)
		})
	}
}

// swapping swaps pairs of names, as her, until stop is called.
func swapping(t *testing.T, pairs ...[2]string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		asHer(t, func() error {
			for ctx.Err() == nil {
				for _, p := range pairs {
					_ = unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE)
				}
			}
			return nil
		})
	})
	return func() { cancel(); wg.Wait() }
}

// nested makes folders one in another.
func nested(t *testing.T, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	kindtest.Must(t, err)
	for range depth {
		kindtest.Must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_PATH|unix.O_CLOEXEC, 0)
		kindtest.Must(t, err)
		kindtest.Must(t, unix.Close(fd))
		fd = next
	}
	kindtest.Must(t, unix.Close(fd))
}

// TestFindingA10File: what is nested deeply is removed, and where it is compared the error is short.
func TestFindingA10File(t *testing.T) {
	dir := t.TempDir()
	kindtest.Must(t, os.MkdirAll(dir+"/purged", 0o755))
	kindtest.Must(t, os.MkdirAll(dir+"/from", 0o755))
	nested(t, dir+"/purged", 3000)
	nested(t, dir+"/from", 1000)
	r := &Res{Path: dir + "/purged/", Recurse: true, Purge: true}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `entries["d"].state deleted`, dir+"/purged", "purged/ 0755")
	r = &Res{Path: dir + "/to/", Recurse: true, Source: dir + "/from/"}
	kindtest.Begin(t, "file", r)
	_, err := r.CheckApply(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), "more than 200 folders one in another are not compared") || len(err.Error()) > 800 {
		t.Errorf("got %v", err)
	}
	kindtest.Must(t, atomicfile.At(dir).Remove("from", true))
}

// TestFindingA11FileTableFull: a full table of descriptors fails the resource, and it is right as soon as
// there is room.
func TestFindingA11FileTableFull(t *testing.T) {
	dir := t.TempDir()
	r := &Res{Path: dir + "/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r)
	var old unix.Rlimit
	kindtest.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	kindtest.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: old.Max}))
	_, err := r.CheckApply(t.Context(), true)
	kindtest.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v", err)
	}
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/f", "f 0644 x")
}

// TestFindingBadHugeFile: an old file of any length, which costs its maker nothing, does not keep the new one waiting.
func TestFindingBadHugeFile(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"open": 0o644, "closed": 0o600} {
		path := dir + "/" + name
		kindtest.Must(t, os.WriteFile(path, nil, mode))
		kindtest.Must(t, os.Truncate(path, 1<<40))
		r := &Res{Path: path, Content: new("ours")}
		f := kindtest.Begin(t, "file", r)
		ctx, end := context.WithTimeout(t.Context(), await.Left())
		defer end()
		if _, err := r.CheckApply(ctx, true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := kindtest.Have(t, path); !strings.HasSuffix(got, " ours") {
			t.Errorf("it is %s", got)
		}
		kindtest.Want(t, f, r, "")
	}
}
