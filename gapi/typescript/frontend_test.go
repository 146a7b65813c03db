package typescript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/internal/tsctest"
)

// stage is a folder with a program, and programs in the place of mgmt-ts and tsc.
type stage struct {
	t      *testing.T
	dir    string
	answer string // of mgmt-ts; DIR in it is the folder
	end    error  // of mgmt-ts
	dies   *engine.Result
	trace  string // what mgmt-ts writes before it dies, when it is asked for a trace
	types  string // what tsc writes
	code   int    // with which tsc ends

	asked  []map[string]any
	config map[string]any // the settings that tsc got
	opts   typescript.Options
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: t.TempDir(), answer: answerOf("", "")}
	tsctest.Write(t, s.dir, map[string]string{"main.ts": "let a = 1;\n", "tsc": ""})
	if err := os.Chmod(filepath.Join(s.dir, "tsc"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.opts = typescript.Options{Helper: "mgmt-ts", Run: s.run, Check: typescript.CheckOff, Parse: func(file string, src []byte) (*schema.Node, schema.Diagnostics) {
		return jsonnode.Parse(src, jsonnode.Options{File: file})
	}}
	return s
}

// answerOf is an answer of mgmt-ts with problems, and with resources in lines.
func answerOf(resources, problems string) string {
	return fmt.Sprintf(`{"version":2,"files":{"DIR/main.ts":"00"},"problems":[%s]}`, problems) + "\n" + resources
}

// run stands for both programs.
func (s *stage) run(_ context.Context, c engine.Command) (*engine.Result, error) {
	if len(c.Argv) > 5 { // tsc, below a shell
		text, err := os.ReadFile(c.Argv[5])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &s.config); err != nil {
			return nil, err
		}
		return &engine.Result{ExitCode: s.code, Stdout: []byte(s.types)}, nil
	}
	var question map[string]any
	if err := json.Unmarshal(c.Stdin, &question); err != nil {
		return nil, err
	}
	s.asked = append(s.asked, question)
	if s.dies != nil {
		if question["traced"] == true {
			for line := range strings.Lines(strings.ReplaceAll(s.trace, "DIR", s.dir)) {
				c.Stderr([]byte("mgmt-ts-trace: " + strings.TrimSpace(line)))
			}
		}
		for line := range strings.Lines(string(s.dies.Stderr)) {
			c.Stderr([]byte(strings.TrimSpace(line)))
		}
		return s.dies, nil
	}
	return &engine.Result{Stdout: []byte(strings.ReplaceAll(s.answer, "DIR", s.dir))}, s.end
}

// read reads the program once.
func (s *stage) read() (*gapi.Declared, error) {
	s.t.Helper()
	for d, err := range typescript.New(filepath.Join(s.dir, "main.ts"), s.opts).Graphs(s.t.Context(), gapi.Env{NoWatch: true}) {
		return d, err
	}
	s.t.Fatal("there is no graph")
	return nil, nil
}

// findings writes what was found, with paths relative to the folder.
func (s *stage) findings(d *gapi.Declared, err error) string {
	found, _ := errors.AsType[schema.Diagnostics](err)
	if d != nil {
		found = d.Problems
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, strings.TrimPrefix(f.Pos.String(), s.dir+"/")+": "+f.Message)
	}
	return strings.Join(lines, "\n")
}

const aFile = `{"kind":"file","name":"/a","at":{"file":"DIR/lib/a.ts","line":3,"col":5},"value":{"list":[{"x":1}]},"meta":[{"noop":true,"retry":1},{"retry":2}],` +
	`"recv":[{"field":"content","from":"password[p].password"}],"before":["exec[x]"],"notify":["exec[y]"]}`

