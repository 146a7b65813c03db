package machines

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// badUnits makes ten units that do not serve, and two that do: one that is up when it says so, and one that comes up at the third try.
const badUnits = servicesUnit + `
	unit at-once.service "ExecStart=sh -c 'echo no such database; exit 3'"
	unit soon.service "ExecStart=sh -c 'sleep 0.3; echo lost the database; exit 3'"
	unit late.service "ExecStart=sh -c 'sleep 3; echo lost the database; exit 3'"
	unit hangs.service "ExecStartPre=sleep infinity\nExecStart=sleep infinity\nTimeoutStartSec=3"
	unit forks.service "ExecStart=sh -c 'sleep infinity & exit 0'"
	unit silent.service "Type=notify\nExecStart=sh -c 'echo I do not tell; sleep infinity'\nTimeoutStartSec=3"
	unit memory.service "MemoryMax=16M\nMemorySwapMax=0\nExecStart=sh -c 'echo all of it; test -e /sys/fs/cgroup/memory.pressure && exec tail /dev/zero; kill -KILL \$\$\$\$'"
	unit restarts.service "ExecStart=sh -c 'sleep 0.3; echo lost the database; exit 3'\nRestart=always\nRestartSec=2500ms"
	unit masked.service "ExecStart=sleep infinity"
	unit mount.service "ExecStart=sleep infinity"
	sed -i '1i [Unit]\nRequiresMountsFor=/srv/away' mount.service
	printf "[Mount]\nWhat=away\nWhere=/srv/away\nType=tmpfs\nOptions=size=nothing\n" >srv-away.mount
	unit serves.service "Type=notify\nNotifyAccess=all\nExecStart=sh -c 'sleep 1; systemd-notify --ready; exec sleep infinity'"
	unit third.service "ExecStart=sh -c 'echo x >>/run/third; test \$(wc -l </run/third) -ge 3 && exec sleep infinity; exit 1'\nRestart=always\nRestartSec=200ms"
	systemctl daemon-reload
	systemctl --quiet mask masked`

// badServices are the ten, with what the error says of each. The table of docs/reference/kinds/svc.md says the same in words.
var badServices = []struct {
	name string
	have params
	says []string
}{
	{"at-once", params{}, []string{"exit status 3", "no such database"}},
	{"soon", params{}, []string{"exit status 3", "lost the database"}},
	{"late", params{}, []string{"late has ended 3", "after its start: exit status 3", "lost the database"}},
	{"hangs", params{}, []string{"start hangs.service: no sign of its start in time", "timeout"}},
	{"forks", params{}, []string{"it has ended without an error", "needs Type=forking"}},
	{"silent", params{}, []string{"start silent.service: no sign of its start in time", "I do not tell"}},
	{"memory", params{}, []string{"all of it"}}, // by the kernel, or where a machine cannot limit it, as the kernel does it
	{"restarts", params{}, []string{"crashing, ", "exit status 3", "lost the database"}},
	{"masked", params{}, []string{"masked.service is masked, so it cannot be started"}},
	{"mount", params{}, []string{"it needs srv-away.mount, which is failed"}},
}

// state is what `mgmt status` says of a service.
func (s services) state(name string) (is told) {
	s.t.Helper()
	var all struct {
		Resources []struct {
			Resource string
			told
		}
	}
	text := s.Run("mgmt", "status", "--all", "-o", "json")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		s.t.Fatalf("%v:\n%s", err, text)
	}
	for _, r := range all.Resources {
		if r.Resource == "svc["+name+"]" {
			is = r.told
		}
	}
	return is
}

// applied runs mgmt apply --wait with a graph, and returns its exit status and what it said.
func (s services) applied(g graph) (int, string) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"resources": g})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Put("/root/next.yaml", string(text))
	out, err := s.Try("mgmt", "apply", "/root/next.yaml", "--wait=1m")
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed:
		return exit.ExitCode(), out
	case err != nil:
		s.t.Fatalf("%v\n%s", err, out)
	}
	return 0, out
}

