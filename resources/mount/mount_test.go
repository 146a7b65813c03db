package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: mount.go, Watch: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "mount", resAt(t.TempDir()), nil)
}

// TestFindingA7MountNotForAll: the options of a table that shuts other users out are in no change.
func TestFindingA7MountNotForAll(t *testing.T) {
	const canary = kindtest.Canary
	kindtest.NotForAll(t, "mount", map[string]kindtest.Part{
		"closed": {Before: "dev /mnt cifs password=" + canary + " 0 0\n", Mode: 0o600, Make: func(p string) engine.Res {
			return &Res{Path: "/mnt", State: Unmounted, Device: "dev", Type: "cifs", Options: []string{"password=" + canary + "2"}, Persist: true, Fstab: p}
		}},
		"open": {Before: "dev /mnt cifs a=" + canary + " 0 0\n", Mode: 0o644, Make: func(p string) engine.Res {
			return &Res{Path: "/mnt", State: Unmounted, Device: "dev", Type: "cifs", Options: []string{"a=2"}, Persist: true, Fstab: p}
		}, Shown: true},
	})
}

// resAt makes a mount of a file system in memory, below a folder of the test.
func resAt(dir string) *Res {
	return &Res{
		Path: dir + "/m", Device: "mem", Type: "tmpfs", Options: []string{"size=64k", "mode=0750", "noexec"},
		Persist: true, Fstab: dir + "/fstab",
	}
}

func lay(t *testing.T, dir string) {
	t.Helper()
	kindtest.Must(t, os.MkdirAll(dir+"/m", 0o755))
	kindtest.Must(t, os.MkdirAll(dir+"/other", 0o755))
	t.Cleanup(func() {
		for unix.Unmount(dir+"/m", unix.MNT_DETACH) == nil {
		}
	})
}

// treeOf is what is below dir, and what is mounted there.
func treeOf(t testing.TB, dir string) enginetest.Tree {
	all, err := mounttab.ReadMounts()
	if err != nil {
		t.Fatal(err)
	}
	tree := enginetest.Tree{}
	for i, m := range all {
		if strings.HasPrefix(m.Point, dir) {
			tree[fmt.Sprintf("%s #%d", m.Point, i)] = fmt.Sprint(m)
		}
	}
	for path, what := range enginetest.Snapshot(t, dir) {
		if path != dir+"/m" { // of what is mounted, whose times are its own
			tree[path] = what
		}
	}
	return tree
}

func mountedAt(t *testing.T, dir string) string {
	t.Helper()
	all, err := mounttab.ReadMounts()
	kindtest.Must(t, err)
	m := mounttab.At(all, dir+"/m")
	if m == nil {
		return "nothing"
	}
	return m.Source + " " + m.Type + " " + strings.Join(shownOptions(*m), ",")
}

func TestMountSuite(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	enginetest.Run(t, enginetest.Suite{
		Kind: "mount", Prepare: lay, Snapshot: treeOf,
		Host: func(t testing.TB) engine.Host { return kindtest.NewHost(t) },
		New:  func(_ *testing.T, dir string) engine.Res { return resAt(dir) },
		Drifts: map[string]func(*testing.T, string){
			"unmounted": func(t *testing.T, dir string) { kindtest.Sh(t, "umount", dir+"/m") },
			"remounted": func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "-o", "remount,ro,size=128k", dir+"/m") },
			"exec":      func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "-o", "remount,exec", dir+"/m") },
			"over it":   func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "-t", "tmpfs", "else", dir+"/m") },
			"bound":     func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "--bind", dir+"/other", dir+"/m") },
			"no table":  func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/fstab")) },
			"a line":    kindtest.WriteInto("fstab", "x /x ext4 defaults 0 0\n"),
			"two lines": func(t *testing.T, dir string) {
				line := resAt(dir).line().String() + "\n"
				kindtest.WriteInto("fstab", line+line)(t, dir)
			},
			"options in the table": func(t *testing.T, dir string) {
				kindtest.WriteInto("fstab", "mem "+dir+"/m tmpfs size=1k 0 0")(t, dir)
			},
		},
		Variants: map[string]func(engine.Res){
			"unmounted": func(r engine.Res) { r.(*Res).State = Unmounted },
			"absent": func(r engine.Res) {
				*r.(*Res) = Res{Base: r.(*Res).Base, Path: r.(*Res).Path, State: Absent}
			},
		},
	})
}

