package host

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/mountinfo"
	"golang.org/x/sys/unix"
)

const namespaceKey = "MGMT_TEST_NAMESPACE"

// inNamespace runs the test that calls it once more, in a process of its own
// that may mount without the machine seeing it: it returns true there, and false
// where the test has been run by the other one.
func inNamespace(t *testing.T) bool { return inNamespaces(t, 0) }

// inNamespaces does the same with more namespaces of its own: unix.CLONE_NEWUTS for the
// hostname, unix.CLONE_NEWNET for links.
func inNamespaces(t *testing.T, more uintptr) bool {
	t.Helper()
	if os.Getenv(namespaceKey) != "" {
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), namespaceKey+"=1")
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

func mount(t *testing.T, at string) {
	t.Helper()
	must(t, unix.Mount("none", at, "tmpfs", 0, ""))
}

func unmount(t *testing.T, at string) { t.Helper(); must(t, unix.Unmount(at, unix.MNT_DETACH)) }

// TestMountsAreSeen: what is mounted on a watched directory, or unmounted from it,
// is another directory, whose changes are seen from then on; whatever is asked for
// below it, and however the way leads there.
func TestMountsAreSeen(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for name, path := range map[string]string{"plain": "m", "with a blank": "a m\\b", "through a link": "l"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			real := filepath.Join(root, path)
			if path == "l" {
				real = filepath.Join(root, "r/m")
				symlink(t, "r/m", filepath.Join(root, "l"))
			}
			dir := filepath.Join(root, path)
			mkdir(t, filepath.Join(real, "d"))
			h := newHost(t, Options{})
			subs := map[string]engine.Subscription{
				"itself":  watch(t, h, plain, dir),
				"file":    watch(t, h, plain, filepath.Join(dir, "f")),
				"deep":    watch(t, h, plain, filepath.Join(dir, "d/f")),
				"missing": watch(t, h, plain, filepath.Join(dir, "none/f")),
				"names":   watch(t, h, contents, dir),
				"tree":    watch(t, h, recurse, filepath.Join(dir, "d")),
			}
			all := func() (list []engine.Subscription) {
				for _, s := range subs {
					list = append(list, s)
				}
				return list
			}
			for range 3 {
				settle(t, h, all()...)
				mount(t, real)
				for name, s := range subs {
					if name == "missing" {
						continue // and it still is
					}
					if c := woken(t, s); c.Source != "mount" && c.Source != "inotify" {
						t.Errorf("mounted: %s: %+v", name, c)
					}
				}
				settle(t, h, all()...)
				write(t, filepath.Join(real, "f"), "new")
				woken(t, subs["file"])
				woken(t, subs["names"])
				mkdir(t, filepath.Join(real, "d/e"))
				until(t, subs["tree"], "d was made", exists(filepath.Join(real, "d/e")))
				write(t, filepath.Join(real, "d/e/f"), "x")
				woken(t, subs["tree"])
				settle(t, h, all()...)
				unmount(t, real)
				for _, name := range []string{"itself", "file", "deep", "names", "tree"} {
					woken(t, subs[name])
				}
				settle(t, h, all()...)
				write(t, filepath.Join(real, "f"), "old")
				woken(t, subs["file"])
				write(t, filepath.Join(real, "d/f"), "old")
				woken(t, subs["deep"])
				woken(t, subs["tree"])
			}
			check(t, h)
			for _, s := range subs {
				s.Close()
			}
			empty(t, h)
		})
	}
}

// TestMountsElsewhereAreNone: who watches beside a mount point hears nothing.
func TestMountsElsewhereAreNone(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	root := t.TempDir()
	mkdir(t, filepath.Join(root, "m"))
	mkdir(t, filepath.Join(root, "n"))
	h := newHost(t, Options{})
	s := watch(t, h, plain, filepath.Join(root, "n/f"))
	other := watch(t, h, plain, filepath.Join(root, "m/f"))
	settle(t, h, s, other)
	for range 3 {
		mount(t, filepath.Join(root, "m"))
		woken(t, other)
		unmount(t, filepath.Join(root, "m"))
		woken(t, other)
	}
	silent(t, h, s)
}

func TestMountPoints(t *testing.T) {
	table := func(lines ...string) map[mountinfo.Place]bool {
		all := map[mountinfo.Place]bool{}
		for _, line := range lines {
			l, ok := mountinfo.Parse(line + " rw - tmpfs none rw")
			if !ok {
				t.Fatal(line)
			}
			all[l.Place] = true
		}
		return all
	}
	a := table(`1 0 8:1 / /`, `2 1 0:5 / /a\040b`, `3 1 0:6 / /c`)
	b := table(`1 0 8:1 / /`, `2 1 0:7 / /a\040b`, `4 1 0:8 /x\134y /d\134`)
	got := mountPoints(a, b)
	slices.Sort(got)
	if want := []string{"/a b", "/a b", "/c", `/d\`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
