package systemdtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Bus is a message bus: a dbus-daemon with a socket of its own.
// It belongs to one test. The daemon runs without a fork, so it dies with Stop at the
// latest.
type Bus struct {
	tb     testing.TB
	socket string
	cmd    *exec.Cmd
}

// config is of a bus on which everybody may do everything, and that starts nothing. Its
// limits are those of the bus of a machine.
// The type session keeps it from the policy of the system's bus. A client of it may take
// every name.
const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// NewBus starts a bus, which ends with the test. Where there is no dbus-daemon the test is
// skipped, or fails in CI.
// It returns when the daemon listens. The path of a socket may have 107 bytes, so the
// folder is not that of the test.
func NewBus(tb testing.TB) *Bus {
	tb.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal("dbus-daemon is not installed")
		}
		tb.Skip("dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "bus") // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	b := &Bus{tb: tb, socket: filepath.Join(dir, "bus")}
	if err := os.WriteFile(b.socket+".conf", fmt.Appendf(nil, config, b.socket), 0o600); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		b.Stop()
		os.RemoveAll(dir)
	})
	b.Start()
	return b
}

// Address is where the bus is, also after a restart.
// The form is that of the D-Bus specification, and of DBUS_SYSTEM_BUS_ADDRESS.
func (b *Bus) Address() string { return "unix:path=" + b.socket }

// Start starts the bus again after Stop.
// Clients of before have lost their connections and their names, as after a crash.
func (b *Bus) Start() {
	b.tb.Helper()
	b.cmd = exec.Command("dbus-daemon", "--config-file="+b.socket+".conf", "--nofork", "--nopidfile", "--print-address")
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n') // it listens
	}
	if err != nil {
		b.tb.Fatal(err)
	}
}

// Stop ends the bus, as if it had crashed.
// It removes the socket, which a killed daemon leaves behind. A second call does nothing.
func (b *Bus) Stop() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // killed
	b.cmd = nil
	os.Remove(b.socket)
}