// TestPlaces: a resource with all its parts, and every finding, has the place where the program made it.
func TestPlaces(t *testing.T) {
	s := newStage(t)
	s.answer = answerOf(aFile, `{"file":"DIR/main.ts","line":7,"col":2,"message":"thrown","calls":[{"file":"DIR/lib/a.ts","line":9,"col":1}]}`)
	d, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.findings(d, nil); got != "main.ts:7:2: thrown" || !d.Partial {
		t.Errorf("found %s, partial %v", got, d.Partial)
	}
	if calls := d.Problems[0].Related; len(calls) != 1 || calls[0].Pos.Line != 9 || filepath.Base(calls[0].Pos.File) != "a.ts" {
		t.Errorf("calls %+v", calls)
	}
	r := d.Resources[0]
	want := schema.Pos{File: filepath.Join(s.dir, "lib/a.ts"), Line: 3, Col: 5}
	inner := r.Value.Get("list").Items[0].Get("x")
	for what, pos := range map[string]schema.Pos{
		"kind": r.KindPos, "name": r.NamePos, "resource": r.Pos, "value": r.Value.Pos, "part": inner.Pos, "meta": r.Meta.Pos,
		"recv": r.Recv[0].Pos, "before": r.Before[0].Pos, "notify": r.Notify[0].Pos,
	} {
		if pos != want {
			t.Errorf("%s is at %v", what, pos)
		}
	}
	if len(r.Meta.Pairs) != 2 || r.Meta.Get("retry").Text != "2" {
		t.Errorf("metaparameters %+v", r.Meta.Pairs)
	}
	if r.Recv[0].From.Key != "password" || r.Recv[0].Field != "content" {
		t.Errorf("received %+v", r.Recv)
	}
}

// TestAsNamed: files have the paths that the user of a relative path would write.
func TestAsNamed(t *testing.T) {
	s := newStage(t)
	t.Chdir(filepath.Dir(s.dir))
	s.answer = answerOf(aFile, "")
	path := filepath.Base(s.dir) + "/main.ts"
	for d, err := range typescript.New(path, s.opts).Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Resources[0].Pos.File; got != filepath.Base(s.dir)+"/lib/a.ts" {
			t.Errorf("the file is %s", got)
		}
	}
}

// TestTwice: two resources of one kind and name have the calls that led to each.
func TestTwice(t *testing.T) {
	s := newStage(t)
	calls := func(line int) string {
		return strings.Replace(aFile, `"value"`, fmt.Sprintf(`"calls":[{"file":"DIR/main.ts","line":%d,"col":1}],"value"`, line), 1)
	}
	s.answer = answerOf(calls(2)+"\n"+calls(5), "")
	d, err := s.read()
	if err != nil || len(d.Resources) != 1 {
		t.Fatalf("%v, %d resources", err, len(d.Resources))
	}
	want := "DIR/lib/a.ts:3:5: file[/a] is declared twice\n    DIR/main.ts:5:1: called from here\n    DIR/lib/a.ts:3:5: first declared here\n    DIR/main.ts:2:1: called from here"
	if got := strings.ReplaceAll(d.Problems.Error(), s.dir, "DIR"); got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
}

