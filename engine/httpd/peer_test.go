package httpd

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestUnknownPeer: a connection of which the kernel tells nothing is refused.
func TestUnknownPeer(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	l := &Socket{}
	if p := l.examine(a); p.allowed || !strings.Contains(p.String(), "an unknown caller") {
		t.Errorf("%+v", p)
	}
	if p := (Peer{Local: true, UID: 7, PID: 9}); p.String() != "uid "+strconv.Itoa(7)+" (pid 9)" {
		t.Error(p)
	}
}
