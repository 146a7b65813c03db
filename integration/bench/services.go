package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// A machine has fewer services; five hundred show the cost of each.
// services is the number of services that the made-up systemd runs.
const services = 500

// systemd is made up, by package systemdtest: no service of this machine is touched.
// serviceRows are about the watch of services over the bus.
func serviceRows() []row {
	return []row{
		{"500 services watched", library, "heap and stacks in use after convergence, above those with one service; the made-up systemd is in the process too", "5 MB, one connection", servicesAtRest},
		{"repair of a stopped service", library, "before the signal on the bus, to the call that starts it; one of 500, 200 tries", "p99 100ms, none lost", serviceRepair},
	}
}

// fakeTest lets parts of tests serve a benchmark.
// A failing helper panics, which becomes the error of the row. The row calls end.
type fakeTest struct {
	testing.TB
	cleanups []func()
}

func (*fakeTest) Helper()            {}
func (*fakeTest) Fatal(args ...any)  { panic(fmt.Sprint(args...)) }
func (*fakeTest) Skip(args ...any)   { panic(fmt.Sprint(args...)) }
func (t *fakeTest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// end runs the cleanups in the opposite order, as the package testing does.
func (t *fakeTest) end() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}

// fakeSystemd is a systemd that runs all services.
// The address of its bus is set for the whole process, which runs no other row.
func fakeSystemd(t *fakeTest) *systemdtest.Manager {
	bus := systemdtest.NewBus(t)
	must(os.Setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.Address()))
	m := systemdtest.NewManager(t, bus)
	for i := range services {
		m.Add(serviceName(i)+".service", systemdtest.Unit{Active: "active", File: "enabled"})
	}
	return m
}

// Three digits keep the names in the order of their numbers.
// serviceName is the name of service i.
func serviceName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// The backend is named, since detection would look at the real machine.
// serviceGraph declares n services that run and start at boot.
func serviceGraph(n int) gapi.Frontend {
	decls := make([]gapi.Declaration, n)
	for i := range decls {
		r := &svc.Res{State: "running", Startup: "enabled"}
		r.MetaParams().Backend = "systemd"
		decls[i] = static.Declare("svc", serviceName(i), r)
	}
	return graphOf(decls)
}

// The memory of the made-up systemd counts too, so one service is subtracted from all of
// them. All share one connection to the bus.
// servicesAtRest measures the memory of watched services.
func servicesAtRest(b *bench) result {
	t := &fakeTest{}
	defer t.end()
	m := fakeSystemd(t)
	one, _ := servicesMemory(b, m, 1)
	all, connections := servicesMemory(b, m, services)
	mib := func(n int64) float64 { return float64(n) / (1 << 20) }
	used := mib(all.used - one.used)
	return result{
		Figure: fmt.Sprintf("%.1f MiB (resident %.1f MiB), %d connection", used, mib(all.resident-one.resident), connections),
		OK:     all.used-one.used < 5e6 && connections == 1,
	}
}

// Both are in bytes: heap and stacks in use, and resident memory.
// footprint is the memory of the process.
type footprint struct{ used, resident int64 }

// servicesMemory returns the memory while n services are watched, and how many
// connections are made to the manager for that.
func servicesMemory(b *bench, m *systemdtest.Manager, n int) (now footprint, connections int) {
	before := m.Subscribers()
	r := start(serviceGraph(n), mgmt.Options{})
	defer r.close()
	r.rest()
	if !b.quick {
		time.Sleep(5 * time.Second)
	}
	give()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return footprint{int64(s.HeapAlloc + s.StackInuse), rss()}, m.Subscribers() - before
}

// It ends at the call and not at the running service, since a start takes as long as the
// service likes. A signal that is lost ends the row after ten seconds.
// serviceRepair measures the time from a stopped service to the call that starts it.
func serviceRepair(*bench) result {
	t := &fakeTest{}
	defer t.end()
	m := fakeSystemd(t)
	called := make(chan time.Time, 1)
	m.OnCall(func(method, _ string) {
		if method == "StartUnit" {
			called <- time.Now()
		}
	})
	r := start(serviceGraph(services), mgmt.Options{})
	r.rest()
	var took []time.Duration
	for i := range 200 {
		unit := serviceName(i*7%services) + ".service"
		begin := time.Now()
		m.Set(unit, func(u *systemdtest.Unit) { u.Active = "inactive" })
		select {
		case at := <-called:
			took = append(took, at.Sub(begin))
		case <-time.After(10 * time.Second):
			panic(unit + " was not started: the signal was lost")
		}
	}
	r.close()
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	return result{Figure: fmt.Sprintf("p50 %s, p99 %s", p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond)), OK: p99 < 100*time.Millisecond}
}