// TestFindingP7Unchanged: an edit of a program makes anew the resources that it has altered, and leaves the others as they are. A fault of a
// resource is told for as long as it is there.
func TestFindingP7Unchanged(t *testing.T) {
	s := newStage(t)
	note := func(name, place, value string) string {
		return fmt.Sprintf(`{"kind":"note","name":%q,"at":{"file":"DIR/main.ts","line":%s,"col":1},"value":{"text":%q}}`+"\n", name, place, value)
	}
	const wrong = `{"file":"DIR/main.ts","line":1,"col":1,"resource":"note[a]","number":0,"code":"V_TYPE","path":"text","message":"it is wrong"}`
	reload := make(chan struct{}, 1)
	var before *gapi.Declared
	step := 0
	steps := []struct {
		answer string
		same   []bool // as the resource of that name in the graph before
		wrong  bool
	}{
		{answerOf(note("a", "1", "x")+note("b", "2", "x")+note("c", "3", "x"), ""), []bool{false, false, false}, false},
		{answerOf(note("a", "1", "x")+note("b", "2", "y")+note("c", "3", "x"), ""), []bool{true, false, true}, false},
		{answerOf(note("a", "1", "x")+note("b", "2", "y")+note("c", "4", "x"), ""), []bool{true, true, false}, false},
		{answerOf(note("c", "4", "x")+note("a", "1", "x"), ""), []bool{true, true}, false},
		{answerOf(note("a", "1", "x")+note("c", "4", "x"), wrong), []bool{false, true}, true},
		{answerOf(note("a", "1", "x")+note("c", "4", "x"), wrong), []bool{false, true}, true},
		{answerOf(note("a", "1", "x")+note("c", "4", "x"), ""), []bool{false, true}, false},
	}
	s.answer = steps[0].answer
	for d, err := range typescript.New(filepath.Join(s.dir, "main.ts"), s.opts).Graphs(t.Context(), gapi.Env{NoWatch: true, Reload: reload}) {
		if err != nil || (d.Problems.Err() != nil) != steps[step].wrong || len(d.Resources) != len(steps[step].same) {
			t.Fatalf("step %d: %v %+v", step, err, d)
		}
		for i, r := range d.Resources {
			same := before != nil && slices.ContainsFunc(before.Resources, func(o gapi.Declaration) bool { return o.Name == r.Name && o.Value == r.Value })
			if same != steps[step].same[i] || r.Pos.Line == 0 || r.Value.Get("text") == nil || r.Wrong != (steps[step].wrong && r.Name == "a") {
				t.Errorf("step %d: %s is the same: %v, %+v", step, r.Name, same, r)
			}
		}
		if before, step = d, step+1; step == len(steps) {
			return
		}
		s.answer = steps[step].answer
		tsctest.Write(t, s.dir, map[string]string{"main.ts": fmt.Sprintf("let a = %d;\n", step)})
		reload <- struct{}{}
	}
}

