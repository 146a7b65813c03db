package machines

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// manyPackages are those that are one transaction.
func manyPackages() (names []string) {
	for i := range 20 {
		names = append(names, fmt.Sprintf("p%02d", i+1))
	}
	return names
}

// packageCase is what tests say to the tools of a package manager, which it is not told by the program.
type packageCase struct {
	install, remove string // and a list of names
	has             string // ends well if the package behind it is installed
	transactions    string // prints how many there have been
	holders         []string
	drift           string // removes tiny with a tool below the package manager, if there is one
}

// packageCases is by the name of the backend. Each holder installs slow, and with that holds a lock; it ends
// when that is installed.
var packageCases = map[string]packageCase{
	"apt": {
		install: "apt-get -qq -o DPkg::Lock::Timeout=60 install", remove: "apt-get -qq -o DPkg::Lock::Timeout=60 remove", has: "dpkg-query -W -f '${db:Status-Status}' $1 | grep -qx installed",
		transactions: "grep -c ^Start-Date /var/log/apt/history.log || true",
		holders:      []string{"apt-get -qq install slow", "dpkg --install /srv/repository/slow_1.0_all.deb"},
		drift:        "dpkg --remove tiny",
	},
	"dnf": {
		install: "dnf -yq install", remove: "dnf -yq remove", has: "rpm -q $1",
		transactions: `rpm -qa --qf '%{INSTALLTID}\n' | sort -u | wc -l`,
		holders:      []string{"dnf -yq install slow", "rpm --install /srv/rpm/noarch/slow-1.0-1.noarch.rpm"},
		drift:        "rpm --erase tiny",
	},
	"pacman": {
		install: "pacman --noconfirm -S", remove: "pacman --noconfirm -R", has: "pacman -Q $1",
		transactions: "grep -c 'transaction started' /var/log/pacman.log || true",
		holders:      []string{"pacman --noconfirm -S slow"},
	},
	"zypper": {
		install: "zypper -nq install", remove: "zypper -nq remove", has: "rpm -q $1",
		transactions: "grep -c '|command|' /var/log/zypp/history || true",
		holders:      []string{"zypper -nq install slow", "rpm --install /srv/rpm/noarch/slow-1.0-1.noarch.rpm"},
		drift:        "rpm --erase tiny",
	},
}

// holds returns a script that ends well if a package is installed.
func (p packageCase) holds(name string) string { return strings.ReplaceAll(p.has, "$1", name) }

func (p packageCase) count(h *hosts.Host) (n int) {
	_, _ = fmt.Sscan(h.Sh(p.transactions), &n)
	return n
}

// reset leaves one of the packages installed: zypper goes wrong where there is none at all.
func (p packageCase) reset(h *hosts.Host) {
	h.Sh(p.install + " extra; for p in other tiny mta-a slow gxx g++; do " + p.remove + " $p || true; done")
}

// testLock: a package manager that somebody else uses is waited for.
func (d distribution) testLock(t *testing.T, h *hosts.Host) {
	p := packageCases[d.backend.Name]
	p.reset(h)
	t.Cleanup(func() { h.Sh("rm -f /run/hold") })
	for _, holder := range p.holders {
		h.Sh("rm -rf /run/held; touch /run/hold; (" + holder + ") >/run/holder 2>&1 </dev/null & :")
		h.Eventually("the lock is held by: "+holder, patience, func() bool { return h.Holds("test -e /run/held") })
		m := d.bind(t, onHost(h))
		h.Sh("(sleep 2; rm -f /run/hold) >/dev/null 2>&1 </dev/null & :")
		start := time.Now()
		changes, _, err := backends.Install.Call(t.Context(), m, backends.InstallArgs{Pkgs: map[string]string{"p01": ""}, Refresh: true})
		if err != nil || changes["p01"].New == "" {
			t.Errorf("beside %s: %v, %v\n%s", holder, changes, err, h.Get("/run/holder"))
		}
		t.Logf("%7.1f ms beside: %s", time.Since(start).Seconds()*1000, holder)
		h.Eventually("it has ended: "+holder, patience, func() bool { return h.Holds(p.holds("slow")) })
		if _, _, err := backends.Remove.Call(t.Context(), m, backends.RemoveArgs{Names: []string{"slow", "p01"}}); err != nil {
			t.Error(err)
		}
	}
}

// testOnce: a package comes and goes, noop does neither, and what is right is left alone.
func (d distribution) testOnce(t *testing.T, h *hosts.Host) {
	p := packageCases[d.backend.Name]
	p.reset(h)
	holds := p.holds("tiny")
	c := kindCase{
		kind: "pkg", name: "tiny", have: params{"state": "installed"}, gone: params{"state": "uninstalled"},
		right: holds, absent: "! " + holds,
	}
	c.testOnce(t, h)
}

