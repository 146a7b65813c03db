package typescript_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made returns the names of the resources of a program, and its problems.
func made(t *testing.T, files map[string]string) (names []string, problems string) {
	t.Helper()
	a := build(t, files)
	for _, r := range a.Resources {
		names = append(names, r.Name)
	}
	return names, say(a)
}

// TestFindingP1Globals: a program has what packages expect of every place that runs them.
func TestFindingP1Globals(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"clone": {`const a: any = { d: new Date(0), m: new Map([[1, new Set([2])]]), l: [1, , 3], r: /x/gi, u: new Uint8Array([1, 2]) }; a.self = a;
			const b = structuredClone(a); b.l[0] = 9; out(b.d.getTime(), b.m.get(1).has(2), a.l[0], b.self === b, b !== a, b.r.flags, b.u.length)`, "0 true 1 true true gi 2"},
		"clone of a function": {"try { structuredClone({ f() {} }); } catch (e) { out((e as any).name, e instanceof Error); }", "DataCloneError true"},
		"text":                {`out(Array.from(new TextEncoder().encode("aß😀")).join(","), new TextDecoder().decode(new Uint8Array([239, 187, 191, 195, 159, 255])))`, "97,195,159,240,159,152,128 ß\uFFFD"},
		"fatal text":          {`try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])); } catch (e) { out(String(e)); }`, "TypeError: the bytes are no text in UTF-8"},
		"base64":              {`out(btoa("a\xff"), atob("YQ=="), atob(" YWJj\n"))`, "Yf8= a abc"},
		"no base64":           {`for (const f of [() => btoa("€"), () => atob("?")]) try { f(); } catch (e) { out((e as any).name); }`, "InvalidCharacterError, InvalidCharacterError"},
		"an address": {`const u = new URL("../b%20c?x=1&y=a+b#h", "https://us:pw@Example.COM:443/x/y/z"); u.searchParams.append("z", "ä &");
			out(u.href, u.host, u.origin, u.pathname, u.searchParams.get("y"), URL.canParse("nope"), new URL("http://a:80/..//b/./c").href, new URL("mailto:a@b").pathname)`,
			"https://us:pw@example.com/x/b%20c?x=1&y=a+b&z=%C3%A4+%26#h example.com https://example.com /x/b%20c a b false http://a//b/c a@b"},
		"a query":         {`out(new URLSearchParams({ a: "1", b: "2 3" }).toString(), [...new URLSearchParams("?a=1&a=2")].join(";"), new URLSearchParams([["k", "v"]]).has("k"))`, "a=1&b=2+3 a,1;a,2 true"},
		"a wrong address": {`try { new URL("nope"); } catch (e) { out(e instanceof TypeError, (e as any).code); }`, "true ERR_INVALID_URL"},
		"timers": {`setTimeout((a: number, b: number) => out("third", a + b), 10, 1, 2); const gone = setTimeout(() => out("never")); setTimeout(() => out("second")); setImmediate(() => out("first"));
			queueMicrotask(() => out("soon")); const every = setInterval(() => { out("again"); clearInterval(every); }, 7); setInterval(() => {}, 1); clearTimeout(gone); out("begin")`,
			"begin, soon, first, second, again, third 3"},
		"await":    {`const n = await new Promise<number>((done) => setTimeout(done, 1000, 7)); out(n); export const also = n`, "7"},
		"abort":    {`const c = new AbortController(); c.signal.addEventListener("abort", (e: any) => out(e.type)); c.abort(); out(c.signal.aborted, c.signal.reason.name)`, "abort, true AbortError"},
		"polyfill": {`(globalThis as any).URL = class { href = "mine" }; out(new URL("").href)`, "mine"},
		"path": {`import path, { join } from "path"; import * as p from "node:path"; out(join("/a", "..", "b/"), path.resolve("a", "../b"), p.extname("x.tar.gz"), path.relative("/a/b", "/a/c/d"), path.basename("/a/b.ts", ".ts"), path.parse("/a/b.c").name)`,
			"/b/ /b .gz ../c/d b b"},
		"util":   {`import util, { inspect } from "util"; out(util.format("%s is %d: %j", "a", 1, { b: 2 }), inspect({ a: [1, { b: { c: {} } }], f() {} }), util.isDeepStrictEqual({ a: [1] }, { a: [1] }), await util.promisify((a: number, done: any) => done(null, a + 1))(1))`, "a is 1: {\"b\":2} { a: [ 1, { b: [Object] } ], f: [Function: f] } true 2"},
		"events": {`import Emitter, { EventEmitter } from "events"; class E extends EventEmitter {} const e = new E(); e.once("a", (v: number) => out("once", v)); e.on("a", (v: number) => out("on", v)); e.emit("a", 1); e.emit("a", 2); out(Emitter === (EventEmitter as any))`, "once 1, on 1, on 2, true"},
		"assert": {`import assert from "node:assert"; assert(true); assert.deepStrictEqual({ a: 1 }, { a: 1 }); try { assert.equal(1, 2); } catch (e) { out(String(e)); }`, "AssertionError: 1 == 2 does not hold"},
		"bytes":  {`out(Array.from(Uint8Array.from("ab" as any, (c: any) => c.charCodeAt(0))).join())`, "97,98"},
	} {
		t.Run(name, func(t *testing.T) {
			imports, text := "", c.text
			for strings.HasPrefix(text, "import ") {
				line, rest, _ := strings.Cut(text, "; ")
				imports, text = imports+line+";\n", rest
			}
			names, problems := made(t, map[string]string{"main.ts": imports + "import { make } from \"mgmt\";\nconst out = (...all: unknown[]): void => { make(all.join(\" \"), {}); };\n" + text + ";\n"})
			if got := strings.Join(names, ", "); got != c.want || problems != "" {
				t.Errorf("got %q %s\nwant %q", got, problems, c.want)
			}
		})
	}
}

