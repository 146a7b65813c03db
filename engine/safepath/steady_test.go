package safepath

import (
	"errors"
	"testing"
)

// TestSteady: a path that another user can make lead elsewhere is refused, for programs
// that go by the path again.
func TestSteady(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir,
		"d root 0 755", "d root/hers 12345 755", "f root/file 12345 644", "l root/link 0 DIR/root/hers",
		"d hers 12345 755", "d hers/root 0 755", "d hers/root/deep 0 755",
		"d shared 0 1777", "d shared/root 0 755", "d shared/hers 12345 755",
		"l hers/link 12345 DIR/root",
	)
	w := System()
	for path, want := range map[string]string{
		"/":                   "/",
		dir:                   dir,
		dir + "/root/hers":    dir + "/root/hers",
		dir + "/root/file":    dir + "/root/file",
		dir + "/root/link":    dir + "/root/hers",
		dir + "/root/none":    dir + "/root/none",
		dir + "/root/a/b/c":   dir + "/root/a/b/c",
		dir + "/shared/root":  dir + "/shared/root",
		dir + "/shared/root/": dir + "/shared/root",
	} {
		if got, err := w.Steady(path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]string{
		"/": "/", dir + "/root/link": dir + "/root/link", dir + "/root/none": dir + "/root/none", dir + "/shared/root": dir + "/shared/root",
	} {
		if got, err := w.SteadyName(path); err != nil || got != want {
			t.Errorf("the name %s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{dir + "/hers/root", dir + "/hers/none", dir + "/shared/hers", dir + "/hers/link/x"} {
		if got, err := w.SteadyName(path); !errors.Is(err, ErrRefused) {
			t.Errorf("the name %s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{
		dir + "/hers/root", dir + "/hers/root/deep", dir + "/hers/none", dir + "/hers/none/deep", dir + "/root/hers/none",
		dir + "/shared/hers", dir + "/shared/none", dir + "/hers/link", dir + "/hers/link/file",
	} {
		if got, err := w.Steady(path); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
