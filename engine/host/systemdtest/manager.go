package systemdtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	name       = "org.freedesktop.systemd1"
	root       = "/org/freedesktop/systemd1"
	iface      = name + ".Manager"
	properties = "org.freedesktop.DBus.Properties"
)

// Unit is one unit. Fields without a value have that of a service that is stopped and disabled.
// A test gives it to Add, which copies it. Exported fields are the wishes of the test;
// the others are the state that follows from calls.
type Unit struct {
	Active string // active, inactive, failed, activating ...
	Sub    string
	File   string // enabled, disabled, static, masked ...
	Type   string // simple, oneshot ...
	Alias  string // the name under which its object is, if that is another one

	Refuses  string        // starting it leads to failed, with this as its Result
	Lacks    bool          // what it requires does not start: starting it leads to inactive, and its conditions are not checked
	Ends     bool          // starting it leads to inactive, as of a oneshot
	Dies     bool          // it has failed as soon as somebody has seen it run
	Skipped  bool          // a condition does not hold: starting it leads nowhere
	NoReload bool          // its reload fails
	Hold     chan struct{} // a job of it ends when this is closed; at once when nil
	Below    string        // enabled-runtime or masked-runtime: the state of its file, too, when the permanent state was taken back
	Fixed    bool          // what its file says stays, whatever is called
	Stale    bool          // its file has changed since it was read
	DropIns  []string      // the paths of what was read besides its file
	Requires []string      // the units that a start of it starts
	PartOf   []string      // the units with which it is stopped and restarted
	Plain    bool          // it cannot reload
	Sudden   string        // a job of this type is there right before the next requested job

	Result string    // why it has failed: exit-code, signal, start-limit-hit ...
	Code   int32     // how its process ended: 1 exited, 2 killed, 3 dumped core
	Status int32     // with which exit status, or by which signal
	Since  time.Time // when it became active; zero for unknown
	Left   time.Time // when it was active last; zero for unknown
	Ended  time.Time // when its process ended; zero for unknown
	Down   time.Time // when it became inactive; zero for unknown
	Again  int       // how often it was started again by itself
	Pre    []Exec    // its ExecStartPre=
	Limit  int       // so often it can be started until ResetFailedUnit; 0 for no limit

	starts  int
	checked uint64 // when its conditions were checked; 0 for never
	job     uint32
	jobType string
	load    string // loaded or masked
	reload  string
}

// Exec is a command of a unit file, and how its process ended, as Code and Status of Unit.
type Exec struct {
	Path string
	Argv []string

	IgnoreFailure                          bool
	Started, StartedMono, Ended, EndedMono uint64
	PID                                    uint32
	Code, Status                           int32
}

// Manager owns the name of systemd on a bus. Its methods may be called from any goroutine.
// One lock guards all units. Signals are sent with it held, so their order is that of the
// changes.
type Manager struct {
	tb  testing.TB
	bus *Bus

	mu          sync.Mutex
	conn        *dbus.Conn
	units       map[string]*Unit
	subscribers map[string]bool
	jobs        uint32
	calls       []string
	onCall      func(method, unit string)
	work        sync.WaitGroup // jobs
}

// NewManager starts a manager without units. It ends with the test.
func NewManager(tb testing.TB, bus *Bus) *Manager {
	tb.Helper()
	m := &Manager{tb: tb, bus: bus, units: map[string]*Unit{}}
	m.Start()
	tb.Cleanup(m.Stop)
	return m
}

// Start connects to the bus and takes the name; no client has subscribed.
// It may follow a Stop, as when systemd executes itself anew.
func (m *Manager) Start() {
	m.tb.Helper()
	conn, err := dbus.Connect(m.bus.Address())
	if err != nil {
		m.tb.Fatal(err)
	}
	m.mu.Lock()
	m.conn, m.subscribers = conn, map[string]bool{}
	m.mu.Unlock()
	err = conn.ExportMethodTable(m.methods(), root, iface)
	if err == nil {
		err = conn.ExportSubtreeMethodTable(map[string]any{"Get": m.get}, root+"/unit", properties)
	}
	if err == nil {
		_, err = conn.RequestName(name, dbus.NameFlagDoNotQueue)
	}
	if err != nil {
		m.tb.Fatal(err)
	}
}

