package entries

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

func hostKindAt(t *testing.T) (*provider.Kind, *kindtest.Place) {
	t.Helper()
	var at kindtest.Place
	k, _ := kindtest.KindOf(t, hostDefinition(), func() provider.Provider { return &hosts{file: at.Path("hosts")} })
	return k, &at
}

const hostsText = "# machines\n127.0.0.1 localhost\n::1  localhost ip6-localhost # six\n\n10.0.0.5 DB db.x\n10.0.0.6 twice\n10.0.0.7 twice\n"

func TestHostEdits(t *testing.T) {
	k, at := hostKindAt(t)
	type m = map[string]any
	line := func(l string) string { return hostsText + l + "\n" }
	kindtest.RunEdits(t, k, func(_ *testing.T, dir string) { at.Set(dir) }, []kindtest.Edit{
		{Name: "a new line", Title: "web", Values: m{"ip": "10.0.0.9"}, File: "hosts", Before: hostsText, Want: line("10.0.0.9\tweb"), Says: ""},
		{Name: "a new file", Title: "web", Values: m{"ip": "FD00::0:9", "comment": "x # y", "host_aliases": []string{"W", "w.x"}}, File: "hosts", Before: "-", Want: "fd00::9\tweb w w.x\t# x # y\n", Says: ""},
		{Name: "another address", Title: "db", Values: m{"ip": "10.0.0.8"}, File: "hosts", Before: hostsText, Want: strings.Replace(hostsText, "10.0.0.5 DB db.x", "10.0.0.8\tdb db.x", 1), Says: ""},
		{Name: "nothing to do", Title: "DB", Values: m{"ip": "10.0.0.5", "host_aliases": []string{"db.X"}}, File: "hosts", Before: hostsText, Want: hostsText, Says: ""},
		{Name: "one family", Title: "localhost", Values: m{"ip": "127.0.0.2"}, File: "hosts", Before: hostsText, Want: strings.Replace(hostsText, "127.0.0.1 localhost", "127.0.0.2\tlocalhost", 1), Says: ""},
		{Name: "no alias, no comment", Title: "localhost ipv6", Values: m{"host_aliases": []string{}, "comment": ""}, File: "hosts", Before: hostsText, Want: strings.Replace(hostsText, "::1  localhost ip6-localhost # six", "::1\tlocalhost", 1), Says: ""},
		{Name: "twice becomes once", Title: "twice", Values: m{"ip": "10.0.0.6"}, File: "hosts", Before: hostsText, Want: strings.Replace(hostsText, "10.0.0.7 twice\n", "", 1), Says: ""},
		{Name: "absent, of both families", Title: "localhost", Values: m{"ensure": "absent"}, File: "hosts", Before: hostsText, Want: "# machines\n\n10.0.0.5 DB db.x\n10.0.0.6 twice\n10.0.0.7 twice\n", Says: ""},
		{Name: "absent, of one", Title: "localhost ipv4", Values: m{"ensure": "absent"}, File: "hosts", Before: hostsText, Want: strings.Replace(hostsText, "127.0.0.1 localhost\n", "", 1), Says: ""},
		{Name: "a target", Title: "web in $DIR/other", Values: m{"ip": "10.0.0.9"}, File: "other", Before: "#\n", Want: "#\n10.0.0.9\tweb\n", Says: ""},
		{Name: "a target and a family", Title: "web ipv6 in $DIR/other", Values: m{"ip": "::9"}, File: "other", Before: "#\n", Want: "#\n::9\tweb\n", Says: ""},
		{Name: "any title", Title: "the web server", Values: m{"hostname": "web", "ip": "10.0.0.9", "target": "$DIR/other"}, File: "other", Before: "#\n", Want: "#\n10.0.0.9\tweb\n", Says: ""},
		{Name: "the usual file by its name", Title: "web", Values: m{"ip": "10.0.0.9", "target": "$DIR/hosts"}, File: "hosts", Before: "#\n", Want: "#\n10.0.0.9\tweb\n", Says: ""},

		{Name: "no address", Title: "web", Values: nil, File: "hosts", Before: hostsText, Want: "", Says: "address"},
		{Name: "both families", Title: "localhost", Values: m{"comment": "x"}, File: "hosts", Before: hostsText, Want: "", Says: "both families"},
		{Name: "the other family", Title: "web ipv6", Values: m{"ip": "10.0.0.1"}, File: "hosts", Before: hostsText, Want: "", Says: "family is ipv6"},
		{Name: "no such address", Title: "web", Values: m{"ip": "300.0.0.1"}, File: "hosts", Before: hostsText, Want: "", Says: "no address"},
		{Name: "a line in the address", Title: "web", Values: m{"ip": "10.0.0.1\n6.6.6.6 bank"}, File: "hosts", Before: hostsText, Want: "", Says: "host.ip"},
		{Name: "a line at its end", Title: "web", Values: m{"ip": "10.0.0.1\n"}, File: "hosts", Before: hostsText, Want: "", Says: "host.ip"},
		{Name: "a line in the name", Title: "web\n6.6.6.6", Values: m{"ip": "10.0.0.1"}, File: "hosts", Before: hostsText, Want: "", Says: "hostname"},
		{Name: "a line at the end of the name", Title: "web", Values: m{"hostname": "web\n", "ip": "10.0.0.1"}, File: "hosts", Before: hostsText, Want: "", Says: "hostname"},
		{Name: "a line in an alias", Title: "web", Values: m{"ip": "10.0.0.1", "host_aliases": []string{"a\n6.6.6.6 bank"}}, File: "hosts", Before: hostsText, Want: "", Says: "host_aliases"},
		{Name: "two names for one", Title: "web", Values: m{"ip": "10.0.0.1", "host_aliases": []string{"a b"}}, File: "hosts", Before: hostsText, Want: "", Says: "host_aliases"},
		{Name: "a line in the comment", Title: "web", Values: m{"ip": "10.0.0.1", "comment": "x\n6.6.6.6 bank"}, File: "hosts", Before: hostsText, Want: "", Says: "comment"},
		{Name: "a return in the comment", Title: "web", Values: m{"ip": "10.0.0.1", "comment": "x\r6.6.6.6 bank"}, File: "hosts", Before: hostsText, Want: "", Says: "comment"},
		{Name: "a path that is none", Title: "web", Values: m{"ip": "10.0.0.1", "target": "hosts"}, File: "hosts", Before: hostsText, Want: "", Says: "target"},
		{Name: "a folder", Title: "web in $DIR/hosts", Values: m{"ip": "10.0.0.1"}, File: "hosts/x", Before: hostsText, Want: "", Says: "not a plain file"},
		{Name: "no folder", Title: "web in $DIR/no/hosts", Values: m{"ip": "10.0.0.1"}, File: "hosts", Before: hostsText, Want: "", Says: "no does not exist; add file["},
		{Name: "too large", Title: "web", Values: m{"ip": "10.0.0.1"}, File: "hosts", Before: strings.Repeat("#", textfile.MaxText+1), Want: "", Says: "larger than 16 MiB"},
	})
}

