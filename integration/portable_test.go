package integration_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// portable builds, once, the program that other systems get, for this one.
var portable = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "portable", "mgmt")
	out, err := exec.Command("go", "build", "-tags", "mgmt_portable", "-o", path,
		"-ldflags", "-X github.com/reactivegraph/mgmt/cmd/internal/cli.buildVersion=v1.2.3", "../cmd/mgmt").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// both are the program of Linux and the one that other systems get, which run in a folder.
type both struct {
	t               *testing.T
	dir             string
	linux, portable string
}

func newBoth(t *testing.T) both {
	t.Helper()
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	other, err := portable()
	if err != nil {
		t.Fatal(err)
	}
	b := both{t, t.TempDir(), filepath.Join(dir, "mgmt"), other}
	b.write("facts.yaml", "os: Debian\nos_family: Debian\nosmajorrelease: 12\ninit: systemd\n")
	return b
}

func (b both) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// answer is what a program has said.
type answer struct {
	out, err string
	code     int
}

func (b both) ask(program, stdin string, args ...string) answer {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), program, args...)
	cmd.Dir, cmd.Stdin = b.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "MGMT_CONFIG=/dev/null", "MGMT_PREFIX="+b.dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// same asks both programs and compares their answers.
func (b both) same(args ...string) answer {
	b.t.Helper()
	want, got := b.ask(b.linux, "", args...), b.ask(b.portable, "", args...)
	if got != want {
		b.t.Errorf("mgmt %s: code %d, %.300s%.300s\nand built for other systems: code %d, %.300s%.300s",
			strings.Join(args, " "), want.code, want.out, want.err, got.code, got.out, got.err)
	}
	return want
}

// TestFindingD11SameAnswers: what needs no machine answers the same wherever the program was built for.
func TestFindingD11SameAnswers(t *testing.T) {
	b := newBoth(t)
	examples, err := filepath.Glob("../examples/*.yaml")
	examples = slices.DeleteFunc(examples, func(path string) bool { return strings.HasSuffix(path, "_test.yaml") })
	if err != nil || len(examples) < 20 {
		t.Fatal("there are no examples", err)
	}
	for _, path := range examples {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if a := b.same("validate", "--facts", "facts.yaml", path); a.code != 0 {
			t.Errorf("%s: code %d, %s%s", path, a.code, a.out, a.err)
		}
		b.same("fmt", path)
		b.same("graph", "--facts", "facts.yaml", "--declared", path)
	}
	kinds := b.same("doc", "-o", "json")
	for _, kind := range []string{"file", "pkg", "svc", "exec", "mount", "net", "user", "nspawn"} {
		if !strings.Contains(kinds.out, `"`+kind+`"`) {
			t.Errorf("doc lacks %s", kind)
		}
		b.same("doc", kind)
		b.same("schema", kind)
	}
	for _, args := range [][]string{
		{"doc"}, {"schema"}, {"config"}, {"config", "--schema"}, {"config", "--example"}, {"completion", "bash"}, {"version"}, {"exit-codes"},
		{"interface", "show", "pkg"}, {"interface", "list", "--facts", "facts.yaml"}, {"interface", "check", "pkg", "apt", "--facts", "facts.yaml"},
		{"__complete", "doc", "fi"}, {"validate", "none.yaml", "--facts", "facts.yaml"}, {"validate", "--facts", "none.yaml", "x"},
	} {
		b.same(args...)
	}
}

