package systemd1

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is what the manager says of a unit.
type Unit struct {
	Name   string // the one that was asked for, which may be an alias
	Load   string // loaded, not-found, masked ...
	Active string // active, inactive, failed, activating ...
	Sub    string // the same in the words of its type: waiting, mounted ...
	Path   string // its object; of an alias, that of the unit behind it

	job     string // the number of what is being done with it; 0 for nothing
	jobType string // start, stop, restart ...
	session bool   // of the manager of a session
}

// Job is what the manager has begun to do with a unit, or will do, at the request of any program.
type Job struct {
	ID   string
	Type string // start, stop, restart, reload, try-restart ...
	Unit string

	session bool // of the manager of a session
}

// String names the job, and says how a person ends it.
func (j *Job) String() string {
	of := ""
	if j.session {
		of = "--user "
	}
	return fmt.Sprintf("the job %s of %s (if it hangs: systemctl %scancel %s)", j.Type, j.Unit, of, j.ID)
}

// Job returns the job that the unit has; nil for none.
func (u *Unit) Job() *Job {
	if u.job == "" || u.job == "0" {
		return nil
	}
	return &Job{u.job, u.jobType, u.Name, u.session}
}

// Missing reports whether there is no such unit.
func (u *Unit) Missing() bool { return u.Load == "not-found" }

// Running reports whether the unit does what it is for.
func (u *Unit) Running() bool {
	return u.Active == "active" || u.Active == "reloading" || u.Active == "refreshing"
}

// Stopped reports whether nothing of the unit is there any more.
func (u *Unit) Stopped() bool { return u.Active == "inactive" || u.Active == "failed" }

// Restarts reports whether the unit has ended, and systemd is about to start it again by itself, as Restart= of its file says.
func (u *Unit) Restarts() bool { return strings.Contains(u.Sub, "auto-restart") }

// String tells how the unit is.
func (u *Unit) String() string { return u.Active + " (" + u.Sub + ")" }

// Unit asks for one unit. A unit that is not there is Missing.
func (m *Manager) Unit(ctx context.Context, unit string) (Unit, error) {
	body, err := m.call(ctx, "ListUnitsByNames", []string{unit})
	if err != nil {
		return Unit{}, err
	}
	rows := rowsOf(body)
	if len(rows) != 1 || len(rows[0]) < unitFields {
		return Unit{}, fmt.Errorf("systemd says of %s what cannot be understood: %v", unit, body)
	}
	u := m.unitOf(rows[0])
	u.Name = unit
	return u, nil
}

// units asks for several units at once. Those of which systemd says nothing are left out.
func (m *Manager) units(ctx context.Context, names ...string) (all []Unit, err error) {
	body, err := m.call(ctx, "ListUnitsByNames", names)
	for _, row := range rowsOf(body) {
		if len(row) >= unitFields {
			all = append(all, m.unitOf(row))
		}
	}
	return all, err
}

// unitFields is how many values of a record are read.
const unitFields = 9

// unitOf reads a record, which has at least unitFields.
func (m *Manager) unitOf(row []any) Unit {
	word := func(i int) string { return fmt.Sprint(row[i]) }
	return Unit{Name: word(0), Load: word(2), Active: word(3), Sub: word(4), Path: word(6), job: word(7), jobType: word(8), session: m.session}
}

// rowsOf returns the records of a reply that is a list of them.
func rowsOf(body []any) [][]any {
	if len(body) != 1 {
		return nil
	}
	rows, _ := body[0].([][]any)
	return rows
}

// UnitAndFile asks for one unit, and for the state of its file as FileState does, at the same time. Of a unit that is Missing
// the state is empty.
func (m *Manager) UnitAndFile(ctx context.Context, unit string) (u Unit, file string, err error) {
	var wrong error
	atOnce(func() { u, err = m.Unit(ctx, unit) }, func() { file, wrong = m.FileState(ctx, unit) })
	if err != nil || u.Missing() {
		return u, "", err
	}
	return u, file, wrong
}

// Life is how long a unit has been up.
type Life struct {
	Since    time.Time // when it came up; zero if that is not known
	Ready    bool      // it has said itself that it serves, or has no process that could end
	Restarts int       // how often systemd has started it again since its last start by request

	Left    time.Time // when it was up last; zero if it is up, or if that is not known
	Stopped bool      // systemd was asked to stop it: it was not up any more when its process ended
	Killed  bool      // its process was ended by a signal that others send, or the process itself
}

// tellers are the types of services that are up only when they have said themselves that they serve, or have ended by design.
var tellers = []string{"notify", "notify-reload", "dbus", "oneshot"}

