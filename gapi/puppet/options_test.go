package puppet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

const left = ` meta {autogroup: false, hidden: true}`

// TestLenient: what can't be expressed is left out with a warning, the whole
// resource where it would do something else without it; what is wrong is an error.
func TestLenient(t *testing.T) {
	src := source([]string{
		entry(1, "File", "/a", `{"ensure": "file", "backup": "main", "before": "Zone[/m]"}`),
		entry(2, "File", "/b", `{"ensure": "file", "recurselimit": 1, "backup": "main"}`),
		entry(3, "Zone", "/m", `{"notify": "Thing[t]"}`),
		entry(4, "Thing", "t", ""),
	})
	want := []string{
		`file[/a] {state: "exists", replace_link: true}`, "noop[File[/b]]" + left, "noop[Zone[/m]]" + left, "thing[t]",
		"site.pp:1: warning: File[/a]: backup: mgmt keeps no copies of replaced files; it is left out",
		"site.pp:2: warning: File[/b]: recurselimit: mgmt has no such limit on what is below a folder; the resource is left out",
		"site.pp:2: warning: File[/b]: backup: mgmt keeps no copies of replaced files; it is left out",
		"site.pp:3: warning: Zone[/m]: unknown type: mgmt has no kind zone; the resource is left out",
	}
	d := read(t, src, puppet.Options{Lenient: true})
	if diff := cmp.Diff(want, said(t, d)); diff != "" {
		t.Error(diff)
	}
	// Order leads through what is left out, a refresh does not come from it.
	if diff := cmp.Diff([]string{"file[/a] -> noop[Zone[/m]] (before)", "noop[Zone[/m]] -> thing[t] (notify)"}, edges(d)); diff != "" {
		t.Error(diff)
	}
	d = read(t, source([]string{entry(1, "Thing", "t", `{"sieze": 1}`), entry(2, "File", "/x", `{"source": "puppet:///x"}`)}), puppet.Options{Lenient: true})
	if diff := cmp.Diff([]string{"noop[Thing[t]]" + left, "noop[File[/x]]" + left}, said(t, d)[:2]); diff != "" {
		t.Error(diff)
	}
	later := `{"ensure": "file", "content": {"__ptype": "Sensitive", "__pvalue": {"__ptype": "Deferred", "name": "f"}}}`
	d = read(t, source([]string{entry(1, "File", "/d", later)}), puppet.Options{Lenient: true})
	if diff := cmp.Diff([]string{"noop[File[/d]]" + left, "site.pp:1: warning: File[/d]: content: a Deferred value is what a function of Puppet " +
		"returns when the catalog is applied, and mgmt has none of them; the resource is left out"}, said(t, d)); diff != "" {
		t.Error(diff)
	}
	d = read(t, source([]string{entry(1, "Exec", "x", `{"tries": 0}`)}), puppet.Options{Lenient: true})
	if g, ds := gapi.Build(kinds, d); g != nil || !strings.Contains(ds.Error(), "site.pp:1: Exec[x]: tries: ") {
		t.Error(ds)
	}
}

// TestTags: what has none of the tags does not run and is not judged, and order leads
// through it.
func TestTags(t *testing.T) {
	src := source([]string{
		entry(1, "Thing", "a", "", `"tags": ["Web", "thing"]`),
		entry(2, "Thing", "b", `{"size": "big", "nope": 1, "require": "Thing[a]", "notify": "Thing[c]"}`, `"tags": ["db"]`),
		entry(3, "Thing", "c", "", `"tags": ["x::y"]`),
	})
	for tags, want := range map[string][]string{
		"web,X::Y": {"thing[a]", "noop[Thing[b]]" + left, "thing[c]"},
		"none":     {"noop[Thing[a]]" + left, "noop[Thing[b]]" + left, "noop[Thing[c]]" + left},
	} {
		d := read(t, src, puppet.Options{Tags: strings.Split(tags, ",")})
		if diff := cmp.Diff(want, said(t, d)); diff != "" {
			t.Error(diff)
		}
		for _, e := range d.Edges {
			if e.Notify {
				t.Errorf("%v refreshes", e)
			}
		}
	}
}

// TestMessagesRefreshNothing: that is said where somebody relies on it, and only there.
func TestMessagesRefreshNothing(t *testing.T) {
	d := read(t, source([]string{
		entry(1, "Notify", "n", `{"notify": ["Thing[a]", "File[/f]"], "before": "Thing[a]"}`), thing("a", ""), note("f", ""),
		container("Class", "c", `{"notify": "Thing[a]"}`), entry(2, "Notify", "m", ""),
	}, "Class[c] > Notify[m]"), puppet.Options{})
	want := "site.pp:1: warning: Notify[n]: notify: a message does not count as a change, so it refreshes nothing: Thing[a] only comes later"
	if len(d.Problems) != 1 || d.Problems[0].String() != want {
		t.Errorf("%v", d.Problems)
	}
}