// TestBadAnswers: whatever mgmt-ts does, its user reads one sentence at the program.
func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(s *stage)
		want string
	}{
		"no JSON":   {func(s *stage) { s.answer = "{" }, "main.ts: the answer of mgmt-ts can't be read"},
		"version":   {func(s *stage) { s.answer = `{"version":1}` }, "main.ts: mgmt-ts speaks version 1, and this program version 2: install both from one release"},
		"reference": {func(s *stage) { s.answer = answerOf(strings.Replace(aFile, "exec[x]", "exec", 1), "") }, "lib/a.ts:3:5: "},
		"a value":   {func(s *stage) { s.answer = answerOf(strings.Replace(aFile, "exec[x]", "exec[x].out", 1), "") }, "lib/a.ts:3:5: exec[x].out names a value, a reference to a resource is exec[x]"},
		"too many":  {func(s *stage) { s.answer = answerOf(aFile+"\n"+aFile, ""); s.opts.MaxResources = 1 }, "lib/a.ts:3:5: "},
		"crash":     {func(s *stage) { s.dies = &engine.Result{ExitCode: 3, Stderr: []byte("no luck")} }, "main.ts: the program ended with code 3: no luck"},
		"memory": {func(s *stage) {
			s.dies = &engine.Result{ExitCode: 2, Stderr: []byte("fatal error: out of memory\ngoroutine 1:\n")}
		}, "main.ts: the program uses more than 512 MiB of memory"},
		"memory, with a trace": {func(s *stage) {
			s.dies = &engine.Result{ExitCode: 2, Stderr: []byte("fatal error: out of memory\n")}
			s.trace = `{"files":{"DIR/lib/a.ts":"00"}}` + "\n" + `{"at":{"file":"DIR/main.ts","line":1,"col":1}}` + "\n" + `{"at":{"file":"DIR/lib/a.ts","line":4,"col":3}}` + "\nhello\n" + `{"at":{"file":"DIR/li`
		}, "lib/a.ts:4:3: the program uses more than 512 MiB of memory"},
		"not run":   {func(s *stage) { s.opts.Run = nil }, "main.ts: a program in TypeScript can't be run here"},
		"no file":   {func(s *stage) { _ = os.Remove(filepath.Join(s.dir, "main.ts")) }, "main.ts: no such file or directory"},
		"a folder":  {func(s *stage) { p := filepath.Join(s.dir, "main.ts"); _ = os.Remove(p); _ = os.Mkdir(p, 0o700) }, "main.ts: it is a folder"},
		"the limit": {func(s *stage) { s.answer = ""; s.end = errors.New("it has not ended within 35s") }, "main.ts: it has not ended within 35s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.set(s)
			if got := s.findings(s.read()); !strings.HasPrefix(got, c.want) {
				t.Errorf("found %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestInputs: the inputs of files come first, and a bad file refuses the program before it runs.
func TestInputs(t *testing.T) {
	s := newStage(t)
	tsctest.Write(t, s.dir, map[string]string{"one.json": `{"a": 1, "b": [true, {"c": "x"}]}`, "two.json": `{"a": 2, "d": null}`, "list.json": `[1]`, "bad.json": `{`})
	file := func(name string) string { return filepath.Join(s.dir, name) }
	s.opts.VarFiles = []string{file("one.json"), file("two.json")}
	s.opts.Inputs = map[string]json.RawMessage{"e": json.RawMessage(`"given"`)}
	if _, err := s.read(); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.asked[0]["inputs"])
	if want := `{"a":2,"b":[true,{"c":"x"}],"d":null,"e":"given"}`; err != nil || string(got) != want {
		t.Errorf("inputs %s, %v; want %s", got, err, want)
	}
	s.asked, s.opts.VarFiles = nil, []string{file("list.json"), file("bad.json"), file("none.json")}
	found := s.findings(s.read())
	for _, want := range []string{"list.json:1:1: a file of variables is a map from names to values", "bad.json:", "none.json: no such file"} {
		if !strings.Contains(found, want) {
			t.Errorf("%s\nlacks %s", found, want)
		}
	}
	if len(s.asked) > 0 {
		t.Error("the program was run in spite of bad files")
	}
}

// TestFindingP2Inputs: an input with a sign of outputs is refused at its place, before the program runs.
func TestFindingP2Inputs(t *testing.T) {
	s := newStage(t)
	tsctest.Write(t, s.dir, map[string]string{"vars.json": "{\n  \"a\": [{\"b\": \"\\ue0f0Sent x[y].z\\ue0f1\"}]\n}"})
	s.opts.VarFiles = []string{filepath.Join(s.dir, "vars.json")}
	s.opts.Inputs = map[string]json.RawMessage{"e": json.RawMessage(`{"\uE0F1": 1}`), "f": json.RawMessage(`"good"`)}
	found := s.findings(s.read())
	for _, want := range []string{`vars.json:2:15: the input "a" has U+E0F0 or U+E0F1`, `main.ts: the input "e" has U+E0F0 or U+E0F1`} {
		if !strings.Contains(found, want) {
			t.Errorf("%s\nlacks %s", found, want)
		}
	}
	if strings.Count(found, "the input") != 2 || len(s.asked) > 0 {
		t.Errorf("asked %d times: %s", len(s.asked), found)
	}
}

// TestTypes: the findings of tsc are those of the graph, in the order of their places and with columns in bytes.
func TestTypes(t *testing.T) {
	s := newStage(t)
	tsctest.Write(t, s.dir, map[string]string{"main.ts": "let a = 1;\nlet é𝒳: string = 1;\n", "lib/b.ts": "\n"})
	s.opts.Check, s.opts.Compiler, s.code = typescript.CheckAuto, filepath.Join(s.dir, "tsc"), 1
	s.types = "main.ts(2,8): error TS2322: Type 'number' is not\n  assignable.\nlib/b.ts(1,1): error TS1: First.\n" + s.dir + "/lib/b.ts\n/usr/lib/lib.d.ts\n"
	d, err := s.read()
	want := "lib/b.ts:1:1: First. [TS1]\nmain.ts:2:11: Type 'number' is not assignable. [TS2322]"
	if got := s.findings(d, err); got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
	if d == nil || d.Problems[0].Severity != schema.Error {
		t.Errorf("a fault of types is no error: %v", err)
	}
	files, _ := s.config["files"].([]any)
	if !slices.Contains(files, any(filepath.Join(s.dir, "main.ts"))) || s.config["extends"] != nil {
		t.Errorf("settings %v", s.config)
	}
	if options := s.config["compilerOptions"].(map[string]any); options["exactOptionalPropertyTypes"] != true {
		t.Errorf("a program without a project has the settings %v", options)
	}
	tsctest.Write(t, s.dir, map[string]string{"tsconfig.json": "{}"})
	if _, err := s.read(); err != nil || s.config["extends"] != filepath.Join(s.dir, "tsconfig.json") {
		t.Errorf("the settings of the project do not count: %v, %v", s.config, err)
	}
}

// TestFindingJ13Settings: settings of a project that have no end, or are too large, are refused before a program reads them. Once they are right, the graph comes.
func TestFindingJ13Settings(t *testing.T) {
	s := newStage(t)
	s.opts.Check, s.opts.Compiler = typescript.CheckAuto, filepath.Join(s.dir, "tsc")
	path := filepath.Join(s.dir, "package.json")
	tsctest.Write(t, s.dir, map[string]string{"tsconfig.json": strings.Repeat(" ", 4<<20+1)})
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	got := s.findings(s.read())
	if want := "package.json: it is neither a file nor a folder\ntsconfig.json: too big: the settings of a project may have 4194304 bytes"; got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
	if s.asked != nil || s.config != nil {
		t.Error("a program was run")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	tsctest.Write(t, s.dir, map[string]string{"package.json": "{}", "tsconfig.json": "{}"})
	if got := s.findings(s.read()); got != "" || s.asked == nil || s.config == nil {
		t.Errorf("found %s", got)
	}
}

// TestFindingJ13Memory: a tsc that takes memory without a bound is ended, and the error says so.
func TestFindingJ13Memory(t *testing.T) {
	s := newStage(t)
	script := "#!/bin/sh\ntest `ulimit -d` = 2097152 || exit 0\necho 'FATAL ERROR: JavaScript heap out of memory' >&2\nexit 134\n"
	tsctest.Write(t, s.dir, map[string]string{"tsc": script})
	stands := s.opts.Run
	s.opts.Run = func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		if len(c.Argv) < 6 {
			return stands(ctx, c)
		}
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		said, err := cmd.CombinedOutput()
		for line := range bytes.Lines(said) {
			c.Stderr(line)
		}
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			return &engine.Result{ExitCode: ended.ExitCode(), Stderr: said}, nil
		}
		return &engine.Result{}, err
	}
	s.opts.Check, s.opts.Compiler = typescript.CheckAuto, filepath.Join(s.dir, "tsc")
	if got := s.findings(s.read()); !strings.Contains(got, "tsc uses more than 2 GiB of memory") || !strings.HasSuffix(got, "--check=off leaves the check out") {
		t.Errorf("found %s", got)
	}
}

// TestCheckWords: each word of the check does as it says, whether tsc is there or not.
func TestCheckWords(t *testing.T) {
	for name, c := range map[string]struct {
		check    typescript.Check
		compiler string
		types    string
		want     string
	}{
		"off":               {typescript.CheckOff, "tsc", "main.ts(1,1): error TS1: Wrong.", ""},
		"auto, absent":      {typescript.CheckAuto, "", "", ""},
		"require, absent":   {typescript.CheckRequire, "", "", "main.ts: the types of the program can't be checked: there is no tsc in node_modules"},
		"auto, named":       {typescript.CheckAuto, "nope", "", "main.ts: open DIR/nope: no such file or directory; --check=off leaves the check out"},
		"without a finding": {typescript.CheckAuto, "tsc", "lost", "main.ts: tsc ended with code 1; --check=off leaves the check out"},
		"auto, old":         {typescript.CheckAuto, "tsc", "error TS5023: Unknown option.", "main.ts: the types can't be checked: Unknown option. [TS5023]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			t.Setenv("PATH", t.TempDir())
			s.opts.Check, s.types, s.code = c.check, c.types, 1
			if c.compiler != "" {
				s.opts.Compiler = filepath.Join(s.dir, c.compiler)
			}
			d, err := s.read()
			got := strings.ReplaceAll(s.findings(d, err), s.dir, "DIR")
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("found %s\nwant %s", got, c.want)
			}
			if name == "auto, old" && d.Problems[0].Severity != schema.Warning {
				t.Error("a tsc that does not know an option refuses the graph")
			}
		})
	}
}

