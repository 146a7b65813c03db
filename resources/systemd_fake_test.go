package resources

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// fakeSystemd is a bus on which there is a systemd manager, and nothing else.
type fakeSystemd struct {
	mu      sync.Mutex
	calls   []string               // methods that alter something, with their units
	started map[string]func() bool // what starting a unit does; false for a failure
	active  map[string]string      // by unit; inactive if absent
	enabled map[string]bool
	stale   map[string]bool        // whether its file is another one than was read
	loaded  func(unit string) bool // whether it has a file
	down    error                  // what each call fails with; nil for none
	wakes   []chan struct{}
}

func newFakeSystemd() *fakeSystemd {
	return &fakeSystemd{started: map[string]func() bool{}, active: map[string]string{}, enabled: map[string]bool{}, stale: map[string]bool{}}
}

func (s *fakeSystemd) open(context.Context, engine.BusKind) (engine.Bus, error) { return s, nil }

// variant is as the bus gives a property.
type variant struct{ v any }

func (v variant) Value() any { return v.v }

func (s *fakeSystemd) Call(_ context.Context, _, object, method string, args ...any) ([]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
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
		if s.loaded != nil && !s.loaded(unit) {
			return nil, &engine.BusError{Name: "org.freedesktop.DBus.Error.FileNotFound", Message: "No such file or directory"}
		}
		return []any{map[bool]string{true: "enabled", false: "disabled"}[s.enabled[unit]]}, nil
	}
	s.calls = append(s.calls, strings.TrimSpace(name+" "+unit))
	s.do(name, unit)
	return []any{"/org/freedesktop/systemd1/job/1"}, nil
}

func (s *fakeSystemd) do(name, unit string) {
	switch name {
	case "StartUnit", "RestartUnit":
		s.active[unit] = "active"
		if start := s.started[unit]; start != nil && !start() {
			s.active[unit] = "failed"
		}
	case "StopUnit":
		delete(s.active, unit)
	case "Reload":
		clear(s.stale)
	case "EnableUnitFiles", "DisableUnitFiles":
		s.enabled[unit] = name == "EnableUnitFiles"
	default:
		return
	}
	s.tell()
}

func (s *fakeSystemd) load(unit string) string {
	if s.loaded != nil && !s.loaded(unit) {
		return "not-found"
	}
	return "loaded"
}

func (s *fakeSystemd) state(unit string) string {
	if active := s.active[unit]; active != "" {
		return active
	}
	return "inactive"
}

// get knows two properties: what it has is no service.
func (s *fakeSystemd) get(unit, key string) ([]any, error) {
	if key == "DropInPaths" {
		return []any{variant{[]string{}}}, nil
	}
	if key != "NeedDaemonReload" {
		return nil, &engine.BusError{Name: "org.freedesktop.DBus.Error.UnknownProperty"}
	}
	return []any{variant{s.stale[unit]}}, nil
}

// alter changes something from outside, as systemctl does.
func (s *fakeSystemd) alter(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.tell()
}

func (s *fakeSystemd) tell() {
	for _, w := range s.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (s *fakeSystemd) Signals(context.Context, ...engine.BusMatch) (engine.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := make(chan struct{}, 1)
	s.wakes = append(s.wakes, w)
	return fakeWake(w), nil
}

type fakeWake chan struct{}

func (w fakeWake) C() <-chan struct{} { return w }
func (fakeWake) Cause() engine.Cause  { return engine.Cause{} }
func (fakeWake) Close()               {}
