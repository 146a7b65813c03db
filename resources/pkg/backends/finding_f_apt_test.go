package backends

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// TestFindingF10RealAptReads: the real apt reads in the files of a folder what mod_repo and del_repo have made of them.
func TestFindingF10RealAptReads(t *testing.T) {
	enginetest.Need(t, "apt-get", "apt")
	root := t.TempDir()
	conf := root + "/apt.conf"
	tree{
		"/apt.conf":                         fmt.Sprintf("Dir %q;\nDir::Etc::parts %q;\nAPT::Architecture \"amd64\";\nAPT::Architectures {\"amd64\";};\n", root, root+"/none"),
		"/var/lib/dpkg/status":              "",
		"/etc/apt/sources.list":             "deb [arch=amd64 trusted=yes] http://a.example/ stable main contrib # ours\n# deb http://c.example/ ./\n",
		"/etc/apt/sources.list.d/x.sources": strings.Replace(debianSources, "Signed-By:\n -----BEGIN PGP-----\n .\n abc\n", "Signed-By:\n /usr/share/keyrings/x.asc\n", 1),
	}.write(t, root)
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	a := &apt{tools: newTools(virtual.Env{Host: h, Root: root}, judgeApt, "APT_CONFIG="+conf), arch: "amd64"}
	used := func() map[string]bool {
		t.Helper()
		all, err := a.listRepos(t.Context(), virtual.Nothing{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for name, r := range all {
			out[name] = r.Enabled
		}
		return out
	}
	want := map[string]bool{
		"http://a.example/ stable main": true, "http://a.example/ stable contrib": true, "http://c.example/ ./": false,
		"http://deb.example/debian/ stable main": true, "http://deb.example/debian/ stable contrib": true,
		"http://deb.example/debian/ stable-updates main": true, "http://deb.example/debian/ stable-updates contrib": true,
		"http://security.example/ stable-security main": true,
	}
	expect := func(after string) {
		t.Helper()
		if got := used(); !maps.Equal(got, want) {
			t.Errorf("after %s: %v\nwant %v", after, got, want)
		}
	}
	expect("nothing")
	for _, name := range slices.Sorted(maps.Keys(want)) { // each goes off and on by itself
		for _, on := range []bool{!want[name], want[name]} {
			if _, err := a.modRepo(t.Context(), ModRepoArgs{Repo: name, Enabled: &on}); err != nil {
				t.Fatal(name, err)
			}
			was := want[name]
			want[name] = on
			expect(fmt.Sprintf("%s is %v", name, on))
			want[name] = was
		}
	}
	fresh := "https://new.example/x/ stable main"
	if _, err := a.modRepo(t.Context(), ModRepoArgs{Repo: fresh, Untrusted: new(true)}); err != nil {
		t.Fatal(err)
	}
	want[fresh] = true
	expect("a new one")
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, err := a.delRepo(t.Context(), RepoArgs{name}); err != nil {
			t.Fatal(name, err)
		}
		delete(want, name)
		expect(name + " is gone")
	}
}

// TestFindingQ16Servers: apt tells for each file why it could not be fetched. An error has the reason once for each server, and of
// a server whose name cannot be read, each file.
func TestFindingQ16Servers(t *testing.T) {
	const refused = "Could not connect to mirror.example:80 (192.0.2.1). - connect (111: Connection refused)"
	got := judgeApt(&engine.Result{ExitCode: 100, Stderr: []byte(strings.Join([]string{
		"E: Failed to fetch http://mirror.example/debian/dists/stable/InRelease  " + refused,
		"W: Failed to fetch http://mirror.example/debian/dists/stable-updates/InRelease  Unable to connect to mirror.example:80:",
		"E: Failed to fetch http://mirror.example/security/dists/stable-security/InRelease  Unable to connect to mirror.example:80:",
		"E: Failed to fetch http://other.example/a.deb  Could not resolve 'other.example'",
		"E: Failed to fetch file:/srv/a.deb  File not found",
		"E: Failed to fetch file:/srv/b.deb  File not found",
		"E: Some index files failed to download. They have been ignored, or old ones used instead.",
	}, "\n"))})
	want := "a repository cannot be reached (see whether its address is right and the network is up): " +
		"E: Failed to fetch http://mirror.example/debian/dists/stable/InRelease  " + refused + " (and 2 other files of this server); " +
		"E: Failed to fetch http://other.example/a.deb  Could not resolve 'other.example'; " +
		"E: Failed to fetch file:/srv/a.deb  File not found; E: Failed to fetch file:/srv/b.deb  File not found"
	if got == nil || got.Error() != want {
		t.Errorf("the error is %v\nwant %s", got, want)
	}
}

// TestAptReasons: of a server that fails for several reasons, an error has each of them. A line that apt has printed twice is one file.
func TestAptReasons(t *testing.T) {
	const at = "E: Failed to fetch http://mirror.example/"
	const missing = "404  Not Found [IP: 192.0.2.1 80]"
	const refused = "Could not connect to mirror.example:80 (192.0.2.1). - connect (111: Connection refused)"
	for want, lines := range map[string][]string{
		at + "a.deb  " + missing + " (and another file of this server); " + at + "b.deb  Hash Sum mismatch": {
			at + "a.deb  " + missing, at + "b.deb  Hash Sum mismatch", at + "c.deb  " + missing, at + "a.deb  " + missing,
		},
		at + "a.deb  " + missing + "; " + at + "b.deb  " + refused + " (and another file of this server)": {
			at + "a.deb  " + missing, at + "b.deb  " + refused, at + "c.deb  Unable to connect to mirror.example:80:",
		},
		at + "a.deb  Hash Sum mismatch": {at + "a.deb  Hash Sum mismatch", at + "a.deb  Hash Sum mismatch "},
	} {
		if got := unfetched(&engine.Result{Stderr: []byte(strings.Join(lines, "\n"))}); got != want {
			t.Errorf("it says %s\nwant %s", got, want)
		}
	}
}
