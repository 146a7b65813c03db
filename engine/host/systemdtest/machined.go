package systemdtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	machinedName  = "org.freedesktop.machine1"
	machinedRoot  = "/org/freedesktop/machine1"
	machinedIface = machinedName + ".Manager"
)

// Machined answers as systemd-machined does. Its machines are the active units
// systemd-nspawn@NAME.service of a Manager, and further ones of the test; its images come from the
// test. Each start of a unit is another leader. Its methods may be called from any goroutine.
// Its lock comes before that of the Manager where both are held.
type Machined struct {
	tb       testing.TB
	manager  *Manager
	onRemove func(image string) error

	mu     sync.Mutex
	conn   *dbus.Conn
	others map[string]string // machines that have other units, which are the values
	images map[string]bool
	again  map[string]int // how often one was started anew unseen
	asked  int
}

// NewMachined starts a machined next to a manager, on the bus of that. It ends with the test.
// remove is called where an image is to be removed.
func NewMachined(tb testing.TB, manager *Manager, remove func(image string) error) *Machined {
	tb.Helper()
	m := &Machined{tb: tb, manager: manager, onRemove: remove, others: map[string]string{}, images: map[string]bool{}, again: map[string]int{}}
	m.Start()
	tb.Cleanup(m.Stop)
	return m
}

// Start connects to the bus and takes the name.
// It may follow a Stop, as when systemd starts the daemon on demand.
func (m *Machined) Start() {
	m.tb.Helper()
	conn, err := dbus.Connect(m.manager.bus.Address())
	if err != nil {
		m.tb.Fatal(err)
	}
	err = conn.ExportMethodTable(map[string]any{
		"GetMachine": m.get, "ListMachines": m.listMachines, "ListImages": m.listImages, "RemoveImage": m.remove,
	}, machinedRoot, machinedIface)
	if err == nil {
		err = conn.ExportSubtreeMethodTable(map[string]any{"Get": m.property}, machinedRoot+"/machine", properties)
	}
	if err == nil {
		_, err = conn.RequestName(machinedName, dbus.NameFlagDoNotQueue)
	}
	if err != nil {
		m.tb.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn = conn
}

// Stop gives the name up, as a machined does that has nothing to do.
func (m *Machined) Stop() {
	m.mu.Lock()
	conn := m.conn
	m.conn = nil
	m.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// Image adds an image.
func (m *Machined) Image(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.images[name] = true
}

// Other has a machine run that belongs to some other unit, or ends it if unit is empty.
func (m *Machined) Other(name, unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if unit == "" {
		delete(m.others, name)
		m.emit("MachineRemoved", name)
		return
	}
	m.others[name] = unit
	m.emit("MachineNew", name)
}

// Again starts a machine anew, as by systemctl restart, without a signal.
// The leader and the time of start differ then, by which a caller notices.
func (m *Machined) Again(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.again[name]++
}

// Twitch sends the signal that a machine has come, whether or not it has.
func (m *Machined) Twitch(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emit("MachineNew", name)
}

// Asked returns how often something was asked.
// Only GetMachine counts.
func (m *Machined) Asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// emit sends a signal, where the daemon is on a bus.
func (m *Machined) emit(signal, name string) {
	if m.conn != nil {
		_ = m.conn.Emit(machinedRoot, machinedIface+"."+signal, name, machineObject(name)) // a bus that is gone is what is tested
	}
}

// machineObject is the object of a machine; the bus takes no dash and no dot in a path.
// Other characters do not occur in the tests.
func machineObject(name string) dbus.ObjectPath {
	return machinedRoot + "/machine/" + dbus.ObjectPath(strings.NewReplacer("-", "_2d", ".", "_2e").Replace(name))
}

// all returns the machines that run, with their units. The lock is held.
func (m *Machined) all() map[string]string {
	all := maps.Clone(m.others)
	m.manager.mu.Lock()
	defer m.manager.mu.Unlock()
	for unit, u := range m.manager.units {
		name, ok := strings.CutPrefix(strings.TrimSuffix(unit, ".service"), "systemd-nspawn@")
		if ok && u.Active == "active" {
			all[name] = unit
		}
	}
	return all
}

// machinedError is an error under the name that the real daemon gives it.
func machinedError(kind, format string, args ...any) *dbus.Error {
	return dbus.NewError(machinedName+"."+kind, []any{fmt.Sprintf(format, args...)})
}

// get answers GetMachine. It counts the calls, so that a test sees a caller that polls.
func (m *Machined) get(name string) (dbus.ObjectPath, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if _, ok := m.all()[name]; !ok {
		return "", machinedError("NoSuchMachine", "No machine '%s' known", name)
	}
	return machineObject(name), nil
}

// listMachines answers ListMachines.
// The host itself is a machine with the name .host, as in the real one.
func (m *Machined) listMachines() ([]struct {
	Name, Class, Service string
	Path                 dbus.ObjectPath
}, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []struct {
		Name, Class, Service string
		Path                 dbus.ObjectPath
	}
	all := m.all()
	all[".host"] = "host"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		class := "container"
		if all[name] == "host" || strings.HasPrefix(all[name], "vm-") {
			class, _, _ = strings.Cut(all[name], "-")
		}
		rows = append(rows, struct {
			Name, Class, Service string
			Path                 dbus.ObjectPath
		}{name, class, "systemd-nspawn", machineObject(name)})
	}
	return rows, nil
}

// image is what is said of an image.
type image struct {
	Name, Type               string
	ReadOnly                 bool
	Created, Modified, Usage uint64
	Path                     dbus.ObjectPath
}

// listImages answers ListImages; the host itself is an image, as it is there.
func (m *Machined) listImages() ([]image, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := []image{{Name: ".host", Type: "directory", Path: machinedRoot + "/image/_2ehost"}}
	for _, name := range slices.Sorted(maps.Keys(m.images)) {
		rows = append(rows, image{Name: name, Type: "directory", Path: machinedRoot + "/image/x"})
	}
	return rows, nil
}

// remove answers RemoveImage.
// The callback removes the files; the image goes from the list only if that succeeds. It
// runs with the lock held, so it must not call m.
func (m *Machined) remove(name string) *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.images[name] {
		return machinedError("NoSuchImage", "No image '%s' known", name)
	}
	if err := m.onRemove(name); err != nil {
		return dbus.MakeFailedError(err)
	}
	delete(m.images, name)
	return nil
}

// property is Properties.Get of a machine.
// The leader is a process id and the time is in microseconds since 1970. Both rise with
// each start.
func (m *Machined) property(msg dbus.Message, _, property string) (dbus.Variant, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, _ := msg.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	for name, unit := range m.all() {
		if machineObject(name) != p {
			continue
		}
		starts := m.starts(unit) + m.again[name]
		switch property {
		case "Unit":
			return dbus.MakeVariant(unit), nil
		case "Leader":
			return dbus.MakeVariant(uint32(1000 + starts)), nil
		case "Timestamp":
			return dbus.MakeVariant(uint64(1_700_000_000_000_000 + starts)), nil
		}
	}
	return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownObject", []any{"Unknown object"})
}

// starts returns how often a unit was started.
// It counts the calls that the Manager has noted, so Forget makes it smaller.
func (m *Machined) starts(unit string) int {
	n := 0
	for _, c := range m.manager.Calls() {
		if c == "StartUnit "+unit || c == "RestartUnit "+unit || c == "ReloadOrTryRestartUnit "+unit {
			n++
		}
	}
	return n
}
