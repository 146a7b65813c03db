package kindtest

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	_ "github.com/reactivegraph/mgmt/engine/host/msgbus" // the Host has buses
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
)

// busHost is a host with systemd whose buses are one of the test, and which has no commands.
type busHost struct {
	*host.Host
}

func (busHost) Facts() engine.Facts { return engine.Facts{Init: "systemd", SystemdBooted: true} }

func (busHost) Command(context.Context, engine.Command) (*engine.Result, error) {
	return nil, errors.New("there are no commands")
}

func HostOn(t testing.TB, bus *systemdtest.Bus) engine.Host {
	t.Helper()
	h, err := host.New(context.Background(), host.Options{BusAddresses: map[engine.BusKind]string{
		engine.SystemBus: bus.Address(), engine.SessionBus: bus.Address(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return busHost{h}
}

// FakeSystemd is a bus on which there is a systemd manager, and nothing else.
type FakeSystemd struct {
	Mu      sync.Mutex
	Calls   []string               // methods that alter something, with their units
	Started map[string]func() bool // what starting a unit does; false for a failure
	Active  map[string]string      // by unit; inactive if absent
	Enabled map[string]bool
	Stale   map[string]bool        // whether its file is another one than was read
	Loaded  func(unit string) bool // whether it has a file
	Down    error                  // what each call fails with; nil for none
	wakes   []chan struct{}
}

func NewFakeSystemd() *FakeSystemd {
	return &FakeSystemd{Started: map[string]func() bool{}, Active: map[string]string{}, Enabled: map[string]bool{}, Stale: map[string]bool{}}
}

func (s *FakeSystemd) Open(context.Context, engine.BusKind) (engine.Bus, error) { return s, nil }

// variant is as the bus gives a property.
type variant struct{ v any }

func (v variant) Value() any { return v.v }

func (s *FakeSystemd) Call(_ context.Context, _, object, method string, args ...any) ([]any, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Down != nil {
		return nil, s.Down
	}
	name := method[strings.LastIndexByte(method, '.')+1:]
	if name == "Get" {
		return s.get(path.Base(object), args[1].(string))
	}
	unit := ""
	switch a := append(args, "")[0].(type) {
	case string:
		unit = a
	case []string:
		unit = strings.Join(a, " ")
	}
	switch name {
	case "ListUnitsByNames":
		return []any{[][]any{{unit, "", s.load(unit), s.state(unit), "", "", "/org/freedesktop/systemd1/unit/" + unit, 0, "", "/"}}}, nil
	case "GetUnitFileState":
		if s.Loaded != nil && !s.Loaded(unit) {
			return nil, &engine.BusError{Name: "org.freedesktop.DBus.Error.FileNotFound", Message: "No such file or directory"}
		}
		return []any{map[bool]string{true: "enabled", false: "disabled"}[s.Enabled[unit]]}, nil
	}
	s.Calls = append(s.Calls, strings.TrimSpace(name+" "+unit))
	s.do(name, unit)
	return []any{"/org/freedesktop/systemd1/job/1"}, nil
}

func (s *FakeSystemd) do(name, unit string) {
	switch name {
	case "StartUnit", "RestartUnit":
		s.Active[unit] = "active"
		if start := s.Started[unit]; start != nil && !start() {
			s.Active[unit] = "failed"
		}
	case "StopUnit":
		delete(s.Active, unit)
	case "Reload":
		clear(s.Stale)
	case "EnableUnitFiles", "DisableUnitFiles":
		s.Enabled[unit] = name == "EnableUnitFiles"
	default:
		return
	}
	s.tell()
}

func (s *FakeSystemd) load(unit string) string {
	if s.Loaded != nil && !s.Loaded(unit) {
		return "not-found"
	}
	return "loaded"
}

func (s *FakeSystemd) state(unit string) string {
	if active := s.Active[unit]; active != "" {
		return active
	}
	return "inactive"
}

// get knows two properties: what it has is no service.
func (s *FakeSystemd) get(unit, key string) ([]any, error) {
	if key == "DropInPaths" {
		return []any{variant{[]string{}}}, nil
	}
	if key != "NeedDaemonReload" {
		return nil, &engine.BusError{Name: "org.freedesktop.DBus.Error.UnknownProperty"}
	}
	return []any{variant{s.Stale[unit]}}, nil
}

// Alter changes something from outside, as systemctl does.
func (s *FakeSystemd) Alter(f func()) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	f()
	s.tell()
}

func (s *FakeSystemd) tell() {
	for _, w := range s.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (s *FakeSystemd) Signals(context.Context, ...engine.BusMatch) (engine.Subscription, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	w := make(chan struct{}, 1)
	s.wakes = append(s.wakes, w)
	return fakeWake(w), nil
}

type fakeWake chan struct{}

func (w fakeWake) C() <-chan struct{} { return w }

func (fakeWake) Cause() engine.Cause { return engine.Cause{} }

func (fakeWake) Close() {}
