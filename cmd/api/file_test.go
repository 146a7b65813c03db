package api

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFindingJ11Documents: each document of a file with objects costs something, so an empty one is none, and a file of too many is refused at the place of
// the first one beyond, whatever stands in them.
func TestFindingJ11Documents(t *testing.T) {
	const most = 300
	for _, c := range []struct {
		name, head, unit string
		most             int // of the documents
		bad              bool
	}{
		{name: "o.yaml", unit: "---\n"},
		{name: "o.yaml", unit: "...\n"},
		{name: "o.yaml", unit: "--- # nothing\n# and more\n  # of it\r\n\n"},
		{name: "o.yaml", unit: "--- a\n", most: most, bad: true},
		{name: "o.yaml", unit: "---\r\n- a\r\n", most: most, bad: true},
		{name: "o.yaml", unit: "--- {\n", bad: true},
		{name: "o.yaml", unit: "--- &a\n", bad: true},
		{name: "o.yaml", head: "--- |\n", unit: " ---\n", most: 1},
		{name: "o.json", unit: "1\n", most: most, bad: true},
		{name: "o.yaml", head: "{}\n", unit: "[]\n", most: most, bad: true},
	} {
		text := c.head + strings.Repeat(c.unit, 8000)
		docs, found := documents(c.name, []byte(text), most)
		if len(docs) > c.most {
			t.Errorf("%q: %d documents", c.unit, len(docs))
		}
		all := found.All()
		if len(all) > schema.MaxFindings+1 || (all.Err() != nil) != c.bad {
			t.Errorf("%q: %d findings: %.200v", c.unit, len(all), all.Err())
		}
		if !c.bad || c.most == 0 {
			continue
		}
		lines := strings.Count(c.head, "\n") + strings.Count(c.unit, "\n")*(most-strings.Count(c.head, "\n")) + 1
		switch {
		case c.name == "o.json", c.head != "": // the value ends a line, and the next one begins with its end
			lines--
		case strings.HasPrefix(c.unit, "---\r"):
			lines++
		}
		if want := (schema.Pos{File: c.name, Line: int32(lines), Col: 1}); len(all) != 1 || all[0].Pos != want || !strings.Contains(all[0].Message, "more than 300 documents") {
			t.Errorf("%q: got %v, want a finding at %v", c.unit, all, want)
		}
	}
}

// TestFindingJ11EmptyDocuments: empty documents cost a look at each line, and no reading of their own.
func TestFindingJ11EmptyDocuments(t *testing.T) {
	text := []byte(strings.Repeat("---\n", 1<<18))
	if n := testing.AllocsPerRun(1, func() { documents("o.yaml", text, maxObjects) }); n > 3*(1<<18) {
		t.Errorf("%v allocations", n)
	}
}

// TestFindingJ11Places: what is read of a file with empty documents has its own places.
func TestFindingJ11Places(t *testing.T) {
	docs, found := documents("o.yaml", []byte("# nothing\n---\n# nothing\n--- # nothing\ntable: a\n...\n--- {table: b}\n---\n\n---\n\ttable: c\n"), maxObjects)
	if len(docs) != 2 || docs[0].Pos.String() != "o.yaml:5:1" || docs[1].Pos.String() != "o.yaml:7:5" {
		t.Errorf("got %v", docs)
	}
	if err := found.All().Err(); err == nil || !strings.HasPrefix(err.Error(), "o.yaml:11:1: ") {
		t.Error(err)
	}
}
