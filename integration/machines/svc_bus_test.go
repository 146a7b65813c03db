package machines

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// repairTime measures n repairs, for the log.
func repairTime(t *testing.T, n int, repair func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range n {
		took = append(took, repair())
	}
	slices.Sort(took)
	t.Logf("from stopped to being started: a quarter within %v, half within %v, the slowest %v", took[n/4], took[n/2], took[n-1])
}

// engineOn runs the engine with services on a made-up systemd until the test ends, and
// returns when it has converged.
func engineOn(t *testing.T, want svc.Res, units ...string) {
	t.Helper()
	g := &gapi.Declared{Name: "services"}
	for _, unit := range units {
		r := &svc.Res{State: want.State, Startup: want.Startup}
		r.MetaParams().Backend = "systemd"
		g.Resources = append(g.Resources, static.Declare("svc", unit, r))
	}
	converged, done := make(chan struct{}, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{Strict: true, Observer: mgmt.Observer{Converged: func(yes bool, _ reactor.Counts) {
		if yes {
			converged <- struct{}{}
		}
	}}}, static.New(g))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- e.Wait() }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-converged:
	case <-time.After(patience):
		t.Fatal("it does not converge")
	}
}

// privateSystemd is a made-up systemd, which the engine takes for that of this machine.
func privateSystemd(t *testing.T, n int, u systemdtest.Unit) (m *systemdtest.Manager, units []string) {
	t.Helper()
	bus := systemdtest.NewBus(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.Address())
	m = systemdtest.NewManager(t, bus)
	for i := range n {
		units = append(units, fmt.Sprintf("s%03d.service", i))
		m.Add(units[i], u)
	}
	return m, units
}

// TestServicesReadOnce: what many services change for the next boot is read by the manager
// once, however many they are.
func TestServicesReadOnce(t *testing.T) {
	for startup, first := range map[string]systemdtest.Unit{
		"enabled": {Active: "active"}, "disabled": {File: "enabled"}, "masked": {},
	} {
		t.Run(startup, func(t *testing.T) {
			m, units := privateSystemd(t, 20, first)
			engineOn(t, svc.Res{Startup: startup}, units...)
			for _, unit := range units {
				if got := m.Unit(unit).File; got != startup {
					t.Errorf("%s is %s", unit, got)
				}
			}
			calls := m.Calls()
			reloads := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return c != "Reload" })
			if len(calls) != len(units)+1 || len(reloads) != 1 || calls[len(units)] != "Reload" {
				t.Errorf("called was %q", calls)
			}
		})
	}
}

// TestServicesUnmasked: what is unmasked is started although the manager has not been told
// when that was done.
func TestServicesUnmasked(t *testing.T) {
	m, units := privateSystemd(t, 20, systemdtest.Unit{File: "masked"})
	engineOn(t, svc.Res{State: "running", Startup: "enabled"}, units...)
	for _, unit := range units {
		if u := m.Unit(unit); u.File != "enabled" || u.Active != "active" {
			t.Errorf("%s is %s and %s", unit, u.File, u.Active)
		}
	}
	t.Logf("%d times read for %d services", strings.Count(strings.Join(m.Calls(), " "), "Reload"), len(units))
}

// TestServiceRepairTime: of many services one stops, and is started at once.
func TestServiceRepairTime(t *testing.T) {
	m, units := privateSystemd(t, 100, systemdtest.Unit{Active: "active", File: "enabled"})
	engineOn(t, svc.Res{State: "running", Startup: "enabled"}, units...)
	if n := m.Subscribers(); n != 1 {
		t.Errorf("%d connections for %d services", n, len(units))
	}
	started := make(chan time.Time, 1)
	m.OnCall(func(method, _ string) {
		if method == "StartUnit" {
			started <- time.Now()
		}
	})
	i := 0
	repairTime(t, 51, func() time.Duration {
		i++
		begin := time.Now()
		m.Set(units[i*7%len(units)], func(u *systemdtest.Unit) { u.Active = "inactive" })
		select {
		case at := <-started:
			return at.Sub(begin)
		case <-time.After(patience):
			t.Fatal("the signal was lost")
			return 0
		}
	})
}
