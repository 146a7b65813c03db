package integration_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	tableRow  = regexp.MustCompile(`(?m)^\| ([0-9]+) \| (.+) \| (.+) \|$`)
	tableName = regexp.MustCompile(`Test\w+|\w+\.txtar`)
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// allTests returns the names of all tests of the module, and of all scripts.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			all[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
				all[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTableOfBugs: docs/development/bugs.md has all numbers, and each test and
// script that it names is there.
func TestTableOfBugs(t *testing.T) {
	text, err := os.ReadFile("../docs/development/bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	bugs, behaviours, ok := strings.Cut(string(text), "## Behaviours")
	if !ok {
		t.Fatal("there are no behaviours")
	}
	all := allTests(t)
	for part, want := range map[string]int{bugs: 35, behaviours: 42} {
		rows := tableRow.FindAllStringSubmatch(part, -1)
		if len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		for i, row := range rows {
			number, names := row[1], tableName.FindAllString(row[3], -1)
			if number != strconv.Itoa(i+1) {
				t.Errorf("row %d has the number %s", i+1, number)
			}
			if len(names) == 0 && !strings.HasPrefix(row[3], "later: ") {
				t.Errorf("%s, %s: no test is named", number, row[2])
			}
			for _, name := range names {
				if !all[name] {
					t.Errorf("%s, %s: there is no %s", number, row[2], name)
				}
				if want == 35 && !strings.HasPrefix(name, "TestBug"+leftPad(number)+"_") {
					t.Errorf("%s, %s: %s is of another number", number, row[2], name)
				}
			}
		}
	}
}

func leftPad(number string) string { return strings.Repeat("0", 2-len(number)) + number }

// TestTableOfBadInput: each case of docs/development/bad-input.md names tests that are there.
func TestTableOfBadInput(t *testing.T) {
	text, err := os.ReadFile("../docs/development/bad-input.md")
	if err != nil {
		t.Fatal(err)
	}
	all, rows := allTests(t), tableRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) != 16 {
		t.Errorf("%d cases, want 16", len(rows))
	}
	for i, row := range rows {
		names := tableName.FindAllString(row[3], -1)
		if row[1] != strconv.Itoa(i+1) || len(names) == 0 {
			t.Errorf("row %d has the number %s and the tests %q", i+1, row[1], names)
		}
		for _, name := range names {
			if !all[name] {
				t.Errorf("%s, %s: there is no %s", row[1], row[2], name)
			}
		}
	}
}