// storyGraph names no edge: what is written comes after the package whose file it is or whose version it tells.
const storyGraph = `
resources:
  file:
  - {name: /etc/tiny/tiny.conf, content: "mine\n", meta: {retry: -1, delay: 200}}
  - {name: /run/version, recv: {content: "pkg[tiny].version"}}
  exec:
  - {name: tell, shell: /bin/sh, cmd: "echo >>/run/told", refreshonly: true}
  pkg:
  - {name: tiny, notify: ["exec[tell]"]}
`

// testStory: a configuration file comes after its package, which is not asked whether it may replace it, sends its
// version and notifies; the verbs that look tell the package; and with meta reverse it goes again.
func (d distribution) testStory(t *testing.T, h *hosts.Host) {
	p := packageCases[d.backend.Name]
	p.reset(h)
	h.Sh("rm -rf /etc/tiny /run/version /run/told")
	h.Put(graphPath, storyGraph)
	if code := once(t, h); code != 0 {
		t.Fatalf("the run ends with %d", code)
	}
	h.Sh(`test "$(cat /etc/tiny/tiny.conf)" = mine; test "$(wc -l </run/told)" = 1; ` + p.holds("tiny"))
	version := h.Get("/run/version")
	if !strings.HasPrefix(version, "2.0") {
		t.Errorf("the version that was sent is %q", version)
	}
	for look, want := range map[string]string{
		"mgmt resource pkg tiny":                  version,
		"mgmt import pkg":                         "name: tiny",
		"mgmt call pkg.list_installed":            "tiny: \"" + version,
		"mgmt call pkg.owner /etc/tiny/tiny.conf": ": tiny",
	} {
		if out := h.Sh(look); !strings.Contains(out, want) {
			t.Errorf("%s says\n%s\nwithout %q", look, out, want)
		}
	}
	h.Put(graphPath, "resources: {pkg: [{name: gxx, meta: {reverse: true}}]}\n")
	h.Run("systemctl", "start", "mgmt")
	settle(h)
	h.Sh(p.holds("gxx"))
	h.Put(graphPath, "resources: {pkg: [{name: tiny}]}\n")
	h.Eventually("what has left the graph is undone", patience, func() bool { return h.Holds("! " + p.holds("gxx")) })
	h.Run("systemctl", "stop", "mgmt")
}

// testDaemon: many packages are one transaction, and what somebody installs or removes is undone at once.
func (d distribution) testDaemon(t *testing.T, h *hosts.Host) {
	p := packageCases[d.backend.Name]
	g := graph{}
	g.add("pkg", "gxx", params{"state": "uninstalled"}, params{"meta": retried})
	var right strings.Builder
	right.WriteString("! " + p.holds("gxx"))
	var ids []string
	for _, name := range append(manyPackages(), "tiny") {
		g.add("pkg", name, params{"meta": retried})
		right.WriteString(" && " + p.holds(name))
		ids = append(ids, "pkg["+name+"]")
	}
	g.put(t, h)
	h.Put("/etc/default/mgmt", "MGMT_OPTIONS=--flapping off\n")
	p.reset(h)
	before := p.count(h)
	h.Run("systemctl", "start", "mgmt")
	settle(h)
	explain(t, h, right.String(), ids[0], ids[len(ids)-1])
	h.Eventually("all are installed", patience, func() bool { return h.Holds(right.String()) })
	if n := p.count(h) - before; n != 1 {
		t.Errorf("%d packages were %d transactions", len(ids), n)
	}
	drifts := []string{p.remove + " tiny", p.install + " gxx", p.remove + " " + strings.Join(manyPackages(), " ")}
	if p.drift != "" {
		drifts = append(drifts, p.drift)
	}
	for _, drift := range drifts {
		h.Sh(drift)
		took := h.Eventually("it is right after: "+drift, patience, func() bool { return h.Holds(right.String()) })
		t.Logf("%7.1f ms after: %s", took.Seconds()*1000, drift)
		settle(h) // the package manager's lock is free again: not every tool waits for it
	}
	d.testRandom(t, h, right.String())
	settle(h)
	h.Run("systemctl", "stop", "mgmt")
}

// testRandom: a hundred packages are removed, ten at a time, some while others are repaired.
func (d distribution) testRandom(t *testing.T, h *hosts.Host, right string) {
	if d.backend.Name != "apt" {
		return // the others are slower, and the program does the same
	}
	r := draws(t)
	var script strings.Builder
	for range 10 {
		names := manyPackages()
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		fmt.Fprintf(&script, "%s %s || true\nsleep 0.%d\n", packageCases["apt"].remove, strings.Join(names[:10], " "), r.IntN(5))
	}
	start := time.Now()
	h.Sh(script.String())
	took := h.Eventually("it is right after\n"+script.String(), patience, func() bool { return h.Holds(right) })
	t.Logf("a hundred packages removed in %.1f s, right %.1f ms later", time.Since(start).Seconds(), took.Seconds()*1000)
}
