package machines

import (
	"strings"
	"testing"
)

// TestFindingD8Credentials: one graph serves the service and the audit, each with credentials of its own. A
// reload of the service takes over a credential that was rotated, and no value gets into the journal.
func TestFindingD8Credentials(t *testing.T) {
	t.Parallel()
	s := service{boot(t, "credentials"), t}
	const one, two, three = "canary-one-5d1f", "canary-two-5d1f", "canary-three-5d1f"
	rotate := func(text string) {
		t.Helper()
		s.Put("/etc/mgmt/secrets/app", text)
		s.Sh("chmod 700 /etc/mgmt/secrets; chmod 600 /etc/mgmt/secrets/app")
	}
	rotate(one)
	for _, unit := range []string{"mgmt", "mgmt-audit"} {
		s.Put("/etc/systemd/system/"+unit+".service.d/credentials.conf", "[Service]\nLoadCredential=app:/etc/mgmt/secrets/app\n")
	}
	s.Put("/etc/mgmt/mgmt.yaml", "graph: site.yaml\nprometheus: 127.0.0.1:9233\n")
	s.Put("/etc/mgmt/site.yaml", "resources:\n  file: [{name: /etc/app, source: /run/credentials/mgmt.service/app}]\n")
	s.Run("systemctl", "daemon-reload")

	if out, err := s.Try("systemctl", "start", "mgmt-audit"); err != nil {
		t.Fatalf("the audit without the service: %v, %s\n%s", err, out, s.Journal("-u", "mgmt-audit"))
	}
	if s.Holds("test -e /etc/app") || !strings.Contains(s.Journal("-u", "mgmt-audit"), "would change") {
		t.Errorf("the audit has altered something, or says nothing:\n%s", s.Journal("-u", "mgmt-audit"))
	}

	s.Run("systemctl", "start", "mgmt")
	has := func(text string) {
		t.Helper()
		s.Eventually("/etc/app is right", patience, func() bool {
			got, _ := s.Try("cat", "/etc/app")
			return got == text
		})
	}
	has(one)
	pid := s.show("MainPID")
	rotate(two)
	s.Run("systemctl", "reload", "mgmt")
	has(two)
	if now := s.show("MainPID"); now != pid {
		t.Errorf("the reload was a restart: process %s is now %s", pid, now)
	}
	if !s.Holds("grep ' /run/credentials/mgmt.service ro,' /proc/self/mountinfo") {
		t.Errorf("the credentials are writable after the reload:\n%s", s.Sh("grep credentials /proc/self/mountinfo"))
	}
	rotate(three)
	s.Run("systemctl", "kill", "--signal=HUP", "mgmt")
	has(three)

	s.Run("systemctl", "start", "mgmt-audit") // beside the service, whose socket and address it leaves alone
	s.Run("mgmt", "status", "--exit-code", "--wait", "converged")
	if got := s.Run("stat", "-c", "%a %U", "/etc/app"); got != "600 root\n" {
		t.Errorf("/etc/app has %s", got)
	}
	if journal := s.Journal(); strings.Contains(journal, "canary-") {
		t.Errorf("the journal has a value:\n%s", journal)
	}
	s.Run("systemctl", "restart", "mgmt")
	has(three)
	s.Run("systemctl", "stop", "mgmt")
	if s.Holds("test -e /run/credentials/mgmt.service") {
		t.Errorf("left: %s", s.Sh("ls -la /run/credentials /run/credentials/mgmt.service"))
	}
}