// packages are modules that ask for the same things as those of a registry do, in the same moments.
var packages = map[string]string{
	"clock":  "const native = Date.now;\nlet last = native();\nexports.cached = (f) => { const now = native(); last = now; return f; };\nexports.at = () => new Date().toISOString();\n",
	"random": "const salt = Math.floor(Math.random() * 1e9);\nexports.salt = salt;\nexports.pick = (list) => list[Math.floor(Math.random() * list.length)];\n",
	"root":   "const root = typeof globalThis == 'object' && globalThis || Function('return this')();\nexports.template = (text) => new Function('data', 'return `' + text.replace(/<%=(.*?)%>/g, '${data.$1}') + '`');\nexports.timers = root.setTimeout !== undefined;\n",
	"files":  "var fs = require('fs');\nvar path = require('path');\nexports.loader = fs.readFileSync;\nexports.there = fs.existsSync || path.existsSync;\nexports.resolve = function (name) { return path.join(path.dirname('/views/a'), name); };\n",
	"fibers": "import { AsyncLocalStorage } from 'node:async_hooks';\nimport { EventEmitter } from 'events';\nexport class Pool extends EventEmitter {\n  run(f) { return new Promise((done) => setTimeout(() => { this.emit('run'); done(f()); }, 0)); }\n}\nexport const local = () => new AsyncLocalStorage();\n",
	"asap":   "var domain;\nvar hasSetImmediate = typeof setImmediate === 'function';\nmodule.exports = function asap(f) {\n  if (!domain) domain = require('domain');\n  if (hasSetImmediate) setImmediate(f);\n};\n",
	"self":   "var scope = typeof self === 'undefined' ? window : self;\nmodule.exports = scope === globalThis;\n",
	"mapped": "exports.now = () => Date.now();\n//# sourceMappingURL=../../outside.js.map\n",
}

// withPackages returns a program with the packages around it.
func withPackages(text string) map[string]string {
	files := map[string]string{"main.ts": text}
	for name, source := range packages {
		kind := "commonjs"
		if strings.Contains(source, "import ") {
			kind = "module"
		}
		files["node_modules/"+name+"/package.json"] = `{"name": "` + name + `", "version": "1.0.0", "type": "` + kind + `", "main": "lib/index.js"}`
		files["node_modules/"+name+"/lib/index.js"] = source
	}
	return files
}

