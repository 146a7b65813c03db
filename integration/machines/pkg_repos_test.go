package machines

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// toolCase is what the tools of a package manager say of repositories and versions that are kept, to tests that do not ask the
// program for that.
type toolCase struct {
	repo, url string // what repositories.sh has put to /srv/more, as mod_repo calls it; apt's name has the address
	uses      string // ends well if the package manager uses that repository
	old       string // installs tiny 1.0, of which 2.0 can be had
	version   string // prints the version of tiny
	kept      string // ends well if the package manager keeps tiny
	mine      string // a file of repositories in which a comment stands
}

var toolCases = map[string]toolCase{
	"apt": {
		repo: "file:/srv/more/ ./", uses: "apt-get indextargets --no-release-info --format '$(REPO_URI)' | grep -q ^file:/srv/more",
		old: "apt-get -qq install --allow-downgrades tiny=1.0", version: "dpkg-query -W -f '${Version}' tiny",
		kept: "apt-mark showhold | grep -qx tiny", mine: "/etc/apt/sources.list.d/tests.list",
	},
	"dnf": {
		repo: "more", url: "file:///srv/more", uses: "dnf -q repolist --enabled | grep -q ^more",
		old: "dnf -yq install tiny-1.0", version: "rpm -q --qf '%{VERSION}' tiny",
		kept: "dnf -q versionlock list | grep -qx 'tiny-0:1.0-1.*'", mine: "/etc/yum.repos.d/local.repo",
	},
	"pacman": {
		repo: "more", url: "file:///srv/more", uses: "pacman-conf --repo-list | grep -qx more",
		old: "pacman --noconfirm -U /srv/more/old/tiny-1.0-1-any.pkg.tar", version: "pacman -Q tiny | cut -d' ' -f2",
		kept: "pacman-conf IgnorePkg | grep -qx tiny", mine: "/etc/pacman.conf",
	},
	"zypper": {
		repo: "more", url: "file:///srv/more", uses: "zypper -q lr --uri | grep -q 'more .*| Yes '",
		old: "zypper -nq install tiny=1.0", version: "rpm -q --qf '%{VERSION}' tiny",
		kept: "zypper -q locks | grep -q '| tiny '", mine: "/etc/zypp/repos.d/local.repo",
	},
}

// called calls a function by the program in the machine, and returns what it writes of the result as JSON.
func called[T any](t *testing.T, h *hosts.Host, args ...string) (common T) {
	t.Helper()
	var said struct{ Common T }
	text := h.Run("mgmt", append([]string{"call", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &said); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, text)
	}
	return said.Common
}

// TestFindingF10RealTools: repositories come and go, and versions are kept, by calls of the program on a machine of each package
// manager, and its own tools say so, too.
func TestFindingF10RealTools(t *testing.T) {
	for _, d := range distributions {
		t.Run(d.backend.Name, func(t *testing.T) {
			t.Parallel()
			path, err := deb()
			if err != nil {
				t.Fatal(err)
			}
			h := d.boot(t)
			h.Install(path)
			if d.tools == "" {
				dir := hosts.Repository(t, hosts.Package{Name: "fresh", Version: "1.0"})
				h.Copy(dir+"/Packages", "/srv/more/Packages")
				h.Copy(dir+"/fresh_1.0_all.deb", "/srv/more/fresh_1.0_all.deb")
				h.Sh("chmod -R a+rX /srv/more")
			}
			t.Run("repositories", func(t *testing.T) { d.testRepositories(t, h.For(t)) })
			t.Run("holds", func(t *testing.T) { d.testHolds(t, h.For(t)) })
		})
	}
}

// oneOfRepos is a repository as list_repos has it.
type oneOfRepos struct {
	URL     string
	Enabled bool
}

