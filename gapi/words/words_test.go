package words

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFindingD4Rows: a row of the table that says nothing clear is an error with its line.
func TestFindingD4Rows(t *testing.T) {
	for text, want := range map[string]string{
		"# a comment\n\na | kind | yum | pkg":             "line 3: a row has five cells",
		"x | kind | yum | pkg |":                          "there are the tools m, a, p and s",
		" | kind | yum | pkg |":                           "there are the tools m, a, p and s",
		"a | kind | yum | |":                              "our word is missing",
		"a | kind | yum | ! |":                            "what is refused needs a note",
		"a | kind | yum | pkg |\np | kind | YUM | ! | no": `line 2: the word stands there with another meaning: "pkg"`,
	} {
		if _, err := parse(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestFindingD4Merged: two rows that say the same are one word of both tools; without kinds, capitals count.
func TestFindingD4Merged(t *testing.T) {
	table, err := parse("s | kind | yum | pkg |\na | kind | Yum | pkg |\na | file | Src | source |\na | kind | zypper* | pkg |\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if w := table.find("kind", "yum"); w == nil || w.Tools != "as" || w.Origin() != "Ansible, Salt" || len(table.rows) != 3 {
		t.Errorf("%+v in %d rows", w, len(table.rows))
	}
	if table.find("file", "src") != nil || table.find("file", "Src") == nil || table.find("kind", "zypper_x") == nil || table.find("kind", "zyppe") != nil {
		t.Error("other words are found than stand in the table")
	}
}

// TestFindingD4Parts: a row says our word, the parameters that come with it, or a function.
func TestFindingD4Parts(t *testing.T) {
	w := &Word{Ours: "pkg state=uninstalled purge=true"}
	if sets := w.Sets(); w.Name() != "pkg" || len(sets) != 2 || sets[1] != (Set{"purge", "true"}) || w.Func() != "" || w.Refused() || w.Dropped() {
		t.Errorf("%s, %v", w.Name(), sets)
	}
	if (&Word{Ours: "&seconds"}).Func() != "seconds" || !(&Word{Ours: "!"}).Refused() || !(&Word{Ours: "-"}).Dropped() {
		t.Error("a function, a refusal or a word that is left out is not known as one")
	}
}

// TestFindingD4LookUp: the words of the table are found where they stand, and nowhere else.
func TestFindingD4LookUp(t *testing.T) {
	for word, want := range map[string]string{"package": "pkg", "ansible.builtin.YUM": "pkg", "Service": "svc", "nonsense": ""} {
		w := Kind(word)
		if want == "" && w != nil || want != "" && (w == nil || w.Name() != want) {
			t.Errorf("%s: %+v", word, w)
		}
	}
	if Qualified("ansible.legacy.Copy") != "copy" || Named("@@name") == nil || Named("@name") != nil || Top("nonsense") != nil || Param("file", "nonsense") != nil {
		t.Error("a word is found where there is none, or not found where it is")
	}
	all := All()
	if all[0] = nil; All()[0] == nil {
		t.Error("who alters the list alters the table")
	}
	for _, w := range All() {
		place, _, values := strings.Cut(w.Place, ".")
		if values && !strings.Contains(w.Place, " ") && (!HasValues(w.Place) || place == "") {
			t.Errorf("%s has no values", w.Place)
		}
	}
	if Value("none.none", &schema.Node{Kind: schema.NodeString, Text: "x"}) != nil {
		t.Error("a value is found at no place")
	}
}

// TestHasValues: the search in the text finds each place of the table that has values, and no parameter without.
func TestHasValues(t *testing.T) {
	for place := range load().places {
		if strings.Contains(place, ".") && !HasValues(place) {
			t.Errorf("%s has values in the table", place)
		}
	}
	for _, place := range []string{"file.content", "noop.x", "kind.x"} {
		if HasValues(place) {
			t.Errorf("%s has no values in the table", place)
		}
	}
}