// TestSensitive: a secret is one, where the kind has no type for it by being sent, and
// no message shows it.
func TestSensitive(t *testing.T) {
	const canary = "CANARY"
	for params, want := range map[string]string{
		`"Thing", "ensure": "CANARY"`:                         "it is sensitive, and the kind thing takes no secret for ensure",
		`"Thing", "size": "CANARY"`:                           "it is sensitive, and the kind thing takes no secret for size",
		`"Thing", "name": "CANARY"`:                           "a name can't be a secret",
		`"Exec", "command": "CANARY"`:                         "it is sensitive, and everybody on the machine could see it as cmd of exec",
		`"Exec", "command": ["/bin/x", "CANARY"]`:             "everybody on the machine could see it as args of exec",
		`"Exec", "onlyif": "/bin/x CANARY"`:                   "everybody on the machine could see it as ifcmd of exec",
		`"Exec", "unless": ["/bin/x CANARY", "/bin/y"]`:       "everybody on the machine could see it as nifcmd of exec",
		`"Exec", "environment": ["CANARY"]`:                   "its value, which is sensitive, does not fit",
		`"Exec", "environment": ["A=CANARY"], "path": "/bin"`: "",
		`"Exec", "path": "/bin:CANARY"`:                       "",
		`"Exec", "timeout": "CANARY"`:                         "its value, which is sensitive, does not fit",
		`"File", "content": "CANARY"`:                         "",
		`"File", "path": "CANARY"`:                            "a path can't be a secret",
		`"File", "ensure": "CANARY"`:                          "its value, which is sensitive, does not fit",
		`"File", "source": "CANARY"`:                          "a source is a file of this machine",
		`"File", "mode": 77, "force": "CANARY"`:               "its value, which is sensitive, does not fit",
		`"User", "password": "CANARY", "uid": "CANARY"`:       "its value, which is sensitive, does not fit",
		`"Service", "ensure": "CANARY"`:                       "its value, which is sensitive, does not fit",
		`"Notify", "message": "CANARY", "loglevel": "CANARY"`: "",
	} {
		typ, rest, _ := strings.Cut(params, ", ")
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
		src := source([]string{entry(3, strings.Trim(typ, `"`), "/t", "{"+rest+"}",
			`"sensitive_parameters": ["`+name+`", "uid", "force", "loglevel"]`)})
		for _, lenient := range []bool{false, true} {
			d := read(t, src, puppet.Options{Lenient: lenient})
			got := strings.Join(said(t, d), "\n")
			if strings.Contains(got, canary) {
				t.Errorf("%s: it is shown: %s", params, got)
			}
			if want == "" == strings.Contains(got, "site.pp") || !strings.Contains(got, want) {
				t.Errorf("%s: %s", params, got)
			}
		}
	}
	d := read(t, source([]string{entry(3, "User", "u", `{"password": {"__ptype": "Sensitive", "__pvalue": "CANARY"}}`)}), puppet.Options{})
	g, ds := gapi.Build(kinds, d)
	if g == nil {
		t.Fatal(ds)
	}
	v := g.Value(0)
	if got := v.Res.(*userRes).Password; got.Reveal() != canary {
		t.Errorf("the password is %q", got.Reveal())
	}
}

// TestTable: what each row says is what is done with it, as far as that can be told
// from the row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range puppet.Table() {
		key := r.Type + "." + r.Attribute
		if seen[key] {
			t.Errorf("%s has two rows", key)
		}
		seen[key] = true
		if reason := r.How == "ignored" || r.How == "refused"; reason && r.Note == "" {
			t.Errorf("%s is %s without a reason", key, r.How)
		}
		if strings.HasSuffix(r.Note, ".") || strings.Contains(r.Note, "\n") {
			t.Errorf("%s: the note is a phrase on a line: %q", key, r.Note)
		}
	}
	page := puppet.Page()
	for _, want := range []string{"\n## exec\n", "| `creates` | `creates` | ", "| `recurselimit` | refused | ", "It is refused: mgmt has no kind that removes"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestSensitiveArguments: a value that becomes an argument of a process can't be a secret. The resource
// would ask another server without it, so it is left out with a word.
func TestSensitiveArguments(t *testing.T) {
	for typ, names := range map[string][]string{
		"Postgresql_psql":           {"db", "port", "psql_path", "search_path"},
		"Postgresql_conn_validator": {"host", "port", "db_name", "db_username", "psql_path", "command"},
	} {
		for _, name := range names {
			text := source([]string{entry(3, typ, "x", `{"`+name+`": {"__ptype": "Sensitive", "__pvalue": "CANARY"}}`)})
			strict, lenient := read(t, text, puppet.Options{}), read(t, text, puppet.Options{Lenient: true})
			if found := fmt.Sprint(strict.Problems); !strings.Contains(found, name+": every user sees") || strings.Contains(found, "CANARY") {
				t.Errorf("%s of %s: %s", name, typ, found)
			}
			if found := fmt.Sprint(lenient.Problems); !strings.Contains(found, "the resource is left out") || strings.Contains(found, "CANARY") {
				t.Errorf("lenient, %s of %s: %s", name, typ, found)
			}
		}
	}
}