func TestMountStates(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	const line = "mem M tmpfs size=64k,mode=0750,noexec 0 0"
	for name, c := range map[string]struct {
		before string // what is mounted: options
		table  string // before; M is the mount point
		make   func(*Res)
		says   string
		now    string
		after  string // the table
	}{
		"from nothing": {"", "# mine", nil, `state created device: (none) -> "mem" type: (none) -> "tmpfs" persist: (none) -> LINE`,
			"mem tmpfs noexec,size=64k,mode=750", "# mine\n" + line + "\n"},
		"not kept": {"", "# mine", func(r *Res) { r.Persist = false }, `state created device: (none) -> "mem" type: (none) -> "tmpfs"`, "mem tmpfs noexec,size=64k,mode=750", "# mine"},
		"as it is written": {"size=64k,mode=0750,noexec", "mem  M  tmpfs  defaults,size=64k,mode=0750,noexec\n", nil, "",
			"mem tmpfs noexec,size=64k,mode=750", "mem  M  tmpfs  defaults,size=64k,mode=0750,noexec\n"},
		"unmounted": {"size=8k", line, func(r *Res) { r.State = Unmounted }, `state deleted`, "nothing", line},
		"absent": {"size=8k", "#\n" + line + "\nx y z\n" + line, func(r *Res) { *r = Res{Path: r.Path, State: Absent, Persist: true, Fstab: r.Fstab} },
			`state deleted persist: LINE -> (none)`, "nothing", "#\nx y z\n"},
		"another order": {"size=64k,mode=0750,noexec", "mem M tmpfs mode=0750,noexec,size=64k 0 0", nil, "",
			"mem tmpfs noexec,size=64k,mode=750", "mem M tmpfs mode=0750,noexec,size=64k 0 0"},
		"fewer options": {"size=64k,mode=0750,noexec,nosuid,noatime,ro", line, nil,
			`options: "ro,nosuid,noexec,noatime,size=64k,mode=750" -> "size=64k,mode=0750,noexec"`, "mem tmpfs noexec,size=64k,mode=750", line},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir)
			kindtest.Put(t, dir+"/fstab", strings.ReplaceAll(c.table, "M", dir+"/m"))
			if c.before != "" {
				kindtest.Sh(t, "mount", "-t", "tmpfs", "-o", c.before, "mem", dir+"/m")
			}
			r := resAt(dir)
			if c.make != nil {
				c.make(r)
			}
			f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
			plain := func(s string) string {
				s = regexp.MustCompile(`"mem [^"]*"?\.\.\. \(\d+ bytes\)`).ReplaceAllString(s, "LINE")
				return strings.NewReplacer(`state: "unmounted" -> "exists"`, "state created", `state: "exists" -> "unmounted"`, "state deleted",
					`state: "exists" -> "absent"`, "state deleted").Replace(s)
			}
			if got := plain(kindtest.Verbs(t, f, r, false)); got != c.says {
				t.Errorf("looking: %s\nwanted:  %s", got, c.says)
			}
			if got := plain(kindtest.Verbs(t, f, r, true)); got != c.says {
				t.Errorf("applying: %s\nwanted:   %s", got, c.says)
			}
			if got := mountedAt(t, dir); got != c.now {
				t.Errorf("mounted is %s, not %s", got, c.now)
			}
			kindtest.WantFile(t, dir+"/fstab", strings.ReplaceAll(c.after, "M", dir+"/m"))
			kindtest.Want(t, f, r, "")
		})
	}
}

// TestFindingE2Listed: the table alone is made right; what is mounted stays, and nothing is
// mounted.
func TestFindingE2Listed(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	for _, before := range []string{"", "size=8k"} {
		dir, now := t.TempDir(), "nothing"
		lay(t, dir)
		kindtest.Put(t, dir+"/fstab", "# mine\n")
		if before != "" {
			kindtest.Sh(t, "mount", "-t", "tmpfs", "-o", before, "mem", dir+"/m")
			now = mountedAt(t, dir)
		}
		r := resAt(dir)
		r.State = Listed
		f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
		if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "persist: (none) -> ") {
			t.Error(got)
		}
		kindtest.Want(t, f, r, "")
		if got := mountedAt(t, dir); got != now {
			t.Errorf("%q: mounted is %s, not %s", before, got, now)
		}
		kindtest.WantFile(t, dir+"/fstab", "# mine\nmem "+dir+"/m tmpfs size=64k,mode=0750,noexec 0 0\n")
	}
	if err := (&Res{Path: "/m", Device: "/d", State: Listed}).Validate(); err == nil {
		t.Error("there is no table")
	}
}

