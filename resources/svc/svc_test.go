package svc

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// on returns a registry whose svc takes the machine for what the facts say.
func on(t testing.TB, facts virtual.Facts) *engine.Registry {
	t.Helper()
	reg := engine.NewRegistry()
	system := func(virtual.Facts) virtual.System {
		return virtual.System{Facts: facts, Has: func(string) bool { return true }}
	}
	free := func(k *virtual.Kind) virtual.Resource { // whatever the package manager of this machine does
		r := newRes(k).(*Res)
		r.locks = []pkglock.Lock{}
		return r
	}
	if err := virtual.RegisterKind(reg, virtual.DefaultCatalog(), "svc", system, free); err != nil {
		t.Fatal(err)
	}
	return reg
}

var withSystemd = virtual.Facts{"systemd_booted": true, "init": "systemd"}

// of makes a resource of a registry.
func of(t testing.TB, reg *engine.Registry, name string, want Res) *Res {
	t.Helper()
	res, err := reg.New("svc")
	if err != nil {
		t.Fatal(err)
	}
	r := res.(*Res)
	r.State, r.Startup, r.Session, r.OnRefresh, r.Stable = want.State, want.Startup, want.Session, want.OnRefresh, want.Stable
	r.SetName(name)
	return r
}

// units gives each folder of the suite a unit of its own.
type units struct {
	*systemdtest.Manager
	first systemdtest.Unit
	mu    sync.Mutex
	there map[string]bool
}

func (u *units) name(dir string) string {
	h := fnv.New64()
	h.Write([]byte(dir))
	return fmt.Sprintf("suite-%x", h.Sum64())
}

// unit returns the unit of a folder, and makes it the first time.
func (u *units) unit(dir string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := u.name(dir) + ".service"
	if !u.there[dir] {
		u.there[dir] = true
		u.Add(name, u.first)
	}
	return name
}

func (u *units) set(change func(*systemdtest.Unit)) func(*testing.T, string) {
	return func(_ *testing.T, dir string) { u.Set(u.unit(dir), change) }
}

// snapshot tells the state of the unit, and what was called.
func (u *units) snapshot(t testing.TB, dir string) enginetest.Tree {
	tree := enginetest.Snapshot(t, dir)
	name := u.unit(dir)
	unit, calls := u.Unit(name), 0
	for _, c := range u.Calls() {
		if strings.HasSuffix(c, " "+name) {
			calls++
		}
	}
	tree[dir+"/"+name] = fmt.Sprint(unit.Active, unit.File, calls)
	return tree
}

func TestSvcSuite(t *testing.T) {
	reg := on(t, withSystemd)
	for name, c := range map[string]struct {
		first  systemdtest.Unit
		want   Res
		drifts map[string]func(*systemdtest.Unit)
	}{
		"up": {systemdtest.Unit{}, Res{State: "running", Startup: "enabled"}, map[string]func(*systemdtest.Unit){
			"stopped":  func(u *systemdtest.Unit) { u.Active = "inactive" },
			"failed":   func(u *systemdtest.Unit) { u.Active = "failed" },
			"disabled": func(u *systemdtest.Unit) { u.File = "disabled" },
			"passing":  func(u *systemdtest.Unit) { u.File = "enabled-runtime" },
			"masked":   func(u *systemdtest.Unit) { u.File = "masked" },
			"both":     func(u *systemdtest.Unit) { u.File, u.Active = "masked", "inactive" },
		}},
		"down": {systemdtest.Unit{Active: "active", File: "enabled"}, Res{State: "stopped", Startup: "disabled"}, map[string]func(*systemdtest.Unit){
			"started": func(u *systemdtest.Unit) { u.Active = "active" },
			"enabled": func(u *systemdtest.Unit) { u.File = "enabled" },
			"masked":  func(u *systemdtest.Unit) { u.File = "masked" },
		}},
		"masked": {systemdtest.Unit{Active: "active", File: "enabled"}, Res{State: "stopped", Startup: "masked", Session: true}, map[string]func(*systemdtest.Unit){
			"unmasked": func(u *systemdtest.Unit) { u.File = "disabled" },
			"started":  func(u *systemdtest.Unit) { u.Active = "active" },
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bus := systemdtest.NewBus(t)
			units := &units{Manager: systemdtest.NewManager(t, bus), first: c.first, there: map[string]bool{}}
			drifts := map[string]func(*testing.T, string){}
			for drift, change := range c.drifts {
				drifts[drift] = units.set(change)
			}
			enginetest.Run(t, enginetest.Suite{
				Kind: "svc", Registry: reg, Drifts: drifts, Snapshot: units.snapshot,
				Prepare: func(_ *testing.T, dir string) { units.unit(dir) },
				New: func(t *testing.T, dir string) engine.Res {
					return of(t, reg, units.name(dir), c.want)
				},
				Host: func(tb testing.TB) engine.Host { return kindtest.HostOn(tb, bus) },
			})
		})
	}
}

