package backends

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// aptContents is the configuration by which apt fetches the lists that Contents reads, as that of apt-file does.
const aptContents = `Acquire::IndexTargets::deb::Contents-deb {
  MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; flatMetaKey "Contents-$(ARCHITECTURE)";
  ShortDescription "Contents"; Description "Contents"; flatDescription "Contents"; KeepCompressed "true"; Identifier "Contents-deb"; };
`

// fetchLists has the real apt-get fetch the lists of a repository below dir, which has these lines for Contents, and
// returns the folder where it keeps them.
func fetchLists(t *testing.T, dir, contents string) (lists string) {
	t.Helper()
	lists = filepath.Join(dir, aptLists)
	files := map[string]string{
		"repo/Packages":             "Package: odd-server\nVersion: 1.0\nArchitecture: all\nFilename: ./x.deb\nSize: 1\nSHA256: " + strings.Repeat("0", 64) + "\n\n",
		"repo/Contents-amd64":       contents,
		"sources.list":              "deb [trusted=yes arch=amd64] file:" + dir + "/repo ./\n",
		aptLists + "/partial/.keep": "",
		"cache/archives/.keep":      "",
		"status":                    "",
		"apt.conf": fmt.Sprintf("Dir::State %[1]q;\nDir::State::status %[2]q;\nDir::State::lists %[3]q;\nDir::Cache %[4]q;\nDir::Etc %[1]q;\nDir::Etc::sourceparts %[5]q;\nDir::Etc::parts %[5]q;\nAPT::Sandbox::User \"\";\n",
			dir, dir+"/status", lists, dir+"/cache", dir+"/none") + aptContents,
	}
	var release strings.Builder
	release.WriteString("Date: Sat, 01 Jan 2022 00:00:00 UTC\nArchitectures: amd64 all\nSHA256:\n")
	for _, name := range []string{"Packages", "Contents-amd64"} {
		text := files["repo/"+name]
		fmt.Fprintf(&release, " %x %d %s\n", sha256.Sum256([]byte(text)), len(text), name)
	}
	files["repo/Release"] = release.String()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("apt-get", "-q", "update")
	cmd.Env = []string{"APT_CONFIG=" + dir + "/apt.conf", "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apt-get update: %v\n%s", err, out)
	}
	return lists
}

// TestFindingB5AptContents: what apt has fetched of a repository tells what its packages bring, also compressed; a package whose name only
// begins or ends alike has nothing to do with it.
func TestFindingB5AptContents(t *testing.T) {
	root := t.TempDir()
	lists := fetchLists(t, root, `etc/odd/a file.conf                net/odd-server
etc/odd/odd.conf                net/odd-server
lib/other	admin/odd-server-more,admin/more-odd-server,g++
usr/lib/systemd/system/oddd.service net/odd-server
usr/sbin/oddd                   libs/zz,net/odd-server,more
usr/share/gxx                   gxx
`)
	if found, err := filepath.Glob(lists + "/*Contents-amd64*"); err != nil || len(found) != 1 || filepath.Ext(found[0]) == "" {
		t.Fatalf("apt has fetched %q, %v, and not a compressed list", found, err)
	}
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	a := &apt{tools: newTools(virtual.Env{Host: h, Root: root}, judgeApt), arch: "amd64"}
	for _, c := range []struct {
		names []string
		want  map[string][]string
	}{
		{[]string{"odd-server", "nope"}, map[string][]string{"odd-server": {"/etc/odd/a file.conf", "/etc/odd/odd.conf", "/usr/lib/systemd/system/oddd.service", "/usr/sbin/oddd"}}},
		{[]string{"odd-server:amd64", "g++"}, map[string][]string{"odd-server:amd64": {"/etc/odd/a file.conf", "/etc/odd/odd.conf", "/usr/lib/systemd/system/oddd.service", "/usr/sbin/oddd"}, "g++": {"/lib/other"}}},
		{[]string{"nope"}, map[string][]string{}},
	} {
		got, err := a.contents(t.Context(), ContentsArgs{c.names})
		if err != nil || !maps.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%q: %q, %v; want %q", c.names, got, err, c.want)
		}
	}
	if _, err := a.contents(t.Context(), ContentsArgs{[]string{"-x"}}); err == nil {
		t.Error("-x is taken for the name of a package")
	}
	if got, err := (&apt{tools: tools{root: root}, arch: "arm64"}).contents(t.Context(), ContentsArgs{[]string{"odd-server"}}); err != nil || len(got) > 0 {
		t.Errorf("the lists of another architecture tell %q, %v", got, err)
	}
}

// TestFindingB5Unreadable: lists that cannot be read are an error.
func TestFindingB5Unreadable(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, aptLists)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/x_Contents-amd64.lz4", []byte("no lz4"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	a := &apt{tools: newTools(virtual.Env{Host: h, Root: root}, judgeApt), arch: "amd64"}
	if got, err := a.contents(t.Context(), ContentsArgs{[]string{"odd"}}); err == nil {
		t.Errorf("it tells %q", got)
	}
}

// TestFindingB5ListsThatChange: the stamp of files is another one when one of them is, and empty where there are none.
func TestFindingB5ListsThatChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if got := stampOf([]string{path}); got != "" {
		t.Errorf("%q for nothing", got)
	}
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := stampOf([]string{path})
	if err := os.WriteFile(path, []byte("22"), 0o600); err != nil {
		t.Fatal(err)
	}
	if two := stampOf([]string{path}); one == "" || one == two {
		t.Errorf("%q, and then %q", one, two)
	}
	for _, b := range []string{"zypper", "apk"} {
		if got := ContentsStamp(b); got != "" {
			t.Errorf("%s has lists: %q", b, got)
		}
	}
}
