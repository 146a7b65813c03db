package idl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// compile compiles one file of the module m.
func compile(text string) (*idl.Package, schema.Diagnostics) {
	return idl.Compile(context.Background(), fstest.MapFS{"m/a.go": {Data: []byte(text)}}, idl.Options{Package: "demo"})
}

const head = "package m\nimport \"github.com/reactivegraph/mgmt/idl\"\n"

// TestRefused: what the shared cases leave out. Each text has one fault.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		head + "type R struct {\n\tidl.Resource\n\tA string `lumi:\"out,replaces\"`\n}\n":                      "m/a.go:5:2: R.A: the provider sets an output, so nobody else changes it; remove out or replaces [E_OUT_REPLACES]",
		"package m\ntype S struct {\n\tA string `lumi:\"replaces\"`\n}\n":                                      "m/a.go:3:2: S.A: only properties of resources are marked with replaces; mark the property that holds the struct [E_REPLACES_NOT_RESOURCE]",
		"package m\ntype S struct {\n\tA string `lumi:\"out\"`\n}\n":                                           "E_OUT_NOT_RESOURCE",
		"package m\ntype S struct {\n\ta string\n}\n":                                                          "E_UNEXPORTED_FIELD",
		"package m\ntype S struct {\n\tA string `lumi:\"optionl\"`\n}\n":                                       `the option "optionl" is not known; did you mean optional?`,
		"package m\ntype S struct {\n\tA string `json:a`\n}\n":                                                 "E_TAG_SYNTAX",
		"package m\ntype S struct {\n\tA string `lumi:\"name\"`\n}\n":                                          "E_TAG_SYNTAX",
		"package m\ntype S struct {\n\tA string `lumi:\"optional=1\"`\n}\n":                                    "E_TAG_SYNTAX",
		"package m\nimport \"time\"\ntype S struct {\n\tA time.Duration\n}\n":                                  "m/a.go:2:8: a definition imports",
		"//go:build linux\n\npackage m\ntype S struct{}\n":                                                     "m/a.go:1:1: definitions are the same for all systems",
		"package m\ntype S struct {\n":                                                                         "E_GO",
		"package m\ntype E string\n":                                                                           "E_ALIAS_NOT_ENUM",
		"package m\ntype E bool\n":                                                                             "E_ALIAS_NOT_ENUM",
		"package m\ntype S[T any] struct{ A T }\n":                                                             "E_BAD_TYPEDEF",
		"package m\ntype I interface{}\n":                                                                      "E_BAD_TYPEDEF",
		"package m\ntype S struct {\n\tÉlan string\n}\n":                                                       "E_TAG_NAME",
		"package m\ntype S struct {\n\tA []*string\n}\n":                                                       "E_POINTER_NOT_OPTIONAL",
		"package m\nconst X = \"a\" == \"b\"\nconst Y int = 1\n":                                               "E_CONST_TYPE",
		head + "type R struct {\n\tidl.Resource\n\tidl.NamedResource\n}\n":                                     "E_EMBED_RESOURCE",
		head + "type R struct {\n\tidl.Resource `lumi:\"wach\"`\n}\n":                                          "E_TAG_UNKNOWN",
		head + "type R struct {\n\tidl.Resource\n\tBefore string\n}\n":                                         "E_RESERVED_PROPERTY",
		head + "type VPC struct {\n\tidl.Resource\n}\ntype Vpc struct {\n\tidl.Resource\n}\n":                  "E_NAME_COLLISION",
		head + "type R struct {\n\tidl.Resource\n\tA *float64 `lumi:\"optional,default=x\"`\n}\n":              "E_DEFAULT",
		head + "type R struct {\n\tidl.Resource\n\tA *string `lumi:\"optional,format=ipv4\"`\n}\n":             "E_CONSTRAINT_VALUE",
		"package m\ntype S struct {\n\tA string `lumi:\"regex=(\"`\n}\n":                                       "E_CONSTRAINT_VALUE",
		"package m\ntype S struct {\n\tA string `lumi:\"regex=(?=a)\"`\n}\n":                                   "E_REGEX_PORTABLE",
		"package m\ntype S struct {\n\tA []string `lumi:\"minItems=3,maxItems=2\"`\n}\n":                       "E_CONSTRAINT_VALUE",
		"package m\nconst A = \"" + strings.Repeat("x", 40_000) + "\"\nconst B = A + A\n":                      "more than 65536 bytes",
		"package m\nfunc (x *S) F() { undefined() }\ntype S struct{}\n":                                        "m/a.go:2:13: S.F: definitions have no functions",
		"package m\ntype S struct {\n\tA map[string]string `lumi:\"secret\"`\n\tB bool `lumi:\"secret\"`\n}\n": "m/a.go:4:2: S.B: secret is not for a property of this type",
	} {
		p, found := compile(text)
		if p != nil || len(found) != 1 || !strings.Contains(found[0].String(), want) {
			t.Errorf("%s\n%v\nwant %s", text, found, want)
		}
	}
}

