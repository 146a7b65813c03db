package integration_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// knowsPuppet are the places outside of its frontend and of its types that may say the word, each with the
// reason. A folder ends in a slash.
var knowsPuppet = map[string]string{
	"gapi/puppet/":                 "the frontend",
	"engine/provider/puppettype/":  "the types, their text and their values",
	"cmd/":                         "the flag --puppet-catalog, and the frontend behind it",
	"daemon/input/":                "an input that is a catalog",
	"gapi/yaml/notations.go":       "the row of the table of notations",
	"gapi/words/":                  "the page for users who come from other tools",
	"resources/entries/crontab.go": "the comment above a job in a crontab of others, and its page",
	"resources/internal/crontab/":  "the comment above a job in a crontab of others",
}

var (
	puppetWord = regexp.MustCompile(`(?i)puppet`)
	// puppetTypes is the name of the package of types, by which other code imports it.
	puppetTypes = regexp.MustCompile(`(engine/provider/)?puppettype\b`)
)

// TestNoOtherPackageKnowsPuppet: one frontend and one package of types know the word, in names, errors and comments.
// Tests may name the samples that they read.
func TestNoOtherPackageKnowsPuppet(t *testing.T) {
	said := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != "..":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range bytes.Split(src, []byte("\n")) {
			if !puppetWord.Match(puppetTypes.ReplaceAll(line, nil)) {
				continue
			}
			if place := allowed(name); place != "" {
				said[place] = true
				continue
			}
			t.Errorf("%s:%d: %s", name, i+1, bytes.TrimSpace(line))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, reason := range knowsPuppet {
		if !said[place] {
			t.Errorf("%s (%s) does not say the word any more: take it out of the list", place, reason)
		}
	}
}

// allowed returns the place of the list that a file is in; empty for none.
func allowed(name string) string {
	for place := range knowsPuppet {
		if name == place || strings.HasSuffix(place, "/") && strings.HasPrefix(name, place) {
			return place
		}
	}
	return ""
}
