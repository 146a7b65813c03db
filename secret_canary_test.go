package mgmt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// canaries returns a graph in which many parameters are secrets, or texts of closed files.
func canaries(dir string) string {
	return strings.ReplaceAll(`
graph: canaries
resources:
  file:
  - {name: DIR/marked, content: "canary-marked's <\"text\">\n", meta: {secret: [content]}}
  - {name: DIR/closed, content: "canary-closed\n", mode: "0600"}
  - {name: DIR/was-closed, content: "open now\n", mode: "0644"}
  line:
  - {name: l, file: DIR/lines, content: "key=canary-line", match: "^key=", meta: {secret: [content]}}
  exec:
  - name: env
    shell: /bin/sh
    cmd: "set -x; : \"$TOKEN\"; cat >&2; exit 3"
    env: {TOKEN: "canary-env's <\"token\">"}
    stdin: "canary-stdin\n"
  - name: hushed
    shell: /bin/sh
    cmd: "echo \"$TOKEN\"; exit 3"
    env: {TOKEN: canary-hushed}
    meta: {secret: [env.TOKEN]}
  - name: another
    shell: /bin/sh
    cmd: "cat DIR/marked >&2; set -x; X=$(cat DIR/marked); : \"$X\"; exit 4"
    depend: ["file[DIR/marked]"]
`, "DIR", dir)
}

// TestFindingA7CanaryRoutes: no marked parameter, no text of a closed file, no env and no
// stdin is in a log of any format, an error, a change, a plan, a status, or the state folder.
func TestFindingA7CanaryRoutes(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for name, mode := range map[string]fs.FileMode{"was-closed": 0o600, "lines": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("key=canary-old\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all bytes.Buffer
	note := func(where string, x any) {
		mu.Lock()
		defer mu.Unlock()
		data, _ := json.Marshal(x)
		fmt.Fprintf(&all, "%s: %v %+v %#v %s\n", where, x, x, x, data)
	}
	var text, asJSON bytes.Buffer
	log := slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(&asJSON, &slog.HandlerOptions{Level: slog.LevelDebug})))
	o := mgmt.Options{StateDir: state, ConvergedExit: true, Logger: log, Observer: mgmt.Observer{
		Ran: func(r mgmt.Run) {
			note("run", r)
			if r.Err != nil {
				note("error", r.Err.Error())
			}
			for _, c := range r.Changes {
				note("change", c.String())
			}
		},
	}}
	e, f := from(t, canaries(dir), mgmt.Options{StateDir: t.TempDir(), Logger: log})
	plan, err := e.Plan(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	note("plan", plan)
	e, f = from(t, canaries(dir), o)
	_ = e.Run(t.Context(), f) // some of it fails, as it should
	note("report", e.Report())
	note("text", text.String())
	note("json", asJSON.String())
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, rerr := os.ReadFile(path)
			note(path, string(data))
			return rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	said := all.String()
	for i := strings.Index(said, "canary-"); i >= 0; {
		t.Fatalf("a secret is shown: ...%s...", said[max(0, i-300):min(len(said), i+80)])
	}
	for _, want := range []string{"sha256:", "(secret)", "exit status 3", "exit status 4"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is said nowhere: the test sees nothing", want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "marked")); err != nil || info.Mode() != 0o600 {
		t.Errorf("what is marked has the mode %v, %v", info, err)
	}
}

// loadWarnings returns what loading a graph says.
func loadWarnings(t *testing.T, graph string) (list schema.Diagnostics) {
	t.Helper()
	_, f := from(t, graph, mgmt.Options{})
	for d, err := range f.Graphs(t.Context(), gapi.Env{Registry: engine.DefaultRegistry(), NoWatch: true, Stdin: strings.NewReader(graph)}) {
		if err != nil {
			t.Fatal(err)
		}
		_, list = gapi.Build(engine.DefaultRegistry(), d)
	}
	return list
}

// TestFindingA5WarnsAtLoad: a mode that lets others read a secret is a warning, wherever the
// graph says it, and none other is.
func TestFindingA5WarnsAtLoad(t *testing.T) {
	const password = "  password: [{name: p}]\n"
	for graph, warns := range map[string]bool{
		`  file: [{name: /a, mode: "0644", recv: {content: "password[p].password"}}]`:                                                          true,
		`  file: [{name: /a, mode: "0640", recv: {content: "password[p].password"}}]`:                                                          true,
		`  file: [{name: /a, mode: "u=rw,go=", recv: {content: "password[p].password"}}]`:                                                      false,
		`  file: [{name: /a, recv: {content: "password[p].password"}}]`:                                                                        false,
		`  file: [{name: /a, mode: "0600", recv: {content: "password[p].password"}}]`:                                                          false,
		`  file: [{name: /a, mode: "0644", content: x, meta: {secret: [content]}}]`:                                                            true,
		`  file: [{name: /a, mode: "0644", content: x}]`:                                                                                       false,
		"  file: [{name: /a, mode: \"0644\", state: exists}]\n" + `  line: [{name: l, file: /a, recv: {content: "password[p].password"}}]`:     true,
		"  file: [{name: /a, mode: \"0644\", state: exists}]\n" + `  ini_setting: [{name: "/a [m] k", secret: abc}]`:                           true,
		"  file: [{name: /a, mode: \"0600\", state: exists}]\n" + `  ini_setting: [{name: "/a [m] k", secret: abc}]`:                           false,
		"  file: [{name: /a, mode: \"0644\", state: exists}]\n" + `  ini_setting: [{name: "/a [m] k", recv: {value: "password[p].password"}}]`: true,
	} {
		ds := loadWarnings(t, "graph: g\nresources:\n"+password+graph+"\n")
		if err := ds.Err(); err != nil {
			t.Errorf("%s: %v", graph, err)
		}
		if got := strings.Contains(fmt.Sprint(ds), "lets other users have it"); got != warns {
			t.Errorf("%s: a warning %t, want %t: %v", graph, got, warns, ds)
		}
	}
}

// TestFindingA7MarksAreChecked: marks that name nothing, or what all can see, are errors; an
// error about a marked parameter does not quote it.
func TestFindingA7MarksAreChecked(t *testing.T) {
	for graph, want := range map[string]string{
		`  file: [{name: /a, content: x, meta: {secret: [contend]}}]`:                    `did you mean "content"`,
		`  exec: [{name: a, cmd: "true", meta: {secret: [cmd]}}]`:                        "everybody on this machine can see it",
		`  file: [{name: /a, path: /b, meta: {secret: [path]}}]`:                         "is shown everywhere",
		`  line: [{name: l, file: /a, content: "canary\r.", meta: {secret: [content]}}]`: "content",
		`  file: [{name: /a, source: canary/relative, meta: {secret: [source]}}]`:        "source",
		`  exec: [{name: a, cmd: "true", env: {T: [canary]}, meta: {secret: [env.T]}}]`:  "env",
	} {
		ds := loadWarnings(t, "graph: g\nresources:\n"+graph+"\n")
		if got := fmt.Sprint(ds); !strings.Contains(got, want) || strings.Contains(got, "canary") || ds.Err() == nil {
			t.Errorf("%s: %v", graph, ds)
		}
	}
}
