package systemdtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
)

// row is what ListUnitsByNames says of a unit.
type row struct {
	Name, Description, Load, Active, Sub, Following string

	Path    dbus.ObjectPath
	Job     uint32
	JobType string
	JobPath dbus.ObjectPath
}

// change is what is said of a link that was altered.
type change struct{ Type, Path, Source string }

// methods are the methods of the manager that resources call; a call of any other one
// fails as unknown.
func (m *Manager) methods() map[string]any {
	return map[string]any{
		"Subscribe": m.subscribe, "Reload": m.doReload, "ResetFailedUnit": m.resetFailed,
		"ListUnitsByNames": m.list, "GetUnitFileState": m.fileState, "ListUnitFiles": m.files,
		"StartUnit": m.job("StartUnit"), "StopUnit": m.job("StopUnit"), "RestartUnit": m.job("RestartUnit"),
		"ReloadOrTryRestartUnit": m.job("ReloadOrTryRestartUnit"), "ListJobs": m.listJobs,
		"EnableUnitFiles":  m.enable,
		"DisableUnitFiles": m.disable,
		"MaskUnitFiles": func(units []string, _, _ bool) ([]change, *dbus.Error) {
			return m.link("MaskUnitFiles", units, "masked")
		},
		"UnmaskUnitFiles": func(units []string, runtime bool) ([]change, *dbus.Error) {
			return m.takeBack("UnmaskUnitFiles", units, runtime, "masked")
		},
	}
}

// failed is an error of systemd.
func failed(kind, format string, args ...any) *dbus.Error {
	return dbus.NewError(name+"."+kind, []any{fmt.Sprintf(format, args...)})
}

// subscribe answers Subscribe; a second call of one client is an error, as in systemd.
func (m *Manager) subscribe(sender dbus.Sender) *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.subscribers[string(sender)] {
		return failed("AlreadySubscribed", "Client is already subscribed.")
	}
	m.subscribers[string(sender)] = true
	return nil
}

// doReload answers Reload: all unit files are read again.
// The signal comes twice: true at the beginning, false at the end.
func (m *Manager) doReload() *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noted("Reload", "")
	for _, u := range m.units {
		u.load, u.Stale = loadOf(u.File), false
	}
	m.emit(root, iface+".Reloading", true)
	m.emit(root, iface+".Reloading", false)
	return nil
}

// resetFailed is not noted: it alters nothing but the limit on starts.
func (m *Manager) resetFailed(unit string) *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.units[unit]
	if u == nil {
		return failed("NoSuchUnit", "Unit %s not loaded.", unit)
	}
	if u.Active == "failed" {
		u.Active, u.Sub, u.Result = "inactive", "dead", "success"
		m.changed(unit, u)
	}
	u.starts = 0
	return nil
}