// rig is a service on a systemd of the test.
type rig struct {
	*systemdtest.Manager
	bus  *systemdtest.Bus
	res  *Res
	fake *enginetest.Fake
}

func newSvcRig(t *testing.T, want Res) *rig {
	t.Helper()
	bus := systemdtest.NewBus(t)
	r := &rig{Manager: systemdtest.NewManager(t, bus), bus: bus}
	r.res = of(t, on(t, withSystemd), "web", want)
	r.fake = kindtest.Begin(t, "svc", r.res, enginetest.WithHost(kindtest.HostOn(t, bus)))
	return r
}

func TestSvcThatIsNotThere(t *testing.T) {
	r := newSvcRig(t, Res{State: "running", Startup: "enabled"})
	kindtest.Want(t, r.fake, r.res, "error: there is no service web; is the package installed that brings it?")
	if got, err := r.res.Read(t.Context()); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	kindtest.Watching(t, r.fake, r.res)
	r.Add("web.service", systemdtest.Unit{}) // a package was installed
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `startup: "disabled" -> "enabled" state: "stopped" -> "running"` {
		t.Error(got)
	}
	down := newSvcRig(t, Res{State: "stopped", Startup: "disabled"})
	kindtest.Want(t, down.fake, down.res, "")
}

func TestSvcRefresh(t *testing.T) {
	r := newSvcRig(t, Res{})
	r.Add("web.service", systemdtest.Unit{})
	r.fake.SetRefresh(true)
	kindtest.Want(t, r.fake, r.res, "") // it does not run
	r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "active" })
	kindtest.Want(t, r.fake, r.res, "refreshed: reloaded")
	if got := r.Calls(); len(got) != 1 || got[0] != "ReloadOrTryRestartUnit web.service" {
		t.Error(got)
	}
	r.Set("web.service", func(u *systemdtest.Unit) { u.NoReload = true })
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "error: svc.reload: reload web.service") {
		t.Error(got)
	}
}

// A service that somebody else stops while it is notified is started again.
func TestSvcIsStoppedMeanwhile(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	hold := make(chan struct{})
	r.Add("web.service", systemdtest.Unit{Active: "active", Hold: hold})
	kindtest.Watching(t, r.fake, r.res)
	r.OnCall(func(string, string) {
		go func() {
			r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "inactive" })
			close(hold)
		}()
	})
	r.fake.SetRefresh(true)
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "it is inactive (dead)") {
		t.Fatal(got)
	}
	r.OnCall(nil)
	r.fake.WaitEvent(t)
	r.fake.SetRefresh(false)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `state: "stopped" -> "running"` {
		t.Error(got)
	}
}

// One that somebody else disables while it is notified is enabled again.
func TestSvcIsDisabledMeanwhile(t *testing.T) {
	r := newSvcRig(t, Res{State: "running", Startup: "enabled"})
	hold := make(chan struct{})
	r.Add("web.service", systemdtest.Unit{Active: "active", File: "enabled", Hold: hold})
	kindtest.Watching(t, r.fake, r.res)
	r.OnCall(func(string, string) {
		go func() {
			r.Set("web.service", func(u *systemdtest.Unit) { u.File = "disabled" })
			close(hold)
		}()
	})
	r.fake.SetRefresh(true)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != "refreshed: reloaded" {
		t.Fatal(got)
	}
	r.OnCall(nil)
	r.fake.WaitEvent(t)
	r.fake.SetRefresh(false)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `startup: "disabled" -> "enabled"` {
		t.Error(got)
	}
}

