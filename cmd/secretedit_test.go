package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/seal"
)

// keyring is a folder with identities, and files of secrets.
type keyring struct {
	t   *testing.T
	ids map[string]*age.X25519Identity
}

// newKeyring makes identities in a new folder, which is then the working folder.
func newKeyring(t *testing.T, names ...string) *keyring {
	t.Helper()
	t.Chdir(t.TempDir())
	k := &keyring{t, map[string]*age.X25519Identity{}}
	for _, name := range names {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		k.ids[name] = id
		k.write(name+".key", id.String()+"\n")
	}
	return k
}

// to is the recipient of an identity.
func (k *keyring) to(name string) string { return k.ids[name].Recipient().String() }

func (k *keyring) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keyring) read(name string) string {
	k.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(text)
}

// sealed is a value for identities.
func (k *keyring) sealed(clear string, names ...string) string {
	k.t.Helper()
	var to []string
	for _, name := range names {
		to = append(to, k.to(name))
	}
	text, err := seal.Seal(to, clear)
	if err != nil {
		k.t.Fatal(err)
	}
	return text
}

// editor makes a script the editor. The file is its $1.
func (k *keyring) editor(script string) {
	k.t.Helper()
	k.t.Setenv("VISUAL", "")
	path := filepath.Join(k.t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+script+"\n"), 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.t.Setenv("EDITOR", path)
}

// runs calls the program, and fails the test where code or output is another one.
func (k *keyring) runs(code int, want string, args ...string) string {
	k.t.Helper()
	out, got := invoke(k.t, "", args...)
	if got != code || !strings.Contains(out, want) {
		k.t.Errorf("mgmt %s: code %d, want %d and %q in %s", strings.Join(args, " "), got, code, want, out)
	}
	return out
}

// TestSecretEdit: a person edits the values in the clear. Comments and untouched cipher texts stay, altered and new values are
// encrypted, and nothing in the clear is left.
func TestSecretEdit(t *testing.T) {
	k := newKeyring(t, "ann", "host")
	t.Setenv("XDG_RUNTIME_DIR", "")
	kept := k.sealed("stays", "ann", "host")
	k.write("s.yaml", "# top\nrecipients: ["+k.to("ann")+", "+k.to("host")+"]\ndb:\n  # why\n  password: "+k.sealed("the old one", "ann", "host")+"\n\n  user: \""+kept+"\"\n")
	where, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	k.editor(`cp "$1" ` + where + `/seen; echo "$1" >` + where + `/where; stat -c %a "$1" >>` + where + `/where
sed -i 's/password: .*/password: a new one/' "$1"; printf 'key: |\n  line 1\n  line 2\nport: 5\n' >>"$1"`)
	k.runs(cli.ExitOK, "", "secret", "edit", "s.yaml", "--identity", "ann.key")
	if seen := k.read("seen"); !strings.Contains(seen, "password: \"the old one\"") || !strings.Contains(seen, "# top\n") || strings.Contains(seen, "ENC[") {
		t.Errorf("the editor has seen\n%s", seen)
	}
	at, mode, _ := strings.Cut(strings.TrimSpace(k.read("where")), "\n")
	if mode != "600" || !strings.HasPrefix(at, "/dev/shm/") && !strings.HasPrefix(at, "/run/") {
		t.Errorf("the text in the clear was in %s with mode %s", at, mode)
	}
	if _, err := os.Stat(filepath.Dir(at)); err == nil {
		t.Error("the folder with the text in the clear is left")
	}
	after := k.read("s.yaml")
	for _, want := range []string{"# top\n", "  # why\n", kept} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is lost:\n%s", want, after)
		}
	}
	for _, clear := range []string{"old one", "new one", "line 1", ": 5"} {
		if strings.Contains(after, clear) {
			t.Errorf("%q is in the clear:\n%s", clear, after)
		}
	}
	for key, want := range map[string]string{"db/password": "a new one\n", "db/user": "stays\n", "key": "line 1\nline 2\n", "port": "5\n"} {
		for _, who := range []string{"ann.key", "host.key"} {
			k.runs(cli.ExitOK, want, "secret", "decrypt", "s.yaml", key, "--identity", who)
		}
	}
	k.runs(cli.ExitOK, "db/password\n", "secret", "list", "s.yaml")
	k.editor("true")
	k.runs(cli.ExitOK, "", "secret", "edit", "s.yaml", "--identity", "ann.key")
	if k.read("s.yaml") != after {
		t.Error("an edit without a change has written the file")
	}
}

