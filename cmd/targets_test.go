package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/ssh/sshtest"
)

// farBoard is a board whose notes hang on a target, too: sshd serves this machine.
func newFarBoard(t *testing.T, s *sshtest.Server) board {
	b := newBoard(t)
	text, err := os.ReadFile(filepath.Join(b.types, "note.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, "types/note.yaml", "features: [remote_resource]\n"+string(text))
	if err := os.Mkdir(filepath.Join(b.dir, "targets"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s != nil {
		b.put(t, "targets/web.yaml", fmt.Sprintf("web1: {transport: ssh, host: 127.0.0.1, port: %d, identity_file: %s, host_key: %s, keepalive: 1}\n", s.Port, s.Identity, s.HostKey))
	}
	return b
}

func (b board) targets() []string { return []string{"--targets", filepath.Join(b.dir, "targets")} }

// TestFindingE8EndToEnd: a type of commands works on a target over ssh as it works here, through every verb.
func TestFindingE8EndToEnd(t *testing.T) {
	b := newFarBoard(t, sshtest.Start(t))
	graph := filepath.Join(b.dir, "graph.yaml")
	b.put(t, "graph.yaml", "resources:\n  note:\n  - {name: milk, target: web1, text: buy some}\n  - {name: eggs, target: web1, text: six, depend: [\"note[milk@web1]\"]}\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"validate", graph}, 0, "ok: 2 resources, 1 edge"},
		{[]string{"plan", graph}, 2, "note[milk@web1]"},
		{[]string{"graph", graph}, 0, "note[eggs@web1]"},
		{[]string{"run", graph, "--converged-exit", "--converged-timeout", "0", "--tmp-prefix"}, 0, "note[milk@web1] created"},
		{[]string{"plan", graph}, 0, "plan: 2 ok"},
		{[]string{"resource", "note", "milk", "--target", "web1"}, 0, "target => 'web1'"},
		{[]string{"resource", "note", "--target", "web1"}, 0, "note { 'eggs@web1':"},
		{[]string{"resource", "note", "milk", "text=three", "--target", "web1"}, 2, "note[milk@web1] text"},
		{[]string{"import", "note", "eggs", "--target", "web1"}, 0, "target: web1"},
		{[]string{"doc", "note"}, 0, "NAME@TARGET"},
	} {
		code, out := b.mgmt(t, append(c.args, b.targets()...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q ends with %d, wanted %d, and says %q", c.args, code, c.code, out)
		}
	}
	if got := b.note("milk"); got != "three" {
		t.Errorf("the note says %q", got)
	}
}

// TestFindingE8Facts: a transport has a page, and a target has facts.
func TestFindingE8Facts(t *testing.T) {
	b := newFarBoard(t, sshtest.Start(t))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"facts", "kernel", "--target", "web1"}, 0, "Linux\n"},
		{[]string{"facts", "kernl", "--target", "web1"}, 1, "did you mean \"kernel\"?"},
		{[]string{"facts", "--target", "web2"}, 1, "there is no target \"web2\": there are web1 (did you mean \"web1\"?)"},
		{[]string{"resource", "file", "/etc", "--target", "web1"}, 1, "--target: a file is on this machine only"},
		{[]string{"doc", "ssh"}, 0, "identity_file"},
	} {
		if code, out := b.mgmt(t, append(c.args, b.targets()...)...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q ends with %d, wanted %d, and says %q", c.args, code, c.code, out)
		}
	}
}

// TestFindingE8TransportOfCommands: a transport needs no Go. Its commands get the secrets of a target at their standard input, and a type works
// over it with commands of this machine, or with those of the target.
func TestFindingE8TransportOfCommands(t *testing.T) {
	for name, command := range map[string]string{"here": "", "there": "command: [BOARD/door, command]\n"} {
		t.Run(name, func(t *testing.T) {
			b := newFarBoard(t, nil)
			b.put(t, "types/door.yaml", strings.ReplaceAll("name: door\ndocs: A door.\nconnection_info:\n  room: {type: String, docs: Where.}\n  word: {type: String, docs: What opens it., sensitive: true}\n"+
				"verify: [BOARD/door, verify]\nfacts: [BOARD/door, facts]\n"+command, "BOARD", b.dir))
			b.put(t, "door", `#!/bin/sh
read -r head
case $head in *'"word":"opensesame"'*) ;; *) echo "no word" >&2; exit 1 ;; esac
case $1 in
facts) echo '{"doors": 1}' ;;
command) read -r order; set -- $(printf %s "$order" | sed 's/.*"argv":\["\([^]]*\)"\].*/\1/; s/","/ /g'); NOTES=`+b.notes+` exec "$@" ;;
esac
`)
			b.put(t, "noted", "#!/bin/sh\n"+map[string]string{"here": "read -r head\n", "there": ""}[name]+strings.TrimPrefix(b.text("noted"), "#!/bin/sh\n"))
			b.put(t, "word", "opensesame\n")
			b.put(t, "targets/a.yaml", "cellar: {transport: door, room: cellar, word: {file: "+b.dir+"/word}}\n")
			b.put(t, "graph.yaml", "resources:\n  note:\n  - {name: milk, target: cellar, text: buy some}\n")
			if err := os.Chmod(filepath.Join(b.dir, "door"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				args []string
				code int
				want string
			}{
				{[]string{"facts", "--target", "cellar"}, 0, "1"},
				{[]string{"run", filepath.Join(b.dir, "graph.yaml"), "--converged-exit", "--converged-timeout", "0", "--tmp-prefix"}, 0, "converged: 1 ok"},
				{[]string{"resource", "note", "milk", "--target", "cellar"}, 0, "buy some"},
			} {
				if code, out := b.mgmt(t, append(c.args, b.targets()...)...); code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, "opensesame") {
					t.Errorf("%q ends with %d, wanted %d, and says %q", c.args, code, c.code, out)
				}
			}
			if got := b.note("milk"); got != "buy some" {
				t.Errorf("the note says %q", got)
			}
			b.put(t, "word", "opensesami\n")
			if code, out := b.mgmt(t, append([]string{"plan", filepath.Join(b.dir, "graph.yaml")}, b.targets()...)...); code != 4 || !strings.Contains(out, "no word") || !strings.Contains(out, "the target cellar (transport door)") {
				t.Errorf("with another word it ends with %d, and says %q", code, out)
			}
		})
	}
}

// TestFindingE8SecretAtTheCut: an error shows the end of what a command of a transport has said. A secret of the target that stands at
// the cut is not shown in part either.
func TestFindingE8SecretAtTheCut(t *testing.T) {
	b := newFarBoard(t, nil)
	b.put(t, "types/door.yaml", strings.ReplaceAll("name: door\ndocs: A door.\nconnection_info:\n  word: {type: String, docs: What opens it., sensitive: true}\nverify: [BOARD/door]\n", "BOARD", b.dir))
	b.put(t, "door", "#!/bin/sh\nread -r head\nprintf 'opensesame%01018d' 0 >&2\nexit 1\n")
	b.put(t, "word", "opensesame\n")
	b.put(t, "targets/a.yaml", "cellar: {transport: door, word: {file: "+b.dir+"/word}}\n")
	b.put(t, "graph.yaml", "resources:\n  note:\n  - {name: milk, target: cellar, text: buy some}\n")
	if err := os.Chmod(filepath.Join(b.dir, "door"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, out := b.mgmt(t, append([]string{"plan", filepath.Join(b.dir, "graph.yaml")}, b.targets()...)...)
	if code != 4 || !strings.Contains(out, "0000000000") || strings.Contains(out, "same") {
		t.Errorf("it ends with %d, and says %q", code, out)
	}
}
