package typescript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/typescript"
)

// build runs a program with a small module mgmt, which has the bare calls of the host.
func build(t *testing.T, files map[string]string) *typescript.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("the program has not ended in time"))
	defer cancel()
	return buildIn(ctx, t, t.TempDir(), files)
}

func buildIn(ctx context.Context, t *testing.T, dir string, files map[string]string) *typescript.Answer {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return typescript.Build(ctx, &typescript.Request{
		Version: typescript.Version, Main: filepath.Join(dir, "main.ts"), Root: dir, Inputs: json.RawMessage(`{"n": 1}`),
		Modules: map[string]string{
			"mgmt":    "export { host } from './host.ts'; import { host } from './host.ts'; export const make = (name: string, v: any) => host.add('note', name, 0, v);",
			"host.ts": "export const host = (globalThis as any).mgmtHost;",
		},
	})
}

// say writes the problems of an answer with the last parts of their paths.
func say(a *typescript.Answer) string {
	var lines []string
	for _, p := range a.Problems {
		text := p.Resource
		if p.Code != "" {
			text += " " + p.Code + " " + p.Path
		}
		lines = append(lines, fmt.Sprintf("%s:%d:%d:%s %s", filepath.Base(p.File), p.Line, p.Col, text, p.Message))
	}
	return strings.Join(lines, "\n")
}

