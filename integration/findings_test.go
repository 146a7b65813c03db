package integration_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages anew")

const findingsPage = "../docs/development/findings.md"

var (
	findingTest   = regexp.MustCompile(`(?m)^func (TestFinding((?:[A-S][0-9]+)+)\w*)\(`)
	findingScript = regexp.MustCompile(`^finding((?:_[a-s][0-9]+)+)\w*\.txtar$`)
	findingID     = regexp.MustCompile(`[A-Sa-s][0-9]+`)
	findingRow    = regexp.MustCompile(`(?m)^\| ([A-S][0-9]+) \| (.*) \| (.*) \|$`)
)

// TestFindingsPage: each row of the page of findings names all its tests, and has one.
func TestFindingsPage(t *testing.T) {
	page, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	tests := findingTests(t)
	rows := 0
	got := findingRow.ReplaceAllStringFunc(string(page), func(line string) string {
		m := findingRow.FindStringSubmatch(line)
		rows++
		if len(tests[m[1]]) == 0 {
			t.Errorf("%s has no test", m[1])
		}
		list := strings.Join(tests[m[1]], ", ")
		delete(tests, m[1])
		return fmt.Sprintf("| %s | %s | %s |", m[1], m[2], list)
	})
	if rows < 11+6+15+1 {
		t.Errorf("%d rows", rows)
	}
	for id := range tests {
		t.Errorf("%s is not on the page", id)
	}
	if got == string(page) {
		return
	}
	if !*update {
		t.Errorf("%s is stale: run make docs", findingsPage)
		return
	}
	if err := os.WriteFile(findingsPage, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// findingTests returns the tests and scripts of each finding, from their names.
func findingTests(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	add := func(ids, name string) {
		for _, id := range findingID.FindAllString(ids, -1) {
			found[strings.ToUpper(id)] = append(found[strings.ToUpper(id)], "`"+name+"`")
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if m := findingScript.FindStringSubmatch(d.Name()); m != nil {
			add(m[1], d.Name())
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range findingTest.FindAllStringSubmatch(string(text), -1) {
			add(m[2], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range found {
		slices.Sort(list)
	}
	return found
}

// TestFindingD1CIRunsTheBareMachine: CI runs the README's commands without its own installations, and before them.
func TestFindingD1CIRunsTheBareMachine(t *testing.T) {
	run, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	bare, tests := strings.Index(string(run), "\n.ci/bare\n"), strings.Index(string(run), "\nmake check")
	if bare < 0 || tests < bare {
		t.Error(".ci/run does not run .ci/bare before make check")
	}
	script, err := os.ReadFile("../.ci/bare")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mmdebstrap --quiet --variant=important --include=make,ca-certificates ", "env -u CI ", "make run; make test"} {
		if !strings.Contains(string(script), want) {
			t.Errorf(".ci/bare lacks %q", want)
		}
	}
}
