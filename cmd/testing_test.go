package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

var pageFence = regexp.MustCompile("(?ms)^```(yaml|text)\n(.*?)^```$")

// TestTestingPage: each test on the page about testing says what the page says.
func TestTestingPage(t *testing.T) {
	page, err := os.ReadFile("../docs/testing-graphs.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	n := 0
	for _, m := range pageFence.FindAllStringSubmatch(string(page), -1) {
		first, rest, _ := strings.Cut(m[2], "\n")
		switch name, isFile := strings.CutPrefix(first, "# "); {
		case m[1] == "yaml" && isFile:
			if err := os.WriteFile(name, []byte(m[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		case m[1] == "text" && strings.HasPrefix(first, "$ mgmt test "):
			n++
			out, code := invoke(t, "", strings.Fields(first)[2:]...)
			if got := out + fmt.Sprintf("exit code %d\n", code); got != rest {
				t.Errorf("%s\n%s\nthe page says:\n%s", first, got, rest)
			}
		}
	}
	if n < 2 {
		t.Errorf("%d tests on the page", n)
	}
}

// TestTestOutput: the outcome for programs, a folder, and files that are wrong.
func TestTestOutput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"g.yaml":           "resources: {noop: [{name: a}]}\n",
		"b_test.yaml":      "graph: g.yaml\ntests: [{name: b, steps: [{expect: {failed: [\"noop[a]\"]}}]}]\n",
		"sub/a_test.yaml":  "graph: ../g.yaml\ntests: [{name: a, steps: [{expect: {ok: [\"noop[a]\"]}}]}]\n",
		"bad/c_test.yml":   "graph: ../g.yaml\ntest: []\n",
		"bad/none.yaml":    "",
		"lost/d_test.yaml": "graph: gone.yaml\ntests: [{name: d, steps: [{}]}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := invoke(t, "", "test", "b_test.yaml", "sub", "-o", "json", "--junit", "out.xml")
	var got struct {
		Tests []struct {
			OK       bool
			Failures []struct{ Place string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.ExitFailed || len(got.Tests) != 2 || got.Tests[0].OK || !got.Tests[1].OK ||
		got.Tests[0].Failures[0].Place != "b_test.yaml:2:46" {
		t.Errorf("code %d, %v: %s", code, err, out)
	}
	junit, err := os.ReadFile("out.xml")
	if err != nil || !strings.Contains(string(junit), `tests="2" failures="1"`) || !strings.Contains(string(junit), "noop[a] is not failed") {
		t.Errorf("%v: %s", err, junit)
	}
	for _, c := range []struct {
		arg  string
		code int
		want string
	}{
		{"bad/c_test.yml", cli.ExitUsage, `unknown key "test" (did you mean "tests"?)`},
		{"bad/none.yaml", cli.ExitUsage, "the file is empty"},
		{"bad", cli.ExitUsage, "there is no file *_test.yaml or *_test.toml in bad"},
		{"gone", cli.ExitUsage, "no such file"},
		{"lost", cli.ExitFailed, "gone.yaml: no such file"},
	} {
		if out, code := invoke(t, "", "test", c.arg); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("mgmt test %s: code %d, %s", c.arg, code, out)
		}
	}
}

// TestFolderWithoutTests: a folder of graphs is read without the files of tests in it.
func TestFolderWithoutTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"g.yaml": "resources: {noop: [{name: a}]}\n", "g_test.yaml": "tests: []\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := invoke(t, "", "validate", dir); code != cli.ExitOK || !strings.Contains(out, "ok: 1 resource") {
		t.Errorf("code %d, %s", code, out)
	}
}
