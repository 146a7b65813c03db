package entries

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
)

// sshKey is a key in base64 that holds its type and a text.
func sshKey(text string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00" + string(rune(len(text))) + text))
}

// layHome makes a home for the user me, who we are, and a passwd file that says so.
func layHome(t *testing.T, dir string) {
	t.Helper()
	kindtest.Lay(t, dir+"/passwd", fmt.Sprintf("# users\nbad\nme:x:%d:%d::%s/home:/bin/sh\nother:x:12:34::%s/other:/bin/sh\nhomeless:x:12:34::%s/none:/bin/sh\n",
		os.Geteuid(), os.Getegid(), dir, dir, dir))
	kindtest.Must(t, os.MkdirAll(dir+"/home", 0o755))
	kindtest.Must(t, os.MkdirAll(dir+"/other", 0o755))
}

func sshKeysAt(dir string) *sshKeys {
	return &sshKeys{accounts: accounts{dir + "/passwd"}, self: func() string { return "me" }}
}

func sshKindAt(t *testing.T) (*provider.Kind, *kindtest.Place) {
	t.Helper()
	var at kindtest.Place
	k, _ := kindtest.KindOf(t, sshKeyDefinition(), func() provider.Provider { return sshKeysAt(at.Path("")) })
	return k, &at
}

const keysPath = "home/.ssh/authorized_keys"

func TestSSHAuthorizedKeyEdits(t *testing.T) {
	k, at := sshKindAt(t)
	one, two := sshKey("one"), sshKey("two")
	type m = map[string]any
	key := func(more m) m {
		all := m{"type": "ssh-ed25519", "key": one}
		maps.Copy(all, more)
		return all
	}
	line := "ssh-ed25519 " + one + " a@b\n"
	kindtest.RunEdits(t, k, func(t *testing.T, dir string) { layHome(t, dir); at.Set(dir) }, []kindtest.Edit{
		{Name: "a new file", Title: "a@b", Values: key(nil), File: keysPath, Before: "-", Want: line, Says: ""},
		{Name: "for a user", Title: "a@b for me", Values: key(nil), File: keysPath, Before: "# x", Want: "# x\n" + line, Says: ""},
		{Name: "a short type", Title: "a@b", Values: key(m{"type": "ed25519"}), File: keysPath, Before: line, Want: line, Says: ""},
		{Name: "with options", Title: "my key", Values: key(m{"options": []string{"no-pty", `command="a b"`}}), File: keysPath, Before: "#\n", Want: "#\n" + `no-pty,command="a b" ssh-ed25519 ` + one + " my key\n", Says: ""},
		{Name: "options go", Title: "a@b", Values: key(m{"options": []string{}}), File: keysPath, Before: "no-pty " + line, Want: line, Says: ""},
		{Name: "options are left", Title: "a@b", Values: key(m{"key": two}), File: keysPath, Before: "no-pty " + line, Want: "no-pty ssh-ed25519 " + two + " a@b\n", Says: ""},
		{Name: "twice becomes once", Title: "a@b", Values: key(nil), File: keysPath, Before: line + "ssh-ed25519 " + two + " a@b\n", Want: line, Says: ""},
		{Name: "gone", Title: "a@b", Values: m{"ensure": "absent"}, File: keysPath, Before: "#\n" + line + line, Want: "#\n", Says: ""},
		{Name: "a target", Title: "a@b in $DIR/keys", Values: key(nil), File: "keys", Before: "#\n", Want: "#\n" + line, Says: ""},
		{Name: "a target and a user", Title: "a@b for me in $DIR/keys", Values: key(nil), File: "keys", Before: "#\n", Want: "#\n" + line, Says: ""},

		{Name: "no key", Title: "a@b", Values: nil, File: keysPath, Before: line[:8], Want: "", Says: "type of key"},
		{Name: "no such user", Title: "a@b for nobody", Values: key(nil), File: keysPath, Before: "#\n", Want: "", Says: "unknown user nobody"},
		{Name: "another type", Title: "a@b", Values: key(m{"type": "rsa"}), File: keysPath, Before: "#\n", Want: "", Says: "not of the type ssh-rsa"},
		{Name: "a line in the key", Title: "a@b", Values: key(m{"key": one + "\nssh-ed25519 " + two + " evil"}), File: keysPath, Before: "#\n", Want: "", Says: "key"},
		{Name: "a line in the comment", Title: "a@b\nssh-ed25519 " + two + " evil", Values: key(nil), File: keysPath, Before: "#\n", Want: "", Says: "comment"},
		{Name: "a line in an option", Title: "a@b", Values: key(m{"options": []string{"no-pty\nx"}}), File: keysPath, Before: "#\n", Want: "", Says: "options"},
		{Name: "two options for one", Title: "a@b", Values: key(m{"options": []string{"no-pty,no-x11-forwarding"}}), File: keysPath, Before: "#\n", Want: "", Says: "option"},
		{Name: "a user that is a path", Title: "a@b", Values: key(m{"user": "../me"}), File: keysPath, Before: "#\n", Want: "", Says: "user"},
		{Name: "a folder", Title: "a@b", Values: key(nil), File: keysPath + "/x", Before: "#\n", Want: "", Says: "not a plain file"},
		{Name: "no home", Title: "a@b for homeless", Values: key(nil), File: keysPath, Before: "#\n", Want: "", Says: "the home of homeless"},
	})
}