// TestFindingP1Packages: packages load that ask for the time, for random numbers and for modules of node. What they get is the same each time.
func TestFindingP1Packages(t *testing.T) {
	files := withPackages(`import { make } from "mgmt";
import { at } from "clock";
import { pick, salt } from "random";
import { template, timers } from "root";
import { resolve } from "files";
import { Pool } from "fibers";
import asap from "asap";
import same from "self";
import { now } from "mapped";

const pool = new Pool();
pool.on("run", () => make("run", {}));
make([at(), template("a <%=b%>")({ b: 1 }), timers, resolve("b.ejs"), same, now() / 1000, salt > 0, "abc".includes(pick(["a", "b", "c"]))].join(" "), {});
asap(() => make("asap", {}));
make(await pool.run(() => "ran"), {});
make(String(salt), {});
`)
	names, problems := made(t, files)
	got := strings.Join(names[:max(0, len(names)-1)], ", ")
	if want := "2000-01-01T00:00:00.000Z a 1 true /views/b.ejs true 946684800 true true, asap, run, ran"; got != want || problems != "" {
		t.Fatalf("got %q %s\nwant %q", got, problems, want)
	}
	for range 3 {
		if again, _ := made(t, files); strings.Join(again, ",") != strings.Join(names, ",") {
			t.Errorf("got %v\nwant %v", again, names)
		}
	}
}

