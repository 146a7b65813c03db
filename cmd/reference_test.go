package cmd

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write the reference anew")

const (
	referenceDir = "../docs/reference"
	examplesDir  = "../examples"
)

// TestReferenceIsFresh: the pages in docs/reference are those that the program
// writes today, and no others.
func TestReferenceIsFresh(t *testing.T) {
	a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	pages, err := referencePages(a, newRoot(a, nil), os.DirFS(examplesDir))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := writePages(referenceDir, pages); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(referenceDir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is stale (%v), run make docs", name, err)
		}
	}
	for _, folder := range pageFolders {
		there, err := filepath.Glob(filepath.Join(referenceDir, folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range there {
			if _, ok := pages[folder+"/"+filepath.Base(path)]; !ok {
				t.Errorf("%s is about nothing, run make docs", path)
			}
		}
	}
}

// TestPageOfAVerb: each verb has a page with its sub-verbs, and what verbs share is on the index alone.
func TestPageOfAVerb(t *testing.T) {
	a := &cli.App{In: strings.NewReader("")}
	pages, err := cliPages(newRoot(a, nil))
	if err != nil {
		t.Fatal(err)
	}
	index := pages["cli/README.md"]
	for _, v := range verbs {
		cmd := v.make(a)
		page, ok := pages["cli/"+v.name+".md"]
		if ok != documented(cmd) {
			t.Errorf("%s: has a page: %v", v.name, ok)
		}
		for _, sub := range cmd.Commands() {
			if !strings.Contains(page, "\n## mgmt "+v.name+" "+sub.Name()+"\n") {
				t.Errorf("the page of %s lacks %s", v.name, sub.Name())
			}
		}
		if ok && !strings.Contains(index, "]("+v.name+".md) | "+cmd.Short+". |") {
			t.Errorf("the index lacks %s", v.name)
		}
		for _, once := range []string{cli.ExitCodes, "| `--prefix folder` |  | state folder", "| `--socket path`"} {
			if strings.Contains(page, once) {
				t.Errorf("the page of %s repeats what the index has: %s", v.name, once)
			}
		}
	}
	for _, row := range []string{"| `--config file` |", "| `--prefix folder` |", "| `--socket path` |"} {
		if strings.Count(index, row) != 1 {
			t.Errorf("the index has the flag %s %d times", row, strings.Count(index, row))
		}
	}
	if want := "\n[Shared flags](README.md#shared-flags): `--output`, `--prefix`, `--socket`."; !strings.Contains(pages["cli/retry.md"], want) {
		t.Errorf("the page of retry does not name its shared flags:\n%s", pages["cli/retry.md"])
	}
}

// TestTextOfAVerb: each part that is written by hand is on the page of a verb that is there.
func TestTextOfAVerb(t *testing.T) {
	root := newRoot(&cli.App{In: strings.NewReader("")}, nil)
	pages, err := cliPages(root)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := cliTexts.ReadDir("reference/cli")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		part, err := cliTexts.ReadFile("reference/cli/" + text.Name())
		if err != nil {
			t.Fatal(err)
		}
		if page := pages["cli/"+text.Name()]; text.Name() != "README.md" && !strings.HasSuffix(page, "\n"+string(part)) {
			t.Errorf("%s is on no page", text.Name())
		}
	}
}

// TestEveryAbilityIsExplained on the page of the kinds.
func TestEveryAbilityIsExplained(t *testing.T) {
	kinds, err := cli.AllKinds((&cli.App{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		for _, ability := range k.Abilities {
			if !regexp.MustCompile(`(?m)^\| ([a-z]+, )*` + ability + `[ ,]`).MatchString(kindsPage) {
				t.Errorf("%s: reference/kinds.md does not say what %s means", k.Name, ability)
			}
		}
	}
}

// TestEveryKindHasAnExample, which is of it, and which its page shows.
func TestEveryKindHasAnExample(t *testing.T) {
	kinds, err := cli.AllKinds((&cli.App{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		part, err := exampleOf(k.Name, os.DirFS(examplesDir))
		if err != nil || !strings.Contains(part, "\n  "+k.Name+":\n") {
			t.Errorf("examples/%s.yaml is missing, or not about it (%v)", k.Name, err)
		}
	}
}

// TestWritePages: pages are written, and those of kinds and verbs that are gone go.
func TestWritePages(t *testing.T) {
	dir := t.TempDir()
	if err := writePages(dir, map[string]string{"a.md": "1", "kinds/old.md": "2", "cli/old.md": "2"}); err != nil {
		t.Fatal(err)
	}
	if err := writePages(dir, map[string]string{"a.md": "3", "kinds/new.md": "4"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.md": "3", "kinds/new.md": "4"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	for _, gone := range []string{"kinds/old.md", "cli/old.md"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
}

// TestVerbNames: the table of the verbs names each command as its help does, and a call of one verb makes that one alone.
func TestVerbNames(t *testing.T) {
	all := newRoot(&cli.App{In: strings.NewReader("")}, nil).Commands()
	for _, v := range verbs {
		if name := v.make(&cli.App{In: strings.NewReader("")}).Name(); name != v.name {
			t.Errorf("%q of the table makes the command %q", v.name, name)
		}
		made := newRoot(&cli.App{In: strings.NewReader("")}, []string{v.name}).Commands()
		if only := len(made) < len(all); only == v.whole {
			t.Errorf("a call of %s makes %d of %d commands", v.name, len(made), len(all))
		}
	}
}