// TestFindingP1PackageWithoutTypes: a package that brings no types is a warning, and the program goes on. Where types are required, it is refused.
func TestFindingP1PackageWithoutTypes(t *testing.T) {
	for check, want := range map[typescript.Check]schema.Severity{typescript.CheckAuto: schema.Warning, typescript.CheckRequire: schema.Error} {
		s := newStage(t)
		s.opts.Check, s.opts.Compiler, s.code = check, filepath.Join(s.dir, "tsc"), 2
		s.types = "main.ts(1,1): error TS7016: Could not find a declaration file for module 'a'. 'a.js' implicitly has an 'any' type.\n  Try `npm i --save-dev @types/a`.\n"
		d, err := s.read()
		if err != nil || len(d.Problems) != 1 || d.Problems[0].Severity != want || !strings.HasSuffix(d.Problems[0].Message, "Try `npm i --save-dev @types/a`. [TS7016]") {
			t.Errorf("%s: %v %+v", check, err, d)
		}
	}
}

// TestFindingP1Types: tsc knows the names that a program has.
func TestFindingP1Types(t *testing.T) {
	tsctest.Need(t)
	_, sources, err := typescript.Project(engine.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	sources["main.ts"] = `import path, { join } from "node:path";
import util, { format } from "util";
import { graph } from "mgmt";

const timer: number = setTimeout((a: number) => console.log(a), 5, 1);
clearTimeout(timer);
queueMicrotask(() => console.log(atob(btoa("a"))));
const made = await Promise.resolve(structuredClone({ a: 1 }));
const query: string | null = new URL("b", "http://a/").searchParams.get("a");
graph({ name: join("a", path.basename("b"), util.inspect(made.a), format("%s", query), new TextDecoder().decode(new TextEncoder().encode("a"))) });
`
	if got := tsctest.Check(t, t.TempDir(), sources); len(got) > 0 {
		t.Error(got)
	}
}

// TestFindsCompiler: the tsc of a trusted project counts before that in PATH.
func TestFindsCompiler(t *testing.T) {
	s := newStage(t)
	t.Setenv("PATH", s.dir)
	tsctest.Write(t, s.dir, map[string]string{"web/main.ts": "", "web/package.json": "{}", "web/node_modules/.bin/tsc": ""})
	path := filepath.Join(s.dir, "web/node_modules/.bin/tsc")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	s.opts.Check = typescript.CheckRequire
	s.opts.Trusted = func(root string) bool { return root == filepath.Join(s.dir, "web") }
	run := s.opts.Run
	var used []string
	s.opts.Run = func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		if len(c.Argv) > 3 && filepath.Base(c.Argv[3]) == "tsc" {
			used = append(used, c.Argv[3])
		}
		return run(ctx, c)
	}
	for _, name := range []string{"main.ts", "web/main.ts"} {
		for _, err := range typescript.New(filepath.Join(s.dir, name), s.opts).Graphs(t.Context(), gapi.Env{NoWatch: true}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{filepath.Join(s.dir, "tsc"), path}; !slices.Equal(used, want) {
		t.Errorf("used %v, want %v", used, want)
	}
}
