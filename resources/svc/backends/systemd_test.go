package backends

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/await"
)

// rig is a systemd of the test's own, and the module that asks it.
type rig struct {
	*systemdtest.Manager
	t      *testing.T
	bus    *systemdtest.Bus
	host   *machine
	module *virtual.Module
}

// machine is a real host, whose commands are made up.
type machine struct {
	engine.Host
	*enginetest.FakeHost // of it only commands
}

func (m *machine) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	return m.FakeHost.Command(ctx, c)
}

func (m *machine) Bus(ctx context.Context, which bus.Kind) (bus.Bus, error) {
	return m.Host.Bus(ctx, which)
}

func (m *machine) Facts() engine.Facts { return m.FakeHost.Facts() }

func (m *machine) WatchFacts(ctx context.Context) (events.Subscription, error) {
	return m.FakeHost.WatchFacts(ctx)
}

func (m *machine) Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	return m.Host.Watch(ctx, paths, o)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b := systemdtest.NewBus(t)
	h, err := host.New(t.Context(), host.Options{BusAddresses: map[bus.Kind]string{
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
	r := &rig{t: t, bus: b, Manager: systemdtest.NewManager(t, b), host: &machine{h, enginetest.NewHost()}}
	r.module = bind(t, systemdBackend(), r.host)
	return r
}

// bind opens a backend on a host.
func bind(t *testing.T, b *virtual.Backend, h engine.Host) *virtual.Module {
	t.Helper()
	m, err := virtual.Bind(t.Context(), Interface(), b, virtual.Env{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// do calls functions that return nothing, one after the other.
func do(t *testing.T, m *virtual.Module, name string, functions ...string) error {
	t.Helper()
	for _, f := range functions {
		if _, err := m.Call(t.Context(), f, virtual.Args{Named: map[string]any{"name": name}}); err != nil {
			return err
		}
	}
	return nil
}

// yes calls functions that return whether something is so, and returns the names of those
// for which it is.
func yes(t *testing.T, m *virtual.Module, name string, functions ...string) (all []string) {
	t.Helper()
	for _, f := range functions {
		r, err := m.Call(t.Context(), f, virtual.Args{Named: map[string]any{"name": name}})
		if err != nil {
			t.Fatalf("%s %s: %v", f, name, err)
		}
		if r.Common == true {
			all = append(all, f)
		}
	}
	return all
}

func unitNames(t *testing.T, m *virtual.Module, function string) string {
	t.Helper()
	r, err := m.Call(t.Context(), function, virtual.Args{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range r.Common.([]any) {
		all = append(all, n.(string))
	}
	return strings.Join(all, " ")
}

var allQuestions = []string{"status", "enabled", "disabled", "available", "missing"}

func TestSystemdAsks(t *testing.T) {
	r := newRig(t)
	r.Add("web.service", systemdtest.Unit{Active: "active", Sub: "running", File: "enabled"})
	r.Add("off.service", systemdtest.Unit{})
	r.Add("bad.service", systemdtest.Unit{Active: "failed", File: "static"})
	r.Add("no.service", systemdtest.Unit{File: "masked"})
	r.Add("x.timer", systemdtest.Unit{Active: "active", File: "enabled"})
	r.Add("tty@.service", systemdtest.Unit{})
	for name, want := range map[string][]string{
		"web": {"status", "enabled", "available"}, "web.service": {"status", "enabled", "available"},
		"off": {"disabled", "available"}, "bad": {"disabled", "available"}, "no": {"disabled", "available", "masked"},
		"x.timer": {"status", "enabled", "available"}, "none": {"missing"},
	} {
		if got := yes(t, r.module, name, append(allQuestions, "masked")...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for function, want := range map[string]string{"get_all": "bad no off web", "get_enabled": "web", "get_disabled": "bad no off"} {
		if got := unitNames(t, r.module, function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
	info, result, err := Describe.Call(t.Context(), r.module, UnitArgs{Name: "bad"})
	if err != nil || !*info.Failed || *info.Detail != "failed (dead)" || result.Extra["file"] != "static" || result.Extra["unit"] != "bad.service" {
		t.Errorf("%+v, %+v, %v", info, result, err)
	}
	if len(r.Calls()) > 0 {
		t.Errorf("asking has altered something: %v", r.Calls())
	}
}

func TestSystemdActs(t *testing.T) {
	r := newRig(t)
	r.Add("web.service", systemdtest.Unit{})
	steps := []struct {
		function string
		active   string
		file     string
		calls    string // those that alter something
	}{
		{"stop", "inactive", "disabled", ""},
		{"start", "active", "disabled", "StartUnit web.service"},
		{"start", "active", "disabled", ""},
		{"reload", "active", "disabled", "ReloadOrTryRestartUnit web.service"},
		{"restart", "active", "disabled", "RestartUnit web.service"},
		{"enable", "active", "enabled", "EnableUnitFiles web.service,Reload"},
		{"enable", "active", "enabled", ""},
		{"unmask", "active", "enabled", ""},
		{"stop", "inactive", "enabled", "StopUnit web.service"},
		{"reload", "inactive", "enabled", ""},
		{"disable", "inactive", "disabled", "DisableUnitFiles web.service,Reload"},
		{"disable", "inactive", "disabled", ""},
		{"mask", "inactive", "masked", "MaskUnitFiles web.service,Reload"},
		{"mask", "inactive", "masked", ""},
		{"stop", "inactive", "masked", ""},
		{"unmask", "inactive", "disabled", "UnmaskUnitFiles web.service,Reload"},
		{"restart", "active", "disabled", "RestartUnit web.service"},
	}
	for i, s := range steps {
		before := len(r.Calls())
		if err := do(t, r.module, "web", s.function); err != nil {
			t.Fatalf("step %d, %s: %v", i, s.function, err)
		}
		u := r.Unit("web.service")
		if calls := strings.Join(r.Calls()[before:], ","); u.Active != s.active || u.File != s.file || calls != s.calls {
			t.Errorf("step %d, %s: %s, %s, calls %q; want %+v", i, s.function, u.Active, u.File, calls, s)
		}
	}
	if err := do(t, r.module, "new", "mask", "stop", "disable"); err != nil {
		t.Errorf("what is not there can be masked, and is stopped: %v", err)
	}
}

// What is so until the next boot only is neither what is wanted nor nothing: it is made so for good, or taken
// back, also where it is beside what is for ever.
func TestSystemdUntilTheNextBoot(t *testing.T) {
	for _, c := range []struct {
		unit     systemdtest.Unit
		function string
		file     string
		calls    string
	}{
		{systemdtest.Unit{File: "enabled-runtime"}, "enable", "enabled", "EnableUnitFiles"},
		{systemdtest.Unit{File: "enabled-runtime"}, "disable", "disabled", "DisableUnitFiles"},
		{systemdtest.Unit{File: "enabled", Below: "enabled-runtime"}, "disable", "disabled", "DisableUnitFiles,DisableUnitFiles"},
		{systemdtest.Unit{File: "masked-runtime"}, "mask", "masked", "MaskUnitFiles"},
		{systemdtest.Unit{File: "masked-runtime"}, "unmask", "disabled", "UnmaskUnitFiles"},
		{systemdtest.Unit{File: "masked", Below: "masked-runtime"}, "unmask", "disabled", "UnmaskUnitFiles,UnmaskUnitFiles"},
	} {
		r := newRig(t)
		r.Add("web.service", c.unit)
		info, _, err := Describe.Call(t.Context(), r.module, UnitArgs{Name: "web"})
		if passing := strings.HasSuffix(c.unit.File, "-runtime"); err != nil || *info.Passing != passing || info.Enabled != (c.unit.File == "enabled") {
			t.Errorf("%s: %+v, %v", c.unit.File, info, err)
		}
		if err := do(t, r.module, "web", c.function); err != nil {
			t.Errorf("%s: %s: %v", c.unit.File, c.function, err)
		}
		calls := strings.ReplaceAll(strings.Join(r.Calls(), ","), " web.service", "")
		if u := r.Unit("web.service"); u.File != c.file || calls != c.calls+",Reload" {
			t.Errorf("%s, %s: %s by %s, want %+v", c.unit.File, c.function, u.File, calls, c)
		}
	}
}

// A unit that does not come to what was asked for says why.
func TestSystemdFailures(t *testing.T) {
	r := newRig(t)
	r.host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if c.Argv[0] != "journalctl" || !slices.Contains(c.Argv, "_SYSTEMD_UNIT=bad.service") {
			return &engine.Result{ExitCode: 1}, nil
		}
		return &engine.Result{Stdout: []byte("bind: address in use\nexiting\n")}, nil
	})
	r.Add("bad.service", systemdtest.Unit{Refuses: "exit-code"})
	r.Add("once.service", systemdtest.Unit{Type: "oneshot", Ends: true})
	r.Add("cond.service", systemdtest.Unit{Skipped: true})
	r.Add("no.service", systemdtest.Unit{File: "masked"})
	r.Add("static.service", systemdtest.Unit{File: "static"})
	r.Add("stiff.service", systemdtest.Unit{Active: "active", NoReload: true})
	for _, c := range []struct{ name, function, want string }{
		{"bad", "start", "svc.start: start bad.service: it is failed (failed), exit-code; the last lines that it wrote:\nbind: address in use\nexiting"},
		{"bad", "restart", "address in use"},
		{"once", "start", "inactive (dead): it is of the type oneshot and has ended"},
		{"cond", "start", "one of the conditions of its unit file does not hold"},
		{"no", "start", "no.service is masked"},
		{"no", "restart", "no.service is masked"},
		{"no", "enable", "no.service is masked"},
		{"static", "enable", "cannot be enabled: its unit file is static"},
		{"stiff", "reload", "reload stiff.service: it is active"},
		{"none", "start", "there is no service none"},
		{"none", "reload", "there is no service none"},
		{"none", "enable", "there is no service none"},
	} {
		if err := do(t, r.module, c.name, c.function); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.function, c.name, err)
		}
	}
}

func TestSystemdRefusesNames(t *testing.T) {
	r := newRig(t)
	for _, f := range r.module.Functions() {
		for _, name := range []string{"-o", "../x", "a\nb", "a b", ""} {
			_, err := r.module.Call(t.Context(), f, virtual.Args{Named: map[string]any{"name": name}})
			if err == nil {
				t.Errorf("%s of %q", f, name)
			}
		}
	}
	if len(r.Calls()) > 0 {
		t.Error(r.Calls())
	}
}

// A job is waited for, as long as the context lasts.
func TestSystemdJobs(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.Add("slow.service", systemdtest.Unit{Hold: hold})
	called := make(chan struct{}, 1)
	r.OnCall(func(string, string) { called <- struct{}{} })
	done := make(chan error, 1)
	go func() { done <- do(t, r.module, "slow", "start") }()
	<-called
	r.Twitch("slow.service") // what is not the end of the job ends nothing
	r.Add("other.service", systemdtest.Unit{})
	if err := do(t, r.module, "other", "start"); err != nil {
		t.Error(err)
	}
	<-called
	select {
	case err := <-done:
		t.Fatalf("it has not waited: %v", err)
	default:
	}
	close(hold)
	if err := <-done; err != nil || r.Unit("slow.service").Active != "active" {
		t.Errorf("%v, %+v", err, r.Unit("slow.service"))
	}

	hold = make(chan struct{})
	defer close(hold)
	r.Add("hung.service", systemdtest.Unit{Hold: hold})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	if _, _, err := Start.Call(ctx, r.module, UnitArgs{Name: "hung"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSystemdReadsChangedFiles(t *testing.T) {
	r := newRig(t)
	r.Add("web.service", systemdtest.Unit{Stale: true})
	if err := do(t, r.module, "web", "start", "restart"); err != nil {
		t.Fatal(err)
	}
	want := []string{"Reload", "StartUnit web.service", "RestartUnit web.service"}
	if got := r.Calls(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestSystemdSession(t *testing.T) {
	r := newRig(t)
	r.Add("mine.service", systemdtest.Unit{Refuses: "timeout"})
	var argv []string
	r.host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		argv = c.Argv
		return &engine.Result{}, nil
	})
	_, _, err := Start.Call(t.Context(), r.module, UnitArgs{Name: "mine", Session: true})
	if err == nil || !slices.Contains(argv, "_SYSTEMD_USER_UNIT=mine.service") {
		t.Errorf("%v, %q", err, argv)
	}
}

// woken waits for a wake-up and returns its cause.
func woken(t *testing.T, sub events.Subscription) events.Cause {
	t.Helper()
	select {
	case <-sub.C():
		return sub.Cause()
	case <-time.After(await.Left()):
		t.Fatal("no wake-up")
		return events.Cause{}
	}
}

func TestSystemdWatch(t *testing.T) {
	r := newRig(t)
	r.Add("web.service", systemdtest.Unit{})
	r.Add("other.service", systemdtest.Unit{})
	r.Add("www.service", systemdtest.Unit{Alias: "web.service"})
	watch := func(names ...string) events.Subscription {
		t.Helper()
		sub, err := r.module.Watch(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sub.Close)
		return sub
	}
	web, alias, all := watch("web"), watch("www"), watch()
	r.Set("other.service", func(u *systemdtest.Unit) { u.Active = "active" })
	woken(t, all)
	r.Twitch("web.service")
	for _, sub := range []events.Subscription{web, alias, all} {
		if c := woken(t, sub); c.Resync || c.Merged != 1 {
			t.Errorf("%+v", c)
		}
	}
	r.Set("other.service", func(u *systemdtest.Unit) { u.File = "enabled" }) // which one it was is not said
	for _, sub := range []events.Subscription{web, alias, all} {
		woken(t, sub)
	}
	r.Stop()
	r.Manager.Start() // both are told by the bus
	for _, sub := range []events.Subscription{web, alias, all} {
		if c := woken(t, sub); !c.Resync {
			t.Errorf("%+v", c)
		}
	}
	if _, err := r.module.Watch(t.Context(), []string{"a", Watched("b", true)}); err == nil {
		t.Error("two managers at once")
	}
	if _, err := r.module.Watch(t.Context(), []string{"../x"}); err == nil {
		t.Error("a path")
	}
	again := watch(Watched("web", true))
	r.Twitch("web.service")
	woken(t, again)
}

func TestSystemdWithoutBus(t *testing.T) {
	r := newRig(t)
	r.Add("web.service", systemdtest.Unit{})
	r.Stop()
	err := do(t, r.module, "web", "start")
	if e, ok := errors.AsType[*bus.Error](err); !ok || e.Name != "org.freedesktop.DBus.Error.ServiceUnknown" {
		t.Errorf("no manager: %v", err)
	}
	m := bind(t, systemdBackend(), enginetest.NewHost())
	if err := do(t, m, "web", "start"); err == nil || !strings.Contains(err.Error(), "there is no system bus") {
		t.Errorf("no bus: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"web": {"web.service", "web"}, "web.service": {"web.service", "web"}, "a.timer": {"a.timer", "a.timer"},
		"mgmt-2.0": {"mgmt-2.0.service", "mgmt-2.0"},
	} {
		if got := [2]string{UnitName(name), BaseName(name)}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	list, session, err := watched([]string{Watched("a", true), Watched("b", true)})
	if err != nil || !session || !reflect.DeepEqual(list, []string{"a", "b"}) {
		t.Error(list, session, err)
	}
}
