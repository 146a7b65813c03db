package safepath

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingA8Guard: what another user could write, replace or lead elsewhere is refused, with
// the command that mends it; and after that command it is not.
func TestFindingA8Guard(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir,
		"f ok 0 0644", "d private 0 0700", "f private/ok 0 0600", "l link 0 private/ok",
		"f hers 12345 0644", "f all 0 0666", "f group 0 0664", "f both 12345 0666",
		"d open 0 0777", "f open/f 0 0644", "l open/l 0 ../ok", "d staff 0 0775", "d staff/sub 0 0755", "f staff/sub/f 0 0644",
		"d home 12345 0755", "f home/f 0 0644", "l home/l 12345 ../ok", "l theirs 12345 ok",
		"d tmp 0 1777", "f tmp/f 0 0644", "f tmp/hers 12345 0644", "d tmp/mine 0 0700", "f tmp/mine/f 0 0600", "l tmp/l 0 ../ok",
		"p pipe 0 0600", "p herpipe 12345 0600")
	for _, name := range []string{"group", "staff"} {
		must(t, os.Chown(dir+"/"+name, 0, other))
	}
	must(t, unix.Chmod(dir+"/group", 0o664))
	must(t, unix.Chmod(dir+"/staff", 0o775))
	must(t, unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, unix.Chmod(dir+"/null", 0o666))
	for path, want := range map[string]string{
		"ok": "", "private/ok": "", "link": "", "private": "", "tmp/f": "", "tmp/mine/f": "", "pipe": "",
		"hers":          "chown root DIR/hers",
		"all":           "chmod o-w DIR/all",
		"group":         "chmod g-w DIR/group",
		"both":          "chown root DIR/both && chmod go-w DIR/both",
		"open/f":        "chmod o-w DIR/open",
		"open":          "chmod o-w DIR/open",
		"open/l":        "not followed",
		"open/new/f":    "chmod o-w DIR/open",
		"staff/sub/f":   "chmod g-w DIR/staff",
		"home/f":        "chown root DIR/home",
		"home/l":        "not followed",
		"theirs":        "not followed",
		"tmp":           "name another path",
		"null":          "name another path",
		"tmp/hers":      "chown root DIR/tmp/hers",
		"tmp/l":         "not followed",
		"herpipe":       "chown root DIR/herpipe",
		"private/../ok": "",
	} {
		f, err := System().OpenGuarded(dir+"/"+path, nil)
		if err == nil {
			must(t, f.Close())
		}
		want = strings.ReplaceAll(want, "DIR", dir)
		refused, _ := errors.AsType[*RefusedError](err)
		if want == "" && err != nil || want != "" && (refused == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := System().OpenGuarded(dir+"/none", nil); !errors.Is(err, unix.ENOENT) {
		t.Errorf("what is not there: %v", err)
	}
}

// TestFindingA8GuardCaller: the user who has root run the program may have written what is
// opened. What yet another user could write is refused as ever, and links of that user are too.
func TestFindingA8GuardCaller(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir,
		"d home 12345 0755", "f home/f 12345 0644", "f home/root 0 0644", "f home/all 12345 0666", "f home/theirs 12346 0644",
		"d home/open 12345 0777", "f home/open/f 12345 0644", "d home/other 12346 0755", "f home/other/f 12345 0644",
		"d home/sticky 12345 1777", "f home/sticky/f 12345 0644", "f home/group 12345 0644", "l home/l 12345 f", "l home/rootl 0 f",
		"d tmp 0 1777", "f tmp/hers 12345 0644", "d tmp/hersd 12345 0755", "f tmp/hersd/f 12345 0644")
	must(t, unix.Chmod(dir+"/home/group", 0o664))
	must(t, os.Chown(dir+"/home/group", her, her))
	for path, want := range map[string]string{
		"home": "", "home/f": "", "home/root": "", "home/sticky/f": "", "home/group": "", "tmp/hers": "", "tmp/hersd/f": "",
		"home/all":     "chmod o-w DIR/home/all",
		"home/theirs":  "chown root DIR/home/theirs",
		"home/open/f":  "chmod o-w DIR/home/open",
		"home/other/f": "chown root DIR/home/other",
		"home/l":       "not followed",
		"home/rootl":   "not followed",
	} {
		f, err := System().OpenGuarded(dir+"/"+path, &User{UID: her, GID: her})
		if err == nil {
			must(t, f.Close())
		}
		want = strings.ReplaceAll(want, "DIR", dir)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := System().OpenGuarded(dir+"/home/group", &User{UID: her, GID: other}); err == nil {
		t.Error("a group that other users may be in is taken for the caller's own")
	}
	if System().Trusts(her) {
		t.Error("the links of the caller are followed")
	}
}

// TestFindingA8GuardAccessList: an access list counts like the mode.
func TestFindingA8GuardAccessList(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "f f 0 0644")
	// version 2; owner rw, the user 12345 rw, group r, mask rw, others r
	acl := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, 1<<32 - 1}, {2, 6, her}, {4, 4, 1<<32 - 1}, {16, 6, 1<<32 - 1}, {32, 4, 1<<32 - 1}} {
		acl = append(acl, byte(e[0]), 0, byte(e[1]), 0, byte(e[2]), byte(e[2]>>8), byte(e[2]>>16), byte(e[2]>>24))
	}
	if err := unix.Setxattr(dir+"/f", "system.posix_acl_access", acl, 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system has no access lists")
	} else {
		must(t, err)
	}
	if _, err := System().OpenGuarded(dir+"/f", nil); err == nil || !strings.Contains(err.Error(), "setfacl -b "+dir+"/f") {
		t.Errorf("the error is %v", err)
	}
}

// TestFindingA8GuardReads: what is read is what was checked, and an ordinary user has the same
// rule for files of its own.
func TestFindingA8GuardReads(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("text"), 0o600))
	f, err := System().OpenGuarded(dir+"/f", nil)
	must(t, err)
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}
