package machines

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// TestFacts: what a machine that systemd has booted says of itself, and which
// service manager is chosen for it.
func TestFacts(t *testing.T) {
	t.Parallel()
	h := boot(t, "facts")
	h.Put("/etc/hosts", "127.0.0.1 localhost\n10.0.0.7 facts.example.org facts\n")
	h.Run("hostname", "facts")
	var got map[string]any
	if err := json.Unmarshal([]byte(h.Run("mgmt", "facts", "-o", "json", "--role", "web")), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"hostname": "facts", "fqdn": "facts.example.org", "os": "Debian", "os_family": "Debian", "kernel": "Linux",
		"init": "systemd", "systemd_booted": true, "virtual": "systemd-nspawn",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if n := len(engine.Facts{}.Map()); len(got) != n {
		t.Errorf("%d facts, want %d", len(got), n)
	}
	if text := h.Run("mgmt", "interface", "check", "svc"); !strings.Contains(text, "masked") {
		t.Errorf("not systemd is chosen:\n%s", text)
	}
	if text := h.Run("mgmt", "call", "svc.status", "systemd-journald"); text != "true\n" {
		t.Errorf("the journal does not run: %q", text)
	}
}
