package msgbus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
)

// A daemon is a message bus of the test's own.
type daemon struct {
	socket string
	cmd    *exec.Cmd
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("dbus-daemon is not installed")
		}
		t.Skip("dbus-daemon is missing; on Debian: apt-get install dbus-daemon")
	}
	dir, err := os.MkdirTemp("", "bus") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{socket: filepath.Join(dir, "bus")}
	d.start(t)
	t.Cleanup(func() { d.stop(t) })
	return d
}

func (d *daemon) address() string { return "unix:path=" + d.socket }

func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address="+d.address())
	out, err := d.cmd.StdoutPipe()
	must(t, err)
	must(t, d.cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it listens
		t.Fatal(err)
	}
}

func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if d.cmd != nil {
		must(t, d.cmd.Process.Kill())
		_ = d.cmd.Wait() // killed
		d.cmd = nil
		os.Remove(d.socket)
	}
}

func (d *daemon) host(t *testing.T) (*host.Host, bus.Bus) {
	t.Helper()
	h := newHost(t, host.Options{BusAddresses: map[bus.Kind]string{bus.System: d.address()}})
	b, err := h.Bus(t.Context(), bus.System)
	must(t, err)
	return h, b
}

func (d *daemon) peer(t *testing.T) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Connect(d.address())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func signals(t *testing.T, b bus.Bus, m bus.Match) events.Subscription {
	t.Helper()
	s, err := b.Signals(t.Context(), m)
	must(t, err)
	return s
}

const iface = "org.example.Thing"

