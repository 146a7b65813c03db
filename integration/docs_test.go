package integration_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// block is one fenced block of a page.
type block struct{ lang, text string }

var fence = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []block
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		list = append(list, block{m[1], m[2]})
	}
	return list
}

func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"../README.md", "../AGENTS.md", "../CONTRIBUTING.md", "../CHANGELOG.md"}
	for _, pattern := range []string{"../docs/*.md", "../docs/*/*.md", "../docs/*/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	return list
}

// TestProgramsInTheDocs builds every program of the pages as a module of its own
// and runs it; the text block that follows it is what it prints.
func TestProgramsInTheDocs(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		list := blocks(t, page)
		for i, b := range list {
			if b.lang != "go" || !strings.HasPrefix(b.text, "package main\n") {
				continue
			}
			n++
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				dir := foreignModule(t, map[string]string{"main.go": b.text})
				got := goCommand(t, dir, "run", ".")
				if i+1 < len(list) && list[i+1].lang == "text" && got != list[i+1].text {
					t.Errorf("it printed:\n%s\nthe page says:\n%s", got, list[i+1].text)
				}
			})
		}
	}
	if n < 2 {
		t.Errorf("%d programs found in the docs", n)
	}
}

// TestGraphsInTheDocs builds every graph that the pages show.
func TestGraphsInTheDocs(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.lang != "yaml" || !strings.HasPrefix(b.text, "graph:") || strings.Contains(b.text, "include:") {
				continue
			}
			n++
			file := filepath.Join(t.TempDir(), "graph.yaml")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := gapi.Env{Registry: engine.DefaultRegistry, NoWatch: true}
			for d, err := range yaml.New(file, yaml.Options{}).Graphs(t.Context(), env) {
				if err != nil {
					t.Errorf("%s: %v", page, err)
					continue
				}
				if _, diags := gapi.Build(engine.DefaultRegistry(), d); len(diags) > 0 {
					t.Errorf("%s: %v", page, diags)
				}
			}
		}
	}
	if n < 4 {
		t.Errorf("%d graphs found in the docs", n)
	}
}

// inputs are the files that a graph of the pages is put into, by its language.
var inputs = map[string]string{"yaml": "graph.yaml", "json": "catalog.json"}

// TestRunsInTheDocs runs every graph of the pages, and every catalog, that is
// followed by a text with the command and what it says: its lines come in that
// order, and the last one may be an exit code. Each runs in a folder of its own
// instead of /tmp/mgmt-meta.
func TestRunsInTheDocs(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range pages(t) {
		list := blocks(t, page)
		for i, b := range list[:max(0, len(list)-1)] {
			next := list[i+1]
			command, want, ok := strings.Cut(strings.TrimPrefix(next.text, "$ mgmt "), "\n")
			file := inputs[b.lang]
			if file == "" || next.lang != "text" || !ok || !strings.HasPrefix(next.text, "$ mgmt ") || !strings.Contains(command, " "+file) {
				continue
			}
			n++
			name, _, _ := strings.Cut(b.text, "\n")
			t.Run(filepath.Base(page)+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				moved := strings.NewReplacer("/tmp/mgmt-meta", filepath.Join(dir, "meta"))
				if err := os.WriteFile(filepath.Join(dir, file), []byte(moved.Replace(b.text)), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), strings.Fields(command)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "MGMT_PREFIX="+filepath.Join(dir, "state"))
				out, err := cmd.CombinedOutput()
				if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
					t.Fatal(err)
				}
				rest := string(out) + fmt.Sprintf("exit code %d\n", cmd.ProcessState.ExitCode())
				for line := range strings.Lines(moved.Replace(want)) {
					_, after, ok := strings.Cut(rest, strings.TrimSuffix(line, "\n"))
					if !ok {
						t.Fatalf("%q is missing or too early in:\n%s", line, out)
					}
					rest = after
				}
			})
		}
	}
	if n < 8 {
		t.Errorf("%d runs found in the docs", n)
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	headline = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
)

// anchors returns the anchors of a page: its headings, as sites show them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headline.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		words := unlinked.ReplaceAllString(strings.ToLower(m[1]), "")
		found["#"+strings.ReplaceAll(words, " ", "-")] = true
	}
	return found
}

// TestLinksInTheDocs: every page, and every heading, that a page points to is there.
func TestLinksInTheDocs(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			info, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s points to %s: %v", page, m[1], err)
				continue
			}
			if m[2] == "" || info.IsDir() || filepath.Ext(target) != ".md" {
				continue
			}
			there, err := os.ReadFile(target)
			if err != nil || !anchors(string(there))[m[2]] {
				t.Errorf("%s points to %s%s, which has no such heading (%v)", page, m[1], m[2], err)
			}
		}
	}
}

// TestIndexOfTheDocs: docs/README.md names every page once, in one of four parts. The
// pages of the kinds and of the verbs have an index of their own.
func TestIndexOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
		parts = append(parts, m[1])
	}
	if got := strings.Join(parts, ", "); got != "Tutorial, How to, Reference, Explanation" {
		t.Errorf("the index has the parts %s", got)
	}
	times := map[string]int{"../docs/README.md": 1}
	for _, m := range link.FindAllStringSubmatch(string(text), -1) {
		times[filepath.Join("../docs", m[1])]++
	}
	for _, page := range pages(t) {
		indexed := slices.Contains([]string{"../docs/reference/kinds", "../docs/reference/cli"}, filepath.Dir(page)) && filepath.Base(page) != "README.md"
		if !strings.HasPrefix(page, "../docs/") || indexed {
			continue
		}
		if times[page] != 1 {
			t.Errorf("docs/README.md names %s %d times, want once", page, times[page])
		}
	}
}