// TestMountBind: a folder in a second place, read-only there, and a file over a file.
func TestMountBind(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	r := &Res{Path: dir + "/m", Device: dir + "/other", Options: []string{"bind", "ro"}, Persist: true, Fstab: dir + "/fstab"}
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
	for _, drift := range []func(){
		func() {},
		func() { kindtest.Sh(t, "umount", dir+"/m") },
		func() { kindtest.Sh(t, "mount", "-o", "remount,bind,rw", dir+"/m") },
		func() { kindtest.Sh(t, "mount", "-t", "tmpfs", "else", dir+"/m") },
	} {
		drift()
		if got := kindtest.Verbs(t, f, r, true); got == "" || strings.HasPrefix(got, "error") {
			t.Errorf("it says %q", got)
		}
		kindtest.Want(t, f, r, "")
		if err := os.WriteFile(dir+"/m/x", nil, 0o600); !errors.Is(err, syscall.EROFS) {
			t.Errorf("it can be written: %v", err)
		}
		kindtest.Must(t, os.WriteFile(dir+"/other/x", nil, 0o600))
	}
}

// TestMountBusy: what is in use stays, is an error that says so, and goes with lazy.
func TestMountBusy(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	kindtest.Sh(t, "mount", "-t", "tmpfs", "mem", dir+"/m")
	open, err := os.Create(dir + "/m/open")
	kindtest.Must(t, err)
	defer open.Close()
	r := &Res{Path: dir + "/m", State: Absent, Persist: true, Fstab: dir + "/fstab"}
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
	me := fmt.Sprintf("used by %s (process %d)", filepath.Base(os.Args[0]), os.Getpid())
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "busy") || !strings.Contains(got, me) || !strings.Contains(got, "lazy: true") {
		t.Errorf("it says %s, without %s", got, me)
	}
	if got := mountedAt(t, dir); got != "mem tmpfs " {
		t.Errorf("mounted is %s", got)
	}
	r.Lazy = true
	kindtest.Verbs(t, f, r, true)
	kindtest.Want(t, f, r, "")
}

// TestMountBusyElsewhere: what is mounted in a shared tree is so in all its copies, and in use
// if one of them is.
func TestMountBusyElsewhere(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	for name, use := range map[string]func(t *testing.T, dir string) (by string, end func()){
		"at another place": func(t *testing.T, dir string) (string, func()) {
			open, err := os.Create(dir + "/copy/m/open")
			kindtest.Must(t, err)
			by := fmt.Sprintf("used by %s (process %d) at %s/copy/m;", filepath.Base(os.Args[0]), os.Getpid(), dir)
			return by, func() { kindtest.Must(t, open.Close()) }
		},
		"in another namespace": func(t *testing.T, dir string) (string, func()) {
			cmd := osexec.CommandContext(t.Context(), "sleep", "1000")
			cmd.Dir, cmd.SysProcAttr = dir+"/tree/m", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			kindtest.Must(t, cmd.Start())
			by := fmt.Sprintf("used by sleep (process %d) in a mount namespace of its own;", cmd.Process.Pid)
			return by, func() { kindtest.Must(t, cmd.Process.Kill()); _ = cmd.Wait() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir)
			for _, p := range []string{"/tree", "/copy"} {
				kindtest.Must(t, os.Mkdir(dir+p, 0o755))
				t.Cleanup(func() { _ = unix.Unmount(dir+p, unix.MNT_DETACH) })
			}
			kindtest.Sh(t, "mount", "-t", "tmpfs", "tree", dir+"/tree")
			kindtest.Sh(t, "mount", "--make-shared", dir+"/tree")
			kindtest.Sh(t, "mount", "--bind", dir+"/tree", dir+"/copy")
			kindtest.Must(t, errors.Join(os.Mkdir(dir+"/tree/m", 0o755), os.Mkdir(dir+"/tree/alike", 0o755)))
			kindtest.Sh(t, "mount", "-t", "tmpfs", "mem", dir+"/tree/m")
			kindtest.Sh(t, "mount", "--bind", dir+"/tree/m", dir+"/tree/alike") // which is no copy
			alike, err := os.Create(dir + "/tree/alike/open")
			kindtest.Must(t, err)
			defer alike.Close()
			by, end := use(t, dir)
			r := &Res{Path: dir + "/tree/m", State: Unmounted}
			f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
			if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "busy") || !strings.Contains(got, by) {
				t.Errorf("it says %s, without %s", got, by)
			}
			held := <-r.held
			if !held.inUse() {
				t.Error("it is in use, and not for Watch")
			}
			r.held <- held
			kindtest.Watching(t, f, r)
			end()
			kindtest.Eventually(t, "unmounted", func() bool {
				select {
				case <-f.Events():
					kindtest.Verbs(t, f, r, true)
				default:
				}
				return countAt(t, dir+"/tree/m") == 0
			})
			kindtest.Want(t, f, r, "")
		})
	}
}

