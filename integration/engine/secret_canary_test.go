package engine_test

import (
	"bytes"
	"context"
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
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// canaries returns a graph in which many parameters are secrets, or texts of closed files.
func canaries(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/canaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "DIR", dir)
}

// TestFindingA7CanaryRoutes: no marked parameter, no text of a closed file, no env and no
// stdin is in a log of any format, an error, a change, a plan, a status, or the state folder.
func TestFindingA7CanaryRoutes(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for name, mode := range map[string]fs.FileMode{"was-closed": 0o600, "lines": 0o644, "closed.ini": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[a]\nkey=canary-old\n"), mode); err != nil {
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
	o := mgmt.Options{State: mgmt.StateIn(state), ConvergedExit: true, Logger: log, Observer: mgmt.Observer{
		Ran: func(r reactor.Run) {
			note("run", r)
			if r.Err != nil {
				note("error", r.Err.Error())
			}
			for _, c := range r.Changes {
				note("change", c.String())
			}
		},
	}}
	with, f := from(canaries(t, dir), mgmt.Options{State: mgmt.StateIn(t.TempDir()), Logger: log})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	note("plan", plan)
	with, f = from(canaries(t, dir), o)
	report, _ := mgmt.Run(t.Context(), with, f) // some of it fails, as it should
	note("report", report)
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

// leaky is a kind that panics with what it knows.
type leaky struct {
	traits.Base
	Content string `yaml:"content" doc:"What it tells."`
	Where   string `yaml:"where" doc:"In which method."`
	init    *engine.Init
}

func (l *leaky) Default() engine.Res  { return &leaky{} }
func (l *leaky) Validate() error      { return nil }
func (l *leaky) Cleanup() error       { l.panics("Cleanup"); return nil }
func (l *leaky) Cmp(engine.Res) error { return nil }

func (l *leaky) panics(where string) {
	if l.Where == where {
		panic(fmt.Sprintf("it is %q", l.Content))
	}
}

func (l *leaky) Init(i *engine.Init) error {
	l.init = i
	l.panics("Init")
	return nil
}

func (l *leaky) Watch(ctx context.Context) error {
	l.panics("Watch") // before Running, so that the end of the run does not come first
	l.init.Running()
	<-ctx.Done()
	return nil
}

func (l *leaky) CheckApply(context.Context, bool) (bool, error) {
	l.panics("CheckApply")
	return true, nil
}

// TestFindingA9CanaryPanic: what a resource says when it panics has none of its secrets.
func TestFindingA9CanaryPanic(t *testing.T) {
	kinds, err := engine.DefaultRegistry().With("leaky", func() engine.Res { return &leaky{} })
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"Init", "Watch", "CheckApply", "Cleanup"} {
		var log bytes.Buffer
		o := mgmt.Options{Registry: kinds, State: mgmt.StateIn(t.TempDir()), ConvergedExit: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		var said []string
		o.Observer.Ran = func(r reactor.Run) { said = append(said, fmt.Sprintf("%v %+v", r.Err, r)) }
		with, f := from("resources: {leaky: [{name: a, where: "+where+", content: \"canary-pan<ic\", meta: {secret: [content], retry: 0}}]}", o)
		_, err := mgmt.Run(t.Context(), with, f)
		all := fmt.Sprint(err, said, log.String())
		if strings.Contains(all, "canary-") {
			t.Errorf("%s: a secret is shown: %s", where, all)
		}
		if !strings.Contains(all, "panic") || !strings.Contains(all, "it is") {
			t.Errorf("%s: the panic is told nowhere: %s", where, all)
		}
	}
}

// loadWarnings returns what loading a graph says.
func loadWarnings(t *testing.T, graph string) (list schema.Diagnostics) {
	t.Helper()
	_, f := from(graph, mgmt.Options{})
	for d, err := range f.Graphs(t.Context(), gapi.Env{Registry: engine.DefaultRegistry, NoWatch: true, Stdin: strings.NewReader(graph)}) {
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
