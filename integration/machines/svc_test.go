package machines

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// watchedServices is how many services one daemon looks after in TestServices.
const watchedServices = 500

// servicesUnit is a function that makes a unit file: its name, and what it does. One in /etc could
// not be masked.
const servicesUnit = `cd /usr/lib/systemd/system
	unit() { printf "[Service]\n$2\n[Install]\nWantedBy=multi-user.target\n" >$1; }`

// manySetup makes many units that cost no process, and starts and enables them.
var manySetup = `wants=/etc/systemd/system/multi-user.target.wants; cd /usr/lib/systemd/system
	for i in $(seq ` + strconv.Itoa(watchedServices) + `); do printf "[Install]\nWantedBy=multi-user.target\n" >many-$i.target; done
	ln -s $PWD/many-*.target $wants
	systemctl daemon-reload; systemctl start "many-*.target" multi-user.target`

// servicesSetup makes the units that the steps of TestServices have: some that run, and two that cannot.
var servicesSetup = servicesUnit + `
	unit web.service "ExecStart=sleep infinity"
	unit off.service "ExecStart=sleep infinity"
	unit reloads.service "ExecStart=sleep infinity\nExecReload=touch /run/reloaded"
	unit restarts.service "ExecStart=sleep infinity"
	unit broken.service "Type=oneshot\nRemainAfterExit=yes\nExecStart=sh -c 'test -e /run/mended && exit; echo the disk is on fire; exit 3'"
	unit crashing.service "ExecStart=sh -c 'test -e /run/mended && exec sleep infinity; echo out of memory; exit 4'"
	for i in $(seq 20); do unit fresh-$i.service "Type=oneshot\nRemainAfterExit=yes\nExecStart=true"; done
	systemctl daemon-reload
	systemctl --quiet enable --now web off`

// services is a machine with a daemon that looks after services.
type services struct {
	*hosts.Host
	t *testing.T
}

// declare writes a graph, and returns when the daemon has taken it and nothing is to be done any more,
// whatever has failed.
func (s services) declare(g graph) {
	s.t.Helper()
	g.put(s.t, s.Host)
	s.Sh("systemctl is-active mgmt && systemctl reload mgmt || systemctl start mgmt")
	s.Run("mgmt", "status", "--wait", "converged", "--timeout", "5m")
}

// keeps waits until a unit is as it should be, by what systemctl says.
func (s services) keeps(unit, active, enabled string) time.Duration {
	s.t.Helper()
	return s.Eventually(fmt.Sprintf("%s is %s and %s", unit, active, enabled), patience, func() bool {
		a, _ := s.Try("systemctl", "is-active", unit)
		e, _ := s.Try("systemctl", "is-enabled", unit)
		a = strings.ReplaceAll(a, "failed", "inactive") // as where others have started it more often than systemd lets them
		return strings.TrimSpace(a) == active && strings.TrimSpace(e) == enabled
	})
}

// property returns a property of a unit, a time in microseconds.
func (s services) property(unit, name string) string {
	s.t.Helper()
	return strings.TrimSpace(s.Run("systemctl", "show", "--value", "-p", name, unit))
}

