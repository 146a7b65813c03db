package machines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// service is mgmt.service in a machine.
type service struct {
	*hosts.Host
	t *testing.T
}

// show returns a property of the unit.
func (s service) show(property string) string {
	s.t.Helper()
	return strings.TrimSpace(s.Run("systemctl", "show", "--value", "-p", property, "mgmt"))
}

// declare writes the graph in which /etc/kept has this content.
func (s service) declare(content string) {
	s.t.Helper()
	s.Put("/etc/mgmt/graph.yaml", fmt.Sprintf("resources:\n  file: [{name: /etc/kept, content: %q}]\n  exec: [{name: wait, cmd: /usr/bin/sleep 1000}]\n", content))
}

// keeps waits until /etc/kept has this content and the unit is active.
func (s service) keeps(content string) {
	s.t.Helper()
	s.Eventually("the service is active, and /etc/kept has "+content, patience, func() bool {
		got, _ := s.Try("cat", "/etc/kept")
		return got == content && s.show("ActiveState") == "active"
	})
}

// repairs makes a drift and waits until it is repaired, by the process that there was.
func (s service) repairs(content string) {
	s.t.Helper()
	pid := s.show("MainPID")
	s.Sh("echo drift >/etc/kept")
	s.keeps(content)
	if now := s.show("MainPID"); now != pid {
		s.t.Errorf("process %s is now %s", pid, now)
	}
}

// TestService goes through the life of the service as a package has installed it.
func TestService(t *testing.T) {
	t.Parallel()
	s := service{boot(t, "service"), t}
	if s.Holds("systemctl is-active mgmt || systemctl is-enabled mgmt") {
		t.Fatal("an installation starts or enables the service")
	}
	s.Put("/etc/default/mgmt", "MGMT_OPTIONS=--no-watch\n")
	s.declare("one")
	s.Run("systemctl", "enable", "--now", "mgmt")
	s.keeps("one")
	for _, step := range []struct {
		name string
		do   func(service)
	}{
		{"reload", reload},
		{"refused", reloadRefused},
		{"bus", func(s service) { s.Run("systemctl", "restart", "dbus"); s.repairs("two") }},
		{"reexec", reexec},
		{"watchdog", watchdog},
		{"upgrade", upgrade},
		{"stop", stop},
		{"reboot", reboot},
		{"purge", purge},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(service{s.For(t), t}) }) {
			t.Log(s.Journal("-u", "mgmt", "-n", "50"))
			return
		}
	}
}

// reload: systemctl returns when the edit is in effect.
func reload(s service) {
	s.declare("two")
	s.Run("systemctl", "reload", "mgmt")
	if got := s.Journal("-u", "mgmt", "MGMT_EVENT=graph in effect"); strings.Count(got, "\n") != 2 {
		s.t.Errorf("when the reload is over, the journal has:\n%s", got)
	}
	s.keeps("two")
}

// reloadRefused: the last good graph goes on, and the status says why.
func reloadRefused(s service) {
	s.Put("/etc/mgmt/graph.yaml", "resources: {file: [{name: relative}]}\n")
	_, _ = s.Try("systemctl", "reload", "mgmt") // says nothing of what came of it
	s.Eventually("the status says it", patience, func() bool { return strings.Contains(s.show("StatusText"), "refused") })
	s.repairs("two")
	s.declare("two")
	s.Run("systemctl", "reload", "mgmt")
	s.Eventually("the status is good again", patience, func() bool { return !strings.Contains(s.show("StatusText"), "refused") })
}

// reexec: the manager is another one, and hears as before.
func reexec(s service) {
	s.Run("systemctl", "daemon-reexec")
	s.repairs("two")
	s.declare("three")
	s.Run("systemctl", "reload", "mgmt")
	s.keeps("three")
}

// watchdog: a process that does nothing any more is ended and replaced, and its
// successor repairs what has drifted meanwhile.
func watchdog(s service) {
	s.Put("/etc/systemd/system/mgmt.service.d/test.conf", "[Service]\nWatchdogSec=5\nRestartSec=100ms\n")
	s.Sh("systemctl daemon-reload; systemctl restart mgmt")
	s.keeps("three")
	before := s.show("NRestarts")
	s.Sh(`kill -STOP "$(systemctl show --value -p MainPID mgmt)"; echo drift >/etc/kept`)
	took := s.Eventually("it is restarted", patience, func() bool { return s.show("NRestarts") != before })
	s.keeps("three")
	if got := s.Journal("-u", "mgmt", "-b"); !strings.Contains(got, "Watchdog timeout") {
		s.t.Errorf("the journal has no word of the watchdog:\n%s", got)
	}
	s.t.Logf("hung, and another one was started after %v (WatchdogSec=5)", took)
	s.Sh("rm -r /etc/systemd/system/mgmt.service.d; systemctl daemon-reload; systemctl restart mgmt")
	s.keeps("three")
}

// upgrade: the service that runs is the program that is installed.
func upgrade(s service) {
	pid := s.show("MainPID")
	path, err := deb()
	if err != nil {
		s.t.Fatal(err)
	}
	s.Install(path)
	s.Eventually("the service is another process", patience, func() bool {
		return s.show("ActiveState") == "active" && s.show("MainPID") != pid
	})
	s.repairs("three")
}

// stop ends the command that runs, and nothing is left of either.
func stop(s service) {
	s.Eventually("the command runs", patience, func() bool { return s.Holds("pgrep -x sleep") })
	s.Run("systemctl", "stop", "mgmt")
	if result, state := s.show("Result"), s.show("ActiveState"); result != "success" || state != "inactive" {
		s.t.Errorf("it ended with %s, %s", result, state)
	}
	if s.Holds("pgrep -x 'mgmt|sleep'") {
		s.t.Errorf("processes are left:\n%s", s.Run("ps", "ax"))
	}
}

// reboot: what has drifted while nobody looked is repaired when the machine boots.
func reboot(s service) {
	s.Sh("echo drift >/etc/kept")
	s.Reboot()
	s.keeps("three")
	s.repairs("three")
}

// purge: the service stops, and its state goes.
func purge(s service) {
	s.Run("dpkg", "--purge", "mgmt")
	if !s.Holds("! pgrep -x mgmt && ! test -e /var/lib/mgmt && ! test -e /etc/mgmt/graph.yaml && ! systemctl cat mgmt && test -e /etc/kept") {
		s.t.Errorf("left: %s", s.Sh("ls -d /var/lib/mgmt /etc/mgmt/* /etc/systemd/system/*mgmt* || true; pgrep -lx mgmt || true"))
	}
}