// Stop gives the name up. Units stay as they are.
// It waits for the jobs: a test whose Hold is still open would block here.
func (m *Manager) Stop() {
	m.mu.Lock()
	conn := m.conn
	m.conn = nil
	m.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	m.work.Wait()
}

// Add adds a unit, or replaces it, and says so as a reload does.
// Empty fields become those of a stopped, disabled service of the type simple.
func (m *Manager) Add(unit string, u Unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u.Active, u.Sub = cmp.Or(u.Active, "inactive"), cmp.Or(u.Sub, "dead")
	u.File, u.Type = cmp.Or(u.File, "disabled"), cmp.Or(u.Type, "simple")
	u.load, u.Result, u.reload = loadOf(u.File), cmp.Or(u.Result, "success"), "success"
	m.units[unit] = &u
	m.emit(root, iface+".Reloading", false)
}

// Remove takes a unit away.
func (m *Manager) Remove(unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.units, unit)
	m.emit(root, iface+".Reloading", false)
}

// loadOf is the load state of a unit file after a reload.
func loadOf(file string) string {
	if strings.HasPrefix(file, "masked") {
		return "masked"
	}
	return "loaded"
}

// Set changes a unit from outside, and sends its signal and that of unit files.
// The function runs with the lock held and must not call m. The unit must be there.
func (m *Manager) Set(unit string, change func(*Unit)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.units[unit]
	file := u.File
	change(u)
	m.changed(unit, u)
	if u.File != file {
		u.load = loadOf(u.File)
		m.emit(root, iface+".UnitFilesChanged")
	}
}

// Unit returns a unit as it is now.
// It is a copy. An unknown unit is the zero Unit.
func (m *Manager) Unit(unit string) Unit {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u := m.units[unit]; u != nil {
		return *u
	}
	return Unit{}
}

// Twitch sends the signal of a unit though nothing has changed.
func (m *Manager) Twitch(unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed(unit, m.units[unit])
}

// Calls returns the calls that alter something, in order: the method and the unit.
// Each text is the method and the unit with a space between, such as "StartUnit
// a.service".
func (m *Manager) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// OnCall has f called at each call that alters something. f must not call m.
// It runs with the lock held, before the call has an effect.
func (m *Manager) OnCall(f func(method, unit string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onCall = f
}

// Forget empties the list of Calls.
func (m *Manager) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = nil
}

// noted notes a call. The lock is held.
func (m *Manager) noted(method, unit string) {
	m.calls = append(m.calls, strings.TrimSpace(method+" "+unit))
	if m.onCall != nil {
		m.onCall(method, unit)
	}
}

// emit sends a signal if a client wants signals. The lock is held.
// systemd too sends no signal before the first Subscribe.
func (m *Manager) emit(path, signal string, args ...any) {
	if m.conn != nil && len(m.subscribers) > 0 {
		_ = m.conn.Emit(dbus.ObjectPath(path), signal, args...) // a bus that is gone is what is tested
	}
}

// changed tells the subscribers that a unit has changed. As in systemd, the values are not
// in the signal: readers ask again.
func (m *Manager) changed(unit string, u *Unit) {
	m.emit(string(path(cmp.Or(u.Alias, unit))), properties+".PropertiesChanged", name+".Unit", map[string]dbus.Variant{}, []string{})
}

// path is the object of a unit.
// The escape is that of sd_bus_path_encode(3): other bytes become _ and two hexadecimal
// digits.
func path(unit string) dbus.ObjectPath {
	var b strings.Builder
	for i, c := range []byte(unit) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return dbus.ObjectPath(root + "/unit/" + b.String())
}

// at returns the unit of an object. The lock is held.
func (m *Manager) at(p dbus.ObjectPath) *Unit {
	for _, unit := range slices.Sorted(maps.Keys(m.units)) {
		if path(unit) == p {
			return m.units[unit]
		}
	}
	return nil
}

// Subscribers returns how many connections have asked for signals.
func (m *Manager) Subscribers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.subscribers)
}