func TestHostGet(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/hosts", hostsText)
	p := &hosts{file: dir + "/hosts"}
	var titles []string
	all, errs := kindtest.Records(t, p)
	for _, r := range all {
		titles = append(titles, provided.Str(r, "title")+"="+provided.Str(r, "ip"))
	}
	if want := []string{"localhost ipv4=127.0.0.1", "localhost ipv6=::1", "db ipv4=10.0.0.5", "twice ipv4="}; !slices.Equal(titles, want) || errs != nil {
		t.Errorf("got %q, %v", titles, errs)
	}
	some, errs := kindtest.Records(t, p, provider.NameOf("db", "", ""), provider.NameOf("none", "", ""), provider.NameOf("a", "", dir), provider.NameOf("b", "", dir+"/missing"))
	if len(some) != 1 || provided.Str(some[0], "title") != "db" || provided.Str(some[0], "ip") != "10.0.0.5" || len(errs) != 1 {
		t.Errorf("got %v, %v", some, errs)
	}
	both, _ := kindtest.Records(t, p, provider.NameOf("localhost", "", ""))
	if len(both) != 1 || both[0]["ip"] != nil {
		t.Errorf("of two families: %v", both)
	}
	if !slices.Equal(provided.Strs(all[1], "host_aliases"), []string{"ip6-localhost"}) || all[1]["comment"] != "six" {
		t.Errorf("got %v", all[1])
	}
}

// A file may be a link of root's or of ours, not of somebody else.
func TestHostLink(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/etc/real", "#\n")
	kindtest.Must(t, os.Symlink("etc/real", dir+"/hosts"))
	k, at := hostKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, "web", map[string]any{"ip": "10.0.0.9"})
	f := kindtest.Begin(t, "host", r)
	kindtest.Want(t, f, r, "created ip: (none) -> (hidden, 8 bytes)")
	kindtest.WantFile(t, dir+"/etc/real", "#\n10.0.0.9\tweb\n")
	if st, err := os.Lstat(dir + "/hosts"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st, err)
	}
	if os.Geteuid() == 0 {
		kindtest.Must(t, os.Lchown(dir+"/hosts", 12, 34))
		if _, errs := kindtest.Records(t, &hosts{file: dir + "/hosts"}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "is not followed") {
			t.Errorf("got %v", errs)
		}
	}
	kindtest.Must(t, os.Symlink("loop", dir+"/loop"))
	if _, errs := kindtest.Records(t, &hosts{file: dir + "/loop"}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "more than 40 links") {
		t.Errorf("got %v", errs)
	}
}

// What a file has beside its text stays: its mode and its owner.
func TestHostKeepsMode(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/hosts", hostsText)
	kindtest.Must(t, os.Chmod(dir+"/hosts", 0o640))
	k, at := hostKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, "web", map[string]any{"ip": "10.0.0.9"})
	kindtest.Want(t, kindtest.Begin(t, "host", r), r, "created ip: (none) -> (hidden, 8 bytes)")
	if st, err := os.Stat(dir + "/hosts"); err != nil || st.Mode() != 0o640 {
		t.Errorf("got %v, %v", st.Mode(), err)
	}
}