// TestSecretEditWrong: a mistake leaves the file as it was, and says what to do.
func TestSecretEditWrong(t *testing.T) {
	k := newKeyring(t, "ann", "bob")
	k.write("s.yaml", "recipients: ["+k.to("ann")+"]\na: "+k.sealed("x", "ann")+"\n")
	k.write("none.yaml", "a: "+k.sealed("x", "ann")+"\n")
	k.write("bad.yaml", "recipients: [age1x, age1y]\na: b\n")
	k.write("two.yaml", "recipients: ["+k.to("ann")+"]\na: "+k.sealed("x", "bob")+"\nb: "+k.sealed("x", "bob")+"\n")
	before := k.read("s.yaml")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ editor, want, file string }{
		{"exit 3", "exit status 3; the file stays as it was", "s.yaml"},
		{`printf 'a: [' >"$1"`, "s.yaml:", "s.yaml"},
		{`printf 'a: b\n' >"$1"`, "s.yaml says not to whom its values are encrypted", "s.yaml"},
		{`printf 'recipients: [nobody]\n' >"$1"`, "s.yaml:1:14: the recipient", "s.yaml"},
		{"echo '# more' >>" + dir + `/s.yaml; echo 'b: c' >>"$1"`, "s.yaml has been altered meanwhile", "s.yaml"},
		{"echo 'b: c' >>\"$1\"", "none.yaml says not to whom", "none.yaml"},
		{"true", "bad.yaml:1:14: the recipient", "bad.yaml"},
		{"true", "two.yaml:3:4: it is encrypted to other hosts", "two.yaml"},
		{"true", "gone.yaml is a new file: name whom its values are for with --to", "gone.yaml"},
	} {
		k.write("s.yaml", before)
		k.editor(c.editor)
		out := k.runs(cli.ExitUsage, c.want, "secret", "edit", c.file, "--identity", "ann.key")
		if c.file == "two.yaml" && !strings.Contains(out, "two.yaml:2:4") {
			t.Errorf("not all values are named: %s", out)
		}
		if got := strings.TrimSuffix(k.read("s.yaml"), "# more\n"); got != before {
			t.Errorf("%s has altered the file:\n%s", c.editor, got)
		}
	}
	k.editor("true")
	k.runs(cli.ExitUsage, "needs an identity: name its file with --identity", "secret", "edit", "s.yaml")
	k.runs(cli.ExitUsage, "--to is for a new file", "secret", "edit", "s.yaml", "--to", k.to("bob"))
}

// TestSecretEditNew: a new file begins with its recipients, and needs no identity.
func TestSecretEditNew(t *testing.T) {
	k := newKeyring(t, "ann")
	k.editor(`echo 'a: hunter2' >>"$1"`)
	k.runs(cli.ExitOK, "", "secret", "edit", "new.yaml", "--to", k.to("ann"))
	if text := k.read("new.yaml"); strings.Contains(text, "hunter2") || !strings.Contains(text, k.to("ann")) {
		t.Errorf("the new file is\n%s", text)
	}
	k.runs(cli.ExitOK, "hunter2\n", "secret", "decrypt", "new.yaml", "a", "--identity", "ann.key")
	k.runs(cli.ExitOK, "a\n", "secret", "list", "new.yaml")
}

// TestSecretRekey: a host comes, another one leaves. All values of all files are for the present list, or nothing is written.
func TestSecretRekey(t *testing.T) {
	k := newKeyring(t, "ann", "old", "new")
	list := "recipients: [" + k.to("ann") + ", " + k.to("new") + "]\n"
	k.write("s.yaml", list+"a: "+k.sealed("x", "ann", "old")+" # why\nb: {c: \""+k.sealed("y", "ann")+"\"}\n")
	k.write("t.yaml", list+"a: clear\n")
	k.write("u.yaml", list+"a: "+k.sealed("z", "old")+"\n")
	was := k.read("s.yaml")
	k.runs(cli.ExitUsage, "u.yaml:2:4: it is encrypted to other hosts", "secret", "rekey", "s.yaml", "u.yaml", "--identity", "ann.key")
	if k.read("s.yaml") != was {
		t.Error("a part was written")
	}
	k.runs(cli.ExitUsage, "gone.yaml: file does not exist", "secret", "rekey", "gone.yaml", "--identity", "ann.key")
	k.runs(cli.ExitOK, "", "secret", "rekey", "s.yaml", "t.yaml", "--identity", "ann.key")
	for _, c := range [][3]string{{"s.yaml", "a", "x\n"}, {"s.yaml", "b/c", "y\n"}, {"t.yaml", "a", "clear\n"}} {
		k.runs(cli.ExitOK, c[2], "secret", "decrypt", c[0], c[1], "--identity", "new.key")
		k.runs(cli.ExitUsage, "encrypted to other hosts", "secret", "decrypt", c[0], c[1], "--identity", "old.key")
	}
	if text := k.read("s.yaml"); !strings.Contains(text, "# why") || !strings.HasPrefix(text, "recipients: [age1") {
		t.Errorf("the comment or the list is lost:\n%s", text)
	}
}

