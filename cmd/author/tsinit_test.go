package author

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/internal/tsctest"
)

// project returns the files of a new project with all kinds of the program.
func project(t *testing.T) map[string]string {
	t.Helper()
	kept, made, err := typescript.Project(newTestApp().Kinds())
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(made, kept)
	return made
}

// TestProjectIsTyped: a new project, with the classes of every kind, has no fault for the strictest tsc.
func TestProjectIsTyped(t *testing.T) {
	files := project(t)
	for _, line := range tsctest.Check(t, t.TempDir(), files) {
		t.Error(line)
	}
	for _, name := range newTestApp().Kinds().Kinds() {
		if !strings.Contains(files["mgmt/index.ts"], fmt.Sprintf("static readonly token = %q;", name)) {
			t.Errorf("the kind %s has no class", name)
		}
	}
}

// TestWrongPrograms: tsc refuses each wrong program at its place, with the code that authors know.
func TestWrongPrograms(t *testing.T) {
	files := project(t)
	wrong := map[string]struct{ text, want string }{
		"missing":    {`new Line("a", {});`, "(2,15): error TS2741"},
		"type":       {`new File("/a", { content: 3 });`, "(2,18): error TS2322"},
		"enum":       {`new File("/a", { state: "there" });`, "(2,18): error TS2322"},
		"resource":   {`new File("/a", { depend: 3 });`, "(2,18): error TS2322"},
		"unknown":    {`new File("/a", { colour: "red" });`, "(2,18): error TS2353"},
		"misspelled": {`new File("/a", { contnt: "x" });`, "(2,18): error TS2561"},
		"outputs":    {`const p = new Password("p");` + "\n" + `new Exec("a", { cmd: "true", timeout: p.password });` + "\n" + `new Sysctl("a", { value: "1", persist: p.password });`, "(4,31): error TS2322"},
		"optional":   {`const text: string = new File("/a").content;`, "(2,7): error TS2322"},
		"computed":   {`const text: string = new Password("p").password;`, "(2,7): error TS2322"},
	}
	for name, c := range wrong {
		files["wrong/"+name+".ts"] = `import { Exec, File, Line, Password, Sysctl } from "mgmt";` + "\n" + c.text + "\n[Exec, File, Line, Password, Sysctl];\n"
	}
	found := tsctest.Check(t, t.TempDir(), files)
	for name, c := range wrong {
		if !slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, "wrong/"+name+".ts"+c.want) }) {
			t.Errorf("%s: no finding begins with %s", name, c.want)
		}
	}
	t.Log(strings.Join(found, "\n"))
}
