package cmd

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference anew")

const (
	referenceDir = "../docs/reference"
	examplesDir  = "../examples"
)

// TestReferenceIsFresh: the pages in docs/reference are those that the program
// writes today, and no others.
func TestReferenceIsFresh(t *testing.T) {
	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	pages, err := a.referencePages(newRoot(a, nil), os.DirFS(examplesDir))
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
	there, err := filepath.Glob(referenceDir + "/kinds/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if _, ok := pages["kinds/"+filepath.Base(path)]; !ok {
			t.Errorf("%s is about nothing, run make docs", path)
		}
	}
}

// TestEveryAbilityIsExplained on the page of the kinds.
func TestEveryAbilityIsExplained(t *testing.T) {
	kinds, err := (&app{}).allKinds()
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
	kinds, err := (&app{}).allKinds()
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

// TestWritePages: pages are written, and those of kinds that are gone go.
func TestWritePages(t *testing.T) {
	dir := t.TempDir()
	if err := writePages(dir, map[string]string{"a.md": "1", "kinds/old.md": "2"}); err != nil {
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
	if _, err := os.Stat(filepath.Join(dir, "kinds/old.md")); err == nil {
		t.Error("the page of a kind that is gone is still there")
	}
}

// TestVerbNames: the table of the verbs names each command as its help does, and a call of one verb makes that one alone.
func TestVerbNames(t *testing.T) {
	all := newRoot(&app{in: strings.NewReader("")}, nil).Commands()
	for _, v := range verbs {
		if name := v.make(&app{in: strings.NewReader("")}).Name(); name != v.name {
			t.Errorf("%q of the table makes the command %q", v.name, name)
		}
		made := newRoot(&app{in: strings.NewReader("")}, []string{v.name}).Commands()
		if only := len(made) < len(all); only == v.whole {
			t.Errorf("a call of %s makes %d of %d commands", v.name, len(made), len(all))
		}
	}
}
