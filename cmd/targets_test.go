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
