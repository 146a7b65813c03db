package integration_test

import (
	"bytes"
	"go/build/constraint"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/all"
)

// maxFlat is the share of lines below resources, in percent, that may stand in the package resources itself. A change may lower it,
// and none may raise it.
const maxFlat = 3

// maxFamily is the share of lines below resources, in percent, that may stand in a package with several kinds.
const maxFamily = 6

// registers is how a package registers a kind.
var registers = regexp.MustCompile(`\b(?:engine\.RegisterResource|provided\.Register|virtualkind\.Register)\("(\w+)"`)

// TestKindsStandApart: most kinds have a package of their own, so that a program that embeds one does not link the others.
func TestKindsStandApart(t *testing.T) {
	flat, total := 0, 0
	in, kinds := map[string]int{}, map[string]int{}
	err := filepath.WalkDir("../resources", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		lines := bytes.Count(text, []byte("\n"))
		in[filepath.Dir(path)] += lines
		if !strings.HasSuffix(path, "_test.go") {
			kinds[filepath.Dir(path)] += len(registers.FindAll(text, -1))
		}
		if total += lines; filepath.Dir(path) == "../resources" {
			flat += lines
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	share := 100 * flat / total
	t.Logf("%d of %d lines, %d %%", flat, total, share)
	if share > maxFlat {
		t.Errorf("%d of %d lines below resources stand in the package resources, %d %%, and %d %% may: give the kind a package", flat, total, share, maxFlat)
	}
	for dir, n := range kinds {
		if share := 100 * in[dir] / total; n > 1 && share > maxFamily {
			t.Errorf("%d of %d lines below resources stand in %s with %d kinds, %d %%, and %d %% may: give a kind a package", in[dir], total, dir, n, share, maxFamily)
		}
	}
}

// TestEveryKindIsRegistered: resources/all imports each package that registers a kind, and no such file is for some systems only.
func TestEveryKindIsRegistered(t *testing.T) {
	list, err := os.ReadFile("../resources/all/all.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	err = filepath.WalkDir("../resources", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range registers.FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
			if where := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"); !bytes.Contains(list, []byte(where+`"`)) {
				t.Errorf("resources/all does not import %s, which registers %s", where, m[1])
			}
			if limited(path, text) {
				t.Errorf("%s is for some systems only, so %s is not registered on the others", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(found); !slices.Equal(found, all.Kinds()) {
		t.Errorf("the packages register %v, and resources/all names %v", found, all.Kinds())
	}
}

// limited reports whether a file is compiled for some systems only.
func limited(path string, text []byte) bool {
	last := strings.TrimSuffix(path[strings.LastIndexByte(path, '_')+1:], ".go")
	if slices.Contains([]string{"linux", "darwin", "windows", "freebsd", "unix", runtime.GOARCH}, last) {
		return true
	}
	head, _, _ := bytes.Cut(text, []byte("\npackage "))
	return slices.ContainsFunc(strings.Split(string(head), "\n"), constraint.IsGoBuild)
}
