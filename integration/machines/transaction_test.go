package machines

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// phase is a place in which dpkg stands still: a maintainer script of slow waits there as long as there is /run/hold-NAME.
type phase struct {
	name, pkg, state string // the package and its state that lead through it
	prepare          string
}

// phases are all in which dpkg runs what is the package's.
var phases = []phase{
	{"preinst", "slow", "installed", "true"},
	{"postinst", "slow", "installed", "true"},
	{"triggered", "poke", "installed", "apt-get -qq install slow"},
	{"prerm", "slow", "uninstalled", "apt-get -qq install slow"},
	{"postrm", "slow", "uninstalled", "apt-get -qq install slow"},
	{"upgrade", "slow", "newest", "apt-get -qq install slow=1.0"}, // the preinst of the new one, while files are replaced
}

// stand is a maintainer script that stands still where it is told to.
func stand(name string) string {
	return fmt.Sprintf("#!/bin/sh\nset -e\nwhich=%s\n[ \"$1\" != triggered ] || which=triggered\n[ \"$which $1\" != 'preinst upgrade' ] || which=upgrade\n"+
		"if [ -e /run/hold-$which ]; then echo $$ >/run/held; while [ -e /run/hold-$which ]; do sleep 0.05; done; fi\n[ ! -e /run/bad ] || exit 1\n", name)
}