func (s services) number(unit, name string) int {
	s.t.Helper()
	n, err := strconv.Atoi(s.property(unit, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestServices has a machine whose systemd one daemon looks after.
func TestServices(t *testing.T) {
	t.Parallel()
	s := services{boot(t, "services"), t}
	s.Sh(servicesSetup)
	s.Put("/etc/default/mgmt", "MGMT_OPTIONS=--flapping off --max-removals off\n")
	for _, step := range []struct {
		name string
		do   func(services)
	}{
		{"session", sessionServices}, // logind has no bus after a restart of it
		{"fresh", freshServices},
		{"startup", startupDrifts},
		{"quick", quickRepair},
		{"limit", quickDrifts},
		{"manager", otherManagers},
		{"refresh", refreshedServices},
		{"broken", brokenServices},
		{"random", randomServices},
		{"many", manyServices}, // systemd is slow with so many
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(services{s.For(t), t}) }) {
			status, _ := s.Try("mgmt", "status")
			t.Log(status, s.Journal("-u", "mgmt", "-n", "50"))
		}
	}
}

// looksAfter are the resources of the steps that drift.
func looksAfter() graph {
	g := graph{}
	g.add("svc", "web", params{"state": "running", "startup": "enabled", "meta": retried})
	g.add("svc", "off", params{"state": "stopped", "startup": "masked"})
	return g
}

// manyServices: one connection to the bus watches all, and what they take in memory is said.
func manyServices(s services) {
	memory := func() int {
		text := s.Sh(`grep VmRSS /proc/$(systemctl show --value -p MainPID mgmt)/status`)
		kb, err := strconv.Atoi(strings.Fields(text)[1])
		if err != nil {
			s.t.Fatal(err)
		}
		return kb
	}
	s.Sh(manySetup)
	s.declare(looksAfter())
	before := memory()
	g := looksAfter()
	for i := range watchedServices {
		g.add("svc", fmt.Sprintf("many-%d.target", i+1), params{"state": "running", "startup": "enabled"})
	}
	begin := time.Now()
	s.declare(g)
	s.t.Logf("%d services watched after %v, resident memory of the daemon from %d to %d kB", watchedServices, time.Since(begin), before, memory())
	pid := s.property("mgmt", "MainPID")
	connections := s.Sh("busctl list --unique --no-legend --no-pager | awk '$2 == " + pid + "' | wc -l")
	if strings.TrimSpace(connections) != "1" {
		s.t.Errorf("%s connections to the bus", connections)
	}
	s.drift("systemctl stop many-77.target many-500.target")
	for _, unit := range []string{"many-77.target", "many-500.target"} {
		s.t.Logf("%s right after %v", unit, s.keeps(unit, "active", "enabled"))
	}
}

// freshServices: what 20 services alter for the next boot is read by systemd a few times at
// most, though it calls all units out of date at the first of them, also those that are just being started.
func freshServices(s services) {
	reloads := func() int { return strings.Count(s.Journal("-b", "_PID=1"), "Reloading finished") }
	s.declare(looksAfter())
	before := reloads()
	g := looksAfter()
	for i := range 20 {
		g.add("svc", fmt.Sprintf("fresh-%d", i+1), params{"startup": "enabled"})
	}
	begin := time.Now()
	s.declare(g)
	s.t.Logf("20 services enabled in %v", time.Since(begin))
	s.Eventually("systemd has read its files", patience, func() bool { return reloads() > before })
	if n := reloads() - before; n != 1 {
		s.t.Errorf("systemd has read its files %d times", n)
	}
	s.Sh("systemctl --quiet disable $(seq -f fresh-%.0f 20)")
	before = reloads()
	g = looksAfter()
	for i := range 20 {
		g.add("svc", fmt.Sprintf("fresh-%d", i+1), params{"startup": "enabled", "state": "running"})
	}
	begin = time.Now()
	s.declare(g)
	n := reloads() - before
	s.t.Logf("20 services started and enabled in %v; systemd has read its files %d times", time.Since(begin), n)
	if n > 5 {
		s.t.Error("that is too often")
	}
	for i := range 20 {
		s.keeps(fmt.Sprintf("fresh-%d", i+1), "active", "enabled")
	}
}

// drift lets systemctl do something to a service that is repaired: that may be before it is
// over, and systemctl says then that its job was canceled.
func (s services) drift(script string) {
	s.t.Helper()
	if out, err := s.Try("sh", "-euc", script); err != nil && !strings.Contains(out, "canceled") {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// startupDrifts: what systemctl changes of what happens at boot is put right.
func startupDrifts(s services) {
	s.declare(looksAfter())
	for _, drift := range []string{"disable web", "mask web", "mask --runtime --now web", "disable web; systemctl enable --runtime web", "disable --now web", "stop web"} {
		s.drift("systemctl " + drift)
		s.t.Logf("%v after: systemctl %s", s.keeps("web", "active", "enabled"), drift)
	}
	for _, drift := range []string{"unmask off", "unmask off; systemctl enable --now off", "unmask off; systemctl start off"} {
		_, _ = s.Try("sh", "-c", "systemctl "+drift) // it may be repaired before it is over
		s.t.Logf("%v after: systemctl %s", s.keeps("off", "inactive", "masked"), drift)
	}
}

// quickRepair: systemd itself notes when a unit has stopped and when it is being started; the
// signal and the call are between the two.
func quickRepair(s services) {
	s.declare(looksAfter())
	repairTime(s.t, 20, func() time.Duration {
		s.Run("systemctl", "stop", "--no-block", "web")
		s.Eventually("it is started", patience, func() bool {
			return s.property("web", "ActiveState") == "active" && s.number("web", "InactiveExitTimestampMonotonic") > s.number("web", "InactiveEnterTimestampMonotonic") && s.number("web", "InactiveEnterTimestampMonotonic") > 0
		})
		return time.Duration(s.number("web", "InactiveExitTimestampMonotonic")-s.number("web", "InactiveEnterTimestampMonotonic")) * time.Microsecond
	})
}

// quickDrifts: more drifts in ten seconds than systemd starts a unit.
func quickDrifts(s services) {
	g := graph{}
	g.add("svc", "web", params{"state": "running"}) // not retried
	s.declare(g)
	for i := range 12 {
		s.drift("systemctl stop web")
		s.keeps("web", "active", "enabled")
		if i%2 == 0 {
			s.drift("systemctl kill -s KILL web")
			s.keeps("web", "active", "enabled")
		}
	}
}

// otherManagers: a restarted bus and another systemd make no difference.
func otherManagers(s services) {
	s.declare(looksAfter())
	for _, restart := range []string{"systemctl daemon-reexec", "systemctl restart dbus", "systemctl restart dbus; systemctl stop web; systemctl daemon-reexec"} {
		s.drift(restart)
		for range 2 {
			s.drift("systemctl stop web")
			s.t.Logf("%v after: %s; systemctl stop web", s.keeps("web", "active", "enabled"), restart)
		}
	}
}

// refreshedServices: who can reload does, and keeps its process; who cannot is restarted.
func refreshedServices(s services) {
	g := graph{}
	both := []string{"svc[reloads]", "svc[restarts]"}
	g.add("file", "/etc/app.conf", params{"content": "one\n", "notify": both})
	for _, name := range []string{"reloads", "restarts"} {
		g.add("svc", name, params{"state": "running"})
	}
	s.declare(g)
	s.Sh("rm -f /run/reloaded")
	pids := []int{s.number("reloads", "MainPID"), s.number("restarts", "MainPID")}
	for range 8 { // more often than systemd restarts a unit in ten seconds
		s.Sh("echo drift >/etc/app.conf")
		s.Eventually("both are told", patience, func() bool {
			return s.Holds("grep -qx one /etc/app.conf && test -e /run/reloaded") && s.number("restarts", "MainPID") != pids[1] && s.property("restarts", "ActiveState") == "active"
		})
		pids[1] = s.number("restarts", "MainPID")
		s.Sh("rm -f /run/reloaded")
	}
	if now := s.number("reloads", "MainPID"); now != pids[0] {
		s.t.Errorf("who can reload was restarted: process %d is now %d", pids[0], now)
	}
}

// brokenServices: the reason and the last words of a unit that does not start are in the
// error, all others go on, and when it is mended it starts.
func brokenServices(s services) {
	g := looksAfter()
	for _, name := range []string{"broken", "crashing"} {
		g.add("file", "/run/mended-"+name, params{"content": "", "before": []string{"svc[" + name + "]"}})
		g.add("svc", name, params{"state": "running"})
	}
	s.declare(g)
	for name, words := range map[string][]string{
		"broken":   {"exit status 3", "the disk is on fire"},
		"crashing": {"exit status 4", "it is failed", "out of memory"},
	} {
		s.Eventually(name+" has failed with "+strings.Join(words, ", "), patience, func() bool {
			text := s.Run("mgmt", "status", "-o", "json")
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
	}
	s.drift("systemctl stop web")
	s.keeps("web", "active", "enabled")
	s.Sh("touch /run/mended; systemctl reset-failed broken crashing")
	for _, name := range []string{"broken", "crashing"} {
		s.Eventually(name+" runs", patience, func() bool { return s.property(name, "ActiveState") == "active" })
	}
}

// randomServices: whatever happens to a service, and however fast, it is right in the end.
func randomServices(s services) {
	s.declare(looksAfter())
	drifts := []string{
		"systemctl stop web", "systemctl --no-reload disable web", "systemctl --no-reload mask web", "systemctl --no-reload mask --runtime web", "systemctl kill -s KILL web",
		"systemctl kill -s SEGV web", "systemctl restart web", "systemctl --no-reload unmask web", "rm -f /etc/systemd/system/multi-user.target.wants/web.service; systemctl daemon-reload",
		"echo '# edited' >>/usr/lib/systemd/system/web.service",
		"systemctl daemon-reload", "systemctl daemon-reexec",
		"systemctl --no-reload unmask off", "systemctl --no-reload unmask off; systemctl enable --now off", "systemctl unmask off; systemctl start off",
	}
	var script strings.Builder
	r, n := draws(s.t), driftRuns(s.t)
	for range n {
		fmt.Fprintf(&script, "{ %s; } 2>&1 || true\nsleep 0.0%d\n", drifts[r.IntN(len(drifts))], r.IntN(6))
	}
	s.Sh(script.String())
	s.t.Logf("right %v after the last of %d drifts", s.keeps("web", "active", "enabled")+s.keeps("off", "inactive", "masked"), n)
	s.Eventually("no try is left", patience, func() bool { // web fails where a drift ends it right after its start
		return s.Holds("mgmt status --wait converged --timeout 3m --exit-code")
	})
	if s.t.Failed() {
		s.t.Log(script.String())
	}
}

// sessionServices: a service of a user's own session, which lasts without a login.
func sessionServices(s services) {
	s.Sh(`useradd --create-home alice; systemd-run --quiet --wait loginctl enable-linger alice
		cd ~alice; mkdir -p .config/systemd/user
		printf "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=default.target\n" >.config/systemd/user/sync.service
		printf 'resources: {svc: [{name: sync, state: running, startup: enabled, session: true}, {name: off.timer, startup: masked, session: true}]}\n' >graph.yaml
		chown -R alice .`)
	s.Eventually("the session is there", patience, func() bool { return s.Holds("test -S /run/user/$(id -u alice)/bus") })
	asAlice := "runuser -u alice -- env XDG_RUNTIME_DIR=/run/user/$(id -u alice) HOME=/home/alice "
	s.Sh("systemd-run --quiet --uid=alice --unit=alices --setenv=HOME=/home/alice mgmt run --yaml /home/alice/graph.yaml --prefix /home/alice/state")
	right := func(after string) {
		s.t.Helper()
		took := s.Eventually("the service is right after "+after, patience, func() bool {
			return s.Holds(asAlice + "systemctl --user is-active sync && " + asAlice + "systemctl --user is-enabled sync && test $(" + asAlice + "systemctl --user is-enabled off.timer) = masked")
		})
		s.t.Logf("%v after: %s", took, after)
	}
	right("the start")
	for _, drift := range []string{"stop sync", "disable sync", "disable --now sync", "kill -s KILL sync", "unmask off.timer", "daemon-reexec", "stop sync"} {
		s.drift(asAlice + "systemctl --user " + drift)
		right(drift)
	}
	s.Sh("systemctl stop alices")
	if s.Holds("systemctl cat sync") {
		s.t.Error("the service is one of the machine")
	}
}
