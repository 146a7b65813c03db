package api

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestRemovalOfHostileHost: the words of a host do not control the terminal of the operator who waits for it.
func TestRemovalOfHostileHost(t *testing.T) {
	text := waitsFor(api.Removal{Waiting: []api.RemovalHost{{Host: "a\x1b[2J", State: "failed\x1b]0;x\a", Error: "b\x1b[1A\nwaiting for host c: ok"}}})
	if strings.ContainsAny(text, "\x1b\a") {
		t.Errorf("%q has control characters", text)
	}
	if n := strings.Count(text, "\n"); n != 1 {
		t.Errorf("%q has %d lines, want one for the host", text, n)
	}
}