// TestProgram: a program of several files makes resources, each at its place.
func TestProgram(t *testing.T) {
	a := build(t, map[string]string{
		"main.ts": "import { make, host } from \"mgmt\";\nimport { two } from \"./lib/two.ts\";\nimport data from \"./data.json\";\n\n" +
			"host.graph({ name: \"g\" });\nmake(\"one\", { text: data.text, n: host.inputs.n });\ntwo();\n",
		"lib/two.ts": "import { make, host } from \"mgmt\";\n\nexport function two(): void {\n" +
			"  const n = make(\"two\", { list: [1, -0, 0.5, 2n ** 70n, null], undef: undefined });\n  host.link(n, \"depend\", \"note[one]\");\n}\n",
		"data.json": `{"text": "a\u2028<b>"}`,
	})
	if len(a.Problems) > 0 {
		t.Fatal(say(a))
	}
	got, err := json.Marshal(a.Resources)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`main.ts","line":6,"col":6}`, `"value":{"text":"a\u2028\u003cb\u003e","n":1}`, `two.ts","line":4,"col":18}`,
		`{"list":[1,0,0.5,1180591620717411303424,null]}`, `"depend":["note[one]"]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if len(a.Files) != 3 || string(a.Graph) != `{"name":"g"}` {
		t.Errorf("files %v, graph %s", a.Files, a.Graph)
	}
}

// TestTwice: resources of one kind and name have the calls that led to each, since a function makes both at one place.
func TestTwice(t *testing.T) {
	a := build(t, map[string]string{
		"main.ts": "import { note } from \"./lib.ts\";\nnote(\"a\");\nnote(\"b\");\nfunction again(): void {\n  note(\"a\");\n}\nagain();\n",
		"lib.ts":  "import { make } from \"mgmt\";\nexport const note = (name: string): void => {\n  make(name, {});\n};\n",
	})
	var got []string
	for _, r := range a.Resources {
		var calls strings.Builder
		calls.WriteString(r.Name)
		for _, at := range r.Calls {
			calls.WriteString(fmt.Sprintf(" %s:%d:%d", filepath.Base(at.File), at.Line, at.Col))
		}
		got = append(got, calls.String())
	}
	if want := "a main.ts:2:6, b, a main.ts:5:8 main.ts:7:7"; strings.Join(got, ", ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// TestHostile: what a program does wrong is a problem with its place, and nothing else happens.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"recursion":       {"function f(): any { return f(); }\nf();", "main.ts:1:30: calls are nested deeper than 2000 levels"},
		"clock":           {"console.log(\n  Date.now());", "main.ts:2:12: the program has thrown TypeError: a graph has no clock"},
		"date":            {"console.log(new Date());", "a graph has no clock"},
		"random":          {"console.log(Math.random());", "main.ts:1:25: the program has thrown TypeError: a graph has no random numbers"},
		"fs":              {`import { readFileSync } from "fs"; readFileSync("/etc/passwd");`, "main.ts:1:30: a graph has no module fs of node"},
		"node:fs":         {`const fs = require("node:fs");`, "a graph has no module fs of node"},
		"process":         {"console.log(process.env.HOME);", "ReferenceError: process is not defined"},
		"fetch":           {"fetch(\"http://127.0.0.1\");", "ReferenceError: fetch is not defined"},
		"timer":           {"setTimeout(() => {\n  throw new Error(\"late\");\n}, 1);", "main.ts:2:9: the program has thrown Error: late"},
		"no error":        {"throw { code: 3 };", `main.ts:1:1: the program has thrown a value that is no error: {"code":3}`},
		"nothing":         {"throw null;", "main.ts:1:1: the program has thrown no error at all"},
		"cyclic value":    {"const a: any = {};\na.a = a;\nthrow a;", "a value that is no error"},
		"angry error":     {"throw { toString() { throw 1; }, toJSON() { throw 2; } };", "main.ts:1:1: the program has thrown a value that"},
		"late":            {"(async () => { await null; throw new Error(\"late\"); })();", "main.ts:1:34: the program has thrown Error: late"},
		"rejected":        {"function f(): void {\n  Promise.reject(new Error(\"no\"));\n}\nf();", "main.ts:2:18: the program has thrown Error: no"},
		"rejected text":   {"function f(): void {\n  Promise.reject(\"no\");\n}\nf();", "main.ts:2:18: the program has thrown a value that is no error: no"},
		"rejections":      {"for (const n of [1, 2, 3, 4, 5]) Promise.reject(n);", "no error: 1\nmain.ts:1:49: the program has thrown a value that is no error: 2\n"},
		"handled":         {"Promise.reject(1).catch(() => { throw 2; });", "main.ts:1:33: the program has thrown a value that is no error: 2"},
		"thrown late":     {"async function f(): Promise<void> {\n  await null;\n  throw 3;\n}\nf();", "main.ts:3:3: the program has thrown a value that is no error: 3"},
		"thrown again":    {"(async () => {\n  try { await Promise.reject(new Error(\"a\")); } catch (e) {\n    throw { code: 7 };\n  }\n})();", "main.ts:3:5: the program has thrown a value that is no error: {\"code\":7}"},
		"thrown and kept": {"Promise.resolve(1).then(() => {\n  try { throw 5; } catch { /* as planned */ }\n  throw 6;\n});", "main.ts:3:3: the program has thrown a value that is no error: 6"},
		"thrown nothing":  {"Promise.resolve(1).then(() => {\n  throw undefined;\n});", "main.ts:2:3: the program has thrown no error at all"},
		"thrown NaN":      {"Promise.resolve(1).then(() => {\n  throw NaN;\n});", "main.ts:2:3: the program has thrown a value that is no error: NaN"},
		"syntax":          {"let a: = 3;", `main.ts:1:8: Unexpected "="`},
		"missing":         {`import { x } from "./nope.ts"; x();`, `main.ts:1:19: Could not resolve "./nope.ts"`},
		"not exported":    {`import { nope } from "mgmt"; nope();`, "nope"},
		"NaN":             {`import { make } from "mgmt"; make("n", { a: [0 / 0] });`, "main.ts:1:35:note[n] V_TYPE a[0] NaN is no value"},
		"infinite":        {`import { make } from "mgmt"; make("n", { a: 1 / 0 });`, "V_TYPE a an infinite number"},
		"2^53":            {`import { make } from "mgmt"; make("n", { a: 2 ** 53 });`, "V_TYPE a 9007199254740992 is a whole number of 2^53 or more"},
		"function":        {`import { make } from "mgmt"; make("n", { a: () => 1 });`, "V_TYPE a a Function is no value"},
		"symbol":          {`import { make } from "mgmt"; make("n", { a: Symbol("x") });`, "V_TYPE a a symbol is no value"},
		"map":             {`import { make } from "mgmt"; make("n", { a: new Map() });`, "V_TYPE a a Map is no value"},
		"cycle":           {`import { make } from "mgmt"; const a: any = {}; a.a = a; make("n", a);`, "the value contains itself"},
		"getter":          {`import { make } from "mgmt"; make("n", { get a(): number { throw new Error("no"); } });`, "Error: no"},
		"proxy":           {`import { make } from "mgmt"; make("n", new Proxy({}, { ownKeys() { throw new Error("no"); } }));`, "Error: no"},
		"wrong number":    {`import { host } from "mgmt"; host.link(7, "depend", "x[y]");`, "there is no resource of that number"},
		"name":            {`import { make } from "mgmt"; make({} as any, {});`, "a name is text"},
		"absolute":        {`import x from "/etc/passwd"; x();`, "passwd is neither a program nor data"},
		"without letters": {"\x00\xff", "main.ts:1:"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := say(build(t, map[string]string{"main.ts": c.text})); !strings.Contains(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestEndless: a program without an end is cut off, at the place where it is.
func TestEndless(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("the program has not ended in time"))
	defer cancel()
	a := buildIn(ctx, t, t.TempDir(), map[string]string{"main.ts": "let n = 0;\nfor (;;) { n++; }\n"})
	if got := say(a); !strings.HasPrefix(got, "main.ts:2:") || !strings.Contains(got, "has not ended in time") {
		t.Errorf("got %q", got)
	}
}

// TestModules: files that import each other are one program, and no program reads what is outside of its project.
func TestModules(t *testing.T) {
	a := build(t, map[string]string{
		"main.ts": "import { a } from \"./a.ts\";\nimport { make } from \"mgmt\";\nmake(a(3), {});\n",
		"a.ts":    "import { b } from \"./b.ts\";\nexport const a = (n: number): string => n === 0 ? \"end\" : b(n);\n",
		"b.ts":    "import { a } from \"./a.ts\";\nexport const b = (n: number): string => a(n - 1);\n",
	})
	if len(a.Problems) > 0 || len(a.Resources) != 1 || a.Resources[0].Name != "end" {
		t.Errorf("a cycle of imports: %s, %v", say(a), a.Resources)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "out.ts"), []byte("export const out = 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "in")
	for name, from := range map[string]string{"a path": "../out.ts", "a link": "./link.ts"} {
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink("../out.ts", filepath.Join(in, "link.ts")) // there from the second round on
		got := say(buildIn(t.Context(), t, in, map[string]string{"main.ts": "import { out } from \"" + from + "\";\nconsole.log(out);\n"}))
		if !strings.Contains(got, "main.ts:1:21: ") || !strings.Contains(got, "out.ts is outside of the project") {
			t.Errorf("%s out of the project: %q", name, got)
		}
	}
}

// TestSame: equal requests have equal answers, whatever the maps of Go do.
func TestSame(t *testing.T) {
	files := map[string]string{"main.ts": "import { make } from \"mgmt\";\nfor (const k of [\"b\", \"a\"]) make(k, { [k]: 1, z: 2, y: 3 });\nmake(\"n\", { a: 0 / 0, b: 0 / 0 });"}
	dir := t.TempDir()
	first, err := json.Marshal(buildIn(t.Context(), t, dir, files))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := json.Marshal(buildIn(t.Context(), t, dir, files))
		if err != nil || string(again) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, again)
		}
	}
}

// TestVersion: another version is one clear problem.
func TestVersion(t *testing.T) {
	a := typescript.Build(t.Context(), &typescript.Request{Version: 99})
	if len(a.Problems) != 1 || !strings.Contains(a.Problems[0].Message, "version 99") {
		t.Errorf("%+v", a.Problems)
	}
}