// A service that ends as soon as it has been started has failed.
func TestSvcDoesNotLast(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Dies: true})
	kindtest.Watching(t, r.fake, r.res)
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.HasPrefix(got, "error: web has ended ") || !strings.Contains(got, " after its start: exit status 1: it is failed") {
		t.Fatal(got)
	}
}

// One that somebody else unmasks while it is being masked and stopped is masked again.
func TestSvcIsUnmaskedMeanwhile(t *testing.T) {
	r := newSvcRig(t, Res{State: "stopped", Startup: "masked"})
	hold := make(chan struct{})
	r.Add("web.service", systemdtest.Unit{Active: "active", File: "enabled", Hold: hold})
	kindtest.Watching(t, r.fake, r.res)
	r.OnCall(func(method, _ string) {
		if method != "StopUnit" {
			return
		}
		go func() {
			r.Set("web.service", func(u *systemdtest.Unit) { u.File = "enabled" })
			close(hold)
		}()
	})
	if _, err := r.res.CheckApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	r.OnCall(nil)
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, `startup: "enabled" -> "masked"`) {
		t.Error(got)
	}
}

// What is enabled or masked until the next boot only is not what is wanted, whatever that is, and nothing that
// can be wanted again.
func TestSvcUntilTheNextBoot(t *testing.T) {
	for file, from := range map[string]string{"enabled-runtime": "enabled until the next boot", "masked-runtime": "masked until the next boot"} {
		for _, to := range []string{Enabled, Disabled, Masked} {
			r := newSvcRig(t, Res{Startup: to})
			r.Add("web.service", systemdtest.Unit{File: file})
			kindtest.Want(t, r.fake, r.res, fmt.Sprintf("startup: %q -> %q", from, to))
			kindtest.Want(t, r.fake, r.res, "")
			if u := r.Unit("web.service"); u.File != to {
				t.Errorf("from %s to %s it is %s", file, to, u.File)
			}
			r.Set("web.service", func(u *systemdtest.Unit) { u.File = file })
			if is, err := r.res.Read(t.Context()); err != nil || is.(*Res).Startup != "" {
				t.Errorf("%+v, %v", is, err)
			}
		}
	}
}

// What has no effect is tried again so often, and no more, until somebody else changes something.
func TestSvcInVain(t *testing.T) {
	r := newSvcRig(t, Res{Startup: "enabled"})
	r.Add("web.service", systemdtest.Unit{Fixed: true})
	kindtest.Watching(t, r.fake, r.res)
	const change = `startup: "disabled" -> "enabled"`
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != change {
		t.Fatal(got)
	}
	const most = vain + 1
	for runs := 1; ; runs++ {
		patience := 100 * time.Millisecond
		if runs < most {
			patience = await.Left()
		}
		select {
		case <-r.fake.Events():
			kindtest.Verbs(t, r.fake, r.res, true)
		case <-time.After(patience):
			if runs < most {
				t.Errorf("it was tried %d times and no more", runs)
			}
			r.Set("web.service", func(u *systemdtest.Unit) { u.File = "static" })
			r.Set("web.service", func(u *systemdtest.Unit) { u.File, u.Active = "disabled", "active" })
			r.fake.WaitEvent(t)
			return
		}
		if runs > most { // one more event may have been on its way
			t.Fatalf("it is tried for the %d. time", runs)
		}
	}
}

// What CheckApply does itself is no event: a service that cannot be started is tried
// once for each reason to try, and not for ever.
func TestSvcFailureIsNoEvent(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Refuses: "exit-code"})
	kindtest.Watching(t, r.fake, r.res)
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "it is failed (failed), exit-code") {
		t.Fatal(got)
	}
	kindtest.NothingComesOf(t, r.fake, func() {
		r.Twitch("web.service")
		r.Add("other.service", systemdtest.Unit{}) // a reload, which everybody is told of
	})
	r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "inactive" }) // as reset-failed does
	r.fake.WaitEvent(t)
}

