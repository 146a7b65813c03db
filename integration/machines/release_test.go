package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// publishVersion builds the packages of a version, of these formats, and adds them to a folder, as a release does.
func publishVersion(t *testing.T, dir, version, formats string) {
	t.Helper()
	made := t.TempDir()
	for _, argv := range [][]string{
		{"../../packaging/build", made, version},
		{"sh", "-c", `mv "$0"/mgmt[-_]* "$1"`, made, dir},
		{"go", "run", "../../packaging/repository", dir},
	} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "PACKAGE_FORMATS="+formats)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
}

// copyRepository copies what apt reads of a folder to the machine.
func copyRepository(t *testing.T, h *hosts.Host, dir string) {
	t.Helper()
	for _, pattern := range []string{"*.deb", "Packages*", "Release"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			h.Copy(path, filepath.Join("/srv/mgmt", filepath.Base(path)))
		}
	}
	h.Sh("chmod -R a+rX /srv/mgmt; apt-get -qq update")
}

// TestFindingD9Machine: a machine installs mgmt by apt from the folder of a release, and upgrades it while the service runs.
func TestFindingD9Machine(t *testing.T) {
	t.Parallel()
	tree, dir := hosts.Base(t), t.TempDir()
	publishVersion(t, dir, "0.9.0", "deb")
	h := tree.Boot(t, "release")
	h.Put("/etc/apt/sources.list.d/mgmt.list", "deb [trusted=yes] file:/srv/mgmt ./\n")
	h.Sh("chmod a+r /etc/apt/sources.list.d/mgmt.list")
	copyRepository(t, h, dir)
	h.Sh("apt-get -qq install -y mgmt")
	s := service{h, t}
	s.declare("one")
	s.Run("systemctl", "enable", "--now", "mgmt")
	s.keeps("one")
	pid := s.show("MainPID")

	publishVersion(t, dir, "0.10.0~git12.abcdef0", "deb")
	copyRepository(t, h, dir)
	h.Sh("apt-get -qq upgrade -y")
	if got := h.Run("mgmt", "version"); !strings.Contains(got, "0.10.0~git12.abcdef0 ") {
		t.Errorf("apt has upgraded to %s", got)
	}
	s.Eventually("the service is another process", patience, func() bool {
		return s.show("ActiveState") == "active" && s.show("MainPID") != pid
	})
	s.repairs("one")
}

// stubSpec is what the scripts of a package need and rpm does not know on a machine whose shell came by another way.
const stubSpec = `Name: shell-of-this-machine
Version: 1
Release: 1
Summary: none
License: none
BuildArch: noarch
Provides: /bin/sh
%description
.
%files
`

// feed is how a machine gets a release: the folder of a release as the repository of a package manager.
type feed struct {
	release  string // what /etc/os-release says
	patterns []string
	prepare  string // has the machine know the repository, before it has anything
	install  string
	upgrade  string
	version  string // prints the version of mgmt
}

var feeds = map[string]feed{
	"apt": {
		"ID=debian\n", []string{"*.deb", "Packages*", "Release"},
		"echo 'deb [trusted=yes] file:/srv/mgmt ./' >/etc/apt/sources.list.d/mgmt.list",
		"apt-get -qq update; apt-get -qq install -y mgmt", "apt-get -qq update; apt-get -qq upgrade -y", "dpkg-query -W -f '${Version}' mgmt",
	},
	"dnf": {
		"ID=fedora\n", []string{"*.rpm", "repodata/*"},
		`mkdir -p /etc/yum.repos.d; printf '[mgmt]\nname=mgmt\nbaseurl=file:///srv/mgmt\ngpgcheck=0\n' >/etc/yum.repos.d/mgmt.repo
rm -f /usr/lib/python3/dist-packages/dnf-plugins/system_upgrade.py; printf '[main]\nenabled = false\n' >/etc/dnf/plugins/local.conf
rpmbuild -bb --quiet --define '_rpmdir /root/rpms' /root/stub.spec; rpm --install /root/rpms/noarch/*.rpm`,
		"dnf -yq install mgmt", "dnf -yq --refresh upgrade", "rpm -q --qf '%{VERSION}' mgmt",
	},
}

// publish has the machine see a folder as it is now.
func (f feed) publish(t *testing.T, h *hosts.Host, dir string) {
	t.Helper()
	h.Sh("rm -rf /srv/mgmt/repodata /srv/mgmt/Packages* /srv/mgmt/Release")
	for _, pattern := range f.patterns {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			h.Copy(path, "/srv/mgmt"+strings.TrimPrefix(path, dir))
		}
	}
	h.Sh("chmod -R a+rX /srv/mgmt")
}

// TestFindingD9NewestOfItself: real package managers order what releases make, early versions too, and take the newest of the
// several that the folder has; mgmt takes the next one by itself, by pkg and newest, and goes on as that.
func TestFindingD9NewestOfItself(t *testing.T) {
	dir, tree := t.TempDir(), hosts.Base(t, packageTools...)
	machines := map[string]*hosts.Host{}
	each := func(do func(h *hosts.Host, f feed)) {
		for _, name := range []string{"apt", "dnf"} {
			do(machines[name], feeds[name])
		}
	}
	expect := func(h *hosts.Host, f feed, version string) {
		t.Helper()
		if got := h.Sh(f.version); got != version {
			t.Fatalf("%s: mgmt is %s, want %s", h.Name, got, version)
		}
	}
	for name, f := range feeds {
		h := tree.Boot(t, "newest-"+name)
		h.Put("/etc/os-release", f.release)
		h.Put("/root/stub.spec", stubSpec)
		h.Sh(f.prepare)
		machines[name] = h
	}
	publishVersion(t, dir, "0.9.0", "deb rpm")
	each(func(h *hosts.Host, f feed) {
		f.publish(t, h, dir)
		h.Sh(f.install)
		expect(h, f, "0.9.0")
	})
	publishVersion(t, dir, "0.9.0~git7.abcdef0", "deb rpm") // older, though it comes later
	publishVersion(t, dir, "0.10.0~git9.abcdef0", "deb rpm")
	publishVersion(t, dir, "0.10.0~git12.abcdef0", "deb rpm")
	each(func(h *hosts.Host, f feed) {
		f.publish(t, h, dir)
		h.Sh(f.upgrade)
		expect(h, f, "0.10.0~git12.abcdef0")
	})
	publishVersion(t, dir, "0.10.0", "deb rpm")
	each(func(h *hosts.Host, f feed) {
		f.publish(t, h, dir)
		s := service{h, t}
		s.declare("one")
		s.Run("systemctl", "start", "mgmt")
		s.keeps("one")
		pid := s.show("MainPID")
		h.Put("/etc/mgmt/graph.yaml", "resources:\n  pkg: [{name: mgmt, state: newest}]\n  file: [{name: /etc/kept, content: two}]\n")
		s.Eventually("mgmt has taken the newest of itself", patience, func() bool { return h.Sh(f.version) == "0.10.0" })
		s.Eventually("the service is another process", patience, func() bool {
			return s.show("ActiveState") == "active" && s.show("MainPID") != pid
		})
		if got := h.Run("mgmt", "version"); !strings.Contains(got, "0.10.0 ") {
			t.Errorf("%s runs %s", h.Name, got)
		}
		s.repairs("two")
		if names := called[[]string](t, h, "pkg.interrupted"); len(names) > 0 {
			t.Errorf("%s: half done is %q", h.Name, names)
		}
	})
}
