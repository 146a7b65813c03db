package resources

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
)

// sshKey is a key in base64 that holds its type and a text.
func sshKey(text string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00" + string(rune(len(text))) + text))
}

// layHome makes a home for the user me, who we are, and a passwd file that says so.
func layHome(t *testing.T, dir string) {
	t.Helper()
	lay(t, dir+"/passwd", fmt.Sprintf("# users\nbad\nme:x:%d:%d::%s/home:/bin/sh\nother:x:12:34::%s/other:/bin/sh\nhomeless:x:12:34::%s/none:/bin/sh\n",
		os.Geteuid(), os.Getegid(), dir, dir, dir))
	must(t, os.MkdirAll(dir+"/home", 0o755))
	must(t, os.MkdirAll(dir+"/other", 0o755))
}

func sshKeysAt(dir string) *sshKeys { return &sshKeys{accounts: accounts{dir + "/passwd"}, self: "me"} }

func sshKindAt(t *testing.T) (*provider.Kind, *place) {
	t.Helper()
	var at place
	k, _ := kindOf(t, sshKeyDefinition(), func() provider.Provider { return sshKeysAt(at.path("")) })
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
	runEdits(t, k, func(t *testing.T, dir string) { layHome(t, dir); at.set(dir) }, []edit{
		{"a new file", "a@b", key(nil), keysPath, "-", line, ""},
		{"for a user", "a@b for me", key(nil), keysPath, "# x", "# x\n" + line, ""},
		{"a short type", "a@b", key(m{"type": "ed25519"}), keysPath, line, line, ""},
		{"with options", "my key", key(m{"options": []string{"no-pty", `command="a b"`}}), keysPath, "#\n", "#\n" + `no-pty,command="a b" ssh-ed25519 ` + one + " my key\n", ""},
		{"options go", "a@b", key(m{"options": []string{}}), keysPath, "no-pty " + line, line, ""},
		{"options are left", "a@b", key(m{"key": two}), keysPath, "no-pty " + line, "no-pty ssh-ed25519 " + two + " a@b\n", ""},
		{"twice becomes once", "a@b", key(nil), keysPath, line + "ssh-ed25519 " + two + " a@b\n", line, ""},
		{"gone", "a@b", m{"ensure": "absent"}, keysPath, "#\n" + line + line, "#\n", ""},
		{"a target", "a@b in $DIR/keys", key(nil), "keys", "#\n", "#\n" + line, ""},
		{"a target and a user", "a@b for me in $DIR/keys", key(nil), "keys", "#\n", "#\n" + line, ""},

		{"no key", "a@b", nil, keysPath, line[:8], "", "type of key"},
		{"no such user", "a@b for nobody", key(nil), keysPath, "#\n", "", "unknown user nobody"},
		{"another type", "a@b", key(m{"type": "rsa"}), keysPath, "#\n", "", "not of the type ssh-rsa"},
		{"a line in the key", "a@b", key(m{"key": one + "\nssh-ed25519 " + two + " evil"}), keysPath, "#\n", "", "key"},
		{"a line in the comment", "a@b\nssh-ed25519 " + two + " evil", key(nil), keysPath, "#\n", "", "comment"},
		{"a line in an option", "a@b", key(m{"options": []string{"no-pty\nx"}}), keysPath, "#\n", "", "options"},
		{"two options for one", "a@b", key(m{"options": []string{"no-pty,no-x11-forwarding"}}), keysPath, "#\n", "", "option"},
		{"a user that is a path", "a@b", key(m{"user": "../me"}), keysPath, "#\n", "", "user"},
		{"a folder", "a@b", key(nil), keysPath + "/x", "#\n", "", "not a plain file"},
		{"no home", "a@b for homeless", key(nil), keysPath, "#\n", "", "the home of homeless"},
	})
}

func TestSSHAuthorizedKeyModes(t *testing.T) {
	dir := t.TempDir()
	layHome(t, dir)
	k, at := sshKindAt(t)
	at.set(dir)
	r := filled(t, k, "a@b", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
	want(t, begin(t, k.Name(), r), r, "created")
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
		"the folder is a link": {func(t *testing.T, dir string) { must(t, os.Symlink(dir+"/etc", dir+"/home/.ssh")) }, "not a directory", false},
		"the file is a link": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			must(t, os.Symlink(dir+"/etc/authorized_keys", dir+"/"+keysPath))
		}, "too many levels of symbolic links", false},
		"the file is a pipe": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			must(t, unix.Mkfifo(dir+"/"+keysPath, 0o600))
		}, "not a plain file", false},
		"others may write": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			must(t, os.Chmod(dir+"/home/.ssh", 0o777))
		}, "chmod go-w", false},
		"the folder is another's": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			must(t, os.Chown(dir+"/home/.ssh", 12, 34))
		}, "does not belong to me", true},
		"the file is another's, by a hard link": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/home/.ssh", 0o700))
			must(t, os.Chown(dir+"/etc/authorized_keys", 12, 34))
			must(t, os.Link(dir+"/etc/authorized_keys", dir+"/"+keysPath))
		}, "does not belong to me", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && !root {
				t.Skip("only root can give files away")
			}
			dir := t.TempDir()
			layHome(t, dir)
			lay(t, dir+"/etc/authorized_keys", victim)
			c.trick(t, dir)
			k, at := sshKindAt(t)
			at.set(dir)
			r := filled(t, k, "a@b", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
			if got := refused(t, r, dir); !strings.Contains(got, c.says) {
				t.Errorf("it says %q", got)
			}
			wantFile(t, dir+"/etc/authorized_keys", victim)
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
	at.set(dir)
	r := filled(t, k, "a@b for other", map[string]any{"type": "ssh-ed25519", "key": sshKey("one")})
	if got := refused(t, r, dir); !strings.Contains(got, "does not belong to other") {
		t.Errorf("in a home that is not his: %q", got)
	}
	must(t, os.Chown(dir+"/other", 12, 34))
	want(t, begin(t, k.Name(), r), r, "created")
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
	lay(t, dir+"/"+keysPath, "ssh-ed25519 "+sshKey("one")+" a@b\nssh-ed25519 "+sshKey("one")+"\n# x\nno-pty ssh-ed25519 "+sshKey("two")+" my key\n")
	must(t, os.WriteFile(dir+"/other/.ssh", nil, 0o600)) // warned of, and left out
	all, errs := records(t, sshKeysAt(dir))
	var titles []string
	for _, r := range all {
		titles = append(titles, str(r, "title"))
	}
	if want := []string{"a@b for me", "my key for me"}; !slices.Equal(titles, want) || errs != nil {
		t.Errorf("got %q, %v", titles, errs)
	}
	for _, name := range []string{"nobody", "homeless"} {
		if got, errs := records(t, sshKeysAt(dir), provider.NameOf("a@b", name, "")); len(got) != 0 || errs != nil {
			t.Errorf("%s: %v, %v", name, got, errs)
		}
	}
}