// Life asks how long a unit that runs, or is to run again, has been up.
func (m *Manager) Life(ctx context.Context, u Unit) (l Life) {
	if u.Running() && u.Sub != "running" {
		return Life{Ready: true} // exited by design, or no service
	}
	if u.Stopped() {
		m.left(ctx, u, &l)
		return l
	}
	var kind, restarts, since string
	atOnce(func() { kind = m.property(ctx, u, "Service", "Type") }, func() {
		atOnce(func() { restarts = m.property(ctx, u, "Service", "NRestarts") }, func() { since = m.property(ctx, u, "Unit", "ActiveEnterTimestamp") })
	})
	l.Ready = kind == "" || slices.Contains(tellers, kind)
	l.Restarts, _ = strconv.Atoi(restarts)
	l.Since = timeOf(since)
	return l
}

// timeOf reads a time in microseconds; zero for one that is not known.
func timeOf(text string) time.Time {
	if micro, err := strconv.ParseInt(text, 10, 64); err == nil && micro > 0 {
		return time.UnixMicro(micro)
	}
	return time.Time{}
}

// left asks how a unit has ended. A process that ends by itself takes its unit down with it, so that has been up until then. One that is
// stopped ends later than its unit has left that state, whatever its exit status is.
func (m *Manager) left(ctx context.Context, u Unit, l *Life) {
	var left, inactive, ended, result, code, status string
	atOnce(func() {
		left, inactive = m.property(ctx, u, "Unit", "ActiveExitTimestamp"), m.property(ctx, u, "Unit", "InactiveEnterTimestamp")
	}, func() {
		ended, result = m.property(ctx, u, "Service", "ExecMainExitTimestamp"), m.property(ctx, u, "Service", "Result")
		code, status = m.property(ctx, u, "Service", "ExecMainCode"), m.property(ctx, u, "Service", "ExecMainStatus")
	})
	l.Left = timeOf(left)
	if l.Left.IsZero() || !slices.Contains([]string{"success", "exit-code", "signal", "core-dump"}, result) { // else systemd itself has ended it
		return
	}
	end := timeOf(ended)
	if end.IsZero() { // systemd knows no main process of it
		end = timeOf(inactive)
	}
	l.Stopped = end.After(l.Left)
	l.Killed = code == killed && slices.Contains(byOthers, status)
}

// Stale reports whether the files of a unit have changed since they were read.
func (m *Manager) Stale(ctx context.Context, u Unit) bool {
	return m.property(ctx, u, "Unit", "NeedDaemonReload") == "true"
}

// DropIns returns the paths of the files that were read next to that of a unit, in the order in which
// they hold.
func (m *Manager) DropIns(ctx context.Context, u Unit) ([]string, error) {
	return m.list(ctx, u, "DropInPaths")
}

// list returns a property of a unit that is a list of texts.
func (m *Manager) list(ctx context.Context, u Unit, key string) ([]string, error) {
	body, err := m.bus.Call(ctx, name, u.Path, properties+".Get", name+".Unit", key)
	if err != nil {
		return nil, err
	}
	if len(body) == 1 {
		if v, ok := body[0].(interface{ Value() any }); ok {
			if paths, ok := v.Value().([]string); ok {
				return paths, nil
			}
		}
	}
	return nil, fmt.Errorf("systemd says of the %s of %s what cannot be understood: %v", key, u.Name, body)
}

// property returns a property of a unit; empty if it cannot be had, as one of services is of a
// timer.
func (m *Manager) property(ctx context.Context, u Unit, of, key string) string {
	body, err := m.bus.Call(ctx, name, u.Path, properties+".Get", name+"."+of, key)
	if err != nil {
		return ""
	}
	v, err := text(body)
	if err != nil {
		return ""
	}
	return v
}

// noFile are the errors that say that a unit has no file.
var noFile = []string{"org.freedesktop.DBus.Error.FileNotFound", name + ".NoSuchUnit"}

// FileState returns enabled, disabled, static, masked and so on; empty for a unit that
// has no file.
func (m *Manager) FileState(ctx context.Context, unit string) (string, error) {
	body, err := m.call(ctx, "GetUnitFileState", unit)
	if IsError(err, noFile...) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return text(body)
}

// File is a unit file, by its path, and its FileState.
type File struct{ Path, State string }

// Files returns all unit files, those of templates too.
func (m *Manager) Files(ctx context.Context) ([]File, error) {
	body, err := m.call(ctx, "ListUnitFiles")
	if err != nil {
		return nil, err
	}
	var files []File
	for _, row := range rowsOf(body) {
		if len(row) == 2 {
			files = append(files, File{fmt.Sprint(row[0]), fmt.Sprint(row[1])})
		}
	}
	return files, nil
}