// TestFindingQ3Q4Machine has a machine with ten units that do not serve. mgmt apply --wait is 0 for none of them, each error has the
// reason, and a unit that systemd starts again is left to systemd.
func TestFindingQ3Q4Machine(t *testing.T) {
	t.Parallel()
	s := services{boot(t, "crashes"), t}
	s.Sh(badUnits)
	s.Put(graphPath, "{}")
	s.Sh("systemctl start mgmt")
	for _, step := range []struct {
		name string
		do   func(services)
	}{
		{"served", servedServices}, {"apart", badOneByOne}, {"together", badTogether}, {"without", withoutJournal},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(services{s.For(t), t}) }) {
			status, _ := s.Try("mgmt", "status", "--all")
			t.Log(status, s.Journal("-b", "-n", "200"))
		}
	}
}

// servedServices: what serves is ok, and not before it does.
func servedServices(s services) {
	g := graph{}
	g.add("svc", "serves", params{"state": "running"})
	begin := time.Now()
	if code, out := s.applied(g); code != 0 || s.property("serves", "ActiveState") != "active" {
		s.t.Errorf("it ends with %d\n%s", code, out)
	}
	s.t.Logf("Type=notify: ok after %v", time.Since(begin))
	g = graph{}
	g.add("svc", "third", params{"state": "running"})
	code, out := s.applied(g)
	s.t.Logf("third: %d after %v\n%s", code, time.Since(begin), out)
	s.Eventually("it is ok when it has come up", patience, func() bool { return s.state("third").State == "ok" })
	if lines := strings.Count(s.Get("/run/third"), "x"); lines != 3 {
		s.t.Errorf("it was started %d times", lines)
	}
	if is := s.state("third"); is.Changes > 0 {
		s.t.Errorf("%d changes: restarts by systemd count as those of mgmt", is.Changes)
	}
}

// badOneByOne: apply --wait ends with 4 for each.
func badOneByOne(s services) {
	for _, c := range badServices {
		g := graph{}
		g.add("svc", c.name, params{"state": "running"}, c.have)
		begin := time.Now()
		code, out := s.applied(g)
		is := s.state(c.name)
		s.t.Logf("%s: %d after %v: %s %s", c.name, code, time.Since(begin).Round(10*time.Millisecond), is.State, is.Error)
		if code != 4 {
			s.t.Errorf("%s: apply --wait ends with %d\n%s", c.name, code, out)
		}
	}
}

// badTogether: all ten at once, for as long as systemd takes to give up on a unit, if it would.
func badTogether(s services) {
	g := graph{}
	for _, c := range badServices {
		g.add("svc", c.name, params{"state": "running"}, c.have)
	}
	g.add("svc", "serves", params{"state": "running"})
	if code, out := s.applied(g); code != 4 {
		s.t.Errorf("apply --wait ends with %d\n%s", code, out)
	}
	for _, c := range badServices {
		var is told
		s.Eventually(c.name+" has failed with "+strings.Join(c.says, ", "), patience, func() bool {
			is = s.state(c.name)
			for _, words := range c.says {
				if !strings.Contains(is.Error, words) {
					return false
				}
			}
			return is.State == "failed" || is.State == "running" // it may be tried again just now
		})
		s.t.Logf("%s: %s: %s", c.name, is.State, is.Error)
	}
	if is := s.state("serves"); is.State != "ok" {
		s.t.Errorf("the one that serves is %+v", is)
	}
	s.Eventually("systemd has started it 6 times", patience, func() bool { return s.number("restarts", "NRestarts") >= 6 })
	if is := s.state("restarts"); is.State != "failed" || !strings.Contains(is.Error, "crashing, ") {
		s.t.Errorf("the one that restarts is %+v", is)
	}
	if is := s.state("restarts"); is.Changes > 1 {
		s.t.Errorf("%d changes: restarts by systemd count as those of mgmt", is.Changes)
	}
}

// withoutJournal: where there is no journal the words of systemd are the reason.
func withoutJournal(s services) {
	s.Sh("mv /usr/bin/journalctl /usr/bin/journalctl.away")
	defer s.Sh("mv /usr/bin/journalctl.away /usr/bin/journalctl")
	g := graph{}
	g.add("svc", "at-once", params{"state": "running", "refresh": "restart"})
	if code, out := s.applied(g); code != 4 {
		s.t.Errorf("apply --wait ends with %d\n%s", code, out)
	}
	s.Eventually("it has failed", patience, func() bool {
		is := s.state("at-once")
		return strings.HasSuffix(is.Error, "exit status 3: it is failed (failed), exit-code")
	})
}