func countAt(t *testing.T, point string) (n int) {
	t.Helper()
	all, err := mounttab.ReadMounts()
	kindtest.Must(t, err)
	for _, m := range all {
		if m.Point == point {
			n++
		}
	}
	return n
}

// TestMountBusyUntil: what is in use is unmounted as soon as nobody uses it any more, which
// nobody tells; and what is mounted below it is named.
func TestMountBusyUntil(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	kindtest.Sh(t, "mount", "-t", "tmpfs", "mem", dir+"/m")
	kindtest.Must(t, os.Mkdir(dir+"/m/below", 0o755))
	kindtest.Sh(t, "mount", "-t", "tmpfs", "mem", dir+"/m/below")
	open, err := os.Open(dir + "/m")
	kindtest.Must(t, err)
	r := &Res{Path: dir + "/m", State: Absent, Persist: true, Fstab: dir + "/fstab"}
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
	kindtest.Watching(t, f, r)
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "mounted below it: "+dir+"/m/below") {
		t.Errorf("it says %s", got)
	}
	kindtest.Sh(t, "umount", dir+"/m/below")
	f.WaitEvent(t) // of that
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "busy") || strings.Contains(got, "below it") {
		t.Errorf("it says %s", got)
	}
	kindtest.Must(t, open.Close())
	kindtest.Eventually(t, "unmounted", func() bool {
		select {
		case <-f.Events():
			kindtest.Verbs(t, f, r, true)
		default:
		}
		return mountedAt(t, dir) == "nothing"
	})
	kindtest.Want(t, f, r, "")
}

// TestMountInBetween: what others do between any two steps is no error, and in the end all
// is right.
func TestMountInBetween(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	begins := map[string]func(t *testing.T, dir string){
		"nothing":       func(*testing.T, string) {},
		"another":       func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "-t", "tmpfs", "else", dir+"/m") },
		"other options": func(t *testing.T, dir string) { kindtest.Sh(t, "mount", "-t", "tmpfs", "-o", "ro", "mem", dir+"/m") },
	}
	drifts := map[string]func(t *testing.T, dir string){
		"unmounted": func(_ *testing.T, dir string) { _ = unix.Unmount(dir+"/m", unix.MNT_DETACH) },
		"mounted":   func(t *testing.T, dir string) { kindtest.Must(t, unix.Mount("else", dir+"/m", "tmpfs", 0, "")) },
		"remounted": func(_ *testing.T, dir string) { _ = unix.Mount("", dir+"/m", "", unix.MS_REMOUNT|unix.MS_RDONLY, "") },
		"by another": func(t *testing.T, dir string) {
			kindtest.Must(t, unix.Mount("mem", dir+"/m", "tmpfs", unix.MS_NOEXEC, "size=64k,mode=0750"))
		},
		"no table": func(_ *testing.T, dir string) { _ = os.Remove(dir + "/fstab") },
		"a table":  kindtest.WriteInto("fstab", "x M tmpfs ro 0 0\n"),
	}
	for begun, begins := range begins {
		for what, drift := range drifts {
			for moment := range 6 { // before and after each command
				dir := t.TempDir()
				lay(t, dir)
				begins(t, dir)
				host, at := enginetest.NewHost(), 0
				pass := func() {
					if at == moment {
						drift(t, dir)
					}
					at++
				}
				host.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
					pass()
					defer pass()
					return kindtest.NewHost(t).Command(ctx, c)
				})
				r := resAt(dir)
				f := kindtest.Begin(t, "mount", r, enginetest.WithHost(host))
				if got := kindtest.Verbs(t, f, r, true); strings.HasPrefix(got, "error") {
					t.Errorf("from %s, %s at %d: %s", begun, what, moment, got)
				}
				if at > moment+1 { // else it came after all was done
					kindtest.Want(t, f, r, "")
				}
			}
		}
	}
}

