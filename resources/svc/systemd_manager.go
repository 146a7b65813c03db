package svc

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

const (
	systemdName  = "org.freedesktop.systemd1"
	managerPath  = "/org/freedesktop/systemd1"
	managerIface = systemdName + ".Manager"
	propsIface   = "org.freedesktop.DBus.Properties"
	busName      = "org.freedesktop.DBus"
	busPath      = "/org/freedesktop/DBus"
)

// manager is a systemd that can be asked.
type manager struct {
	bus     engine.Bus
	host    engine.Host
	session bool
}

func (s *systemd) manager(ctx context.Context, session bool) (*manager, error) {
	which := engine.SystemBus
	if session {
		which = engine.SessionBus
	}
	bus, err := s.host.Bus(ctx, which)
	if err != nil {
		return nil, err
	}
	return &manager{bus, s.host, session}, nil
}

func (m *manager) call(ctx context.Context, method string, args ...any) ([]any, error) {
	return m.bus.Call(ctx, systemdName, managerPath, managerIface+"."+method, args...)
}

// unit is what the manager says of a unit.
type unit struct {
	name, load, active, sub string

	path string // of its object; that of the unit of which the name is an alias
	job  string // the number of what is being done with it; 0 for nothing
}

// missing reports whether there is no such unit.
func (u *unit) missing() bool { return u.load == "not-found" }

// running reports whether the unit does what it is for.
func (u *unit) running() bool {
	return u.active == "active" || u.active == "reloading" || u.active == "refreshing"
}

// unit asks for one unit. One that is not there is said to be so.
func (m *manager) unit(ctx context.Context, name string) (unit, error) {
	body, err := m.call(ctx, "ListUnitsByNames", []string{name})
	if err != nil {
		return unit{}, err
	}
	rows, _ := first(body).([][]any)
	if len(rows) != 1 || len(rows[0]) < 8 {
		return unit{}, fmt.Errorf("systemd says of %s what cannot be understood: %v", name, body)
	}
	row := rows[0]
	return unit{name: name, load: text(row, 2), active: text(row, 3), sub: text(row, 4), path: text(row, 6), job: text(row, 7)}, nil
}

// fileState returns the state of a unit file; empty for a unit that has none.
func (m *manager) fileState(ctx context.Context, name string) (string, error) {
	body, err := m.call(ctx, "GetUnitFileState", name)
	if e, ok := errors.AsType[*engine.BusError](err); ok && noFile[e.Name] {
		return "", nil
	}
	return text(body, 0), err
}

// noFile are the errors that mean that there is no unit file.
var noFile = map[string]bool{
	"org.freedesktop.DBus.Error.FileNotFound": true, // so does ENOENT look like on a bus
	systemdName + ".NoSuchUnit":               true,
}

// property returns a property of a unit; empty if it cannot be had: it is asked for
// where something is to be explained.
func (m *manager) property(ctx context.Context, u unit, iface, name string) string {
	body, err := m.bus.Call(ctx, systemdName, u.path, propsIface+".Get", systemdName+"."+iface, name)
	if err != nil {
		return ""
	}
	if v, ok := first(body).(interface{ Value() any }); ok {
		return fmt.Sprint(v.Value())
	}
	return ""
}

// subscribe has the manager send signals to this connection. It forgets that when it
// starts anew, and so it is asked again then.
func (m *manager) subscribe(ctx context.Context) error {
	_, err := m.call(ctx, "Subscribe")
	if e, ok := errors.AsType[*engine.BusError](err); ok && e.Name == systemdName+".AlreadySubscribed" {
		return nil
	}
	return err
}

// restarted is the signal that another manager has the name now.
var restarted = engine.BusMatch{Sender: busName, Path: busPath, Interface: busName, Member: "NameOwnerChanged", Arg0: systemdName, Resync: true}

// signal is one of the manager's own.
func signal(member string) engine.BusMatch {
	return engine.BusMatch{Sender: systemdName, Path: managerPath, Interface: managerIface, Member: member}
}

// changed is the signal that a unit has changed; of any if path is empty.
func changed(path string) engine.BusMatch {
	return engine.BusMatch{Sender: systemdName, Path: path, Interface: propsIface, Member: "PropertiesChanged"}
}

// signals subscribes, so that nothing is lost that happens after it has returned.
func (m *manager) signals(ctx context.Context, matches ...engine.BusMatch) (engine.Subscription, error) {
	sub, err := m.bus.Signals(ctx, append(matches, restarted)...)
	if err != nil {
		return nil, err
	}
	if err := m.subscribe(ctx); err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// Watch implements virtual.Watcher. A unit tells of itself; what is enabled or masked
// is told for all units at once. After a Resync it has to be called again.
func (s *systemd) Watch(ctx context.Context, list []string) (engine.Subscription, error) {
	names, session, err := watched(list)
	if err != nil {
		return nil, err
	}
	m, err := s.manager(ctx, session)
	if err != nil {
		return nil, err
	}
	matches := []engine.BusMatch{signal("UnitFilesChanged"), signal("Reloading")}
	if len(names) == 0 {
		matches = append(matches, changed(""))
	}
	for _, name := range names {
		u, err := m.unit(ctx, UnitName(name))
		if err != nil {
			return nil, err
		}
		matches = append(matches, changed(u.path))
	}
	return m.signals(ctx, matches...)
}

// first returns the first of the values of a reply.
func first(body []any) any {
	if len(body) == 0 {
		return nil
	}
	return body[0]
}

// text returns one of the values of a record, whatever it is, as text.
func text(row []any, i int) string {
	if i >= len(row) {
		return ""
	}
	return fmt.Sprint(row[i])
}
