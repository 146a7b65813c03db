package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/resources/ssh/sshtest"
)

// shared is a buffer that is read while it is written.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// slowNoted is the provider of notes whose set waits in its middle until the file go is there, and which notes what it is called for.
const slowNoted = `#!/bin/sh
d=${NOTES%/*}
echo "$1 begins" >> "$d/calls"
case $1 in
get) [ ! -f "$NOTES/milk" ] || printf '{"name": "milk", "ensure": "present", "text": "%s"}\n' "$(cat "$NOTES/milk")" ;;
set)
	cat > /dev/null
	printf half > "$NOTES/milk"
	touch "$d/middle"
	while [ ! -f "$d/go" ]; do sleep 0.05; done
	printf 'buy some' > "$NOTES/milk"
	;;
esac
echo "$1 ends" >> "$d/calls"
`

// daemon runs a graph until the test ends.
func (b board) daemon(t *testing.T, args ...string) *shared {
	t.Helper()
	t.Setenv("MGMT_PREFIX", filepath.Join(b.dir, "state"))
	ctx, cancel := context.WithCancel(t.Context())
	said := &shared{}
	a := &cli.App{In: strings.NewReader(""), Out: said, Err: said}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		execute(ctx, a, append(append([]string{"run", filepath.Join(b.dir, "graph.yaml"), "--tmp-prefix", "--types", b.types}, b.targets()...), args...))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return said
}

func (b board) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil
}

func (b board) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.dir, name))
	return string(text)
}

const oneNote = "resources:\n  note:\n  - {name: milk, target: web1, text: buy some}\n"

// lostInTheMiddle has the connection end in the middle of a Set, and looks at what comes after it.
func lostInTheMiddle(t *testing.T, cut bool, lose func(s *sshtest.Server) (back func())) {
	s := sshtest.Start(t)
	b := newFarBoard(t, s)
	b.put(t, "noted", slowNoted)
	b.put(t, "graph.yaml", oneNote)
	said := b.daemon(t)
	sshtest.Until(t, "in the middle of Set", func() bool { return b.exists("middle") })
	back := lose(s)
	sshtest.Until(t, "told", func() bool {
		return strings.Contains(said.String(), filepath.Join(b.dir, "graph.yaml")+":3:5: the target web1 (transport ssh) was lost while note[milk@web1] was set")
	})
	if cut {
		b.put(t, "go", "") // the command goes on, and nobody listens
		back()
	}
	first := func() bool { return !cut && len(processesOf(filepath.Join(b.dir, "noted"))) > 0 }
	sshtest.Until(t, "ended on the target", func() bool { return !first() })
	b.put(t, "go", "")
	back()
	sshtest.Until(t, "converged", func() bool { return b.note("milk") == "buy some" && strings.Contains(said.String(), "converged: 1 ok") })
	// After the Set that was cut, things were read before they were set again, and they were set once.
	_, after, _ := strings.Cut(b.text("calls"), "set begins\n")
	if cut && strings.HasPrefix(after, "set ends\n") { // its second half was done before it was told that nobody listens
		if _, after, _ = strings.Cut(after, "\n"); strings.Contains(after, "set") {
			t.Errorf("it was set twice:\n%s", b.text("calls"))
		}
		return
	}
	if !strings.HasPrefix(after, "get begins\nget ends\n") || strings.Count(after, "set begins\n") != 1 || strings.Count(after, "set ends\n") != 1 {
		t.Errorf("the calls:\n%s\nand the log:\n%s", b.text("calls"), said)
	}
}

// processesOf returns the processes that have a word in their command line.
func processesOf(word string) (list []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		text, _ := os.ReadFile(path)
		if bytes.Contains(text, []byte(word)) {
			list = append(list, path)
		}
	}
	return list
}

// TestFindingE8KilledInTheMiddleOfSet: the processes of the sessions are killed.
func TestFindingE8KilledInTheMiddleOfSet(t *testing.T) {
	lostInTheMiddle(t, false, func(s *sshtest.Server) func() {
		s.KillSessions(t)
		return func() {}
	})
}

// TestFindingE8DownInTheMiddleOfSet: the machine goes away as a whole, and comes back.
func TestFindingE8DownInTheMiddleOfSet(t *testing.T) {
	lostInTheMiddle(t, false, func(s *sshtest.Server) func() {
		s.Stop(t)
		return func() { s.Up(t) }
	})
}

// TestFindingE8CutInTheMiddleOfSet: the network is cut, so that nothing is answered and nothing is closed, and is there again.
func TestFindingE8CutInTheMiddleOfSet(t *testing.T) {
	lostInTheMiddle(t, true, func(s *sshtest.Server) func() { return s.Freeze(t) })
}

// TestFindingE8TargetsAreChecked: everything that is wrong with the files of targets is told at once, with its place, and nothing is done.
func TestFindingE8TargetsAreChecked(t *testing.T) {
	b := newFarBoard(t, nil)
	b.put(t, "graph.yaml", oneNote)
	b.put(t, "targets/a.yaml", "web1: {transport: ssh, host: 192.0.2.1, port: 70000, hots: x}\nweb2: {transport: sssh, host: x}\nweb3: {host: x}\n\"we b\": {transport: ssh}\nweb4: {transport: ssh, user: [a]}\nweb5: {transport: ssh, host: h, password: {fil: x}}\n")
	b.put(t, "targets/b.yaml", "web1: {transport: ssh, host: x, password: hunter22}\nweb6: {transport: ssh, host: x, password: hunter22}\n")
	if err := os.Chmod(filepath.Join(b.dir, "targets/b.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := b.mgmt(t, append([]string{"validate", filepath.Join(b.dir, "graph.yaml")}, b.targets()...)...)
	for _, want := range []string{
		"a.yaml:1:47: ", "unknown key \"hots\"", "a.yaml:2:19: the target web2: there is no transport \"sssh\": there are ssh (did you mean \"ssh\"?)",
		"a.yaml:3:1: the target web3 has no transport", "a.yaml:4:1: the name of a target is", "a.yaml:5:30: ", "a.yaml:5:1: the target web4 has no host", "a.yaml:6:43: web5.password is text, or {file: PATH}",
		"b.yaml:1:1: the target \"web1\" is there twice", "b.yaml:2:33: web6.password is a secret, and other users can read this file (mode 0644)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if code != 1 || strings.Contains(out, "hunter22") || strings.Contains(out, "ok:") {
		t.Errorf("it ends with %d, and says:\n%s", code, out)
	}
}
