package kindtest

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	_ "github.com/reactivegraph/mgmt/engine/host/msgbus" // the Host has buses
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
)

// busHost is a host with systemd whose buses are one of the test, and which has no
// commands. The kinds that use systemd must not fall back to systemctl, so any
// command is an error.
type busHost struct {
	*host.Host
}

// Facts says that systemd has booted, whatever the machine of the test runs.
func (busHost) Facts() engine.Facts { return engine.Facts{Init: "systemd", SystemdBooted: true} }

// Command refuses each program, with an error rather than an exit code.
func (busHost) Command(context.Context, engine.Command) (*engine.Result, error) {
	return nil, errors.New("there are no commands")
}

// HostOn makes such a host on a fake bus, for both the machine and the session, and
// closes it after the test.
func HostOn(t testing.TB, b *systemdtest.Bus) engine.Host {
	t.Helper()
	h, err := host.New(context.Background(), host.Options{BusAddresses: map[bus.Kind]string{
		bus.System: b.Address(), bus.Session: b.Address(),
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

// FakeSystemd is a bus on which there is a systemd manager, and nothing else. Its
// fields may be set before use, and under Mu or in Alter later.
type FakeSystemd struct {
	Mu      sync.Mutex
	Calls   []string               // methods that alter something, with their units
	Started map[string]func() bool // what starting a unit does; false for a failure
	Active  map[string]string      // by unit; inactive if absent
	Enabled map[string]bool
	Stale   map[string]bool        // whether its file is another one than was read
	Loaded  func(unit string) bool // whether it has a file
	Sub     map[string]string      // the state by unit in the words of its type; empty if absent
	Job     map[string]string      // the type of the job that the unit has; none if absent
	Has     map[string]any         // further properties, by unit/property
	Down    error                  // the error of each call; nil for none
	wakes   []chan struct{}
}

// NewFakeSystemd has no unit that runs. All units have a file until Loaded says
// otherwise.
func NewFakeSystemd() *FakeSystemd {
	return &FakeSystemd{Started: map[string]func() bool{}, Active: map[string]string{}, Enabled: map[string]bool{}, Stale: map[string]bool{}, Sub: map[string]string{}, Job: map[string]string{}, Has: map[string]any{}}
}

// Open gives the same bus for the machine and for the session.
func (s *FakeSystemd) Open(context.Context, bus.Kind) (bus.Bus, error) { return s, nil }

// variant is as the bus gives a property. The real bus wraps properties in such a
// value, so the kinds must unwrap it.
type variant struct{ v any }

func (v variant) Value() any { return v.v }

// Call implements bus.Bus. It knows the few methods that the kinds call, and records the calls that alter something.
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
		job := 0
		if s.Job[unit] != "" {
			job = 1
		}
		return []any{[][]any{{unit, "", s.load(unit), s.state(unit), s.Sub[unit], "", "/org/freedesktop/systemd1/unit/" + unit, job, s.Job[unit], "/"}}}, nil
	case "GetUnitFileState":
		if s.Loaded != nil && !s.Loaded(unit) {
			return nil, &bus.Error{Name: "org.freedesktop.DBus.Error.FileNotFound", Message: "No such file or directory"}
		}
		return []any{map[bool]string{true: "enabled", false: "disabled"}[s.Enabled[unit]]}, nil
	}
	s.Calls = append(s.Calls, strings.TrimSpace(name+" "+unit))
	s.do(name, unit)
	return []any{"/org/freedesktop/systemd1/job/1"}, nil
}

// do has the effect of a method, and wakes all who watch if there is one. A start
// whose function in Started returns false leaves the unit failed. Other methods,
// such as a reset, have no effect and wake no subscription.
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

// load says whether the unit has a file, in the words of systemd.
func (s *FakeSystemd) load(unit string) string {
	if s.Loaded != nil && !s.Loaded(unit) {
		return "not-found"
	}
	return "loaded"
}

// state is inactive for a unit that was never started, as systemd says of it.
func (s *FakeSystemd) state(unit string) string {
	if active := s.Active[unit]; active != "" {
		return active
	}
	return "inactive"
}

// get knows two properties, and those in Has. NeedDaemonReload is
// true of a unit that is stale.
func (s *FakeSystemd) get(unit, key string) ([]any, error) {
	if v, ok := s.Has[unit+"/"+key]; ok {
		return []any{variant{v}}, nil
	}
	if key == "DropInPaths" {
		return []any{variant{[]string{}}}, nil
	}
	if key != "NeedDaemonReload" {
		return nil, &bus.Error{Name: "org.freedesktop.DBus.Error.UnknownProperty"}
	}
	return []any{variant{s.Stale[unit]}}, nil
}

// Alter changes something from outside, as systemctl does. f runs under the lock, so
// it must call no method of the fake.
func (s *FakeSystemd) Alter(f func()) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	f()
	s.tell()
}

// tell wakes each subscription, unless a wake-up is waiting there already. The
// caller holds Mu.
func (s *FakeSystemd) tell() {
	for _, w := range s.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// Signals wakes at every change, whatever is asked for; a spurious wake-up must do
// no harm.
func (s *FakeSystemd) Signals(context.Context, ...bus.Match) (events.Subscription, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	w := make(chan struct{}, 1)
	s.wakes = append(s.wakes, w)
	return fakeWake(w), nil
}

// fakeWake is a subscription that loses nothing, so its cause is always empty.
type fakeWake chan struct{}

func (w fakeWake) C() <-chan struct{} { return w }

func (fakeWake) Cause() events.Cause { return events.Cause{} }

func (fakeWake) Close() {}