// After a restart of the manager, or of the bus, it is subscribed again, and nothing
// that happened meanwhile is lost.
func TestSvcRestarts(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Active: "active"})
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Want(t, r.fake, r.res, "")
	stop := func() { r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "inactive" }) }
	repaired := func() {
		t.Helper()
		for deadline := time.Now().Add(await.Left()); r.Unit("web.service").Active != "active"; {
			if time.Now().After(deadline) {
				t.Fatal("it was not repaired")
			}
			select {
			case <-r.fake.Events():
				kindtest.Verbs(t, r.fake, r.res, true)
			case <-time.After(time.Second):
			}
		}
	}
	for range 2 {
		r.Stop()
		stop() // unseen
		r.Start()
		repaired()
		stop() // seen, if it is subscribed
		repaired()
	}
	r.bus.Stop()
	r.Stop()
	stop()
	r.bus.Start()
	r.Start()
	repaired()
	stop()
	repaired()
}

func TestSvcValidate(t *testing.T) {
	systemd, openrc := on(t, withSystemd), on(t, virtual.Facts{"init": "openrc"})
	none := on(t, virtual.Facts{"init": "s6"})
	for _, c := range []struct {
		reg  *engine.Registry
		name string
		res  Res
		want string
	}{
		{systemd, "web", Res{State: "running", Startup: "enabled"}, ""},
		{systemd, "web", Res{}, ""},
		{openrc, "web", Res{State: "stopped", Startup: "disabled"}, ""},
		{openrc, "web", Res{Startup: "masked"}, "svc.mask is not supported by the backend openrc"},
		{none, "web", Res{State: "running"}, "no backend of svc can be used here: openrc: it is for machines where init is openrc (here init is s6)"},
		{systemd, "-o", Res{}, `"-o" is no name of a service`},
		{systemd, "../x", Res{}, `"../x" is no name of a service`},
		{systemd, "a\nb", Res{}, `"a\nb" is no name of a service`},
		{systemd, "", Res{}, `"" is no name of a service`},
		{systemd, "getty@", Res{}, `"getty@" is a template`},
		{systemd, strings.Repeat("a", 300), Res{}, "is too long for the name of a service"},
		{systemd, "web", Res{State: "up"}, `state is "up", it must be running or stopped`},
		{systemd, "web", Res{Startup: "on"}, `startup is "on", it must be enabled, disabled or masked`},
		{systemd, "web", Res{State: "running", Startup: "masked"}, "a masked service cannot be started"},
	} {
		err := kindtest.Judged(of(t, c.reg, c.name, c.res))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %+v: %v", c.name, c.res, err)
		}
	}
}

func TestSvcList(t *testing.T) {
	r := newSvcRig(t, Res{})
	r.Add("web.service", systemdtest.Unit{Active: "active", File: "enabled"})
	r.Add("off.service", systemdtest.Unit{File: "masked"})
	var got []string
	for res, err := range r.res.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s := res.(*Res)
		got = append(got, fmt.Sprintf("%s %s %s", s, s.State, s.Startup))
	}
	if want := "svc[off] stopped masked; svc[web] running enabled"; strings.Join(got, "; ") != want {
		t.Error(got)
	}
}

func TestSvcReversed(t *testing.T) {
	reg := on(t, withSystemd)
	for _, c := range []struct{ res, was, want Res }{
		{Res{State: "running"}, Res{State: "stopped", Startup: "enabled"}, Res{State: "stopped"}},
		{Res{Startup: "masked"}, Res{State: "running", Startup: "enabled"}, Res{Startup: "enabled"}},
		{Res{State: "stopped", Startup: "enabled"}, Res{State: "running", Startup: "masked"}, Res{Startup: "masked"}},
	} {
		undo, err := of(t, reg, "web", c.res).Reversed(of(t, reg, "web", c.was))
		if err != nil || engine.CmpFields(undo, of(t, reg, "web", c.want)) != nil || undo.Validate() != nil {
			t.Errorf("%+v after %+v: %+v, %v", c.res, c.was, undo, err)
		}
	}
	undo, err := of(t, reg, "web", Res{State: "running", Startup: "enabled"}).Reversed(nil)
	if err != nil || engine.CmpFields(undo, of(t, reg, "web", Res{State: "stopped", Startup: "disabled"})) != nil {
		t.Errorf("%+v, %v", undo, err)
	}
	if _, err := of(t, reg, "web", Res{}).Reversed(&file.Res{}); err == nil {
		t.Error("it goes back to a noop")
	}
}