// TestMountForUse: what systemd has put there to mount the wanted when it is used is no
// other mount.
func TestMountForUse(t *testing.T) {
	auto := &mounttab.Mount{Type: "autofs"}
	for want, r := range map[bool]*Res{true: resAt("/d"), false: {State: Absent}} {
		if r.waitsForUse(auto) != want || r.waitsForUse(&mounttab.Mount{Type: "ext4"}) {
			t.Errorf("%s: %t", r.State, !want)
		}
	}
}

// TestMountFails: what a command says is in the error, and what was there is told.
func TestMountFails(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	for name, c := range map[string]struct {
		make func(*Res)
		says string
	}{
		"no mount point": {func(r *Res) { r.Path += "/none/x" }, "does not exist: a folder of that path has to come first"},
		"a wrong type":   {func(r *Res) { r.Type = "none-such" }, "fs type"},
		"a wrong device": {func(r *Res) { r.Type, r.Device = "ext4", "/dev/none-such" }, "/dev/none-such"},
		"a wrong option": {func(r *Res) { r.Options = []string{"size=everything"} }, "mount: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir)
			r := resAt(dir)
			c.make(r)
			f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
			if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, c.says) {
				t.Errorf("it says %s", got)
			}
		})
	}
}

// TestMountRefused: an option that is refused is an error each time, and no fight that
// seems to be won.
func TestMountRefused(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	r := resAt(dir)
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
	kindtest.Verbs(t, f, r, true)
	kindtest.Must(t, os.WriteFile(dir+"/m/big", make([]byte, 40<<10), 0o600))
	r.Options = []string{"size=4k"}
	for range 2 {
		if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: mount: ") {
			t.Errorf("it says %s", got)
		}
	}
}

func TestMountValidate(t *testing.T) {
	for says, r := range map[string]*Res{
		"device is missing":            {Path: "/m", Persist: true},
		"is not absolute":              {Path: "m", Device: "x"},
		"has .. in it":                 {Path: "/m/../x", Device: "x"},
		"control character":            {Path: "/m\n", Device: "x"},
		"begins with a dash":           {Path: "/m", Device: "-o"},
		"number sign":                  {Path: "/m", Device: "#x"},
		`device "a\nb" has a`:          {Path: "/m", Device: "a\nb"},
		"is several":                   {Path: "/m", Device: "x", Options: []string{"a,b"}},
		"quote":                        {Path: "/m", Device: "x", Options: []string{`a="b`}},
		"remount and move":             {Path: "/m", Device: "x", Options: []string{"remount"}},
		"has an empty one":             {Path: "/m", Device: "x", Options: []string{""}},
		"type is swap":                 {Path: "/m", Device: "x", Type: "swap"},
		"one word":                     {Path: "/m", Device: "x", Type: "a b"},
		"negative":                     {Path: "/m", Device: "x", PassNo: -1},
		"the root":                     {Path: "/", State: Absent},
		"absolute path, to":            {Path: "/m", Device: "x", Options: []string{"bind"}},
		"mounts it when":               {Path: "/m", Device: "x", State: Unmounted, Options: []string{"x-systemd.automount"}},
		"exists, unmounted, listed or": {Path: "/m", Device: "x", State: "mounted"},
		"mount point itself":           {Path: "/m", Device: "/m/"},
		"ends in a slash":              {Path: "/m", Device: "x", Fstab: "/etc/"},
		"begins with a dash\nt":        {Path: "/m", Device: "-o", Type: "--bind"},
	} {
		says, _, _ = strings.Cut(says, "\n")
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, and not %q", r, err, says)
		}
	}
	all := &Res{Path: "m\n", Device: "-x", State: "no", Options: []string{"a,b"}, Freq: -1}
	if n := strings.Count(all.Validate().Error(), "\n"); n < 4 {
		t.Errorf("only %d of all errors", n+1)
	}
	secret := resAt("/d")
	secret.SetRecv(map[string]*engine.Send{"options[0]": {Secret: true}})
	if err := secret.Validate(); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("a secret is taken: %v", err)
	}
}