// TestFindingD11Writes: init and fmt write files, a graph comes through a pipe, and lines may end as on Windows.
func TestFindingD11Writes(t *testing.T) {
	b := newBoth(t)
	if a := b.ask(b.portable, "", "init", "new/graph.yaml"); a.code != 0 || a.out != "new/graph.yaml\n"+filepath.Join("new", "graph_test.yaml")+"\n"+filepath.Join("new", "mgmt.schema.json")+"\n" {
		t.Errorf("%+v", a)
	}
	if a := b.same("validate", "new/graph.yaml", "--facts", "facts.yaml"); a.code != 0 || !strings.Contains(a.out, "ok: 3 resources") {
		t.Errorf("%+v", a)
	}
	const windows = "graph: web\r\nresources:\r\n  file:\r\n  - name:   /tmp/a\r\n    content: |\r\n      one\r\n      two\r\n  - name: /tmp/b\r\n    depend: [\"file[/tmp/a]\"]\r\n"
	b.write("crlf.yaml", windows)
	if a := b.same("validate", "crlf.yaml", "--facts", "facts.yaml"); a.code != 0 || a.out != "ok: 2 resources, 1 edge\n" {
		t.Errorf("%+v", a)
	}
	usual := b.same("fmt", "crlf.yaml").out
	if a := b.ask(b.portable, "", "fmt", "-w", "crlf.yaml"); a != (answer{}) {
		t.Errorf("%+v", a)
	}
	if text, err := os.ReadFile(filepath.Join(b.dir, "crlf.yaml")); err != nil || string(text) != usual || !strings.Contains(usual, "- name: /tmp/a") {
		t.Errorf("%v: %q", err, text)
	}
	for _, p := range []string{b.linux, b.portable} {
		if a := b.ask(p, windows, "validate", "-", "--facts", "facts.yaml"); a.code != 0 || a.out != "ok: 2 resources, 1 edge\n" {
			t.Errorf("%s: %+v", p, a)
		}
	}
	if entries, err := os.ReadDir(b.dir); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".tmp") }) {
		t.Errorf("%v, %v", err, entries)
	}
}

// TestFindingD11NeedsLinux: a verb that needs a machine says so, ends with code 1 and touches nothing.
func TestFindingD11NeedsLinux(t *testing.T) {
	b := newBoth(t)
	b.write("graph.yaml", "graph: g\nresources:\n  file:\n  - name: "+b.dir+"/made\n")
	for _, args := range [][]string{
		{"run", "graph.yaml", "--converged-exit"}, {"plan", "graph.yaml"}, {"apply", "graph.yaml"}, {"reload"}, {"status"}, {"why", "file[x]"}, {"events"}, {"log"},
		{"pause"}, {"resume"}, {"retry"}, {"facts"}, {"import", "pkg"}, {"resource", "pkg", "nginx"}, {"call", "pkg.list_installed"}, {"graph", "--live"},
		{"hosts"}, {"deploy", "graph.yaml"}, {"deploys"}, {"api", "kinds"}, {"plugin", "status"},
	} {
		verb := args[0]
		switch verb {
		case "graph":
			verb = "graph --live"
		case "api", "plugin":
			verb = args[1]
		}
		want := "mgmt: " + verb + " needs Linux, and this program was built for another system: check a graph here with validate --facts FILE, and run it on a machine with Linux\n"
		if a := b.ask(b.portable, "", args...); a != (answer{"", want, 1}) {
			t.Errorf("%v: %+v", args, a)
		}
		if a := b.ask(b.portable, "", verb, "--help"); verb == args[0] && (a.code != 0 || !strings.Contains(a.out, "Usage:")) {
			t.Errorf("%s --help: %+v", verb, a)
		}
	}
	if entries, _ := os.ReadDir(b.dir); len(entries) != 2 {
		t.Errorf("there is now %v", entries)
	}
	a := b.ask(b.portable, "", "validate", "graph.yaml")
	if want := "mgmt: note: without --facts FILE no machine is known, and whether its backends can do this is not checked\n"; a != (answer{"ok: 1 resource, 0 edges\n", want, 0}) {
		t.Errorf("%+v", a)
	}
}

// TestFindingD11EachVerb: each verb that there is works everywhere, or says that it needs Linux.
func TestFindingD11EachVerb(t *testing.T) {
	b := newBoth(t)
	everywhere := strings.Fields("completion config data doc eval fmt graph help idl init interface lsp module render schema secret test ts validate version")
	help := b.ask(b.linux, "", "--help").out
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	n := 0
	for line := range strings.Lines(list) {
		verb := strings.Fields(line)[0]
		n++
		refused := strings.Contains(b.ask(b.portable, "", verb).err, "needs Linux")
		if refused == slices.Contains(everywhere, verb) {
			t.Errorf("%s: refused is %v", verb, refused)
		}
	}
	if n < 20 {
		t.Errorf("only %d verbs were found in: %s", n, help)
	}
}