func TestBusCall(t *testing.T) {
	d := newDaemon(t)
	h, b := d.host(t)
	body, err := b.Call(t.Context(), "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", "org.freedesktop.DBus")
	if err != nil || len(body) != 1 || body[0] != true {
		t.Errorf("%v, %v", body, err)
	}
	again, err := h.Bus(t.Context(), bus.System)
	if err != nil || again != b {
		t.Errorf("another connection: %v", err)
	}
	_, err = b.Call(t.Context(), "org.example.None", "/", "a.b.C", "s3cr3t")
	if e, ok := errors.AsType[*bus.Error](err); !ok || e.Name != "org.freedesktop.DBus.Error.ServiceUnknown" || e.Message == "" {
		t.Errorf("got %v", err)
	}
	if _, err := b.Call(t.Context(), "org.example.None", "no path", "a.b.C"); err == nil {
		t.Error("a bad path was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Call(ctx, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A bus refuses calls of who has too many without an answer: so those wait for each
// other.
func TestBusCallsAreNotTooMany(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	p := d.peer(t)
	var now, most atomic.Int32
	hold := make(chan struct{})
	ask := func() *dbus.Error {
		most.Store(max(most.Load(), now.Add(1)))
		<-hold
		now.Add(-1)
		return nil
	}
	must(t, p.ExportMethodTable(map[string]any{"Ask": ask}, "/", iface))
	const n = 3 * maxCalls
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := b.Call(t.Context(), p.Names()[0], "/", iface+".Ask")
			errs <- err
		}()
	}
	for now.Load() < maxCalls {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Call(ctx, p.Names()[0], "/", iface+".Ask"); !errors.Is(err, context.Canceled) {
		t.Errorf("one that waits for others does not end with its context: %v", err)
	}
	close(hold)
	for range n {
		must(t, <-errs)
	}
	if m := most.Load(); m > maxCalls {
		t.Errorf("%d calls at once", m)
	}
}

func TestBusSignals(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	p := d.peer(t)
	byPath := signals(t, b, bus.Match{Path: "/a", Interface: iface})
	byMember := signals(t, b, bus.Match{Interface: iface, Member: "Changed"})
	bySender := signals(t, b, bus.Match{Sender: p.Names()[0], Path: "/a"})
	other := signals(t, b, bus.Match{Sender: ":1.9999"})
	end := signals(t, b, bus.Match{Path: "/end"})
	must(t, p.Emit("/a", iface+".Other"))
	must(t, p.Emit("/b", iface+".Changed"))
	must(t, p.Emit("/c", iface+".Changed"))
	must(t, p.Emit("/end", iface+".End"))
	woken(t, end)
	for _, c := range []struct {
		s      events.Subscription
		path   string
		merged int
	}{{byPath, "/a", 1}, {byMember, "/b", 2}, {bySender, "/a", 1}, {other, "", 0}} {
		got := drain(c.s)
		if got.Path != c.path || got.Merged != c.merged || got.Resync || got.Merged > 0 && got.Source != "dbus" {
			t.Errorf("%+v, want %d of %q", got, c.merged, c.path)
		}
	}
	for _, bad := range []string{"/a',member='x", "a,b", `\`} {
		if _, err := b.Signals(t.Context(), bus.Match{Path: bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if _, err := b.Signals(t.Context(), bus.Match{Path: "no path"}); err == nil {
		t.Error("what the bus refuses was accepted")
	}
}

// One subscription to several matches; what fits one of them may say that others
// were lost.
func TestBusSignalsOfSeveralMatches(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	p := d.peer(t)
	s, err := b.Signals(t.Context(), bus.Match{Path: "/a"}, bus.Match{Path: "/b"},
		bus.Match{Path: "/c", Arg0: "mine", Resync: true})
	must(t, err)
	end := signals(t, b, bus.Match{Path: "/end"})
	must(t, p.Emit("/a", iface+".X"))
	must(t, p.Emit("/b", iface+".X"))
	must(t, p.Emit("/c", iface+".X", "other"))
	must(t, p.Emit("/end", iface+".End"))
	woken(t, end)
	if c := drain(s); c.Merged != 2 || c.Path != "/a" || c.Resync {
		t.Errorf("%+v", c)
	}
	must(t, p.Emit("/a", iface+".X"))
	must(t, p.Emit("/c", iface+".X", "mine"))
	must(t, p.Emit("/end", iface+".End"))
	woken(t, end)
	if c := drain(s); c.Merged != 2 || c.Path != "/a" || !c.Resync {
		t.Errorf("%+v", c)
	}
	s.Close()
	end.Close()
	rs := &b.(*shared).rules
	if len(rs.byPath)+len(rs.alike) != 0 {
		t.Errorf("left: %v, %v", rs.byPath, rs.alike)
	}
	if _, err := b.Signals(t.Context(), bus.Match{Path: "/a"}, bus.Match{Path: "no path"}); err == nil {
		t.Error("what the bus refuses was accepted")
	}
	if len(rs.byPath)+len(rs.alike) != 0 {
		t.Errorf("left after a refusal: %v, %v", rs.byPath, rs.alike)
	}
}

func TestBusRulesAreShared(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	p := d.peer(t)
	m := bus.Match{Path: "/a"}
	first, second := signals(t, b, m), signals(t, b, m)
	rs := &b.(*shared).rules
	if n := len(slices.Collect(rs.each)); n != 1 {
		t.Errorf("%d rules", n)
	}
	first.Close()
	must(t, p.Emit("/a", iface+".X"))
	woken(t, second)
	if c := drain(first); c.Merged != 0 {
		t.Errorf("after Close: %+v", c)
	}
	second.Close()
	second.Close()
	if len(rs.byPath)+len(rs.alike) != 0 {
		t.Errorf("left: %v, %v", rs.byPath, rs.alike)
	}
	third := signals(t, b, m)
	must(t, p.Emit("/a", iface+".X"))
	woken(t, third)
}

func TestBusFloodNeverBlocksAndNothingQueues(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	p := d.peer(t)
	flood := signals(t, b, bus.Match{Path: "/flood"})
	end := signals(t, b, bus.Match{Path: "/end"})
	const n = 5000
	for range n {
		must(t, p.Emit("/flood", iface+".X"))
	}
	must(t, p.Emit("/end", iface+".X"))
	woken(t, end)
	if c := drain(flood); c.Merged != n {
		t.Errorf("merged %d", c.Merged)
	}
}

func TestBusComesBack(t *testing.T) {
	d := newDaemon(t)
	_, b := d.host(t)
	s := signals(t, b, bus.Match{Path: "/a"})
	conn, err := b.(*shared).now()
	must(t, err)
	for range 2 {
		d.stop(t)
		<-conn.Context().Done()
		d.start(t)
		if c := woken(t, s); !c.Resync {
			t.Errorf("cause %+v", c)
		}
		p := d.peer(t)
		must(t, p.Emit("/a", iface+".X"))
		if c := woken(t, s); c.Resync || c.Path != "/a" {
			t.Errorf("cause %+v", c)
		}
		conn, err = b.(*shared).now()
		must(t, err)
	}
}

func TestBusThatIsNotThere(t *testing.T) {
	none := "unix:path=" + filepath.Join(t.TempDir(), "none")
	h := newHost(t, host.Options{BusAddresses: map[bus.Kind]string{bus.System: none}})
	if _, err := h.Bus(t.Context(), bus.System); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Bus(t.Context(), "third"); err == nil {
		t.Error("there is no third bus")
	}
	must(t, h.Close())
	if _, err := h.Bus(t.Context(), bus.System); !errors.Is(err, host.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestBusAfterTheDaemonIsGone(t *testing.T) {
	d := newDaemon(t)
	h, b := d.host(t)
	conn, err := b.(*shared).now()
	must(t, err)
	d.stop(t)
	<-conn.Context().Done()
	deadline := time.Now().Add(patience)
	for err = nil; err == nil && time.Now().Before(deadline); {
		_, err = b.Signals(t.Context(), bus.Match{Path: "/a"})
	}
	if err == nil {
		t.Fatal("no error")
	}
	must(t, h.Close())
	if _, err := b.Call(t.Context(), "a.b", "/", "a.b.C"); !errors.Is(err, host.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAddressesOfBuses(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "system")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "session")
	for want, find := range map[string]func() (string, error){"system": systemAddress, "session": sessionAddress} {
		if got, err := find(); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if got, _ := systemAddress(); got != "unix:path=/run/dbus/system_bus_socket" {
		t.Errorf("%q", got)
	}
	if got, err := sessionAddress(); err == nil && got != fmt.Sprintf("unix:path=/run/user/%d/bus", os.Getuid()) {
		t.Errorf("%q", got)
	}
}