// TestMountEdges: the folder comes before the mount, which comes before what is below
// it, wherever that is; and the nearest mount counts.
func TestMountEdges(t *testing.T) {
	for _, c := range []struct {
		r           engine.EdgeableRes
		there, want []string
	}{
		{&Res{Path: "/m/n", Device: "/dev/d"}, []string{"file[/m/n]", "file[/dev/d]"}, []string{"file[/m/n]", "file[/dev/d]"}},
		{&Res{Path: "/m/n", Device: "x", Type: "nfs"}, []string{"mount[/m]", "pkg with /sbin/mount.nfs"}, []string{"pkg with /sbin/mount.nfs", "mount[/m]"}},
		{&Res{Path: "/m/n", State: Absent}, []string{"mount[/m]", "mount[/]"}, []string{"mount[/m]"}},
	} {
		if got := kindtest.Found(t, c.r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("%+v finds %v, and not %v", c.r, got, c.want)
		}
	}
}

func TestMountClashes(t *testing.T) {
	a := resAt("/d")
	for want, change := range map[string]func(*Res){
		"":                 func(*Res) {},
		"different things": func(r *Res) { r.Device = "other" },
		"with different":   func(r *Res) { r.Options = nil },
		"one wants it":     func(r *Res) { r.State = Unmounted },
	} {
		b := resAt("/d")
		change(b)
		if err := a.Clashes(b); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	other := resAt("/e")
	other.Fstab = a.Fstab
	if err := a.Clashes(other); err != nil {
		t.Error(err)
	}
}

// TestMountList: what is mounted and what is in the table is found once each.
func TestMountList(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	kindtest.Put(t, dir+"/fstab", "mem "+dir+"/m tmpfs noexec 0 2\nx\\040y /not\\040here auto defaults\nswap none swap sw\n")
	kindtest.Sh(t, "mount", "-t", "tmpfs", "-o", "noexec", "mem", dir+"/m")
	r := &Res{Fstab: dir + "/fstab"}
	begin := enginetest.NewInit(t)
	r.SetKind("mount")
	kindtest.Must(t, r.Init(begin.Init()))
	found := map[string]*Res{}
	for one, err := range r.List(t.Context()) {
		kindtest.Must(t, err)
		if found[one.Name()] != nil {
			t.Errorf("%s twice", one)
		}
		found[one.Name()] = one.(*Res)
	}
	if m := found[dir+"/m"]; m == nil || m.State != Exists || m.Device != "mem" || m.PassNo != 2 || !m.Persist || !slices.Equal(m.Options, []string{"noexec"}) {
		t.Errorf("found is %+v", m)
	}
	if m := found["/not here"]; m == nil || m.State != Unmounted || m.Device != "x y" || m.Options != nil {
		t.Errorf("found is %+v", m)
	}
	if m := found["/"]; m == nil || m.Persist || found["none"] != nil || found["/proc"] != nil {
		t.Errorf("found are %v", found)
	}
	if _, err := schema.Encode(found["/"]); err != nil {
		t.Error(err)
	}
}

// TestMountTwice: the same drift is told again, though it was repaired in between so
// soon that both look alike.
func TestMountTwice(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	lay(t, dir)
	r := resAt(dir)
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(kindtest.NewHost(t)))
	kindtest.Verbs(t, f, r, true)
	kindtest.Watching(t, f, r)
	for range 5 {
		kindtest.Must(t, unix.Unmount(dir+"/m", 0))
		f.WaitEvent(t)
		kindtest.Verbs(t, f, r, true)
		kindtest.Must(t, unix.Unmount(dir+"/m", 0))
		kindtest.Eventually(t, "repaired", func() bool {
			select {
			case <-f.Events():
				kindtest.Verbs(t, f, r, true)
			default:
			}
			return mountedAt(t, dir) != "nothing"
		})
	}
}

