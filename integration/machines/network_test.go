package machines

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// mirror serves the repository in a network of its own; a link leads there when it is up. systemd has made the network when it is
// another one than that of the script.
const mirror = `systemd-run --quiet --unit=mirror -p PrivateNetwork=yes busybox httpd -f -p 80 -h /srv/repository
until pid=$(systemctl show --value -p MainPID mirror); [ "$pid" != 0 ] && [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
ip link add out type veth peer name in; ip link set in netns "$pid"
nsenter -t "$pid" -n sh -ec 'ip addr add 10.77.0.2/24 dev in; ip link set in up'`

const linkUp = `ip link set out up; ip addr replace 10.77.0.1/24 dev out`

// TestFindingB4Network: the machine boots without its network. What is installed is ok and what depends on it goes on, the rest fails by itself; when the
// link is up it is installed soon, and nobody has asked for that. So it is when the link is lost on the way.
func TestFindingB4Network(t *testing.T) {
	t.Parallel()
	s := service{boot(t, "network"), t}
	defer func() {
		if t.Failed() {
			status, _ := s.Try("sh", "-c", "mgmt status --all; ip addr; systemctl status mirror; cat /etc/apt/sources.list.d/*; apt-get update")
			t.Log(s.Journal("-u", "mgmt", "-n", "60"), status)
		}
	}()
	s.AddRepository(hosts.Repository(t,
		hosts.Package{Name: "here", Version: "1.0"},
		hosts.Package{Name: "there", Version: "1.0", Files: map[string]string{"/etc/there.conf": "x\n"}},
		hosts.Package{Name: "later", Version: "1.0", Files: map[string]string{"/etc/later.conf": "x\n"}}))
	s.Sh("apt-get -qq install here")
	s.Put("/etc/apt/sources.list.d/tests.list", "deb [trusted=yes] http://10.77.0.2/ ./\n")
	s.Sh(mirror + "\n" + linkUp + "\napt-get -qq update\nrm -f /srv/repository/Packages.old")
	graph := func(names string) {
		s.Put("/etc/mgmt/graph.yaml", "resources:\n  file: [{name: /etc/below, content: x, depend: [\"pkg[here]\"]}]\n  pkg: ["+names+"]\n")
	}
	graph("{name: here}, {name: there}")
	s.Run("systemctl", "enable", "mgmt")
	s.Reboot()
	s.Eventually("what depends on an installed package goes on", patience, func() bool { return s.Holds("test -e /etc/below && mgmt status | grep -q 'pkg.there.*failed'") })
	if status := s.Run("mgmt", "status", "--all"); !strings.Contains(status, "pkg[here]") || s.Holds("test -e /etc/there.conf") {
		t.Errorf("without a network\n%s", status)
	}
	s.Sh(mirror + "\n" + linkUp)
	took := s.Eventually("there is installed", patience, func() bool { return s.Holds("test -e /etc/there.conf") })
	t.Logf("%s after the link was up it is installed", took)
	s.sound()

	s.Sh("ip link set out down")
	graph("{name: here}, {name: there}, {name: later}")
	s.Eventually("later fails", patience, func() bool { return s.Holds("mgmt status | grep -q 'pkg.later.*failed'") })
	s.Sh(linkUp)
	s.Eventually("later is installed", patience, func() bool { return s.Holds("test -e /etc/later.conf") })
	s.sound()
}
