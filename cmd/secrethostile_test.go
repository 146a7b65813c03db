package cmd

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/internal/await"
)

// memoryHome gives a test a private folder in memory, in the place of that of the user, and returns a function for what is in it.
func memoryHome(t *testing.T) func() []string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mgmt-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return func() []string {
		left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
}

// TestSecretEditHostile: what a person, an editor or a crowded machine does to an edit. The file keeps its values, or stays as it was, and nothing in the
// clear is left anywhere.
func TestSecretEditHostile(t *testing.T) {
	k := newKeyring(t, "ann", "host")
	left := memoryHome(t)
	cipher := k.sealed("correct horse", "ann")
	pem := "-----BEGIN X-----\nAbCdEfGhIjKl\n-----END X-----\n"
	before := "recipients: [" + k.to("ann") + "]\na: \"" + cipher + "\"\nkey: \"" + k.sealed(pem, "ann") + "\"\nempty: \"" + k.sealed("", "ann") + "\"\n"
	edit := func(code int, want, script string) string {
		t.Helper()
		k.write("s.yaml", before)
		k.editor(script)
		k.runs(code, want, "secret", "edit", "s.yaml", "--identity", "ann.key")
		if list := left(); len(list) > 0 {
			t.Errorf("%s leaves %v", script, list)
		}
		after := k.read("s.yaml")
		if code != cli.ExitOK && after != before {
			t.Errorf("%s has altered the file:\n%s", script, after)
		}
		for _, clear := range []string{"correct", "horse", "AbCdEf", "hunter2"} {
			if strings.Contains(after, clear) {
				t.Errorf("%s leaves %s in the clear:\n%s", script, clear, after)
			}
		}
		return after
	}
	shows := func(key, want string) {
		t.Helper()
		k.runs(cli.ExitOK, want, "secret", "decrypt", "s.yaml", key, "--identity", "ann.key")
	}
	if edit(cli.ExitOK, "s.yaml stays as it was", "exit 0") != before {
		t.Error("an editor that returns at once has altered the file")
	}
	edit(cli.ExitUsage, "the file stays as it was", "kill -9 $$")
	edit(cli.ExitUsage, "", `rm "$1"`)
	edit(cli.ExitUsage, "", `rm "$1"; ln -s /etc/hostname "$1"`)
	edit(cli.ExitUsage, "", `: >"$1"`)
	edit(cli.ExitUsage, "bytes: divide it", `truncate -s 67108865 "$1"`)
	edit(cli.ExitUsage, "would have a part of the secret a in the clear", `sed -i 's/^a:/# a:/' "$1"; echo 'b: x' >>"$1"`)
	edit(cli.ExitUsage, "would have a part of the secret key in the clear", `printf '# AbCdEfGhIjKl\nb: x\n' >>"$1"`)
	edit(cli.ExitOK, "", `echo 'recipients/token: hunter2' >>"$1"; echo '"": {recipients: hunter2}' >>"$1"`)
	edit(cli.ExitOK, "", `printf 'b: !!binary `+base64.StdEncoding.EncodeToString([]byte("hunter2"))+`\n' >>"$1"`)
	shows("b", "hunter2\n")
	edit(cli.ExitOK, "", `echo 'b: "`+k.sealed("pasted", "ann")+`"' >>"$1"`)
	shows("b", "pasted\n")
	shows("key", pem)
	shows("a", "correct horse\n")
	edit(cli.ExitUsage, "s.yaml:8:4: it is encrypted to other hosts", `echo 'b: "`+k.sealed("pasted", "host")+`"' >>"$1"`)
	edit(cli.ExitUsage, "s.yaml:8:4: its cipher text is damaged", `echo 'b: "ENC[age,x]"' >>"$1"`)
	k.write("t.yaml", before)
	k.runs(cli.ExitOK, "", "secret", "rekey", "t.yaml", "t.yaml", "--identity", "ann.key")
	if k.read("t.yaml") == before {
		t.Error("a file that is named twice was not written")
	}
}

// TestSecretEditKilled: a process that is killed in an edit leaves its text in memory as long as its editor lives. The next edit removes it.
func TestSecretEditKilled(t *testing.T) {
	k := newKeyring(t, "ann")
	left := memoryHome(t)
	k.write("s.yaml", "recipients: ["+k.to("ann")+"]\na: "+k.sealed("x", "ann")+"\n")
	where, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	k.editor("echo $$ >" + where + "/pid.new; mv " + where + "/pid.new " + where + "/pid; exec sleep 600")
	c := exec.Command(os.Args[0], "secret", "edit", "s.yaml", "--identity", "ann.key")
	c.Env = append(os.Environ(), asProgram+"=1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid []byte
	for end := time.Now().Add(await.Left()); len(pid) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		pid, _ = os.ReadFile("pid")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	editor, err := strconv.Atoi(string(bytes.TrimSpace(pid)))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(editor, syscall.SIGKILL)
	k.editor("true")
	k.runs(cli.ExitOK, "", "secret", "edit", "s.yaml", "--identity", "ann.key")
	if list := left(); len(list) != 1 {
		t.Fatalf("while the editor is there, its folder has gone: %v", list)
	}
	if err := syscall.Kill(editor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(await.Left()); len(left()) > 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // until the editor is dead
		k.runs(cli.ExitOK, "", "secret", "edit", "s.yaml", "--identity", "ann.key")
	}
	if list := left(); len(list) != 0 {
		t.Errorf("the text of a dead edit is left: %v", list)
	}
}
