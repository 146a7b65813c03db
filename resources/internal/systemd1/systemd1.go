// Package systemd1 asks the systemd manager of the machine, or of a session, for what
// kinds need of it: to read its unit files again, and to start, stop and enable units.
//
// # Laws
//
//   - There is one connection, that of engine.Host; nothing here opens another one,
//     and nothing takes back a subscription, since others may share it.
//   - A call returns when what it began has come to its end, or the context ends. A
//     unit that did not get where it was to go is an error that says where it is.
//   - Names of units are checked before anything is asked: see CheckUnit.
package systemd1

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

const (
	name       = "org.freedesktop.systemd1"
	object     = "/org/freedesktop/systemd1"
	iface      = name + ".Manager"
	unitIface  = name + ".Unit"
	properties = "org.freedesktop.DBus.Properties"
)

// Booted is there while systemd runs the machine.
const Booted = "/run/systemd/system"

// Running reports whether systemd runs the machine.
func Running() bool {
	st, err := os.Lstat(Booted)
	return err == nil && st.IsDir()
}

// CheckUnit refuses what is no name of a unit with one of the suffixes (".timer").
func CheckUnit(unit string, suffixes ...string) error {
	i := strings.LastIndexByte(unit, '.')
	switch {
	case len(unit) > 255:
		return fmt.Errorf("%.50q... is too long for a unit", unit)
	case i < 1 || len(suffixes) > 0 && !slices.Contains(suffixes, unit[i:]):
		return fmt.Errorf("%q is no unit: its name has to end in %s", unit, strings.Join(suffixes, " or "))
	case unit[0] == '-' || unit[0] == '.':
		return fmt.Errorf("%q is no unit: its name begins with a %c", unit, unit[0])
	}
	for _, c := range unit {
		if c > '~' || !strings.ContainsRune(":-_.\\@", c) && !isAlnum(c) {
			return fmt.Errorf("%q is no unit: there is %q in its name", unit, c)
		}
	}
	return nil
}