// TestFolders: faults of several files and folders are all said, sorted by place.
func TestFolders(t *testing.T) {
	fsys := fstest.MapFS{
		"a/a.go": {Data: []byte("package a\nimport \"demo/idl/b\"\ntype A struct{ X b.B }\n")},
		"b/b.go": {Data: []byte("package b\nimport \"demo/idl/a\"\ntype B struct{ X []a.A }\n")},
		"c/c.go": {Data: []byte("package c\nvar X = 1\n")},
		"c/d.go": {Data: []byte("package d\n")},
		"e/e.go": {Data: []byte("package e\nvar X = 1\nfunc F() {}\n")},
	}
	p, found := idl.Compile(context.Background(), fsys, idl.Options{Package: "Demo"})
	var classes []string
	for _, d := range found {
		classes = append(classes, fmt.Sprintf("%s:%d %s", d.Pos.File, d.Pos.Line, d.Class))
	}
	want := ":0 E_PACKAGE, b/b.go:2 E_GO, c/d.go:1 E_GO, e/e.go:2 E_TOPLEVEL_VAR, e/e.go:3 E_TOPLEVEL_FUNC"
	if got := strings.ReplaceAll(strings.Join(classes, ", "), "Demo", ""); p != nil || !strings.HasSuffix(got, "e/e.go:3 E_TOPLEVEL_FUNC") || !strings.HasPrefix(got, ":0 E_PACKAGE") {
		t.Errorf("%s\nwant about %s", got, want)
	}
	if _, found := idl.Compile(context.Background(), fstest.MapFS{}, idl.Options{Package: "demo"}); found.Err() == nil {
		t.Error("an empty folder is taken")
	}
}

// TestTypes: what the tags say is in the type that the engine gets.
func TestTypes(t *testing.T) {
	p, found := compile(head + "type Size string\nconst (\n\tSmall Size = \"s\"\n\tLarge Size = \"l\"\n)\n" +
		"// R is one.\ntype R struct {\n\tidl.NamedResource `lumi:\"watch,batch=20,createBeforeDelete\"`\n" +
		"\tSize *Size `lumi:\"optional,default=s,deprecated=use other\"`\n\tPassword string `lumi:\"secret,minLen=8\"`\n\tNext *R `lumi:\"optional\"`\n" +
		"\tTree Tree\n\tID2 string `lumi:\"out\"`\n}\ntype Tree struct {\n\tKids []Tree `lumi:\"maxItems=3\"`\n}\n")
	if p == nil {
		t.Fatal(found)
	}
	r := p.Resources()[0]
	if !r.Watch || !r.CreateFirst || r.List || r.Batch != 20 || !r.Named {
		t.Errorf("abilities: %+v", r)
	}
	built, err := schema.Build(r.Type)
	if err != nil {
		t.Fatal(err)
	}
	size, password := built.Field("size"), built.Field("password")
	if size.Default != "s" || size.Deprecated != "use other" || size.Type.EnumNames[1] != "Large" || !size.Type.Optional {
		t.Errorf("%+v", size)
	}
	if !password.Type.Secret || *password.Type.Min != 8 || !password.Required {
		t.Errorf("%+v", password)
	}
	if target := built.Field("next").Type.Target; target != "demo:m:r" {
		t.Error(target)
	}
	kids := built.Field("tree").Type.Field("kids").Type
	if kids.Elem.Link == nil || *kids.Max != 3 {
		t.Errorf("%+v", kids)
	}
	if sends := r.Sends(); len(sends.Fields) != 1 || sends.Fields[0].Key != "id2" {
		t.Errorf("%+v", sends)
	}
}

