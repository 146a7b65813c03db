package protocol_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// TestNoQuote: the error about a wrong line has nothing of the line, which may have a secret.
func TestNoQuote(t *testing.T) {
	for _, line := range []string{`{"id": "canary"}`, `{"id": 1, "params": canary}`, `{"id": -4711}`, "canary"} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.WriteString(theirs, line+"\n")
			theirs.Close()
		}()
		_, err := protocol.NewLines(ours).Read()
		if err == nil || !strings.Contains(err.Error(), "at byte") || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