func isAlnum(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// UnitOf returns the name of the unit of a path, as systemd-escape --path does.
func UnitOf(path, suffix string) string {
	path = strings.Trim(path, "/")
	if path == "" {
		return "-" + suffix
	}
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/':
			b.WriteByte('-')
		case isAlnum(rune(c)) || c == ':' || c == '_' || c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + suffix
}

// Manager is a systemd manager.
type Manager struct{ bus engine.Bus }

// Open returns the manager of the machine, or of the user's session. The error says
// that it can't be reached.
func Open(ctx context.Context, host engine.Host, session bool) (*Manager, error) {
	kind := engine.SystemBus
	if session {
		kind = engine.SessionBus
	}
	bus, err := host.Bus(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("systemd can't be reached: %w", err)
	}
	return &Manager{bus}, nil
}

func (m *Manager) call(ctx context.Context, method string, args ...any) ([]any, error) {
	return m.bus.Call(ctx, name, object, iface+"."+method, args...)
}

// Reload reads all unit files again.
func (m *Manager) Reload(ctx context.Context) error {
	_, err := m.call(ctx, "Reload")
	return err
}

// Start starts a unit, with what it needs, and returns when it is active.
func (m *Manager) Start(ctx context.Context, unit string) error {
	return m.job(ctx, "StartUnit", unit, "active")
}

// Restart starts a unit anew.
func (m *Manager) Restart(ctx context.Context, unit string) error {
	return m.job(ctx, "RestartUnit", unit, "active")
}

// Stop stops a unit and returns when it is not active any more.
func (m *Manager) Stop(ctx context.Context, unit string) error {
	return m.job(ctx, "StopUnit", unit, "inactive", "failed")
}

// noObject are the errors that say that a job has ended.
var noObject = []string{
	"org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod", name + ".NoSuchJob",
}

// noFile are the errors that say that a unit has no file.
var noFile = []string{"org.freedesktop.DBus.Error.FileNotFound", name + ".NoSuchUnit"}

// job runs a job to its end, after which the unit has to be in one of the states.
func (m *Manager) job(ctx context.Context, method, unit string, states ...string) error {
	if err := m.subscribe(ctx); err != nil {
		return err
	}
	done, err := m.bus.Signals(ctx, engine.BusMatch{Interface: iface, Member: "JobRemoved"})
	if err != nil {
		return err
	}
	defer done.Close()
	body, err := m.call(ctx, method, unit, "replace")
	if err != nil {
		return err
	}
	path, err := text(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, unit, err)
	}
	for {
		if _, err := m.get(ctx, path, name+".Job", "State"); isError(err, noObject...) {
			break // the job is no more
		} else if err != nil {
			return err
		}
		select {
		case <-done.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return m.mustBe(ctx, unit, states)
}

func (m *Manager) mustBe(ctx context.Context, unit string, states []string) error {
	is, err := m.State(ctx, unit)
	if err != nil || slices.Contains(states, is.Active) {
		return err
	}
	return fmt.Errorf("%s is %s (%s), and not %s", unit, is.Active, is.Sub, states[0])
}

// State is how a unit is.
type State struct {
	Load   string // loaded, not-found, masked, ...
	Active string // active, inactive, failed, activating, ...
	Sub    string // the same in the words of its type: waiting, mounted, ...
	Path   string // its object
	Stale  bool   // its files are others than those that were read; see Reload
}

// State returns how a unit is, loading it if it is not yet.
func (m *Manager) State(ctx context.Context, unit string) (State, error) {
	body, err := m.call(ctx, "LoadUnit", unit)
	if err != nil {
		return State{}, err
	}
	s := State{}
	if s.Path, err = text(body); err != nil {
		return s, err
	}
	for key, to := range map[string]*string{"LoadState": &s.Load, "ActiveState": &s.Active, "SubState": &s.Sub} {
		v, gerr := m.get(ctx, s.Path, unitIface, key)
		*to, err = v, errors.Join(err, gerr)
	}
	stale, gerr := m.get(ctx, s.Path, unitIface, "NeedDaemonReload")
	s.Stale = stale == "true"
	return s, errors.Join(err, gerr)
}

// FileState returns enabled, disabled, static, masked and so on; empty for a unit that
// has no file.
func (m *Manager) FileState(ctx context.Context, unit string) (string, error) {
	body, err := m.call(ctx, "GetUnitFileState", unit)
	if isError(err, noFile...) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return text(body)
}

// Enable has a unit started at boot; Disable does not.
func (m *Manager) Enable(ctx context.Context, unit string) error {
	_, err := m.call(ctx, "EnableUnitFiles", []string{unit}, false, true)
	return err
}

// Disable undoes Enable.
func (m *Manager) Disable(ctx context.Context, unit string) error {
	_, err := m.call(ctx, "DisableUnitFiles", []string{unit}, false)
	return err
}

// Follow calls event when something of a unit may have changed: its state, its files,
// the manager itself, or what files tells of. It calls armed once nothing goes unseen
// any more, and returns when the context ends.
func (m *Manager) Follow(ctx context.Context, unit string, files engine.Subscription, armed, event func()) error {
	s, err := m.bus.Signals(ctx,
		engine.BusMatch{Path: object + "/unit/" + escape(unit), Interface: properties, Member: "PropertiesChanged"},
		engine.BusMatch{Path: object, Interface: iface, Member: "UnitFilesChanged"},
		engine.BusMatch{Path: object, Interface: iface, Member: "Reloading"},
		engine.BusMatch{Path: "/org/freedesktop/DBus", Interface: "org.freedesktop.DBus", Member: "NameOwnerChanged", Arg0: name, Resync: true},
	)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := m.subscribe(ctx); err != nil {
		return err
	}
	armed()
	for {
		select {
		case <-files.C():
		case <-s.C():
			// Another manager, or another connection: neither knows that we listen.
			if s.Cause().Resync {
				_ = m.subscribe(ctx) // while there is no manager, nobody can; it says when it comes
			}
		case <-ctx.Done():
			return nil
		}
		event()
	}
}

// subscribe asks the manager to send signals at all. Nobody takes that back, for it is
// asked for by the connection, which others use too.
func (m *Manager) subscribe(ctx context.Context) error {
	_, err := m.call(ctx, "Subscribe")
	if isError(err, name+".AlreadySubscribed") {
		return nil
	}
	return err
}

// isError reports whether the other side answered one of these errors.
func isError(err error, names ...string) bool {
	e, ok := errors.AsType[*engine.BusError](err)
	return ok && slices.Contains(names, e.Name)
}

// escape makes a name part of an object path, as systemd does.
func escape(unit string) string {
	var b strings.Builder
	for i := range len(unit) {
		if c := unit[i]; isAlnum(rune(c)) && (i > 0 || c > '9') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// get returns a property as text.
func (m *Manager) get(ctx context.Context, path, iface, key string) (string, error) {
	body, err := m.bus.Call(ctx, name, path, properties+".Get", iface, key)
	if err != nil {
		return "", err
	}
	return text(body)
}

// text returns the one value of a reply, which is text, a path, or true or false, plain
// or in a variant.
func text(body []any) (string, error) {
	if len(body) != 1 {
		return "", fmt.Errorf("a reply of %d values, and not of one", len(body))
	}
	v := body[0]
	if w, ok := v.(interface{ Value() any }); ok {
		v = w.Value()
	}
	switch v.(type) {
	case nil, []any:
		return "", fmt.Errorf("a reply of type %T, and not text", v)
	}
	return fmt.Sprint(v), nil
}

// Explain adds the last lines of a unit's log to an error about it, as far as they can
// be had.
func Explain(ctx context.Context, host engine.Host, unit string, err error) error {
	res, cerr := host.Command(ctx, engine.Command{
		Argv: []string{"journalctl", "--unit=" + unit, "--lines=5", "--output=cat", "--no-pager", "--quiet"},
	})
	if cerr != nil || res.ExitCode != 0 {
		return err
	}
	said := strings.TrimSpace(string(res.Stdout))
	if len(said) > 1000 {
		said = "..." + said[len(said)-1000:]
	}
	if said == "" {
		return err
	}
	return fmt.Errorf("%w; its log ends with:\n%s", err, said)
}
