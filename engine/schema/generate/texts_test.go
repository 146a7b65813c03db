package generate_test

import (
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// texts returns the files of a target for definitions, by their paths.
func texts(t *testing.T, target string, files map[string]string) map[string]string {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, found := idl.Compile(context.Background(), fsys, idl.Options{Package: "demo", Root: "demo"})
	if p == nil {
		t.Fatal(found)
	}
	to, err := generate.Find(target)
	if err != nil {
		t.Fatal(err)
	}
	made, err := to.Files(p, generate.Options{Stubs: "example.com/stubs"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, text := range made {
		out[name] = string(text)
		if strings.HasSuffix(name, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.AllErrors); err != nil {
				t.Errorf("%s is not Go: %v", name, err)
			}
		}
	}
	return out
}

// words returns a text with single blanks, so that the columns of gofmt do not count.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestProperties: each type of a property is written in each language as a user of that language expects it.
func TestProperties(t *testing.T) {
	const head = "package m\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\ntype R struct {\n\tidl.Resource\n\t// The words.\n\t"
	const tail = "\n}\n\ntype E string\n\nconst (\n\tOne E = \"1\"\n\tTwo E = \"2\"\n)\n\ntype S struct {\n\tA string\n\tMore []S\n}\n"
	for _, c := range []struct{ field, script, stub, python string }{
		{"P string", "p: mgmt.Input<string>;", "P string `json:\"p\"`", `"p": Required[str],`},
		{"P *string `lumi:\"optional\"`", "p?: mgmt.Input<string>;", "P *string `json:\"p,omitempty\"`", `"p": NotRequired[str],`},
		{"P bool", "p: mgmt.Input<boolean>;", "P bool `json:\"p\"`", `"p": Required[bool],`},
		{"P float64", "p: mgmt.Input<number>;", "P float64 `json:\"p\"`", `"p": Required[float],`},
		{"P any", "p: mgmt.Input<any>;", "P any `json:\"p\"`", `"p": Required[Any],`},
		{"P E", "p: mgmt.Input<E>;", "P E `json:\"p\"`", `"p": Required["E"],`},
		{"P S", "p: mgmt.Input<S>;", "P s `json:\"p\"`", `"p": Required["S"],`},
		{"P *S `lumi:\"optional\"`", "p?: mgmt.Input<S>;", "P *s `json:\"p,omitempty\"`", `"p": NotRequired["S"],`},
		{"P []string", "p: mgmt.Input<string[]>;", "P []string `json:\"p\"`", `"p": Required[list[str]],`},
		{"P [][]E", "p: mgmt.Input<E[][]>;", "P [][]E `json:\"p\"`", `"p": Required[list[list["E"]]],`},
		{"P map[string]float64", "p: mgmt.Input<{[key: string]: number}>;", "P map[string]float64 `json:\"p\"`", `"p": Required[dict[str, float]],`},
		{"P map[E][]S", "p: mgmt.Input<{[key in E]?: S[]}>;", "P map[E][]s `json:\"p\"`", `"p": Required[dict["E", list["S"]]],`},
		{"P []map[string]bool", "p: mgmt.Input<{[key: string]: boolean}[]>;", "P []map[string]bool `json:\"p\"`", `"p": Required[list[dict[str, bool]]],`},
		{"P *R `lumi:\"optional\"`", "p?: mgmt.Input<R>;", "P *idl.URN `json:\"p,omitempty\"`", `"p": NotRequired[str],`},
		{"P *idl.Resource `lumi:\"optional\"`", "p?: mgmt.Input<mgmt.Resource>;", "P *idl.URN `json:\"p,omitempty\"`", `"p": NotRequired[str],`},
		{"P string `lumi:\"replaces\"`", "readonly p: mgmt.Input<string>;", "P string `json:\"p\"`", `"p": Required[str],`},
		{"P string `lumi:\"out\"`", "declare p: mgmt.Output<string>;", "P string `json:\"p,omitempty\"`", `"p": NotRequired[str],`},
		{"P string `lumi:\"name=class\"`", "class: mgmt.Input<string>;", "P string `json:\"class\"`", `"class": Required[str],`},
		{"P string `lumi:\"deprecated=use q\"`", "* The words. * * @deprecated use q */ p: mgmt.Input<string>;", "P string `json:\"p\"`", `# The words. "p": Required[str],`},
		{"IPProtocol string", "ipProtocol: mgmt.Input<string>;", "// The words. IPProtocol string `json:\"ipProtocol\"`", `"ipProtocol": Required[str],`},
	} {
		in := map[string]string{"m/a.go": head + c.field + tail}
		for target, want := range map[string][2]string{"typescript": {"m/a.ts", c.script}, "go": {"m/a_stub.go", c.stub}, "python": {"m/a.pyi", c.python}} {
			if got := words(texts(t, target, in)[want[0]]); !strings.Contains(got, want[1]) {
				t.Errorf("%s in %s:\nwant %s\n got %s", c.field, target, want[1], got)
			}
		}
	}
}

// TestConstants: a constant has its type and its value in each language, and the words of a language are no names in it.
func TestConstants(t *testing.T) {
	const def = "package m\n\n// Doc of it.\n"
	for _, c := range []struct{ decl, script, stub, python string }{
		{"const A = \"x\"", "/** Doc of it. */ export const A: string = \"x\";", "// Doc of it. const A = \"x\"", "# Doc of it. A: Final = \"x\""},
		{"const A = `a\"\n\\`", `export const A: string = "a\"\n\\";`, `const A = "a\"\n\\"`, `A: Final = "a\"\n\\"`},
		{"const A = \"</script>\u2028\"", "const A: string = \"</script>\\u2028\";", `const A = "</script>\u2028"`, `A: Final = "</script>\u2028"`},
		{"const A = 12", "export const A: number = 12;", "const A float64 = 12", "A: Final = 12"},
		{"const A = 1e21", "export const A: number = 1e+21;", "const A float64 = 1e+21", "A: Final = 1e+21"},
		{"const A = 0.1", "export const A: number = 0.1;", "const A float64 = 0.1", "A: Final = 0.1"},
		{"const A = true", "export const A: boolean = true;", "const A = true", "A: Final = True"},
		{"const A = 1 > 2", "export const A: boolean = false;", "const A = false", "A: Final = False"},
		{"const None = \"x\"", "export const None: string = \"x\";", "const None = \"x\"", "None_: Final = \"x\""},
		{"type E string\n\nconst Any E = \"x\"", "export type E = \"x\"; export const Any: E = \"x\";", "type E string const Any E = \"x\"", "E = Literal[\"x\"] Any_: Final = \"x\""},
		{"type Final string\n\nconst A Final = \"x\"", "export type Final = \"x\";", "type Final string", "Final_ = Literal[\"x\"]"},
		{"const let = 1", "const let_: number = 1;", "const let float64 = 1", "let: Final = 1"},
		{"const with = 1", "const with_: number = 1;", "const with float64 = 1", "with_: Final = 1"},
	} {
		in := map[string]string{"m/a.go": def + c.decl + "\n"}
		for target, want := range map[string][2]string{"typescript": {"m/a.ts", c.script}, "go": {"m/a_stub.go", c.stub}, "python": {"m/a.pyi", c.python}} {
			if got := words(texts(t, target, in)[want[0]]); !strings.Contains(got, want[1]) {
				t.Errorf("%s in %s:\nwant %s\n got %s", c.decl, target, want[1], got)
			}
		}
	}
}

// alike has two modules that declare the same names, and one that uses both. Their paths differ in a sign alone.
var alike = map[string]string{
	"a/b.go": "package a\n\ntype E string\n\nconst X E = \"of a\"\n\ntype S struct{ A string }\n",
	"a_b.go": "package root\n\ntype E string\n\nconst X E = \"of root\"\n\ntype S struct{ B string }\n",
	"m/c.go": "package m\n\nimport (\n\t\"demo\"\n\t\"demo/a\"\n\n\t\"github.com/reactivegraph/mgmt/idl\"\n)\n\n" +
		"type Port struct {\n\tidl.Resource\n\tOne a.E\n\tTwo root.E\n\tThree map[a.E]a.S\n\tFour []root.S\n}\n",
}

// TestNamesOfModules: two modules with the same names are told apart in each language, also where their paths look alike.
func TestNamesOfModules(t *testing.T) {
	for target, want := range map[string][2]string{
		"typescript": {"m/c.ts", `
			import type { E, S } from "../a/b.ts";
			import type { E as index_E, S as index_S } from "../a_b.ts";
			one: mgmt.Input<E>;
			two: mgmt.Input<index_E>;
			three: mgmt.Input<{[key in E]?: S}>;
			four: mgmt.Input<index_S[]>;`},
		"go": {"m/c_stub.go", `
			root "example.com/stubs"
			"example.com/stubs/a"
			One a.E
			Two root.E
			Three map[a.E]a.SData
			Four []root.SData`},
		"python": {"m/c.pyi", `
			from .. import a_b as _a_b_
			from ..a import b as _a_b
			"one": Required["_a_b.E"],
			"two": Required["_a_b_.E"],
			"three": Required[dict["_a_b.E", "_a_b.S"]],
			"four": Required[list["_a_b_.S"]],`},
	} {
		got := words(texts(t, target, alike)[want[0]])
		for line := range strings.Lines(want[1]) {
			if line := words(line); !strings.Contains(got, line) {
				t.Errorf("%s lacks %s:\n%s", target, line, got)
			}
		}
	}
}

// TestNameClashes: a name that the language, the file or the library has already gets another spelling.
func TestNameClashes(t *testing.T) {
	in := map[string]string{
		"n/a.go": "package n\n\ntype Port string\n\nconst Http Port = \"h\"\n\ntype provider struct{ A string }\n",
		"m/b.go": "package m\n\nimport (\n\t\"demo/n\"\n\n\t\"github.com/reactivegraph/mgmt/idl\"\n)\n\n" +
			"type mgmt struct{ A string }\n\ntype provider struct{ A string }\n\ntype own struct {\n\tM mgmt\n\tQ provider\n}\n\ntype Port struct {\n\tidl.Resource\n\tP n.Port\n}\n",
	}
	for target, want := range map[string][]string{
		"typescript": {"m/b.ts", `import * as mgmt_ from "mgmt";`, `import type { Port as n_Port } from "../n/a.ts";`, "p: mgmt_.Input<n_Port>;", "m: mgmt;", "class Port extends mgmt_.Resource"},
		"go":         {"m/b_stub.go", `provider_ "github.com/reactivegraph/mgmt/provider"`, "P n.Port", "M mgmt", "Q provider ", "c *provider_.Call", "ops PortProviderOps"},
		"python":     {"m/b.pyi", "from ..n import a as _n_a", `"p": Required["_n_a.Port"],`, `"m": Required["mgmt"],`},
	} {
		got := words(texts(t, target, in)[want[0]])
		for _, line := range want[1:] {
			if !strings.Contains(got, line) {
				t.Errorf("%s lacks %s:\n%s", target, line, got)
			}
		}
	}
}

// TestAbilities: a stub has just the methods that its type needs.
func TestAbilities(t *testing.T) {
	def := func(marker, tag string) map[string]string {
		return map[string]string{"m/a.go": "package m\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\ntype R struct {\n\tidl." + marker + " " + tag + "\n\tA string\n}\n"}
	}
	parts := map[string]string{
		"watch": "provider.Watcher[r]", "list": "provider.Lister[r]", "own name": "Name(ctx context.Context, c *provider.Call, in *r) (string, error)\n}",
		"Watch": "func (p *RProvider) Watch(", "List": "func (p *RProvider) List(", "protocol": "mgmt/provider/protocol\"", "ops": "ops RProviderOps\n}", "given name": "if in.Name != nil",
	}
	for _, c := range []struct{ marker, tag, has, schema string }{
		{"Resource", "", "ops,own name", ""},
		{"NamedResource", "", "given name", "named"},
		{"NamedResource", "`lumi:\"watch\"`", "Watch,given name,protocol,watch", "named,watch"},
		{"NamedResource", "`lumi:\"list\"`", "List,given name,list,protocol", "list,named"},
		{"NamedResource", "`lumi:\"watch,list,refresh\"`", "List,Watch,given name,list,protocol,watch", "list,named,refresh,watch"},
	} {
		files := texts(t, "go", def(c.marker, c.tag))
		var has []string
		for name, part := range parts {
			if strings.Contains(files["m/a_stub.go"], part) {
				has = append(has, name)
			}
		}
		slices.Sort(has)
		if got := strings.Join(has, ","); got != c.has {
			t.Errorf("%s %s has %s, want %s:\n%s", c.marker, c.tag, got, c.has, files["m/a_stub.go"])
		}
		var doc struct{ Types []map[string]any }
		if err := json.Unmarshal([]byte(files["schema.json"]), &doc); err != nil || len(doc.Types) != 1 || doc.Types[0]["token"] != "demo:m:R" {
			t.Fatalf("the schema is %s: %v", files["schema.json"], err)
		}
		delete(doc.Types[0], "schema")
		delete(doc.Types[0], "token")
		if got := strings.Join(slices.Sorted(maps.Keys(doc.Types[0])), ","); got != c.schema {
			t.Errorf("%s %s: the schema has %s, want %s", c.marker, c.tag, got, c.schema)
		}
	}
}

// TestIndexOfModule: the index of a module exports what other modules may use, and no name that only the module uses.
func TestIndexOfModule(t *testing.T) {
	files := texts(t, "typescript", map[string]string{
		"m/a.go": "package m\n\ntype whole struct{ P part }\n",
		"m/b.go": "package m\n\ntype part struct{ A string }\n\ntype Open struct{ A string }\n\ntype E string\n\nconst One E = \"1\"\n",
		"m/c.go": "package m\n\nconst hidden = 1\n",
	})
	for name, want := range map[string]string{
		"m/index.ts": "// Code generated by mgmt idl from m. DO NOT EDIT.\nexport * from \"./a.ts\";\nexport { One } from \"./b.ts\";\nexport type { Open, E } from \"./b.ts\";\nexport * from \"./c.ts\";\n",
		"m/b.ts":     "// Code generated by mgmt idl from m/b.go. DO NOT EDIT.\n\nexport interface part {\n  a: string;\n}\n\nexport interface Open {\n  a: string;\n}\n\nexport type E = \"1\";\n\nexport const One: E = \"1\";\n",
		"m/c.ts":     "// Code generated by mgmt idl from m/c.go. DO NOT EDIT.\n\nconst hidden: number = 1;\n\nexport {};\n",
	} {
		if files[name] != want {
			t.Errorf("%s is\n%s", name, files[name])
		}
	}
}

// TestBareType: a program gets the type that checks its arguments, without the texts for people.
func TestBareType(t *testing.T) {
	files := texts(t, "typescript", map[string]string{"m/a.go": "package m\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\n// Docs.\ntype R struct {\n\tidl.Resource\n\t// Docs.\n\tA *float64 `lumi:\"optional,min=1,max=2,deprecated=use b\"`\n\tDoc []string `lumi:\"minItems=1\"`\n}\n"})
	_, rest, _ := strings.Cut(files["m/a.ts"], "static readonly type: mgmt.Type = ")
	line, _, _ := strings.Cut(rest, ";\n")
	var got any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	const want = `{"kind":"struct","name":"demo:m:r","fields":[{"key":"a","type":{"kind":"float","optional":true,"min":1,"max":2}},{"key":"doc","required":true,"type":{"kind":"list","min":1,"of":{"kind":"string"}}}]}`
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(wanted)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

// TestPages: a page has each resource with an example in both notations, and the values of each enum.
func TestPages(t *testing.T) {
	files := texts(t, "markdown", map[string]string{
		"a.go": "package root\n\n// Size is how large\n// it is.\ntype Size string\n\n// The least.\nconst Small Size = \"s\"\n",
		"m/a.go": "package m\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\n// Disk keeps data.\ntype Disk struct {\n\tidl.NamedResource\n\tSize float64 `lumi:\"min=3\"`\n\tOn bool\n\tTags map[string]string\n" +
			"\tKids []string\n\tNote *string `lumi:\"optional\"`\n\tTo *Disk `lumi:\"optional\"`\n\tMade string `lumi:\"out\"`\n}\n\ntype Free struct{ idl.Resource }\n",
	})
	for name, want := range map[string][]string{
		"README.md": {"# demo\n", "## Size\n\nSize is how large\nit is.\n", "| `Small` | `\"s\"` | The least. |"},
		"m/README.md": {
			"# demo/m\n", "## demo:m:disk\n", "Disk keeps data.", "### Parameters", "### Sends", "| `made` | text |",
			"demo:m:disk:\n    - name: example\n      size: 3\n", "on: ", "tags: ", "kids: ", "### Disk in TypeScript", `new Disk("example", {size: 3, on: `, "new Free({",
		},
	} {
		for _, part := range want {
			if !strings.Contains(files[name], part) {
				t.Errorf("%s lacks %q:\n%s", name, part, files[name])
			}
		}
	}
	if strings.Contains(files["m/README.md"], "note:") {
		t.Error("an example has a property that may be left out")
	}
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, []string{"README.md", "m/README.md"}) {
		t.Errorf("there are %q", names)
	}
}

// TestPythonFiles: each module is a package that Python can import, and files that would be one module are told.
func TestPythonFiles(t *testing.T) {
	files := texts(t, "python", map[string]string{"class/1-a.go": "package class\n\nconst A = 1\n", "x.go": "package x\n\nconst A = 1\n"})
	if got, want := slices.Sorted(maps.Keys(files)), []string{"__init__.pyi", "class_/_1_a.pyi", "class_/__init__.pyi", "x.pyi"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	p, found := idl.Compile(context.Background(), fstest.MapFS{"m/a-b.go": {Data: []byte("package m\n\nconst A = 1\n")}, "m/a_b.go": {Data: []byte("package m\n\nconst B = 1\n")}}, idl.Options{Package: "demo"})
	if p == nil {
		t.Fatal(found)
	}
	to, err := generate.Find("python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Files(p, generate.Options{}); err == nil || !strings.Contains(err.Error(), "m/a_b.pyi") || !strings.Contains(err.Error(), "give one another name") {
		t.Errorf("two files of one module: %v", err)
	}
}