// TestMountByUnit: where systemd runs, it is told of the table, and mounts; what it says
// of a failure is in the error, and so is that it can't be reached.
func TestMountByUnit(t *testing.T) {
	if !kindtest.InNamespace(t) {
		return
	}
	for _, p := range []string{"/run", "/etc"} { // of this namespace only
		kindtest.Sh(t, "mount", "-t", "tmpfs", "mem", p)
	}
	kindtest.Must(t, os.MkdirAll(systemd1.Booted, 0o755))
	dir := t.TempDir()
	lay(t, dir)
	r := resAt(dir)
	r.Fstab = ""
	host := enginetest.NewHost()
	f := kindtest.Begin(t, "mount", r, enginetest.WithHost(host))
	host.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		if c.Argv[0] == "journalctl" {
			return &engine.Result{Stdout: []byte("the disk is on fire\n")}, nil
		}
		return kindtest.NewHost(t).Command(ctx, c)
	})
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "systemd can't be reached") {
		t.Errorf("without a bus it says %s", got)
	}
	unit := systemd1.UnitOf(dir+"/m", ".mount")
	bus := kindtest.NewFakeSystemd()
	host.SetBus(bus.Open)
	bus.Started[unit] = func() bool { return false }
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "start "+unit+": it is failed") || !strings.Contains(got, "the disk is on fire") {
		t.Errorf("of a unit that fails it says %s", got)
	}
	bus.Calls = nil
	kindtest.Must(t, os.Remove("/etc/fstab"))
	bus.Started[unit] = func() bool { kindtest.Sh(t, "mount", "--target", dir+"/m", "--fstab", "/etc/fstab"); return true }
	if got := kindtest.Verbs(t, f, r, true); strings.HasPrefix(got, "error") {
		t.Errorf("it says %s", got)
	}
	called := func() string {
		return strings.Join(slices.DeleteFunc(bus.Calls, func(c string) bool {
			return strings.HasPrefix(c, "Subscribe") || strings.HasPrefix(c, "ResetFailedUnit")
		}), " ")
	}
	if got := called(); got != "Reload ListJobs StartUnit "+unit {
		t.Errorf("called was %s", got)
	}
	kindtest.Want(t, f, r, "")
	// A line that somebody else has written is no unit before systemd has read it.
	kindtest.Sh(t, "umount", dir+"/m")
	bus.Calls, bus.Active = nil, map[string]string{}
	bus.Loaded = func(string) bool { return slices.Contains(bus.Calls, "Reload") }
	kindtest.Verbs(t, f, r, true)
	kindtest.Want(t, f, r, "")
	if got := called(); got != "Reload ListJobs StartUnit "+unit {
		t.Errorf("for a table that was not read called was %s", got)
	}
	// systemd believes for a while that what was unmounted is mounted.
	kindtest.Sh(t, "umount", dir+"/m")
	bus.Calls, bus.Loaded = nil, nil
	if got := kindtest.Verbs(t, f, r, true); strings.HasPrefix(got, "error") || bus.Calls != nil {
		t.Errorf("it says %s and calls %s", got, bus.Calls)
	}
	kindtest.Want(t, f, r, "")
	bus.Calls, r.Options = nil, append(r.Options, "nodev")
	kindtest.Verbs(t, f, r, true)
	kindtest.Want(t, f, r, "")
	if got := called(); got != "Reload" {
		t.Errorf("for other options called was %s", got)
	}
}

// TestMountShown: the options of a mount, written in a line, say the same.
func TestMountShown(t *testing.T) {
	for shown, want := range map[string]string{"rw,nosuid,relatime": "nosuid", "ro,noatime": "ro,noatime", "rw,nodev": "nodev,strictatime"} {
		m := mounttab.Mount{Options: strings.Split(shown, ","), Super: []string{"rw"}}
		got := shownOptions(m)
		if strings.Join(got, ",") != want || len(mounttab.Differ(got, m)) != 0 {
			t.Errorf("%s is shown as %v, which differs in %v", shown, got, mounttab.Differ(got, m))
		}
	}
}
