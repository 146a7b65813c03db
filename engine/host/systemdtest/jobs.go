package systemdtest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"
)

// deeds are what the jobs of each type do to their unit in the end.
// They run with the lock held, when the job ends.
var deeds = map[string]func(*Unit){"start": started, "stop": stopped, "restart": started, "reload": reloaded}

// jobTypes are the types of the jobs that the methods make.
var jobTypes = map[string]string{"StartUnit": "start", "StopUnit": "stop", "RestartUnit": "restart", "ReloadOrTryRestartUnit": "reload"}

// job returns a method that makes a job, which does something to a unit.
// Replace and fail are the modes that mgmt uses. The call returns when the job is there;
// the job ends in a goroutine, after Hold.
func (m *Manager) job(method string) any {
	kind := jobTypes[method]
	return func(unit, mode string) (dbus.ObjectPath, *dbus.Error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.noted(method, unit)
		u := m.units[unit]
		switch {
		case u == nil:
			return "", failed("NoSuchUnit", "Unit %s not found.", unit)
		case u.load == "masked" && method != "StopUnit":
			return "", failed("UnitMasked", "Unit %s is masked.", unit)
		case u.Sudden != "":
			m.begin(unit, u, u.Sudden)
			u.Sudden = ""
		}
		switch {
		case u.job != 0 && u.jobType == kind: // the two are one
			return jobPath(u.job), nil
		}
		if other := m.inTheWay(unit, kind); other != "" && mode == "fail" {
			return "", failed("TransactionIsDestructive", "Transaction for %s/%s is destructive (%s has '%s' job queued).", unit, kind, other, m.units[other].jobType)
		}
		id := m.begin(unit, u, kind)
		m.work.Go(func() { m.end(unit, id, u.Hold) })
		return jobPath(id), nil
	}
}

// inTheWay returns a unit with a job that another job of a unit would undo. The lock is held.
// Only the units that a start requires count, since systemd would pull them in.
func (m *Manager) inTheWay(unit, kind string) string {
	if m.units[unit].job != 0 {
		return unit
	}
	for _, n := range m.units[unit].Requires {
		if d := m.units[n]; kind != "stop" && d != nil && d.job != 0 && d.jobType != "start" {
			return n
		}
	}
	return ""
}

// jobPath is the object of a job on the bus.
func jobPath(id uint32) dbus.ObjectPath {
	return dbus.ObjectPath(fmt.Sprintf("%s/job/%d", root, id))
}

// begin makes a job. The lock is held.
// Numbers of jobs begin at 1 and are never used again.
func (m *Manager) begin(unit string, u *Unit, kind string) uint32 {
	m.jobs++
	u.job, u.jobType = m.jobs, kind
	m.emit(root, iface+".JobNew", u.job, jobPath(u.job), unit)
	m.changed(unit, u)
	return u.job
}

// Begin makes a job as a person does by systemctl: start, stop, restart or reload. A unit that is to be stopped is
// deactivating until end is called, which ends the job; further calls of it do nothing.
func (m *Manager) Begin(unit, kind string) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.units[unit]
	if kind == "stop" || kind == "restart" {
		u.Active, u.Sub = "deactivating", "stop-sigterm"
	}
	id := m.begin(unit, u, kind)
	return sync.OnceFunc(func() { m.end(unit, id, nil) })
}

// Jobs returns how many jobs there are.
// A test waits with it until no job is open.
func (m *Manager) Jobs() (n int) {
	list, _ := m.listJobs()
	return len(list)
}

// jobRow is what ListJobs says of a job.
type jobRow struct {
	ID                uint32
	Unit, Type, State string
	Job, UnitPath     dbus.ObjectPath
}

// listJobs answers ListJobs with all open jobs, by the names of their units.
func (m *Manager) listJobs() ([]jobRow, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := []jobRow{}
	for _, n := range slices.Sorted(maps.Keys(m.units)) {
		if u := m.units[n]; u.job != 0 {
			rows = append(rows, jobRow{u.job, n, u.jobType, "running", jobPath(u.job), path(n)})
		}
	}
	return rows, nil
}

// end ends a job.
// It waits for hold without the lock. The unit may have gone meanwhile, and then there is
// nothing to end.
func (m *Manager) end(unit string, id uint32, hold chan struct{}) {
	if hold != nil {
		<-hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.units[unit]
	if u == nil || u.job != id {
		return // removed, or replaced by another job
	}
	deeds[u.jobType](u)
	u.job, u.jobType = 0, ""
	m.changed(unit, u)
	m.emit(root, iface+".JobRemoved", id, jobPath(id), unit, "done")
}