// testRepositories: a repository is made, what it has is installed, it is switched off and on, and removed. What stood in the files stays.
func (d distribution) testRepositories(t *testing.T, h *hosts.Host) {
	c := toolCases[d.backend.Name]
	h.Sh("sed -i '1i # a comment' " + c.mine)
	before := h.Get(c.mine)
	name := "repo=" + c.repo
	expect := func(there, enabled bool) {
		t.Helper()
		all := called[map[string]oneOfRepos](t, h, "pkg.list_repos")
		if r, is := all[c.repo]; is != there || r.Enabled != enabled {
			t.Errorf("list_repos has %v", all)
		}
		if len(all) < 2 && there {
			t.Errorf("list_repos has %v only", all)
		}
		if h.Holds(c.uses) != enabled {
			t.Errorf("the tool says otherwise: used is %v\n%s", !enabled, h.Sh(strings.SplitN(c.uses, "|", 2)[0]))
		}
	}
	make := []string{"call", "pkg.mod_repo", name, "untrusted=true"}
	if c.url != "" {
		make = append(make, "url="+c.url)
	}
	expect(false, false)
	for range 2 {
		h.Run("mgmt", make...)
		expect(true, true)
	}
	h.Run("mgmt", "call", "pkg.refresh_db")
	if d.backend.Name == "zypper" { // the others fetch such lists only where they are told to
		if got := called[map[string][]string](t, h, "pkg.contents", `names:=["fresh", "tiny"]`); !slices.Equal(got["fresh"], []string{"/etc/fresh/fresh.conf"}) {
			t.Errorf("the lists tell %v", got)
		}
	}
	h.Run("mgmt", "call", "pkg.install", `pkgs:={"fresh": ""}`)
	if got := called[map[string]string](t, h, "pkg.list_installed", "fresh"); !strings.HasPrefix(got["fresh"], "1.0") {
		t.Errorf("of the new repository %v is installed", got)
	}
	h.Run("mgmt", "call", "pkg.mod_repo", name, "enabled=false")
	expect(true, false)
	h.Run("mgmt", "call", "pkg.refresh_db")
	h.Run("mgmt", "call", "pkg.mod_repo", name, "enabled=true")
	expect(true, true)
	for range 2 {
		h.Run("mgmt", "call", "pkg.del_repo", name)
		expect(false, false)
	}
	if after := h.Get(c.mine); after != before {
		t.Errorf("%s was\n%s\nand is\n%s", c.mine, before, after)
	}
	h.Run("mgmt", "call", "pkg.refresh_db")
}

// testHolds: what is held stays at its version when all is upgraded, and is refused when it is named; when that ends it is upgraded.
func (d distribution) testHolds(t *testing.T, h *hosts.Host) {
	c := toolCases[d.backend.Name]
	h.Sh(c.old)
	expect := func(version string, kept bool) {
		t.Helper()
		if got := h.Sh(c.version); !strings.HasPrefix(got, version) {
			t.Errorf("tiny is %s, want %s", got, version)
		}
		if h.Holds(c.kept) != kept {
			t.Errorf("the tool keeps it: %v", !kept)
		}
		if got := called[[]string](t, h, "pkg.list_holds"); slices.Contains(got, "tiny") != kept {
			t.Errorf("list_holds has %q", got)
		}
		upgrades := called[map[string]string](t, h, "pkg.list_upgrades")
		available := called[bool](t, h, "pkg.upgrade_available", "tiny")
		if newer := strings.HasPrefix(version, "1") && !kept; available != newer || (upgrades["tiny"] != "") != newer {
			t.Errorf("upgrade_available is %v, list_upgrades %v", available, upgrades)
		}
	}
	expect("1.0", false)
	for range 2 {
		h.Run("mgmt", "call", "pkg.hold", `names:=["tiny"]`)
		expect("1.0", true)
	}
	h.Run("mgmt", "call", "pkg.upgrade")
	expect("1.0", true)
	if out, err := h.Try("mgmt", "call", "pkg.upgrade", `names:=["tiny"]`); err == nil || !strings.Contains(out, "pkg.upgrade") {
		t.Errorf("it upgrades what is held: %v\n%s", err, out)
	}
	expect("1.0", true)
	h.Run("mgmt", "call", "pkg.install", `pkgs:={"other": ""}`, "recommends=false")
	expect("1.0", true)
	files := called[map[string][]string](t, h, "pkg.file_dict", "tiny", "other")
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{"other", "tiny"}) || !slices.Contains(files["tiny"], "/etc/tiny/tiny.conf") {
		t.Errorf("file_dict has %v", files)
	}
	for range 2 {
		h.Run("mgmt", "call", "pkg.unhold", `names:=["tiny"]`)
		expect("1.0", false)
	}
	h.Run("mgmt", "call", "pkg.upgrade", `names:=["tiny"]`)
	expect("2.0", false)
}