// list answers ListUnitsByNames; an unknown unit has a row too, which says so.
// A unit with Dies fails here, the first time that a caller sees it run.
func (m *Manager) list(names []string) ([]row, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []row
	for _, n := range names {
		r := row{Name: n, Load: "not-found", Active: "inactive", Sub: "dead", Path: path(n), JobPath: "/"}
		if u := m.units[n]; u != nil {
			r.Load, r.Active, r.Sub, r.Job, r.JobType, r.Path = u.load, u.Active, u.Sub, u.job, u.jobType, path(cmp.Or(u.Alias, n))
			if u.Dies && u.Active == "active" && u.job == 0 {
				u.Active, u.Sub, u.Result, u.Code, u.Status = "failed", "failed", "exit-code", 1, 1
				m.changed(n, u)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// fileState answers GetUnitFileState.
func (m *Manager) fileState(unit string) (string, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.units[unit]
	if u == nil {
		return "", dbus.NewError("org.freedesktop.DBus.Error.FileNotFound", []any{"No such file or directory"})
	}
	return u.File, nil
}

// files answers ListUnitFiles.
func (m *Manager) files() ([]struct{ Path, State string }, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []struct{ Path, State string }
	for _, unit := range slices.Sorted(maps.Keys(m.units)) {
		all = append(all, struct{ Path, State string }{"/lib/systemd/system/" + unit, m.units[unit].File})
	}
	return all, nil
}

// get is Properties.Get of a unit.
// The object names the unit. A property that mgmt does not read is an error.
func (m *Manager) get(msg dbus.Message, _, property string) (dbus.Variant, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, _ := msg.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	u := m.at(p)
	if u == nil {
		return dbus.Variant{}, failed("NoSuchUnit", "Unit not found.")
	}
	values := map[string]any{
		"NeedDaemonReload": u.Stale || u.load != "not-found" && u.load != loadOf(u.File), "ConditionResult": u.checked > 0 && !u.Skipped, "ConditionTimestamp": u.checked, "Type": u.Type, "Result": u.Result, "ReloadResult": u.reload,
		"DropInPaths": append([]string{}, u.DropIns...), "ExecMainCode": u.Code, "ExecMainStatus": u.Status, "NRestarts": uint32(u.Again), "InvocationID": []byte{},
		"ActiveEnterTimestamp": micro(u.Since), "ActiveExitTimestamp": micro(u.Left), "ExecMainExitTimestamp": micro(u.Ended), "InactiveEnterTimestamp": micro(u.Down),
		"CanReload": !u.Plain, "Requires": append([]string{}, u.Requires...), "PartOf": append([]string{}, u.PartOf...), "BindsTo": []string{}, "ExecCondition": []Exec{}, "ExecStartPre": append([]Exec{}, u.Pre...), "ExecStart": []Exec{}, "ExecStartPost": []Exec{}, "Requisite": []string{},
	}
	v, ok := values[property]
	if !ok {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", []any{"Unknown property " + property})
	}
	return dbus.MakeVariant(v), nil
}

// micro is a time as a property has it.
func micro(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// enable answers EnableUnitFiles.
func (m *Manager) enable(units []string, _, _ bool) (bool, []change, *dbus.Error) {
	changes, err := m.link("EnableUnitFiles", units, "enabled")
	return true, changes, err
}

// disable answers DisableUnitFiles.
func (m *Manager) disable(units []string, runtime bool) ([]change, *dbus.Error) {
	return m.takeBack("DisableUnitFiles", units, runtime, "enabled")
}

// takeBack takes back the permanent state, or the state until the next boot; the other of the two
// stays.
// A unit can be enabled twice: for good in /etc, and until the next boot in /run.
func (m *Manager) takeBack(method string, units []string, runtime bool, word string) ([]change, *dbus.Error) {
	m.mu.Lock()
	other := word + "-runtime"
	if runtime {
		other = word
	}
	var of, below []string
	for _, n := range units {
		switch u := m.units[n]; {
		case u != nil && u.File == other:
		case u != nil && u.Below != "" && !runtime:
			below = append(below, n)
		default:
			of = append(of, n)
		}
	}
	m.mu.Unlock()
	changes, err := m.link(method, of, "disabled")
	if err == nil && len(below) > 0 {
		var more []change
		more, err = m.link(method, below, word+"-runtime")
		changes = append(changes, more...)
	}
	return changes, err
}

// link alters the state of unit files.
// A unit that can only be masked need not exist. With Fixed the call is answered as a
// success and changes nothing.
func (m *Manager) link(method string, units []string, file string) ([]change, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changes := []change{}
	for _, unit := range units {
		m.noted(method, unit)
		u := m.units[unit]
		switch {
		case u == nil && file == "masked":
			u = &Unit{Active: "inactive", Sub: "dead", Type: "simple", load: "not-found", Result: "success", reload: "success"}
			m.units[unit] = u
		case u == nil:
			return nil, dbus.NewError("org.freedesktop.DBus.Error.FileNotFound", []any{"Unit file " + unit + " does not exist."})
		}
		if u.File != file && !u.Fixed {
			u.File = file
			changes = append(changes, change{"symlink", "/etc/systemd/system/" + unit, ""})
		}
	}
	m.emit(root, iface+".UnitFilesChanged")
	return changes, nil
}

// started brings a unit up, or to the failure that the test wants. A unit with a limit
// fails from so many starts on.
// The limit counts since the last ResetFailedUnit, as StartLimitBurst does.
func started(u *Unit) {
	u.starts++
	if !u.Lacks {
		u.checked = uint64(u.starts)
	}
	switch {
	case u.Limit > 0 && u.starts > u.Limit:
		u.Active, u.Sub, u.Result = "failed", "failed", "start-limit-hit"
	case u.Refuses != "":
		u.Active, u.Sub, u.Result = "failed", "failed", u.Refuses
	case u.Ends, u.Skipped, u.Lacks:
		u.Active, u.Sub = "inactive", "dead"
	default:
		u.Active, u.Sub, u.Result = "active", "running", "success"
	}
}

// stopped brings a unit down.
func stopped(u *Unit) { u.Active, u.Sub = "inactive", "dead" }

// reloaded reloads a unit; a unit without that ability fails as its real job does.
func reloaded(u *Unit) {
	if u.NoReload {
		u.reload = "exit-code"
	}
}
