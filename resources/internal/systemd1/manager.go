package systemd1

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	_ "github.com/reactivegraph/mgmt/engine/host/msgbus" // the Host has buses
)

const (
	name       = "org.freedesktop.systemd1"
	object     = "/org/freedesktop/systemd1"
	iface      = name + ".Manager"
	properties = "org.freedesktop.DBus.Properties"
	busName    = "org.freedesktop.DBus"
	busObject  = "/org/freedesktop/DBus"
)

// Booted is there while systemd runs the machine.
const Booted = "/run/systemd/system"

// Running reports whether systemd runs the machine.
func Running() bool {
	st, err := os.Lstat(Booted)
	return err == nil && st.IsDir()
}

// Manager is a systemd manager: that of the machine, or of a session. It keeps nothing.
type Manager struct {
	bus     bus.Bus
	host    engine.Host
	session bool
	turn    *Turn
}

// Open returns the manager of the machine, or of the user's session. The error says
// that it can't be reached.
func Open(ctx context.Context, host engine.Host, session bool) (*Manager, error) {
	kind := bus.System
	if session {
		kind = bus.Session
	}
	bus, err := host.Bus(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("systemd can't be reached: %w", err)
	}
	m := &Manager{bus: bus, host: host, session: session, turn: &Turn{}}
	if s, ok := host.(Sharing); ok {
		m.turn = s.Turn()
	}
	return m, nil
}

func (m *Manager) call(ctx context.Context, method string, args ...any) ([]any, error) {
	return m.bus.Call(ctx, name, object, iface+"."+method, args...)
}

// Reload reads all unit files again. Everybody who watches a unit is woken by it.
func (m *Manager) Reload(ctx context.Context) error {
	return m.turn.take(ctx, func() error {
		_, err := m.call(ctx, "Reload")
		return err
	})
}

// Enable has units started at boot. Systemd starts them then, and takes them for a part of the
// units that want them, only after Reload. The same goes for the others.
func (m *Manager) Enable(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "EnableUnitFiles", units, false, false)
	return err
}

// Disable has units not started at boot.
func (m *Manager) Disable(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "DisableUnitFiles", units, false)
	return err
}

// DisableRuntime takes back the links that start units until the next boot only.
func (m *Manager) DisableRuntime(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "DisableUnitFiles", units, true)
	return err
}

// Mask has units not be startable at all.
func (m *Manager) Mask(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "MaskUnitFiles", units, false, false)
	return err
}

// Unmask ends what Mask began.
func (m *Manager) Unmask(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "UnmaskUnitFiles", units, false)
	return err
}

// UnmaskRuntime ends what is masked until the next boot only.
func (m *Manager) UnmaskRuntime(ctx context.Context, units ...string) error {
	_, err := m.call(ctx, "UnmaskUnitFiles", units, true)
	return err
}

// IsError reports whether the other side of a call over the bus answered one of these errors.
func IsError(err error, names ...string) bool {
	e, ok := errors.AsType[*bus.Error](err)
	return ok && slices.Contains(names, e.Name)
}

// text returns the one value of a reply, which is text, a path, a number, or true or false,
// plain or in a variant.
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
