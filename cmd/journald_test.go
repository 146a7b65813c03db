package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/service/servicetest"
)

// journaled runs the program with standard error as systemd sets it up, and returns
// what has come to the journal and, beside it, to standard error.
func journaled(t *testing.T, args ...string) (list []servicetest.Entry, stderr string) {
	t.Helper()
	m := servicetest.NewMailbox(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", st.Dev, st.Ino))
	a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: f, Exit: os.Exit, Journal: m.Path}
	done := make(chan struct{})
	go func() { defer close(done); execute(t.Context(), a, args) }()
	await.Eventually(func() bool { // the kernel keeps ten entries that nobody has read
		list = append(list, m.Entries()...)
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return append(list, m.Entries()...), string(text)
}

// graphFile writes a graph in which $DIR is a folder of its own.
func graphFile(t *testing.T, text string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "g.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

func TestJournal(t *testing.T) {
	path, dir := graphFile(t, `
resources:
  file:
  - {name: $DIR/x, content: "hello\nworld\n"}
  - {name: $DIR/none/x, content: x}
`)
	list, stderr := journaled(t, "run", "--yaml", path, "--tmp-prefix", "--converged-exit")
	if strings.Contains(stderr, "INFO") {
		t.Error("said twice:\n" + stderr)
	}
	find := func(event, resource string) servicetest.Entry {
		for _, e := range list {
			if e["MGMT_EVENT"] == event && e["MGMT_RESOURCE"] == resource {
				return e
			}
		}
		t.Fatalf("no %s of %q in %v", event, resource, list)
		return nil
	}
	for _, c := range []struct{ event, resource, field, want string }{
		{"changed", "file[" + dir + "/x]", "PRIORITY", "6"},
		{"changed", "file[" + dir + "/x]", "MGMT_CLASS", "intended"},
		{"changed", "file[" + dir + "/x]", "MGMT_STATE", "ok"},
		{"changed", "file[" + dir + "/x]", "SYSLOG_IDENTIFIER", "mgmt"},
		{"failed", "file[" + dir + "/none/x]", "PRIORITY", "3"},
		{"failed", "file[" + dir + "/none/x]", "MGMT_STATE", "failed"},
		{"graph in effect", "", "MGMT_GENERATION", "1"},
	} {
		if got := find(c.event, c.resource)[c.field]; got != c.want {
			t.Errorf("%s of %s: %s is %q, not %q", c.event, c.resource, c.field, got, c.want)
		}
	}
	if got := find("changed", "file["+dir+"/x]")["MESSAGE"]; !strings.Contains(got, "/x] state created") || strings.Contains(got, "\x1b") {
		t.Errorf("for people: %q", got)
	}
	if got := find("failed", "file["+dir+"/none/x]")["MGMT_ERROR"]; got == "" {
		t.Error("a failure without its error")
	}
}

// TestJournalSecret: what must not be shown is in no field.
func TestJournalSecret(t *testing.T) {
	path, dir := graphFile(t, `
resources:
  password:
  - {name: app, length: 24}
  file:
  - {name: $DIR/app, recv: {content: "password[app].password"}}
`)
	list, stderr := journaled(t, "run", "--debug", "--yaml", path, "--tmp-prefix", "--converged-exit")
	secret, err := os.ReadFile(filepath.Join(dir, "app"))
	if err != nil || len(bytes.TrimSpace(secret)) < 24 || len(list) == 0 {
		t.Fatalf("%q, %v, %d entries", secret, err, len(list))
	}
	if all := fmt.Sprint(list) + stderr; strings.Contains(all, string(bytes.TrimSpace(secret))) {
		t.Error("the secret is in the journal")
	}
}

// TestFindingA9CanaryJournal: nor is any other thing that the graph of canaries keeps secret.
func TestFindingA9CanaryJournal(t *testing.T) {
	text, err := os.ReadFile("../integration/testdata/canaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path, dir := graphFile(t, strings.ReplaceAll(string(text), "DIR", "$DIR"))
	for _, name := range []string{"was-closed", "closed.ini", "lines"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[a]\nkey=canary-old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, stderr := journaled(t, "run", "--debug", "--yaml", path, "--tmp-prefix", "--converged-exit")
	all := fmt.Sprintf("%s %q", list, list) + stderr
	if i := strings.Index(all, "canary-"); i >= 0 {
		t.Errorf("a secret is in the journal: ...%s...", all[max(0, i-200):i+40])
	}
	for _, want := range []string{"sha256:", "(secret)", "exit status 3", "exit status 4"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is said nowhere: the test sees nothing", want)
		}
	}
}

// TestNoJournal: a standard error that was led elsewhere is written to as always.
func TestNoJournal(t *testing.T) {
	path, _ := graphFile(t, "resources: {noop: [{name: a}]}")
	m := servicetest.NewMailbox(t)
	for _, stream := range []string{"", "1:2", "x"} {
		t.Setenv("JOURNAL_STREAM", stream)
		f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: f, Exit: os.Exit, Journal: m.Path}
		execute(t.Context(), a, []string{"run", "--yaml", path, "--tmp-prefix", "--converged-exit"})
		if text, err := os.ReadFile(f.Name()); err != nil || !bytes.Contains(text, []byte("converged: 1 ok")) {
			t.Errorf("%q: %v\n%s", stream, err, text)
		}
	}
	if list := m.All(); len(list) > 0 {
		t.Errorf("sent to the journal: %q", list)
	}
}
