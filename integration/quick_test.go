package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// quickTree is a module with a chain of imports, c to b to a, and a package t whose tests import a.
const quickTree = `
-- a/a.go --
// Package a is changed.
package a

// One is used by all.
func One() int { return 1 }
-- a/a_test.go --
package a

import "testing"

func TestOne(t *testing.T) {
	if One() != 1 {
		t.Error("One is not 1")
	}
}
-- a/testdata/x --
-- b/b.go --
// Package b imports a.
package b

import "github.com/reactivegraph/mgmt/a"

// Two is One and one.
func Two() int { return a.One() + 1 }
-- c/c.go --
// Package c imports b.
package c

import "github.com/reactivegraph/mgmt/b"

// Three is Two and one.
func Three() int { return b.Two() + 1 }
-- t/t.go --
// Package t imports a in its tests.
package t
-- t/t_test.go --
package t

import (
	"testing"

	"github.com/reactivegraph/mgmt/a"
)

func TestOne(*testing.T) { a.One() }
-- docs/page.md --
-- examples/file.yaml --
-- packaging/build --
-- integration/page_test.go --
package integration_test

import (
	"os"
	"testing"
)

func TestPage(t *testing.T) {
	if _, err := os.ReadFile("../docs/page.md"); err != nil {
		t.Error(err)
	}
}
-- integration/testdata/script/x.txtar --
`

// TestQuick: .ci/quick finds the packages of a change, committed or not, and their importers; what it has not run, it names.
func TestQuick(t *testing.T) {
	enginetest.Need(t, "git", "git")
	dir := t.TempDir()
	// write writes files of a txtar; where a line "+" stands before its text, adds to the file.
	write := func(t *testing.T, text string) {
		t.Helper()
		for _, f := range txtar.Parse([]byte(text)).Files {
			path := filepath.Join(dir, f.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if more, ok := strings.CutPrefix(string(f.Data), "+\n"); ok {
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				f.Data = append(old, more...)
			}
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	git := func(t *testing.T, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	quick := func(t *testing.T, budget string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/quick"))
		cmd.Env = append(os.Environ(), "MGMT_QUICK_BASE=base", "MGMT_QUICK_BUDGET="+budget)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	write(t, quickTree)
	for _, name := range []string{"go.mod", "go.sum", ".ci/quick"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, "-- "+name+" --\n"+string(text))
	}
	if err := os.Chmod(filepath.Join(dir, ".ci/quick"), 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../.ci/quick")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "integration/{")
	list, _, ok := strings.Cut(list, "}_test.go")
	if !ok {
		t.Fatal(".ci/quick names no files of integration whose tests are about layers and form")
	}
	for name := range strings.SplitSeq(list, ",") {
		if _, err := os.Stat(name + "_test.go"); err != nil {
			t.Errorf(".ci/quick: %v", err)
		}
		write(t, "-- integration/"+name+"_test.go --\npackage integration_test\n")
	}
	git(t, "init", "-q")
	git(t, "add", ".")
	git(t, "commit", "-q", "-m", "base")
	git(t, "branch", "base")

	const lint = "go vet, go fix, staticcheck, "
	for name, c := range map[string]struct {
		change string
		git    []string
		want   []string // lines; without a budget, nothing runs and all is named
	}{
		"nothing": {want: []string{"nothing differs from base"}},
		"code": {"-- a/a.go --\n+\n// x\n", nil, []string{
			"left out by the budget of 0 s: gofmt, " + lint + "./a, layers and form, ./b, ./t",
			"left to make test, as they depend on the change from farther away, or take minutes: ./c",
		}},
		"untracked": {"-- b/new.go --\npackage b\n", nil, []string{"budget of 0 s: gofmt, " + lint + "./b, layers and form, ./c"}},
		"staged":    {"-- c/c.go --\n+\n// x\n", []string{"add", "."}, []string{"budget of 0 s: gofmt, " + lint + "./c, layers and form\n"}},
		"committed": {"-- c/c.go --\n+\n// x\n", []string{"commit", "-q", "-a", "-m", "x"}, []string{"budget of 0 s: gofmt, " + lint + "./c, layers and form\n"}},
		"testdata":  {"-- a/testdata/x --\ny\n", nil, []string{"budget of 0 s: " + lint + "./a, layers and form, ./b, ./t"}},
		"page":      {"-- docs/page.md --\ny\n", nil, []string{"budget of 0 s: tests that the change names in ./integration\n"}},
		"test":      {"-- integration/page_test.go --\n+\n// x\n", nil, []string{"layers and form, tests that the change names in ./integration\n"}},
		"script":    {"-- integration/testdata/script/x.txtar --\ny\n", nil, []string{"budget of 0 s: tests that the change names in ./integration\n"}},
		"go.mod":    {"-- go.mod --\n+\n// x\n", nil, []string{"staticcheck, ./b, ./c, ./a, ./t, layers and form"}},
		"other":     {"-- packaging/build --\ny\n", nil, []string{"left to make test, as no test was chosen for: packaging/build\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, c.change)
			if c.git != nil {
				git(t, c.git...)
			}
			out, err := quick(t, "0")
			if err != nil {
				t.Error(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
			git(t, "reset", "-q", "--hard", "base")
			git(t, "clean", "-q", "-d", "-f")
		})
	}

	// With a budget, a fault fails it, and importers run in spite of it.
	write(t, "-- a/a.go --\npackage a\n\nfunc One() int  { return 2 }\n-- docs/page.md --\ny\n")
	out, err := quick(t, "3600")
	if err == nil {
		t.Error("a failed test does not fail it")
	}
	for _, want := range []string{"a/a.go\n", "ok  \tgo vet\n", "One is not 1", "FAILED", "quick: failed: gofmt, github.com/reactivegraph/mgmt/a\n", "or take minutes: ./c"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out, "left out") {
		t.Error("something was left out")
	}
	if t.Failed() {
		t.Log(out)
	}
}
