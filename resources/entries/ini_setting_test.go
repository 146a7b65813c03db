package entries

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func iniKindHere(t *testing.T) *provider.Kind {
	t.Helper()
	k, err := iniKind()
	kindtest.Must(t, err)
	return k
}

func TestIniSettingEdits(t *testing.T) {
	type m = map[string]any
	at := func(values m) m {
		all := m{"path": "$DIR/a.ini", "section": "main", "setting": "port"}
		maps.Copy(all, values)
		return all
	}
	const text = "# app\n[main]\n  host=a\n# port = 1\n\n[other]\nport = 2\n"
	kindtest.RunEdits(t, iniKindHere(t), func(*testing.T, string) {}, []kindtest.Edit{
		{Name: "a new setting", Title: "it", Values: at(m{"value": "80"}), File: "a.ini", Before: text, Want: strings.Replace(text, "# port = 1\n", "# port = 1\nport = 80\n", 1), Says: ""},
		{Name: "a new file", Title: "it", Values: at(m{"value": "80"}), File: "a.ini", Before: "-", Want: "[main]\nport = 80\n", Says: ""},
		{Name: "by its title", Title: "$DIR/a.ini [main] host", Values: m{"value": "b"}, File: "a.ini", Before: text, Want: strings.Replace(text, "host=a", "host = b", 1), Says: ""},
		{Name: "nothing to do", Title: "it", Values: at(m{"setting": "host", "value": "a"}), File: "a.ini", Before: text, Want: text, Says: ""},
		{Name: "any value", Title: "it", Values: at(m{"setting": "host"}), File: "a.ini", Before: text, Want: text, Says: ""},
		{Name: "an empty one", Title: "it", Values: at(m{"setting": "host", "value": ""}), File: "a.ini", Before: text, Want: strings.Replace(text, "host=a", "host =", 1), Says: ""},
		{Name: "a secret", Title: "it", Values: at(m{"secret": schema.NewSecret("hidden")}), File: "a.ini", Before: "[main]\nport = x\n", Want: "[main]\nport = hidden\n", Says: ""},
		{Name: "gone", Title: "it", Values: at(m{"section": "other", "ensure": "absent"}), File: "a.ini", Before: text, Want: strings.Replace(text, "port = 2\n", "", 1), Says: ""},
		{Name: "another dialect", Title: "it", Values: at(m{"value": "80", "key_val_separator": ": ", "section_prefix": "<", "section_suffix": ">", "indent": "\t"}), File: "a.ini", Before: "<main>\nhost: a\n", Want: "<main>\nhost: a\n\tport: 80\n", Says: ""},
		{Name: "no section", Title: "it", Values: at(m{"section": "", "value": "80", "key_val_separator": " "}), File: "a.ini", Before: "host a\n", Want: "host a\nport 80\n", Says: ""},
		{Name: "of two, the last is left", Title: "it", Values: at(m{"value": "2"}), File: "a.ini", Before: "[main]\nport = 1\nport = 2\n", Want: "[main]\nport = 2\n", Says: ""},

		{Name: "two values", Title: "it", Values: at(m{"value": "1", "secret": schema.NewSecret("2")}), File: "a.ini", Before: text, Want: "", Says: "exclude each other"},
		{Name: "a line in the value", Title: "it", Values: at(m{"value": "1\nevil = 2"}), File: "a.ini", Before: text, Want: "", Says: "value"},
		{Name: "a line in the secret", Title: "it", Values: at(m{"secret": schema.NewSecret("1\nevil = 2")}), File: "a.ini", Before: text, Want: "", Says: "one line"},
		{Name: "a blank at its end", Title: "it", Values: at(m{"value": "1 "}), File: "a.ini", Before: text, Want: "", Says: "without blanks around"},
		{Name: "a line in the name", Title: "it", Values: at(m{"setting": "a\nb", "value": "1"}), File: "a.ini", Before: text, Want: "", Says: "setting"},
		{Name: "a line in the section", Title: "it", Values: at(m{"section": "a]\n[b", "value": "1"}), File: "a.ini", Before: text, Want: "", Says: "section"},
		{Name: "a separator in the name", Title: "it", Values: at(m{"setting": "a=b", "value": "1"}), File: "a.ini", Before: text, Want: "", Says: "read back"},
		{Name: "a separator of two lines", Title: "it", Values: at(m{"key_val_separator": "=\n", "value": "1"}), File: "a.ini", Before: text, Want: "", Says: "one line"},
		{Name: "no path", Title: "it", Values: m{"section": "a", "setting": "b", "value": "1"}, File: "a.ini", Before: text, Want: "", Says: "path is missing"},
		{Name: "a path that is none", Title: "it", Values: at(m{"path": "a.ini", "value": "1"}), File: "a.ini", Before: text, Want: "", Says: "path"},
		{Name: "a folder", Title: "it", Values: at(m{"value": "1"}), File: "a.ini/x", Before: text, Want: "", Says: "not a plain file"},
	})
}

