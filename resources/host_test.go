package resources

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
)

func hostKindAt(t *testing.T) (*provider.Kind, *place) {
	t.Helper()
	var at place
	k, _ := kindOf(t, hostDefinition(), func() provider.Provider { return &hosts{file: at.path("hosts")} })
	return k, &at
}

const hostsText = "# machines\n127.0.0.1 localhost\n::1  localhost ip6-localhost # six\n\n10.0.0.5 DB db.x\n10.0.0.6 twice\n10.0.0.7 twice\n"

func TestHostEdits(t *testing.T) {
	k, at := hostKindAt(t)
	type m = map[string]any
	line := func(l string) string { return hostsText + l + "\n" }
	runEdits(t, k, func(_ *testing.T, dir string) { at.set(dir) }, []edit{
		{"a new line", "web", m{"ip": "10.0.0.9"}, "hosts", hostsText, line("10.0.0.9\tweb"), ""},
		{"a new file", "web", m{"ip": "FD00::0:9", "comment": "x # y", "host_aliases": []string{"W", "w.x"}}, "hosts", "-", "fd00::9\tweb w w.x\t# x # y\n", ""},
		{"another address", "db", m{"ip": "10.0.0.8"}, "hosts", hostsText, strings.Replace(hostsText, "10.0.0.5 DB db.x", "10.0.0.8\tdb db.x", 1), ""},
		{"nothing to do", "DB", m{"ip": "10.0.0.5", "host_aliases": []string{"db.X"}}, "hosts", hostsText, hostsText, ""},
		{"one family", "localhost", m{"ip": "127.0.0.2"}, "hosts", hostsText, strings.Replace(hostsText, "127.0.0.1 localhost", "127.0.0.2\tlocalhost", 1), ""},
		{"no alias, no comment", "localhost ipv6", m{"host_aliases": []string{}, "comment": ""}, "hosts", hostsText, strings.Replace(hostsText, "::1  localhost ip6-localhost # six", "::1\tlocalhost", 1), ""},
		{"twice becomes once", "twice", m{"ip": "10.0.0.6"}, "hosts", hostsText, strings.Replace(hostsText, "10.0.0.7 twice\n", "", 1), ""},
		{"absent, of both families", "localhost", m{"ensure": "absent"}, "hosts", hostsText, "# machines\n\n10.0.0.5 DB db.x\n10.0.0.6 twice\n10.0.0.7 twice\n", ""},
		{"absent, of one", "localhost ipv4", m{"ensure": "absent"}, "hosts", hostsText, strings.Replace(hostsText, "127.0.0.1 localhost\n", "", 1), ""},
		{"a target", "web in $DIR/other", m{"ip": "10.0.0.9"}, "other", "#\n", "#\n10.0.0.9\tweb\n", ""},
		{"a target and a family", "web ipv6 in $DIR/other", m{"ip": "::9"}, "other", "#\n", "#\n::9\tweb\n", ""},
		{"any title", "the web server", m{"hostname": "web", "ip": "10.0.0.9", "target": "$DIR/other"}, "other", "#\n", "#\n10.0.0.9\tweb\n", ""},
		{"the usual file by its name", "web", m{"ip": "10.0.0.9", "target": "$DIR/hosts"}, "hosts", "#\n", "#\n10.0.0.9\tweb\n", ""},

		{"no address", "web", nil, "hosts", hostsText, "", "address"},
		{"both families", "localhost", m{"comment": "x"}, "hosts", hostsText, "", "both families"},
		{"the other family", "web ipv6", m{"ip": "10.0.0.1"}, "hosts", hostsText, "", "family is ipv6"},
		{"no such address", "web", m{"ip": "300.0.0.1"}, "hosts", hostsText, "", "no address"},
		{"a line in the address", "web", m{"ip": "10.0.0.1\n6.6.6.6 bank"}, "hosts", hostsText, "", "host.ip"},
		{"a line at its end", "web", m{"ip": "10.0.0.1\n"}, "hosts", hostsText, "", "host.ip"},
		{"a line in the name", "web\n6.6.6.6", m{"ip": "10.0.0.1"}, "hosts", hostsText, "", "hostname"},
		{"a line at the end of the name", "web", m{"hostname": "web\n", "ip": "10.0.0.1"}, "hosts", hostsText, "", "hostname"},
		{"a line in an alias", "web", m{"ip": "10.0.0.1", "host_aliases": []string{"a\n6.6.6.6 bank"}}, "hosts", hostsText, "", "host_aliases"},
		{"two names for one", "web", m{"ip": "10.0.0.1", "host_aliases": []string{"a b"}}, "hosts", hostsText, "", "host_aliases"},
		{"a line in the comment", "web", m{"ip": "10.0.0.1", "comment": "x\n6.6.6.6 bank"}, "hosts", hostsText, "", "comment"},
		{"a return in the comment", "web", m{"ip": "10.0.0.1", "comment": "x\r6.6.6.6 bank"}, "hosts", hostsText, "", "comment"},
		{"a path that is none", "web", m{"ip": "10.0.0.1", "target": "hosts"}, "hosts", hostsText, "", "target"},
		{"a folder", "web in $DIR/hosts", m{"ip": "10.0.0.1"}, "hosts/x", hostsText, "", "not a plain file"},
		{"no folder", "web in $DIR/no/hosts", m{"ip": "10.0.0.1"}, "hosts", hostsText, "", "no does not exist; add file["},
		{"too large", "web", m{"ip": "10.0.0.1"}, "hosts", strings.Repeat("#", maxText+1), "", "larger than 16 MiB"},
	})
}