// slowPackages are slow in two versions, one that is fine, and mgmt in a later version.
func slowPackages(t *testing.T) (dir string) {
	scripts := map[string]string{}
	for _, name := range []string{"preinst", "postinst", "prerm", "postrm"} {
		scripts[name] = stand(name)
	}
	scripts["triggers"] = "interest-await /usr/share/slow\n"
	var packages []hosts.Package
	for _, v := range []string{"1.0", "2.0"} {
		packages = append(packages, hosts.Package{Name: "slow", Version: v, Scripts: scripts, Files: map[string]string{"/usr/share/slow/" + v: v}})
	}
	dir = hosts.Repository(t, append(packages,
		hosts.Package{Name: "fine", Version: "1.0", Files: map[string]string{"/etc/fine.conf": "x\n"}},
		hosts.Package{Name: "poke", Version: "1.0", Files: map[string]string{"/usr/share/slow/poke": "x\n"}})...)
	path, err := deb()
	if err != nil {
		t.Fatal(err)
	}
	script := `dpkg-deb -R "$1" "$2/x" && sed -i 's/^Version:.*/Version: 99.0/' "$2/x/DEBIAN/control" && dpkg-deb -Znone -b "$2/x" "$3/" && cd "$3" && dpkg-scanpackages --multiversion . >Packages`
	if out, err := exec.Command("sh", "-c", script, "sh", path, t.TempDir(), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// graph writes a graph with /etc/kept, and perhaps more.
func (s service) graph(kept, more string) {
	s.t.Helper()
	s.Put("/etc/mgmt/graph.yaml", fmt.Sprintf("resources:\n  file: [{name: /etc/kept, content: %q}]\n%s", kept, more))
}

// sound fails the test if the database of dpkg is not, or apt cannot be used, or the daemon does not say the truth.
func (s service) sound() {
	s.t.Helper()
	s.Eventually("apt is free", patience, func() bool { return s.Holds("apt-get -qq check && ! pgrep -x dpkg") })
	if out := s.Sh("dpkg --audit; ls /var/lib/dpkg/updates"); out != "" {
		s.t.Errorf("the database is interrupted: %s", out)
	}
	settle(s.Host)
}

// begins starts a transaction and waits until it stands still in a phase.
func (s service) begins(p phase) {
	s.t.Helper()
	s.Sh("rm -f /run/hold-*; systemctl stop mgmt; rm -f /run/held; apt-get -qq purge slow poke; " + p.prepare + "; touch /run/hold-" + p.name)
	s.graph("before", fmt.Sprintf("  pkg: [{name: %s, state: %s}]\n", p.pkg, p.state))
	s.Run("systemctl", "restart", "mgmt")
	s.Eventually("dpkg stands still in "+p.name, patience, func() bool { return s.Holds("test -s /run/held") })
}

// goesOn lets dpkg go on, which must still be there.
func (s service) goesOn() {
	s.t.Helper()
	if !s.Holds(`kill -0 "$(cat /run/held)"`) {
		s.t.Error("the transaction was cut")
	}
	s.Sh("rm -f /run/hold-*")
}

// TestFindingB1Transactions: a transaction of dpkg ends well, whatever happens to the daemon and its graph.
func TestFindingB1Transactions(t *testing.T) {
	t.Parallel()
	s := service{boot(t, "transactions"), t}
	s.AddRepository(slowPackages(t))
	s.graph("before", "")
	s.Run("systemctl", "enable", "--now", "mgmt")
	for _, p := range phases {
		s.step("leaves/"+p.name, func(s service) {
			s.begins(p)
			s.graph("after", "")
			s.Eventually("the swap takes effect at once", patience, func() bool { return s.Holds("grep -qx after /etc/kept") })
			s.goesOn()
			s.sound()
		})
		s.step("stopped/"+p.name, func(s service) {
			s.begins(p)
			pid := s.show("MainPID")
			s.Run("systemctl", "restart", "--no-block", "mgmt")
			s.Eventually("it says what it waits for", patience, func() bool { return strings.Contains(s.Journal("-u", "mgmt", "_PID="+pid), "is let finish") })
			s.goesOn()
			s.Eventually("there is another daemon", patience, func() bool { return s.show("MainPID") != pid && s.show("ActiveState") == "active" })
			s.sound()
			if got := s.Sh("dpkg-query -W -f '${db:Status-Status}' " + p.pkg + " 2>/dev/null || echo none"); strings.HasPrefix(got, "installed") != (p.state != "uninstalled") {
				s.t.Errorf("%s is %q, and wanted %s", p.pkg, got, p.state)
			}
		})
	}
	s.step("killed", killedDaemon)
	s.step("second", secondSignal)
	s.step("time", outOfTime)
	s.step("person", personAtWork)
	s.step("purge", personPurges)
	s.step("bad", badPackage)
	s.step("network", noNetwork)
	s.step("itself", upgradesItself)
}

// step is a part of the test; the journal is shown if it fails.
func (s service) step(name string, do func(service)) {
	s.t.Helper()
	s.t.Run(name, func(t *testing.T) {
		start := time.Now()
		do(service{s.For(t), t})
		t.Logf("%.1f s", time.Since(start).Seconds())
		if t.Failed() {
			t.Log(s.Journal("-u", "mgmt", "-n", "40"))
		}
	})
}

// killedDaemon: the transaction is in a scope of its own, goes on without the daemon, and the next one waits for it.
func killedDaemon(s service) {
	s.begins(phases[1])
	if got := s.Sh(`cat "/proc/$(cat /run/held)/cgroup"`); !strings.Contains(got, ".scope") || strings.Contains(got, "mgmt.service") {
		s.t.Errorf("the transaction is in the group %s", got)
	}
	pid := s.show("MainPID")
	s.Run("systemctl", "kill", "-s", "KILL", "mgmt")
	s.Eventually("there is another daemon", patience, func() bool { return s.show("MainPID") != pid && s.show("ActiveState") == "active" })
	s.goesOn()
	s.sound()
}

// secondSignal: it cuts the transaction, and says what that costs; the next run repairs the database.
func secondSignal(s service) {
	s.Run("systemctl", "stop", "mgmt")
	s.Sh("rm -f /run/hold-* /run/held; apt-get -qq purge slow; touch /run/hold-postinst")
	s.graph("after", "  pkg: [{name: slow}]\n")
	s.Sh("mgmt run --yaml /etc/mgmt/graph.yaml --tmp-prefix >/run/out 2>&1 </dev/null & echo $! >/run/pid; until [ -s /run/held ]; do sleep 0.05; done; kill $(cat /run/pid); sleep 2; kill -0 $(cat /run/held); kill $(cat /run/pid); c=0; wait $(cat /run/pid) || c=$?; echo $c >/run/code")
	if code, log := strings.TrimSpace(s.Get("/run/code")), s.Get("/run/out"); code == "0" || !strings.Contains(log, "cut off: apt-get of pkg[slow]") || !strings.Contains(log, "interrupted") {
		s.t.Errorf("it ends with %s and says\n%s", code, log)
	}
	if s.Sh("dpkg --audit") == "" {
		s.t.Error("nothing was cut")
	}
	s.Sh("rm -f /run/hold-*")
	s.Run("systemctl", "start", "mgmt")
	s.sound()
	if !s.Holds("dpkg-query -W -f '${db:Status-Status}' slow | grep -qx installed") {
		s.t.Error("slow is not installed")
	}
}

// outOfTime: the end of the time waits for it, too.
func outOfTime(s service) {
	s.Run("systemctl", "stop", "mgmt")
	s.Sh("rm -f /run/hold-* /run/held; apt-get -qq purge slow; touch /run/hold-postinst")
	s.Sh("(until [ -s /run/held ]; do sleep 0.05; done; sleep 8; rm -f /run/hold-*) >/dev/null 2>&1 </dev/null & c=0; mgmt run --yaml /etc/mgmt/graph.yaml --tmp-prefix --max-runtime 2s >/run/out 2>&1 || c=$?; echo $c >/run/code")
	if code := strings.TrimSpace(s.Get("/run/code")); code != "5" || strings.Contains(s.Get("/run/out"), "cut off") {
		s.t.Errorf("it ends with %s and says\n%s", code, s.Get("/run/out"))
	}
	s.Run("systemctl", "start", "mgmt")
	s.sound()
}

// personAtWork: what a person, or unattended-upgrades, does with apt is neither drift nor an interrupted database.
func personAtWork(s service) {
	s.graph("person", "  pkg: [{name: slow}]\n")
	s.Sh("rm -f /run/hold-*; systemctl stop mgmt; rm -f /run/held; apt-get -qq install --allow-downgrades slow=1.0; systemctl start mgmt; mgmt status --wait converged --timeout 1m; touch /run/hold-upgrade; date +%s >/run/since")
	s.Sh("apt-get -qq install slow=2.0 >/run/person 2>&1 </dev/null & until [ -s /run/held ]; do sleep 0.05; done; sleep 2; rm -f /run/hold-*; wait")
	s.sound()
	if got := s.Journal("-u", "mgmt", "--since=@"+strings.TrimSpace(s.Get("/run/since"))); strings.Contains(got, "interrupted") || strings.Contains(got, "uninstalled") {
		s.t.Errorf("the upgrade of a person is taken for drift:\n%s", got)
	}
}

// personPurges: a purge by hand ends well, and the package is installed again after it, once.
func personPurges(s service) {
	s.graph("purge", "  pkg: [{name: slow}]\n")
	s.Sh("rm -f /run/hold-*; systemctl restart mgmt; mgmt status --wait converged --timeout 1m; rm -f /run/held; touch /run/hold-prerm; date +%s >/run/since")
	s.Sh("apt-get -qq purge slow >/run/person 2>&1 </dev/null & until [ -s /run/held ]; do sleep 0.05; done; sleep 2; rm -f /run/hold-*; wait $!")
	s.Eventually("slow is installed again", patience, func() bool { return s.Holds("dpkg-query -W -f '${db:Status-Status}' slow | grep -qx installed") })
	s.sound()
	if got := s.Journal("-u", "mgmt", "--since=@"+strings.TrimSpace(s.Get("/run/since"))); strings.Contains(got, "interrupted") || strings.Count(got, "-> \"installed\"") != 1 {
		s.t.Errorf("the purge of a person is not undone once:\n%s", got)
	}
}

// badPackage: what cannot be set up fails alone, says what to do, and is well when the cause is gone.
func badPackage(s service) {
	s.Sh("rm -f /run/hold-*; apt-get -qq purge slow fine || true; touch /run/bad")
	s.graph("bad", "  pkg: [{name: slow}, {name: fine}]\n")
	s.Run("systemctl", "restart", "mgmt")
	s.Eventually("fine is installed beside it", patience, func() bool { return s.Holds("test -e /etc/fine.conf && mgmt status | grep -q failed") })
	s.Sh("rm -f /run/bad")
	s.Eventually("slow is installed", patience, func() bool { return s.Holds("dpkg-query -W -f '${db:Status-Status}' slow | grep -qx installed") })
	s.sound()
}

// noNetwork: after a boot without a network, what is installed is ok and what depends on it goes on; the rest comes with the
// network.
func noNetwork(s service) {
	s.Sh("apt-get -qq purge fine || true; apt-get -qq install slow; mv /srv/repository /srv/away; rm -f /etc/below")
	s.Put("/etc/mgmt/graph.yaml", "resources:\n  file: [{name: /etc/kept, content: network}, {name: /etc/below, content: x, depend: [\"pkg[slow]\"]}]\n  pkg: [{name: slow}, {name: fine}]\n")
	s.Run("systemctl", "restart", "mgmt")
	s.Eventually("what depends on slow goes on", patience, func() bool { return s.Holds("test -e /etc/below && mgmt status | grep -q failed") })
	s.Sh("mv /srv/away /srv/repository")
	// Until the retry that has brought it has ended, the state at rest is that of the failure before.
	s.Eventually("fine comes", patience, func() bool { return s.Holds("test -e /etc/fine.conf && ! mgmt status | grep -q failed") })
	s.sound()
}

// upgradesItself: mgmt installs a later version of itself, is replaced once, and nothing is cut.
func upgradesItself(s service) {
	s.graph("itself", "")
	s.Run("systemctl", "restart", "mgmt")
	settle(s.Host)
	pid, restarts := s.show("MainPID"), s.show("NRestarts")
	since := strings.TrimSpace(s.Sh("date +@%s.%6N"))
	s.graph("itself", "  pkg: [{name: mgmt, state: newest}]\n")
	s.Eventually("it is another daemon, of the later version", patience, func() bool {
		return s.show("MainPID") != pid && s.show("ActiveState") == "active" && s.Holds("dpkg-query -W -f '${Version}' mgmt | grep -qx 99.0")
	})
	s.sound()
	if got := s.Journal("-u", "mgmt", "--since="+since, "_PID=1"); strings.Count(got, "Started ") != 1 || s.show("NRestarts") != restarts {
		s.t.Errorf("%s restarts, and the journal has:\n%s", s.show("NRestarts"), got)
	}
}