// A file that is made for a secret is nobody else's to read, and the secret is said
// nowhere.
func TestIniSettingSecret(t *testing.T) {
	dir := t.TempDir()
	r := kindtest.Filled(t, iniKindHere(t), dir+"/a.ini [main] key", map[string]any{"secret": schema.NewSecret("hidden-text")})
	f := kindtest.Begin(t, "ini_setting", r)
	kindtest.Want(t, f, r, "created secret: (none) -> (secret)")
	if st, err := os.Stat(dir + "/a.ini"); err != nil || st.Mode() != 0o600 {
		t.Errorf("got %v, %v", st, err)
	}
	kindtest.Lay(t, dir+"/a.ini", "[main]\nkey = another-text\n")
	got := kindtest.Verbs(t, f, r, true)
	if all := got + fmt.Sprint(f.Logs()); strings.Contains(all, "-text") || !strings.Contains(got, "secret") {
		t.Errorf("it says %s", all)
	}
	kindtest.WantFile(t, dir+"/a.ini", "[main]\nkey = hidden-text\n")
}

// What is no secret is shown.
func TestIniSettingShows(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/a.ini", "[main]\nkey = old\n")
	kindtest.Must(t, os.Chmod(dir+"/a.ini", 0o644))
	r := kindtest.Filled(t, iniKindHere(t), dir+"/a.ini [main] key", map[string]any{"value": "new"})
	kindtest.Want(t, kindtest.Begin(t, "ini_setting", r), r, `value: "old" -> "new"`)
}

// Several settings of one file are written at once, and one that is refused does not
// hinder the others.
func TestIniSettingsTogether(t *testing.T) {
	dir := t.TempDir()
	log := provider.NewLogger(provider.LogOptions{Titles: []string{"a", "b", "c"}})
	change := func(title, setting, value string) provider.Change {
		return provider.Change{Title: title, Name: provider.NameOf(dir+"/a.ini", "s", setting, "", "", ""), Is: provider.State{Presence: provider.Absent},
			Should: provider.Record{"ensure": "present", "value": value}}
	}
	err := iniSettings{}.Set(t.Context(), &provider.Runtime{Log: log}, []provider.Change{change("a", "x", "1"), change("b", "y", "2\n"), change("c", "z", "3")})
	if err != nil {
		t.Fatal(err)
	}
	kindtest.WantFile(t, dir+"/a.ini", "[s]\nx = 1\nz = 3\n")
	for title, status := range map[string]provider.Status{"a": provider.Created, "b": provider.Failed, "c": provider.Created} {
		if got, why := log.Status(title); got != status {
			t.Errorf("%s: %s, %s", title, got, why)
		}
	}
}

// One object of the provider reads a file once for each state that it is in.
func TestIniSettingReadsOnce(t *testing.T) {
	dir := t.TempDir()
	i := iniSettings{seen: map[iniFile]iniSeen{}}
	find := func() any {
		r, _, err := i.Find(t.Context(), &provider.Runtime{}, provider.NameOf(dir+"/a.ini", "s", "k", "", "", ""))
		kindtest.Must(t, err)
		return r["value"]
	}
	kindtest.Lay(t, dir+"/a.ini", "[s]\nk = 1\n")
	of := iniFile{path: dir + "/a.ini", style: iniName{}.style()}
	if got := find(); got != "1" {
		t.Errorf("got %v", got)
	}
	first := i.seen[of].text
	if got := find(); got != "1" || i.seen[of].text != first {
		t.Errorf("got %v, read again", got)
	}
	kindtest.Lay(t, dir+"/a.ini", "[s]\nk = 22\n")
	if got := find(); got != "22" {
		t.Errorf("got %v", got)
	}
}