func TestSvcClashes(t *testing.T) {
	reg := on(t, withSystemd)
	a := of(t, reg, "web", Res{State: "running"})
	for _, c := range []struct {
		other  Res
		clash  bool
		reason string
	}{
		{Res{Startup: "enabled"}, false, "each has one part"}, {Res{State: "running"}, false, "the same"}, {Res{State: "stopped"}, true, "not the same"},
	} {
		if err := a.Clashes(of(t, reg, "web.service", c.other)); (err != nil) != c.clash {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
}

// Where nobody tells of changes, services are looked at now and then.
func TestSvcPolls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res := of(t, on(t, virtual.Facts{"init": "sysv"}), "web", Res{State: "running"})
	f := kindtest.Begin(t, "svc", res)
	f.Host().SetFacts(engine.Facts{Init: "sysv"})
	running := true
	var mu sync.Mutex
	f.Host().SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case c.Argv[0] == "ls":
			return &engine.Result{Stdout: []byte("/etc/init.d:\nweb\n")}, nil
		case running:
			return &engine.Result{}, nil
		}
		return &engine.Result{ExitCode: 3}, nil
	})
	kindtest.Want(t, f, res, "")
	m, err := res.Open(ctx, "svc", res.Backend())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if differs, moved := res.differs(ctx, m); differs || moved {
		t.Error("nothing has happened")
	}
	mu.Lock()
	running = false
	mu.Unlock()
	if differs, _ := res.differs(ctx, m); !differs {
		t.Error("it has stopped")
	}
}

// asked returns what a resource asks for first, each as text.
func asks(t *testing.T, r engine.EdgeableRes) []autoedge.UID {
	t.Helper()
	e, err := r.AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	return e.Next()
}

// A service comes after its package, its unit file and its configuration.
func TestSvcEdges(t *testing.T) {
	reg := on(t, withSystemd)
	web := of(t, reg, "nginx.service", Res{})
	web.SetKind("svc")
	asks := func(r engine.EdgeableRes, want autoedge.UID) (found, before bool) {
		for _, u := range asks(t, r) {
			if fmt.Sprintf("%T", u) == fmt.Sprintf("%T", want) && want.IFF(u) {
				return true, u.IsReversed()
			}
		}
		return false, false
	}
	for _, want := range []autoedge.UID{
		traits.PkgUID(autoedge.BaseUID{}, "nginx"), traits.FileUID(autoedge.BaseUID{}, "/etc/nginx"), traits.FileUID(autoedge.BaseUID{}, "/etc/nginx.conf"),
		traits.FileUID(autoedge.BaseUID{}, "/etc/systemd/system/nginx.service"), traits.FileUID(autoedge.BaseUID{}, "/etc/default/nginx"),
		traits.PkgFileUID(autoedge.BaseUID{}, "/usr/lib/systemd/system/nginx.service"), traits.PkgFileUID(autoedge.BaseUID{}, "/etc/init.d/nginx"),
		traits.UserUID(autoedge.BaseUID{}, "nginx"), traits.GroupUID(autoedge.BaseUID{}, "nginx"),
	} {
		if found, before := asks(web, want); !found || !before {
			t.Errorf("%s: %t, %t", want, found, before)
		}
	}
	for p, want := range map[string]autoedge.UID{
		"/etc/nginx/conf.d/a.conf": web.UIDs()[0],
		"/etc/nginx/":              web.UIDs()[0],
		"/etc/nginx":               nil,
		"/srv/nginx/x":             nil,
		"/etc/systemd/system/nginx.service.d/x.conf":    web.UIDs()[0],
		"/lib/systemd/system/nginx.service.d/x.conf":    web.UIDs()[0],
		"/etc/systemd/system/nginx.service":             nil,
		"/etc/systemd/user/nginx.service.d/x.conf":      traits.SvcUID(autoedge.BaseUID{}, "nginx", true),
		"/etc/systemd/system/multi-user.target.wants/x": nil,
	} {
		f := &file.Res{Path: p}
		f.SetKind("file")
		if want == nil {
			if found, _ := asks(f, web.UIDs()[0]); found {
				t.Errorf("%s is taken for a part of the service", p)
			}
		} else if found, before := asks(f, want); !found || before {
			t.Errorf("%s: asked %t, the service first %t", p, found, before)
		}
	}
	for _, r := range []*Res{of(t, reg, "nginx", Res{State: "stopped"}), of(t, reg, "nginx", Res{Session: true})} {
		if found, _ := asks(r, traits.UserUID(autoedge.BaseUID{}, "nginx")); found {
			t.Errorf("%+v waits for a user", r)
		}
	}
	if found, _ := asks(of(t, reg, "app@1", Res{}), traits.UserUID(autoedge.BaseUID{}, "app")); !found {
		t.Error("an instance does not ask for the user of its template")
	}
	user := of(t, reg, "sync", Res{Session: true})
	if found, _ := asks(user, traits.FileUID(autoedge.BaseUID{}, "/etc/systemd/user/sync.service")); !found {
		t.Error("the unit file of a session")
	}
	if user.UIDs()[0].IFF(of(t, reg, "sync", Res{}).UIDs()[0]) {
		t.Error("a service of the session is not one of the machine")
	}
}

