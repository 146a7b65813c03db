package idl_test

import (
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/internal/tsctest"
)

// readPython reads every file in Python, and runs those that import nothing of their package.
const readPython = `
import ast, pathlib, sys
for p in sorted(pathlib.Path(sys.argv[1]).rglob("*.pyi")):
    text = p.read_text()
    try:
        ast.parse(text)
        if "\nfrom ." not in text and sys.version_info >= (3, 11):
            exec(compile(text, str(p), "exec"), {})
    except Exception as e:
        print(p, repr(e))
`

// TestPythonStubs: the types of every case that compiles are Python, and have the keys of their definitions.
func TestPythonStubs(t *testing.T) {
	python := enginetest.Need(t, "python3", "python3")
	groups, err := load(vectorsDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, g := range groups {
		for _, v := range g.Cases {
			p, _ := compile(v)
			if p == nil {
				continue
			}
			out, err := generated("python", p)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range out {
				files[path.Join(v.ID, name)] = string(text)
			}
			for _, d := range p.Decls() {
				text := string(out[strings.TrimSuffix(d.File.Path, ".go")+".pyi"])
				for _, f := range d.Fields {
					if !strings.Contains(text, `"`+f.Key+`": `) {
						t.Errorf("%s: %s has no key %s", v.ID, d.Name, f.Key)
					}
				}
			}
		}
	}
	reserved, errs := compile(vector{ID: "reserved", Package: "w", Files: map[string]string{
		"main.go": "package w\nimport imp \"ROOT/import\"\nimport \"IDLPKG\"\ntype list struct{ In string }\ntype lists struct{ All []list }\ntype Literal string\nconst None Literal = \"class\"\n" +
			"type R struct { idl.Resource; M map[Literal]imp.True; C string `lumi:\"name=class\"` }\n",
		"import/class-two.go": "package imports\ntype True struct{ From string }\n",
	}})
	if reserved == nil {
		t.Fatal(errs)
	}
	out, err := generated("python", reserved)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range out {
		files[path.Join("reserved", name)] = string(text)
	}
	for _, want := range []string{"from .import_ import class_two as _import_class_two", `dict["Literal_", "_`} {
		if !strings.Contains(files["reserved/main.pyi"], want) {
			t.Errorf("no %s in %s", want, files["reserved/main.pyi"])
		}
	}
	if len(files) < 50 {
		t.Fatalf("only %d files", len(files))
	}
	dir := t.TempDir()
	tsctest.Write(t, dir, files)
	if out, err := exec.Command(python, "-c", readPython, dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