// TestFindingH1Lend: an author says in a definition which properties another host may give; without it, none.
func TestFindingH1Lend(t *testing.T) {
	p, found := compile(head + "type R struct {\n\tidl.Resource `lumi:\"collectable\"`\n\tA string `lumi:\"lend\"`\n\tB string `lumi:\"lend=name\"`\n\tC string\n}\n")
	if p == nil {
		t.Fatal(found)
	}
	r := p.Resources()[0]
	built, err := schema.Build(r.Type)
	if err != nil || !r.Collectable {
		t.Fatal(err, r.Collectable)
	}
	for key, want := range map[string]schema.Lend{"a": schema.LendValue, "b": schema.LendName, "c": schema.LendNone} {
		if got := built.Field(key).Lend; got != want {
			t.Errorf("%s lends %d, want %d", key, got, want)
		}
	}
}

// TestDiff: each change has its level.
func TestDiff(t *testing.T) {
	base := head + "type R struct {\n\tidl.NamedResource\n\tA string\n\tB *float64 `lumi:\"optional,max=5\"`\n}\n"
	for change, want := range map[[2]string]string{
		{"A string", "A string "}:                                 "",
		{"A string", "// New.\n\tA string"}:                       "cosmetic m.R.a: its text is another one",
		{"\tA string\n", ""}:                                      "breaking m.R.a: the property was removed",
		{"A string", "A string\n\tC *string `lumi:\"optional\"`"}: "compatible m.R.c: the property is new",
		{"A string", "A string\n\tC string"}:                      "breaking m.R.c: the property is new, and required",
		{"A string", "A float64"}:                                 "breaking m.R.a: its type was string, and is float64",
		{"A string", "A string `lumi:\"replaces\"`"}:              "breaking m.R.a: another value makes another resource now",
		{"A string", "A *string `lumi:\"optional\"`"}:             "compatible m.R.a: it is optional now",
		{"max=5", "max=4"}:                                        "breaking m.R.b: it takes less than before",
		{"max=5", "max=6"}:                                        "compatible m.R.b: it takes more than before",
		{",max=5", ""}:                                            "compatible m.R.b: it takes more than before",
		{"NamedResource", "Resource"}:                             "breaking m.R: it is another kind of declaration",
		{"type R", "type S struct{}\n\ntype R"}:                   "compatible m.S: it is new",
	} {
		old, _ := compile(base)
		now, found := compile(strings.Replace(base, change[0], change[1], 1))
		if now == nil {
			t.Fatal(found)
		}
		var got []string
		for _, c := range idl.Diff(old, now) {
			got = append(got, fmt.Sprintf("%s %s: %s", c.Level, c.Path, c.Message))
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
}

// FuzzCompile: whatever the text, Compile returns. What it takes, the engine takes too, and twice it is the same.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		head + "type R struct {\n\tidl.NamedResource\n\tA *[]map[string]E `lumi:\"optional\"`\n\tB *R `lumi:\"replaces\"`\n}\ntype E string\nconst X E = \"x\"\n",
		"package m\ntype S struct {\n\tA []S `lumi:\"minItems=1\"`\n\tB float64 `lumi:\"min=1,max=2\"`\n\tC string `lumi:\"regex=^a,b$\"`\n}\nconst A, B = 1, true\n",
		"package m\ntype T = S\nfunc (S) F()\nvar x chan int\ntype S struct{ *S; T }\n",
		"package m\nimport . \"github.com/reactivegraph/mgmt/idl\"\ntype R struct{ Resource; X any }\n",
	} {
		f.Add(seed)
	}
	names, _ := filepath.Glob("../../../examples/aws/idl/*/*.go")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, found := compile(text)
		if (p == nil) != (found.Err() != nil) {
			t.Fatal("a package and an error, or neither")
		}
		for _, d := range found {
			if d.Class == "" {
				t.Errorf("no class: %v", d)
			}
		}
		if p == nil {
			return
		}
		for _, d := range p.Decls() {
			if d.Type != nil {
				if _, err := schema.Build(d.Type); err != nil {
					t.Errorf("%s: %v", d.Name, err)
				}
			}
		}
		again, _ := compile(text)
		if changes := idl.Diff(p, again); len(changes) > 0 {
			t.Error(changes)
		}
	})
}