func TestSSHAuthorizedKeyModes(t *testing.T) {
	dir := t.TempDir()
	layHome(t, dir)
	k, at := sshKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, "a@b", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
	kindtest.Want(t, kindtest.Begin(t, k.Name(), r), r, `created type: (none) -> "ssh-ed25519" key: (none) -> "`+sshKey("one")+`"`)
	for path, mode := range map[string]os.FileMode{"home/.ssh": os.ModeDir | 0o700, keysPath: 0o600} {
		if st, err := os.Lstat(dir + "/" + path); err != nil || st.Mode() != mode {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
}

// Whatever a user puts into his home, nothing is read or written elsewhere.
func TestSSHAuthorizedKeyTricks(t *testing.T) {
	root := os.Geteuid() == 0
	victim := "root:secret\n"
	for name, c := range map[string]struct {
		trick func(t *testing.T, dir string)
		says  string
		root  bool // only root can play it
	}{
		"the folder is a link": {func(t *testing.T, dir string) { kindtest.Must(t, os.Symlink(dir+"/etc", dir+"/home/.ssh")) }, "not a directory", false},
		"the file is a link": {func(t *testing.T, dir string) {
			kindtest.Must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			kindtest.Must(t, os.Symlink(dir+"/etc/authorized_keys", dir+"/"+keysPath))
		}, "too many levels of symbolic links", false},
		"the file is a pipe": {func(t *testing.T, dir string) {
			kindtest.Must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			kindtest.Must(t, unix.Mkfifo(dir+"/"+keysPath, 0o600))
		}, "not a plain file", false},
		"others may write": {func(t *testing.T, dir string) {
			kindtest.Must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			kindtest.Must(t, os.Chmod(dir+"/home/.ssh", 0o777))
		}, "chmod go-w", false},
		"the folder is another's": {func(t *testing.T, dir string) {
			kindtest.Must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			kindtest.Must(t, os.Chown(dir+"/home/.ssh", 12, 34))
		}, "does not belong to me", true},
		"the file is another's, by a hard link": {func(t *testing.T, dir string) {
			kindtest.Must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			kindtest.Must(t, os.Chown(dir+"/etc/authorized_keys", 12, 34))
			kindtest.Must(t, os.Link(dir+"/etc/authorized_keys", dir+"/"+keysPath))
		}, "does not belong to me", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && !root {
				t.Skip("only root can give files away")
			}
			dir := t.TempDir()
			layHome(t, dir)
			kindtest.Lay(t, dir+"/etc/authorized_keys", victim)
			c.trick(t, dir)
			k, at := sshKindAt(t)
			at.Set(dir)
			r := kindtest.Filled(t, k, "a@b", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
			if got := kindtest.Refused(t, r, dir); !strings.Contains(got, c.says) {
				t.Errorf("it says %q", got)
			}
			kindtest.WantFile(t, dir+"/etc/authorized_keys", victim)
		})
	}
}

// What is made for another user is his.
func TestSSHAuthorizedKeyOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files for others")
	}
	dir := t.TempDir()
	layHome(t, dir)
	k, at := sshKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, "a@b for other", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
	if got := kindtest.Refused(t, r, dir); !strings.Contains(got, "does not belong to other") {
		t.Errorf("in a home that is not his: %q", got)
	}
	kindtest.Must(t, os.Chown(dir+"/other", 12, 34))
	kindtest.Want(t, kindtest.Begin(t, k.Name(), r), r, `created type: (none) -> "ssh-ed25519" key: (none) -> "`+sshKey("one")+`"`)
	for _, path := range []string{"/other/.ssh", "/other/.ssh/authorized_keys"} {
		var st unix.Stat_t
		if err := unix.Lstat(dir+path, &st); err != nil || st.Uid != 12 || st.Gid != 34 {
			t.Errorf("%s: %d:%d, %v", path, st.Uid, st.Gid, err)
		}
	}
}

func TestSSHAuthorizedKeyList(t *testing.T) {
	dir := t.TempDir()
	layHome(t, dir)
	kindtest.Lay(t, dir+"/"+keysPath, "ssh-ed25519 "+sshKey("one")+" a@b\nssh-ed25519 "+sshKey("one")+"\n# x\nno-pty ssh-ed25519 "+sshKey("two")+" my key\n")
	kindtest.Must(t, os.WriteFile(dir+"/other/.ssh", nil, 0o600)) // warned of, and left out
	all, errs := kindtest.Records(t, sshKeysAt(dir))
	var titles []string
	for _, r := range all {
		titles = append(titles, provided.Str(r, "title"))
	}
	if want := []string{"a@b for me", "my key for me"}; !slices.Equal(titles, want) || errs != nil {
		t.Errorf("got %q, %v", titles, errs)
	}
	for _, name := range []string{"nobody", "homeless"} {
		if got, errs := kindtest.Records(t, sshKeysAt(dir), provider.NameOf("a@b", name, "")); len(got) != 0 || errs != nil {
			t.Errorf("%s: %v, %v", name, got, errs)
		}
	}
}