func TestHostGet(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/hosts", hostsText)
	p := &hosts{file: dir + "/hosts"}
	var titles []string
	all, errs := records(t, p)
	for _, r := range all {
		titles = append(titles, str(r, "title")+"="+str(r, "ip"))
	}
	if want := []string{"localhost ipv4=127.0.0.1", "localhost ipv6=::1", "db ipv4=10.0.0.5", "twice ipv4="}; !slices.Equal(titles, want) || errs != nil {
		t.Errorf("got %q, %v", titles, errs)
	}
	some, errs := records(t, p, provider.NameOf("db", "", ""), provider.NameOf("none", "", ""), provider.NameOf("a", "", dir), provider.NameOf("b", "", dir+"/missing"))
	if len(some) != 1 || str(some[0], "title") != "db" || str(some[0], "ip") != "10.0.0.5" || len(errs) != 1 {
		t.Errorf("got %v, %v", some, errs)
	}
	both, _ := records(t, p, provider.NameOf("localhost", "", ""))
	if len(both) != 1 || both[0]["ip"] != nil {
		t.Errorf("of two families: %v", both)
	}
	if !slices.Equal(strs(all[1], "host_aliases"), []string{"ip6-localhost"}) || all[1]["comment"] != "six" {
		t.Errorf("got %v", all[1])
	}
}

// A file may be a link of root's or of ours, not of somebody else.
func TestHostLink(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/etc/real", "#\n")
	must(t, os.Symlink("etc/real", dir+"/hosts"))
	k, at := hostKindAt(t)
	at.set(dir)
	r := filled(t, k, "web", map[string]any{"ip": "10.0.0.9"})
	f := begin(t, "host", r)
	want(t, f, r, "created")
	wantFile(t, dir+"/etc/real", "#\n10.0.0.9\tweb\n")
	if st, err := os.Lstat(dir + "/hosts"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st, err)
	}
	if os.Geteuid() == 0 {
		must(t, os.Lchown(dir+"/hosts", 12, 34))
		if _, errs := records(t, &hosts{file: dir + "/hosts"}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "is not followed") {
			t.Errorf("got %v", errs)
		}
	}
	must(t, os.Symlink("loop", dir+"/loop"))
	if _, errs := records(t, &hosts{file: dir + "/loop"}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "more than 40 links") {
		t.Errorf("got %v", errs)
	}
}

// What a file has beside its text stays: its mode and its owner.
func TestHostKeepsMode(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/hosts", hostsText)
	must(t, os.Chmod(dir+"/hosts", 0o640))
	k, at := hostKindAt(t)
	at.set(dir)
	r := filled(t, k, "web", map[string]any{"ip": "10.0.0.9"})
	want(t, begin(t, "host", r), r, "created")
	if st, err := os.Stat(dir + "/hosts"); err != nil || st.Mode() != 0o640 {
		t.Errorf("got %v, %v", st.Mode(), err)
	}
}
