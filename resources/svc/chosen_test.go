package svc

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestLoadRefusesServices: what a backend lacks is an error when the graph is loaded: a function that it should have, one that none must have, a parameter.
func TestLoadRefusesServices(t *testing.T) {
	debian := kindtest.OnMachine(t, virtual.Facts{"os_family": "Debian", "kernel": "Linux", "init": "systemd", "systemd_booted": true})
	runit := kindtest.OnMachine(t, virtual.Facts{"kernel": "Linux", "init": "runit"})
	alpine := kindtest.OnMachine(t, virtual.Facts{"os_family": "Alpine", "kernel": "Linux", "init": "openrc"}, "busybox", "adduser", "deluser", "addgroup", "delgroup", "rc-service", "rc-update", "apk")
	kindtest.Loaded(t, debian, "svc", func(r *Res) { r.Startup = "masked" }, "")
	kindtest.Loaded(t, debian, "svc", func(r *Res) { r.State, r.Session = "running", true }, "")
	kindtest.Loaded(t, runit, "svc", func(r *Res) { r.State = "running" }, "")
	kindtest.Loaded(t, runit, "svc", func(r *Res) { r.Startup = "masked" }, "svc.mask is not supported by the backend runit on this machine")
	kindtest.Loaded(t, alpine, "svc", func(r *Res) { r.State, r.Session = "running", true }, "the backend openrc has no session")
}

// watchedBy is a resource whose backend follows the facts, on a host of the test.
func watchedBy(t *testing.T, facts engine.Facts, want Res) (*Res, *enginetest.Fake, *enginetest.FakeHost) {
	t.Helper()
	host := enginetest.NewHost()
	host.SetFacts(facts)
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if c.Argv[0] == "ls" {
			return &engine.Result{Stdout: []byte("/etc/init.d:\nit\n")}, nil
		}
		return &engine.Result{}, nil
	})
	r := kindtest.Loaded(t, kindtest.OnMachine(t, facts.Map()), "svc", func(r *Res) { r.State, r.Startup = want.State, want.Startup }, "")
	f := enginetest.NewInit(t, enginetest.WithHost(host))
	if err := r.Init(f.Init()); err != nil {
		t.Fatal(err)
	}
	return r, f, host
}

// TestChosenAnew: when the facts change so that another backend is the right one, the Watch
// goes on with that one and has the service looked at; if it can't do what is wanted, or there is none,
// that is the failure, before anything is done, until the facts change again.
func TestChosenAnew(t *testing.T) {
	sysv, openrc := engine.Facts{Init: "sysv"}, engine.Facts{Init: "openrc"}
	r, f, host := watchedBy(t, sysv, Res{State: Running})
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "")
	looked := func(tool string) bool {
		for _, c := range host.Commands() {
			if c.Argv[0] == tool {
				return true
			}
		}
		return false
	}
	if !looked("service") || looked("rc-service") {
		t.Fatalf("commands %v", host.Commands())
	}
	host.SetFacts(engine.Facts{Init: "sysv", Hostname: "other"}) // nothing that counts
	host.SetFacts(openrc)
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "")
	if !looked("rc-service") {
		t.Errorf("the first backend is asked still: %v", host.Commands())
	}
	host.SetFacts(engine.Facts{Init: "s6"})
	f.WaitEvent(t)
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "error: no backend of svc can be used here: openrc: it is for machines where init is openrc (here init is s6)") {
		t.Error(got)
	}
	host.SetFacts(sysv)
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "")
}

// TestChosenAnewUnseen: the event of another choice comes when that backend is followed already, so that
// what changes after the look that it leads to is another event. Running is said once.
func TestChosenAnewUnseen(t *testing.T) {
	r, f, host := watchedBy(t, engine.Facts{Init: "sysv"}, Res{State: Running})
	event, followed := r.Handle().Event, make(chan bool, 10)
	r.Handle().Event = func() {
		followed <- slices.ContainsFunc(host.Subscriptions(), func(paths []string) bool { return slices.Contains(paths, "/etc/init.d/it") })
		event()
	}
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "")
	host.SetFacts(engine.Facts{Init: "openrc"})
	f.WaitEvent(t)
	if !<-followed || len(followed) > 0 {
		t.Error("the service is looked at before the other backend is followed, or twice")
	}
	if n := f.RunningCount(); n != 1 {
		t.Errorf("Running was said %d times", n)
	}
}

// TestNeedsAnew: what the backend of now can't do is the failure, though the one of then could.
func TestNeedsAnew(t *testing.T) {
	r, f, host := watchedBy(t, engine.Facts{SystemdBooted: true, Init: "systemd"}, Res{Startup: Masked})
	host.SetFacts(engine.Facts{Init: "runit"})
	if got := kindtest.Verbs(t, f, r, true); got != "error: svc.mask is not supported by the backend runit on this machine, only where systemd_booted is true" {
		t.Error(got)
	}
	for _, c := range host.Commands() {
		if c.Argv[0] != "test" { // opening looks where services are
			t.Errorf("it did something before: %v", c.Argv)
		}
	}
}
