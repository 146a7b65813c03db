package host

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/internal/mountinfo"
	"github.com/reactivegraph/mgmt/internal/nstest"
	"golang.org/x/sys/unix"
)

func mount(t *testing.T, at string) {
	t.Helper()
	must(t, unix.Mount("none", at, "tmpfs", 0, ""))
}

func unmount(t *testing.T, at string) { t.Helper(); must(t, unix.Unmount(at, unix.MNT_DETACH)) }

// TestMountsAreSeen: what is mounted on a watched directory, or unmounted from it,
// is another directory, whose changes are seen from then on; whatever is asked for
// below it, and however the way leads there.
func TestMountsAreSeen(t *testing.T) {
	if !nstest.InNamespace(t) {
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
			subs := map[string]events.Subscription{
				"itself":  watch(t, h, plain, dir),
				"file":    watch(t, h, plain, filepath.Join(dir, "f")),
				"deep":    watch(t, h, plain, filepath.Join(dir, "d/f")),
				"missing": watch(t, h, plain, filepath.Join(dir, "none/f")),
				"names":   watch(t, h, contents, dir),
				"tree":    watch(t, h, recurse, filepath.Join(dir, "d")),
			}
			all := func() (list []events.Subscription) {
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
					if c := woken(t, s); c.Source != "mount" && c.Source != chosen() {
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
	if !nstest.InNamespace(t) {
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
