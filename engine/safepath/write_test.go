package safepath

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingA11Outputs: neither writing nor appending follows the link of another user, and a file
// of root is never written by its second name. What root has linked is followed.
func TestFindingA11Outputs(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "d victim 0 0700", "f victim/f 0 0600", "d tmp 0 1777", "l tmp/l 12345 DIR/victim/f",
		"d h 12345 0755", "l h/l 12345 ../victim/f", "l h/d 12345 ../victim", "l ok 0 victim/f", "f hers 12345 4755")
	must(t, os.Link(dir+"/victim/f", dir+"/tmp/second"))
	for _, path := range []string{"tmp/l", "h/l", "h/d/f", "h/d/new"} {
		if err := System().WriteFile(dir+"/"+path, []byte("evil"), 0o644, false); !errors.Is(err, ErrRefused) {
			t.Errorf("writing to %s: %v", path, err)
		}
		if f, err := System().OpenAppend(dir+"/"+path, 0o644); !errors.Is(err, ErrRefused) {
			t.Errorf("appending to %s: %v, %v", path, f, err)
		}
	}
	if f, err := System().OpenAppend(dir+"/tmp/second", 0o644); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "has other names") {
		t.Errorf("appending to a second name: %v, %v", f, err)
	}
	if b, err := os.ReadFile(dir + "/victim/f"); string(b) != "victim/f" {
		t.Errorf("the file is %q, %v", b, err)
	}
	must(t, System().WriteFile(dir+"/ok", []byte("new"), 0o644, false))
	must(t, System().WriteFile(dir+"/hers", []byte("new"), 0o644, false))
	var st unix.Stat_t
	must(t, unix.Stat(dir+"/hers", &st))
	if st.Mode&0o7777 != 0o755 || st.Uid != her {
		t.Errorf("the mode is %o, the owner %d", st.Mode, st.Uid)
	}
	must(t, System().WriteFile(dir+"/hers", []byte("new"), 0o644, true))
	must(t, unix.Stat(dir+"/hers", &st))
	if st.Mode&0o7777 != 0o644 || st.Uid != 0 {
		t.Errorf("the mode is %o, the owner %d", st.Mode, st.Uid)
	}
	f, err := System().OpenAppend(dir+"/ok", 0o644)
	must(t, err)
	_, err = f.WriteString("er")
	must(t, errors.Join(err, f.Close()))
	if b, err := os.ReadFile(dir + "/victim/f"); string(b) != "newer" {
		t.Errorf("the file is %q, %v", b, err)
	}
	for _, d := range []string{"", "/victim", "/h", "/tmp"} {
		list, err := os.ReadDir(dir + d)
		must(t, err)
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".tmp") {
				t.Errorf("%s%s is left", d, e.Name())
			}
		}
	}
}
