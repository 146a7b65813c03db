package resources

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func iniKindHere(t *testing.T) *provider.Kind {
	t.Helper()
	k, err := iniKind()
	must(t, err)
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
	runEdits(t, iniKindHere(t), func(*testing.T, string) {}, []edit{
		{"a new setting", "it", at(m{"value": "80"}), "a.ini", text, strings.Replace(text, "# port = 1\n", "# port = 1\nport = 80\n", 1), ""},
		{"a new file", "it", at(m{"value": "80"}), "a.ini", "-", "[main]\nport = 80\n", ""},
		{"by its title", "$DIR/a.ini [main] host", m{"value": "b"}, "a.ini", text, strings.Replace(text, "host=a", "host = b", 1), ""},
		{"nothing to do", "it", at(m{"setting": "host", "value": "a"}), "a.ini", text, text, ""},
		{"any value", "it", at(m{"setting": "host"}), "a.ini", text, text, ""},
		{"an empty one", "it", at(m{"setting": "host", "value": ""}), "a.ini", text, strings.Replace(text, "host=a", "host =", 1), ""},
		{"a secret", "it", at(m{"secret": schema.NewSecret("hidden")}), "a.ini", "[main]\nport = x\n", "[main]\nport = hidden\n", ""},
		{"gone", "it", at(m{"section": "other", "ensure": "absent"}), "a.ini", text, strings.Replace(text, "port = 2\n", "", 1), ""},
		{"another dialect", "it", at(m{"value": "80", "key_val_separator": ": ", "section_prefix": "<", "section_suffix": ">", "indent": "\t"}), "a.ini", "<main>\nhost: a\n", "<main>\nhost: a\n\tport: 80\n", ""},
		{"no section", "it", at(m{"section": "", "value": "80", "key_val_separator": " "}), "a.ini", "host a\n", "host a\nport 80\n", ""},
		{"of two, the last is left", "it", at(m{"value": "2"}), "a.ini", "[main]\nport = 1\nport = 2\n", "[main]\nport = 2\n", ""},

		{"two values", "it", at(m{"value": "1", "secret": schema.NewSecret("2")}), "a.ini", text, "", "exclude each other"},
		{"a line in the value", "it", at(m{"value": "1\nevil = 2"}), "a.ini", text, "", "value"},
		{"a line in the secret", "it", at(m{"secret": schema.NewSecret("1\nevil = 2")}), "a.ini", text, "", "one line"},
		{"a blank at its end", "it", at(m{"value": "1 "}), "a.ini", text, "", "without blanks around"},
		{"a line in the name", "it", at(m{"setting": "a\nb", "value": "1"}), "a.ini", text, "", "setting"},
		{"a line in the section", "it", at(m{"section": "a]\n[b", "value": "1"}), "a.ini", text, "", "section"},
		{"a separator in the name", "it", at(m{"setting": "a=b", "value": "1"}), "a.ini", text, "", "read back"},
		{"a separator of two lines", "it", at(m{"key_val_separator": "=\n", "value": "1"}), "a.ini", text, "", "one line"},
		{"no path", "it", m{"section": "a", "setting": "b", "value": "1"}, "a.ini", text, "", "path is missing"},
		{"a path that is none", "it", at(m{"path": "a.ini", "value": "1"}), "a.ini", text, "", "path"},
		{"a folder", "it", at(m{"value": "1"}), "a.ini/x", text, "", "not a plain file"},
	})
}

// A file that is made for a secret is nobody else's to read, and the secret is said
// nowhere.
func TestIniSettingSecret(t *testing.T) {
	dir := t.TempDir()
	r := filled(t, iniKindHere(t), dir+"/a.ini [main] key", map[string]any{"secret": schema.NewSecret("hidden-text")})
	f := begin(t, "ini_setting", r)
	want(t, f, r, "created")
	if st, err := os.Stat(dir + "/a.ini"); err != nil || st.Mode() != 0o600 {
		t.Errorf("got %v, %v", st, err)
	}
	lay(t, dir+"/a.ini", "[main]\nkey = another-text\n")
	got := verbs(t, f, r, true)
	if all := got + fmt.Sprint(f.Logs()); strings.Contains(all, "-text") || !strings.Contains(got, "secret") {
		t.Errorf("it says %s", all)
	}
	wantFile(t, dir+"/a.ini", "[main]\nkey = hidden-text\n")
}

// What is no secret is shown.
func TestIniSettingShows(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/a.ini", "[main]\nkey = old\n")
	must(t, os.Chmod(dir+"/a.ini", 0o644))
	r := filled(t, iniKindHere(t), dir+"/a.ini [main] key", map[string]any{"value": "new"})
	want(t, begin(t, "ini_setting", r), r, `value: "old" -> "new"`)
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
	wantFile(t, dir+"/a.ini", "[s]\nx = 1\nz = 3\n")
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
		r, _, err := i.Find(t.Context(), nil, provider.NameOf(dir+"/a.ini", "s", "k", "", "", ""))
		must(t, err)
		return r["value"]
	}
	lay(t, dir+"/a.ini", "[s]\nk = 1\n")
	of := iniFile{path: dir + "/a.ini", style: iniName{}.style()}
	if got := find(); got != "1" {
		t.Errorf("got %v", got)
	}
	first := i.seen[of].text
	if got := find(); got != "1" || i.seen[of].text != first {
		t.Errorf("got %v, read again", got)
	}
	lay(t, dir+"/a.ini", "[s]\nk = 22\n")
	if got := find(); got != "22" {
		t.Errorf("got %v", got)
	}
}