// TestSecretEncryptFor: a value is encrypted to the recipients of a file.
func TestSecretEncryptFor(t *testing.T) {
	k := newKeyring(t, "ann")
	k.write("s.yaml", "recipients: ["+k.to("ann")+"]\n")
	var b bytes.Buffer
	a := &cli.App{In: strings.NewReader("hunter2\n"), Out: &b, Err: &b}
	code := execute(t.Context(), a, []string{"secret", "encrypt", "--for", "s.yaml"})
	out := b.String()
	if code != cli.ExitOK || !strings.HasPrefix(out, "ENC[") {
		t.Fatal(code, out)
	}
	k.write("s.yaml", k.read("s.yaml")+"a: "+out)
	k.runs(cli.ExitOK, "hunter2\n", "secret", "decrypt", "s.yaml", "a", "--identity", "ann.key")
	k.runs(cli.ExitUsage, "says not to whom", "secret", "encrypt", "--for", "gone.yaml")
}

// TestPlanWithoutIdentity: a plan needs no identity. The resources with a secret are unknown, with the name of the secret, and
// the others are planned as ever. A run, and a secret that is not there, stay errors.
func TestPlanWithoutIdentity(t *testing.T) {
	k := newKeyring(t, "ann")
	k.write("s.yaml", "db: {password: \""+k.sealed(`{"x": "hunter2"}`, "ann")+"\"}\n")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, content string) string {
		return "  - {name: " + dir + "/out/" + name + ", content: \"" + content + "\"}\n"
	}
	k.write("g.yaml", "secrets: [{age: s.yaml}]\nresources:\n  file:\n  - {name: "+dir+"/out/}\n"+file("a", "p=${{ secret('db/password') }}")+
		file("b", "${{ sha256(secret('db/password')).substring(0, 4) }}")+file("c", "${{ fromJSON(secret('db/password')).x }}")+file("d", "plain"))
	k.write("cred.yaml", "secrets: [{credentials: true}]\nresources:\n  file:\n"+file("a", "${{ secret('token') }}"))
	k.write("gone.yaml", "secrets: [{age: s.yaml}]\nresources:\n  file:\n"+file("a", "${{ secret('db/none') }}"))
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if err := os.Mkdir("out", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} { // what is not there would surely be made
		k.write("out/"+name, "old")
	}
	out := k.runs(cli.ExitChange, "out/d] would change:", "plan", "g.yaml")
	for _, name := range []string{"a", "b", "c"} {
		if want := "out/" + name + "] is unknown until the secret db/password can be read\n"; !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hunter2") || strings.Contains(out, "(unknown)") {
		t.Errorf("the plan shows what it can't know:\n%s", out)
	}
	k.runs(cli.ExitChange, `"until": "the secret db/password"`, "plan", "g.yaml", "-o", "json")
	k.runs(cli.ExitChange, "is unknown until the secret token can be read", "plan", "cred.yaml")
	k.runs(cli.ExitUsage, `there is no secret "db/none"`, "plan", "gone.yaml")
	k.runs(cli.ExitUsage, "no identity is given", "run", "g.yaml", "--converged-exit", "--tmp-prefix")
	if _, err := os.Stat("out/d"); err == nil {
		t.Error("something was made")
	}
	if out := k.runs(cli.ExitChange, "out/a", "plan", "g.yaml", "--identity", "ann.key"); strings.Contains(out, "until the secret") || strings.Contains(out, "hunter2") {
		t.Errorf("with the identity\n%s", out)
	}
}