// TestUnitFileEdges: a unit file comes after whom and what it names, so the service does, too.
func TestUnitFileEdges(t *testing.T) {
	const unit = `# User=comment
[Service]
User = app
Group=staff
SupplementaryGroups=video audio
EnvironmentFile=-/etc/app.env
WorkingDirectory=-/srv/app
ExecStartPre=-+/usr/bin/prepare --user=root
ExecStart=/opt/app/bin/app \
  --root /x
ExecReload=/bin/kill -HUP $MAINPID
ExecStart=@%h/bin/x x
ExecStop=stop-by-name
User=%i
Environment=User=none
WorkingDirectory=~
`
	want := []string{
		"pkg with /etc/systemd/system/x.service", "pkg with /etc/systemd", "user[app]", "group[staff]", "group[video]", "group[audio]",
		"pkg with /usr/bin/prepare", "pkg with /opt/app/bin/app", "pkg with /bin/kill",
		"file[/etc/systemd/system]", "file[/etc/app.env]", "file[/srv/app]", "file[/usr/bin/prepare]", "file[/opt/app/bin/app]", "file[/bin/kill]",
	}
	ask := func(p, content string) (all []string) {
		f := &file.Res{Path: p, Content: &content}
		f.SetKind("file")
		for _, u := range asks(t, f) {
			switch autoedge.SpaceOf(u) {
			case traits.SpaceMount, traits.SpaceSvc, traits.SpaceSession:
			default:
				all = append(all, u.String())
			}
		}
		return all
	}
	if got := ask("/etc/systemd/system/x.service", unit); !slices.Equal(got, want) {
		t.Errorf("it asks for\n%q, want\n%q", got, want)
	}
	for _, p := range []string{"/lib/systemd/system/x.service.d/a.conf", "/etc/systemd/user/x.socket", "/usr/lib/systemd/system/a@.service", "/etc/systemd/system/a@.service.d/b.conf"} {
		if !slices.Contains(ask(p, "[Service]\nUser=app\n"), "user[app]") {
			t.Errorf("%s is no unit file", p)
		}
	}
	for _, p := range []string{"/etc/app/x.service", "/etc/systemd/system/x", "/etc/systemd/system/multi-user.target.wants/x.service", "/etc/systemd/system.conf"} {
		if slices.Contains(ask(p, "[Service]\nUser=app\n"), "user[app]") {
			t.Errorf("%s is taken for a unit file", p)
		}
	}
}

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: internal/virtualkind/watch.go, WatchBy: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "svc", of(t, on(t, virtual.Facts{"init": "sysv"}), "it", Res{}), nil)
}