// TestFindingP1Refused: what would make another graph each time is refused at its place, and so is what reaches the machine.
func TestFindingP1Refused(t *testing.T) {
	for text, want := range map[string]string{
		"import { pick } from \"random\";\npick([1]);\nconsole.log(Math.random());":           "main.ts:3:25: the program has thrown TypeError: a graph has no random numbers",
		"import { cached } from \"clock\";\ncached(() => 1)();\ncached(() => Date.now())();":  "main.ts:3:23: the program has thrown TypeError: a graph has no clock",
		"import { loader } from \"files\";\nloader(\"/etc/passwd\");":                         "main.ts:2:8: the program has thrown TypeError: a graph has no module fs of node: it can reach neither files nor the network",
		"import { local } from \"fibers\";\nlocal();":                                         "index.js:6:28: the program has thrown TypeError: a graph has no module async_hooks of node",
		"import { join } from \"path\";\nimport { cpus } from \"os\";\njoin(\"a\");\ncpus();": "main.ts:2:22: a graph has no module os of node",
		"import * as x from \"node:nope\";\nconsole.log(x);":                                  "main.ts:1:20: a graph has no module nope of node",
		"await new Promise(() => {});\nconsole.log(1);":                                       "main.ts:1:1: the program waits for a promise that nothing fulfils",
		"await null;\nthrow new Error(\"late\");":                                             "main.ts:2:7: the program has thrown Error: late",
		"setTimeout(\"code\" as any);":                                                        "main.ts:1:12: the program has thrown TypeError: a timer needs a function",
	} {
		if _, got := made(t, withPackages(text)); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestFindingP2Forged: a text counts as an output only where the program has put the output into it. Data that looks like one is refused.
func TestFindingP2Forged(t *testing.T) {
	forged := "\uE0F0Sent:" + strings.Repeat("0", 32) + ":password[db].password\uE0F1"
	for name, c := range map[string]struct{ text, want string }{
		"an output":    {`make("n", { a: "x" + mark + "y" + mark })`, ""},
		"no seal":      {`make("n", { a: "\uE0F0Sent password[db].password\uE0F1" })`, "main.ts:2:6:note[n] V_TYPE a the program has altered a text with an output in it"},
		"another seal": {`make("n", { a: [mark, "` + forged + `"] })`, "main.ts:2:6:note[n] V_TYPE a[1] the program has altered"},
		"another name": {`make("n", { a: replaceAll.call(mark, "web", "db") })`, "main.ts:2:6:note[n] V_TYPE a the program has altered"},
		"as a whole":   {`make("n", { a: replaceAll.call(mark, "Sent", "Whole") })`, "main.ts:2:6:note[n] V_TYPE a the program has altered"},
		"a part":       {`make("n", { a: mark[0] })`, "main.ts:2:6:note[n] V_TYPE a the program has altered"},
		"in JSON":      {`import d from "./d.json"; make("n", d)`, "d.json:2:8: the file has U+E0F0 or U+E0F1, which stand around an output"},
		"in a text":    {`import d from "./d.txt"; make("n", { d })`, "d.txt:2:2: the file has U+E0F0 or U+E0F1, which stand around an output"},
		"no sign":      {`import d from "./good.json"; make("n", d)`, ""},
		"encoded":      {`make("n", { a: encodeURIComponent(mark) })`, "main.ts:2:35: the program has thrown TypeError: <password[web].password> has an output in it"},
		"encoded URI":  {`make("n", { a: encodeURI("/a" + mark) })`, "main.ts:2:26: the program has thrown TypeError: /a<password[web].password> has an output in it"},
		"escaped":      {`make("n", { a: escape(mark) })`, "main.ts:2:23: the program has thrown TypeError: <password[web].password> has"},
		"bytes":        {`make("n", { a: [...new TextEncoder().encode(mark)] })`, "main.ts:2:45: the program has thrown TypeError: <password[web].password> has"},
		"bytes into":   {`new TextEncoder().encodeInto(mark, new Uint8Array(9))`, "main.ts:2:30: the program has thrown TypeError: <password[web].password> has"},
		"base64":       {`make("n", { a: btoa(mark) })`, "main.ts:2:21: the program has thrown TypeError: <password[web].password> has"},
		"an address":   {`make("n", { a: new URL("http://a/" + mark).href })`, "main.ts:2:16: the program has thrown TypeError: http://a/<password[web].password> has"},
		"no address":   {`URL.canParse(mark)`, "main.ts:2:14: the program has thrown TypeError: <password[web].password> has"},
		"a port":       {`new URL("http://a/").port = mark`, "main.ts:2:22: the program has thrown TypeError: <password[web].password> has"},
		"a query":      {`new URL("http://a/").searchParams.set("a", mark)`, "main.ts:2:39: the program has thrown TypeError: <password[web].password> has"},
		"a password":   {`new URL("http://a/").password = mark`, "main.ts:2:22: the program has thrown TypeError: <password[web].password> has"},
	} {
		t.Run(name, func(t *testing.T) {
			imports, text := "", c.text
			if line, rest, ok := strings.Cut(text, "; "); ok {
				imports, text = line+";", rest
			}
			a := build(t, map[string]string{
				"d.json": "{\n  \"a\": \"\\ue0F0\"\n}", "d.txt": "a\nb\uE0F1\n", "good.json": `{"a": "\\ue0F0"}`,
				"main.ts": imports + "import { make, host } from \"mgmt\"; const { replaceAll } = String.prototype; const mark: string = host.mark(\"Sent\", \"password[web].password\");\n" + text + ";\n",
			})
			got := say(a)
			if c.want == "" {
				if got != "" || len(a.Resources) != 1 {
					t.Error(got)
				}
				return
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			all, err := json.Marshal(a.Resources)
			if err != nil || strings.Contains(string(all), "\uE0F0") && name != "another seal" {
				t.Errorf("%s %v", all, err)
			}
		})
	}
}

// TestFindingP2Looked: a method that would see the mark in the place of an output is refused where it is called. What joins texts works, and a
// program may do anything to texts without outputs.
func TestFindingP2Looked(t *testing.T) {
	for _, text := range []string{
		"mark.at(0)", "mark.charAt(0)", "mark.charCodeAt(0)", "mark.codePointAt(0)", "mark.endsWith('x')", "mark.includes('x')", "mark.indexOf('x')",
		"mark.lastIndexOf('x')", "mark.localeCompare('x')", "mark.match(/x/)", "mark.matchAll(/x/g)", "mark.normalize()", "mark.padEnd(9)", "mark.padStart(9)",
		"mark.replace('x', 'y')", "mark.replaceAll(/x/g, 'y')", "mark.search(/x/)", "mark.slice(1)", "mark.split('')", "mark.startsWith('x')", "mark.substring(1)",
		"mark.toLowerCase()", "mark.toLocaleUpperCase()", "mark.toUpperCase()", "mark.trim()", "(mark + 'x').trimStart()", "('x' + mark + ' ').trimEnd()",
		"[...mark]", "Array.from(mark)", "for (const c of mark) c", "/x/.exec(mark)", "/x/.test('x' + mark)", "JSON.stringify({ a: [mark] })", "JSON.parse(mark)",
		"parseInt(mark)", "Number.parseInt(mark)", "Number.parseFloat(mark)", "isNaN(mark)", "decodeURIComponent(mark)", "new RegExp(mark).test('x')", "'abc'.match(new RegExp(mark))", "new String(mark).slice(1)", "'abc'.includes(mark)", "'abc'.split(mark)", "'abc'.replace(mark, 'x')",
		"String.prototype.slice.call(mark, 1)", "Reflect.apply(''.slice, mark, [1])",
	} {
		_, got := made(t, map[string]string{"main.ts": "import { host } from \"mgmt\";\nconst mark: any = host.mark(\"Sent\", \"password[web].password\");\n" + text + ";\n"})
		if !strings.HasPrefix(got, "main.ts:3:") || !strings.Contains(got, "<password[web].password>") || !strings.Contains(got, "has an output in it, whose value is not known") || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", text, got)
		}
	}
	names, got := made(t, map[string]string{"main.ts": `import { make, host } from "mgmt";
const mark: any = host.mark("Sent", "password[web].password");
make("joined", { a: "x" + mark, b: ["a", mark].join(), c: "a".concat(mark).repeat(2), d: "a=@".replace("@", mark), e: ("\n x" + mark + "y \n").trim(), f: String(mark).toString() });
make("AbC".toLowerCase() + [..."xy"].length + "a,b".split(",")[1] + /b/.test("b") + JSON.stringify({ a: JSON.parse("1") }) + parseInt("7") + " z ".trim() + "a-b".replace(/-/g, "+"), {});
`})
	if want := `joined,abc2btrue{"a":1}7za+b`; strings.Join(names, ",") != want || got != "" {
		t.Errorf("got %v %s\nwant %s", names, got, want)
	}
	for _, text := range []string{"Object.freeze(String.prototype)", "delete (String.prototype as any)[Symbol.iterator]", "(globalThis as any).RegExp = null", "delete (globalThis as any).JSON"} {
		_, got := made(t, map[string]string{"main.ts": "import { host } from \"mgmt\";\n" + text + ";\nhost.mark(\"Sent\", \"password[web].password\");\n"})
		if !strings.HasPrefix(got, "main.ts:3:") || !strings.Contains(got, "an output can't be used") || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestFindingP1Strict: what no graph can have fails where it is used, and never becomes a text.
func TestFindingP1Strict(t *testing.T) {
	const refused = "a graph has no module os of node"
	for name, c := range map[string]struct{ text, want string }{
		"an end of line": {`import { join } from "lines"; join(["a", "b"])`, refused},
		"a name in text": {`import { greet } from "lines"; greet()`, refused},
		"a value":        {`import { json } from "lines"; json()`, refused},
		"a key":          {`crypto.getRandomValues(new Uint32Array(1))`, "main.ts:2:36: the program has thrown TypeError: a graph has no random numbers, and none for a key or a password: the kind password makes one"},
		"a package":      {`import { key } from "keys"; key()`, "TypeError: a graph has no random numbers, and none for a key"},
	} {
		t.Run(name, func(t *testing.T) {
			imports, text := "", c.text
			if line, rest, ok := strings.Cut(text, "; "); ok {
				imports, text = line+";", rest
			}
			files := withPackages(imports + "import { make } from \"mgmt\";\nmake(String(" + text + "), {});\n")
			for name, source := range map[string]string{
				"lines": "const os = require('os');\nexports.join = (list) => list.join(os.EOL);\nexports.greet = () => 'at ' + os.release;\nexports.json = () => JSON.stringify({ e: os.EOL });\n",
				"keys":  "const c = globalThis.crypto;\nconst f = c && c.getRandomValues ? (a) => c.getRandomValues(a) : (a) => a.fill(Math.random());\nexports.key = () => f(new Uint8Array(1))[0];\n",
			} {
				files["node_modules/"+name+"/package.json"] = `{"name": "` + name + `", "version": "1.0.0", "main": "index.js"}`
				files["node_modules/"+name+"/index.js"] = source
			}
			if names, got := made(t, files); !strings.Contains(got, c.want) || len(names) > 0 {
				t.Errorf("got %v %s\nwant %s", names, got, c.want)
			}
		})
	}
}

// TestFindingP1OwnPackage: a package of the project comes before the module of node with its name.
func TestFindingP1OwnPackage(t *testing.T) {
	files := withPackages("import { make } from \"mgmt\";\nimport { encode } from \"punycode\";\nimport { join } from \"path\";\nimport { join as real } from \"node:path\";\nmake([encode(), join(), real(\"a\", \"b\")].join(), {});\n")
	for name, source := range map[string]string{"punycode": "exports.encode = () => 'own';\n", "path": "exports.join = () => 'mine';\n"} {
		files["node_modules/"+name+"/package.json"] = `{"name": "` + name + `", "version": "1.0.0", "main": "index.js"}`
		files["node_modules/"+name+"/index.js"] = source
	}
	if names, problems := made(t, files); strings.Join(names, ";") != "own,mine,a/b" || problems != "" {
		t.Error(names, problems)
	}
}

// TestFindingP1Intervals: intervals run while the program waits for one of them, and an endless wait has an end.
func TestFindingP1Intervals(t *testing.T) {
	for text, want := range map[string]string{
		`let n = 0; make(String(await new Promise((r) => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); r("third"); } }, 5); })), {})`: "third",
		`make(String(await new Promise((r) => { setInterval(() => r("again"), 5); })), {})`:                                                                "again",
		`await new Promise(() => { setInterval(() => {}, 5); })`:                                                                                           " main.ts:2:1: the program waits for a promise that nothing fulfils",
	} {
		names, problems := made(t, map[string]string{"main.ts": "import { make } from \"mgmt\";\n" + text + ";\n"})
		if got := strings.TrimSuffix(strings.Join(names, ",")+" "+problems, " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestFindingP1NativeTimers: timers that no code of the program runs in are cut off, too.
func TestFindingP1NativeTimers(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the program has not ended in time"))
	a := buildIn(ctx, t, t.TempDir(), map[string]string{"main.ts": "setInterval(Array.isArray, 1);\nsetTimeout(Array.isArray, 2e9);\n"})
	if got := say(a); !strings.Contains(got, "has not ended in time") || !strings.HasPrefix(got, "main.ts:") {
		t.Error(got)
	}
}

// TestFindingP1Folder: the program of a project in a folder of packages is no package, and a text keeps all of its lines.
func TestFindingP1Folder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node_modules", "web")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a := buildIn(t.Context(), t, dir, map[string]string{
		"main.ts": "import { make } from \"mgmt\";\nimport text from \"./a.txt\";\nmake(text, {});\nmake(String(Date.now()), {});\n",
		"a.txt":   "a\n//# sourceMappingURL=b\nc",
	})
	if got := say(a); len(a.Resources) != 1 || a.Resources[0].Name != "a\n//# sourceMappingURL=b\nc" || !strings.HasPrefix(got, "main.ts:4:22: the program has thrown TypeError: a graph has no clock") {
		t.Error(a.Resources, got)
	}
}
