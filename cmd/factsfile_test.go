package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFindingD11Facts: validate checks a graph for the machine whose facts a file has.
func TestFindingD11Facts(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	graph := put("graph.yaml", "graph: g\nresources:\n  svc:\n  - name: nginx\n    state: running\n  pkg:\n  - name: nginx\n    meta: {backend: apt}\n")
	mine, _, code := verb(t, "facts", "--programs", "-o", "yaml")
	if code != 0 || !strings.Contains(mine, "\nprograms:") {
		t.Fatalf("code %d: %s", code, mine)
	}
	here, _, _ := verb(t, "interface", "list")
	if there, errs, code := verb(t, "interface", "list", "--facts", put("mine.yaml", mine)); code != 0 || there != here {
		t.Errorf("the facts of this machine choose otherwise: code %d, %s%s, want %s", code, there, errs, here)
	}
	for _, c := range []struct {
		name, facts, want string
		code              int
	}{
		{"little", "os_family: Debian\ninit: systemd\n", "ok: 2 resources", 0},
		{"another init", "os_family: Debian\ninit: s6\n", "graph.yaml:4:5: no backend of svc can be used here: openrc: it is for machines where init is openrc (here init is s6)", 1},
		{"booted", "os_family: Debian\nsystemd_booted: true\n", "ok: 2 resources", 0},
		{"programs", "os_family: Debian\ninit: systemd\nprograms: [apt-get, dpkg]\n", "there is no program", 1},
	} {
		out, errs, code := verb(t, "validate", graph, "--facts", put("facts.yaml", c.facts))
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, %s%s", c.name, code, out, errs)
		}
	}
}

// TestFindingD11BadFacts: a wrong file of facts is one error with all that is wrong, each with its place.
func TestFindingD11BadFacts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "facts.yaml")
	for text, want := range map[string]string{
		"os_famly: Debian\ncpus: many\n":   `FILE:1:1: unknown key "os_famly" (did you mean "os_family"?)` + "\nFILE:2:7: cpus must be a whole number",
		"programs: all\n":                  "FILE:1:11: ",
		"":                                 "FILE: there are no facts: write a map of them",
		"- a\n":                            "FILE: there are no facts: write a map of them",
		"a: [\n":                           "FILE:",
		strings.Repeat("# long\n", 200000): "FILE: the file is too big",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := verb(t, "validate", "none.yaml", "--facts", path)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, strings.ReplaceAll(want, "FILE", path)) {
			t.Errorf("%.20q: code %d, %q%q", text, code, out, errs)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if _, errs, code := verb(t, "validate", "none.yaml", "--facts", name); code != cli.ExitUsage || !strings.HasPrefix(errs, name+": ") {
			t.Errorf("%s: code %d, %q", name, code, errs)
		}
	}
}
