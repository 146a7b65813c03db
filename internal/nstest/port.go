package nstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
)

// lowestPort is the first one that FreeAddress may choose.
const lowestPort = 10000

// FreeAddress returns an address on loopback for a program that opens its port itself, some time later. The port is below those that
// the kernel gives to connections: else any connection could take it meanwhile.
func FreeAddress(t *testing.T) string {
	t.Helper()
	first := 32768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(b), &first)
	}
	if first <= lowestPort {
		t.Fatalf("no ports are left for servers: the kernel gives those from %d on to connections", first)
	}
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", lowestPort+rand.IntN(first-lowestPort)))
		switch {
		case err == nil:
			defer l.Close()
			return l.Addr().String()
		case !errors.Is(err, syscall.EADDRINUSE):
			t.Fatal(err)
		}
	}
}
