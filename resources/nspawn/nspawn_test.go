package nspawn

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/archived"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/download"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/private"
	mountkind "github.com/reactivegraph/mgmt/resources/mount"
	"github.com/reactivegraph/mgmt/resources/pkg"
	"github.com/reactivegraph/mgmt/resources/svc"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// kindOn returns the Kind of services on a machine that systemd runs.
func kindOn(t testing.TB, facts virtual.Facts) *virtual.Kind {
	t.Helper()
	k, err := virtual.NewKind(virtual.DefaultCatalog(), "svc", func(virtual.Facts) virtual.System {
		return virtual.System{Facts: facts, Has: func(string) bool { return true }}
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// world is a bus with a systemd and a machined, and a folder for each container.
type world struct {
	*systemdtest.Manager
	*systemdtest.Machined
	bus  *systemdtest.Bus
	kind *virtual.Kind

	mu    sync.Mutex
	first systemdtest.Unit
	roots map[string]string // by name
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{bus: systemdtest.NewBus(t), kind: kindOn(t, booted), roots: map[string]string{}}
	w.Manager = systemdtest.NewManager(t, w.bus)
	w.Machined = systemdtest.NewMachined(t, w.Manager, w.removeImage)
	return w
}

func (w *world) removeImage(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return os.RemoveAll(w.roots[name] + "/var/lib/machines/" + name)
}

func nspawnUnitOf(name string) string { return "systemd-nspawn@" + name + ".service" }

// prepare makes what the package and an image bring.
func (w *world) prepare(t testing.TB, name, root string) {
	t.Helper()
	for _, dir := range []string{settingsFolder, "/var/lib/machines/" + name} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.mu.Lock()
	w.roots[name] = root
	w.mu.Unlock()
	w.Image(name)
	w.Manager.Add(nspawnUnitOf(name), w.first)
}

func (w *world) rootOf(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots[name]
}

func (w *world) res(name string, want Res) *Res {
	r := &Res{State: want.State, Startup: want.Startup, Settings: want.Settings, Force: want.Force, root: w.rootOf, kind: w.kind, locks: []pkglock.Lock{}}
	r.SetKind("nspawn")
	r.SetName(name)
	return r
}

func (w *world) set(name string, change func(*systemdtest.Unit)) {
	w.Manager.Set(nspawnUnitOf(name), change)
}

// snapshot tells the state of the unit beside that of the folder, and what was called.
func (w *world) snapshot(t testing.TB, dir string) enginetest.Tree {
	tree := enginetest.Snapshot(t, dir)
	unit, calls := nspawnUnitOf(nameOf(dir)), 0
	for _, c := range w.Calls() {
		if strings.HasSuffix(c, " "+unit) {
			calls++
		}
	}
	u := w.Unit(unit)
	tree[dir+"/"+unit] = fmt.Sprint(u.Active, u.File, calls)
	return tree
}

var booted = virtual.Facts{"systemd_booted": true, "init": "systemd"}

func hashOf(dir string) string {
	h := fnv.New64()
	h.Write([]byte(dir))
	return fmt.Sprintf("%x", h.Sum64())
}

// nameOf is the name of the container of a folder.
func nameOf(dir string) string { return "box-" + hashOf(dir) }

const someSettings = "[Network]\nVirtualEthernet=no\n"

func TestNspawnSuite(t *testing.T) {
	write := func(text string) func(*testing.T, *world, string) {
		return func(t *testing.T, _ *world, dir string) {
			path := dir + settingsFolder + nameOf(dir) + ".nspawn"
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Error(err)
			}
		}
	}
	unit := func(change func(*systemdtest.Unit)) func(*testing.T, *world, string) {
		return func(_ *testing.T, w *world, dir string) { w.set(nameOf(dir), change) }
	}
	stopped := unit(func(u *systemdtest.Unit) { u.Active = "inactive" })
	enabled := unit(func(u *systemdtest.Unit) { u.File = "enabled" })
	for name, c := range map[string]struct {
		first  systemdtest.Unit
		want   Res
		drifts map[string]func(*testing.T, *world, string)
	}{
		"up": {systemdtest.Unit{}, Res{State: "running", Startup: "enabled", Settings: new(someSettings)}, map[string]func(*testing.T, *world, string){
			"stopped":  stopped,
			"failed":   unit(func(u *systemdtest.Unit) { u.Active = "failed" }),
			"disabled": unit(func(u *systemdtest.Unit) { u.File = "disabled" }),
			"settings": write("[Exec]\nBoot=no\n"),
			"no settings": func(t *testing.T, _ *world, dir string) {
				if err := os.RemoveAll(dir + settingsFolder); err != nil {
					t.Error(err)
				}
			},
		}},
		"down": {systemdtest.Unit{Active: "active", File: "enabled"}, Res{State: "stopped", Startup: "disabled", Settings: new("")}, map[string]func(*testing.T, *world, string){
			"started":  unit(func(u *systemdtest.Unit) { u.Active = "active" }),
			"enabled":  enabled,
			"settings": write(someSettings),
		}},
		"only the state": {systemdtest.Unit{}, Res{State: "running"}, map[string]func(*testing.T, *world, string){"stopped": stopped}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.first = c.first
			reg := engine.DefaultRegistry().Without("nspawn")
			if err := reg.Register("nspawn", func() engine.Res { return &Res{kind: w.kind, root: w.rootOf, locks: []pkglock.Lock{}} }); err != nil {
				t.Fatal(err)
			}
			drifts := map[string]func(*testing.T, string){}
			for drift, do := range c.drifts {
				drifts[drift] = func(t *testing.T, dir string) { do(t, w, dir) }
			}
			enginetest.Run(t, enginetest.Suite{
				Kind: "nspawn", Registry: reg, Drifts: drifts, Snapshot: w.snapshot, Received: []string{"settings"},
				Prepare: func(t *testing.T, dir string) { w.prepare(t, nameOf(dir), dir) },
				New:     func(_ *testing.T, dir string) engine.Res { return w.res(nameOf(dir), c.want) },
				Host:    func(tb testing.TB) engine.Host { return kindtest.HostOn(tb, w.bus) },
			})
		})
	}
}

// rig is one container.
type rig struct {
	*world
	root  string
	res   *Res
	fake  *enginetest.Fake
	calls int // those that called has returned
}

func newRig(t *testing.T, want Res) *rig {
	t.Helper()
	r := &rig{world: newWorld(t), root: t.TempDir()}
	r.prepare(t, "web", r.root)
	r.begin(t, want, enginetest.WithVarDir(t.TempDir()))
	return r
}

func (r *rig) begin(t *testing.T, want Res, o ...enginetest.Option) {
	t.Helper()
	r.res = r.world.res("web", want)
	r.fake = kindtest.Begin(t, "nspawn", r.res, append(o, enginetest.WithHost(kindtest.HostOn(t, r.bus)))...)
}

// called returns the calls that alter something and were made since it was called.
func (r *rig) called() string {
	all := r.Calls()
	text := strings.ReplaceAll(strings.Join(all[r.calls:], ", "), " "+nspawnUnitOf("web"), "")
	r.calls = len(all)
	return text
}

func (r *rig) settings() string { return r.root + settingsFolder + "web.nspawn" }

// put writes the settings, at once.
func (r *rig) put(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new")
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Rename(path, r.settings())); err != nil {
		t.Fatal(err)
	}
}

// A container is started with its settings, and restarted when they change; never for
// settings with which it runs.
func TestNspawnSettings(t *testing.T) {
	r := newRig(t, Res{Settings: new(someSettings)})
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "web.nspawn].state created") || !strings.Contains(got, `.content: (none) -> "[Network]`) || !strings.HasSuffix(got, `.state: "stopped" -> "running"`) {
		t.Fatal(got)
	}
	if got := r.called(); got != "StartUnit" {
		t.Error(got)
	}
	restarts := func(why, want string) {
		t.Helper()
		if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", why, got)
		}
		if got := r.called(); got != want {
			t.Errorf("%s: %s", why, got)
		}
		if text, err := os.ReadFile(r.settings()); string(text) != *r.res.Settings {
			t.Errorf("%s: %s, %v", why, text, err)
		}
		if got := kindtest.Verbs(t, r.fake, r.res, true); got != "" || r.called() != "" {
			t.Errorf("after %s: %s", why, got)
		}
	}
	r.put(t, "[Exec]\n")
	restarts("the file was altered", "")
	r.put(t, "[Exec]\n")
	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	restarts("altered and stopped", "StartUnit")
	r.res.Settings = new("[Exec]\nBoot=no\n")
	restarts("others are wanted", "ReloadOrTryRestartUnit")
	r.res.Settings = new("")
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "state deleted") || !strings.HasSuffix(got, "refreshed") {
		t.Error(got)
	}
}

// What ends us between the settings and the restart leaves something to do.
func TestNspawnSettingsAfterACrash(t *testing.T) {
	r := newRig(t, Res{Settings: new(someSettings)})
	kindtest.Verbs(t, r.fake, r.res, true)
	r.called()
	r.res.Settings = new("[Exec]\nBoot=no\n")
	noted := ""
	r.OnCall(func(method, _ string) {
		text, err := os.ReadFile(filepath.Join(r.fake.VarDir(), noteFile))
		if err != nil {
			t.Errorf("at %s: %v", method, err)
		}
		noted = string(text)
	})
	kindtest.Verbs(t, r.fake, r.res, true)
	if !strings.HasSuffix(noted, digestOf(someSettings)) {
		t.Fatalf("when it is restarted, %q is noted", noted)
	}
	// As it was before the restart: the file is new, the container and the note are old.
	m, err := r.res.machine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.res.write(m, digestOf(someSettings)); err != nil {
		t.Fatal(err)
	}
	r.called()
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.HasSuffix(got, "refreshed") || r.called() != "ReloadOrTryRestartUnit" {
		t.Error(got)
	}
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != "" {
		t.Error(got)
	}
}

// While its settings are written it may be started with the old ones, by somebody else; or
// they are altered before it reads them.
func TestNspawnSettingsOvertaken(t *testing.T) {
	r := newRig(t, Res{Settings: new(someSettings)})
	kindtest.Verbs(t, r.fake, r.res, true)
	r.called()
	r.put(t, "[Exec]\n")
	r.fake.OnChange(func(engine.Change) { r.Again("web") })
	if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || r.called() != "ReloadOrTryRestartUnit" {
		t.Error(got)
	}
	r.fake.OnChange(nil)

	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	r.OnCall(func(string, string) { r.put(t, "[Exec]\n") })
	if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || r.called() != "StartUnit" {
		t.Error(got)
	}
	r.OnCall(nil)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || r.called() != "ReloadOrTryRestartUnit" {
		t.Error(got)
	}
	kindtest.Want(t, r.fake, r.res, "")

	r.put(t, "[Exec]\n")
	r.set("web", func(u *systemdtest.Unit) { u.Active = "activating" }) // it has read them, perhaps
	if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || r.called() != "StopUnit, StartUnit" {
		t.Error(got)
	}
}

// One that somebody else has started runs with what the file said.
func TestNspawnThatRunsAlready(t *testing.T) {
	r := newRig(t, Res{Settings: new(someSettings)})
	r.put(t, someSettings)
	r.set("web", func(u *systemdtest.Unit) { u.Active = "active" })
	kindtest.Want(t, r.fake, r.res, "")
	r.put(t, "[Exec]\n")
	noted := ""
	r.OnCall(func(string, string) {
		text, err := private.Read(r.fake.Init(), noteFile)
		if noted = string(text); err != nil {
			t.Error(err)
		}
	})
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.HasSuffix(got, "refreshed") || r.called() != "ReloadOrTryRestartUnit" {
		t.Error(got)
	}
	if !strings.HasSuffix(noted, digestOf("[Exec]\n")) {
		t.Errorf("when it is restarted, %q is noted", noted)
	}
	alone := newRig(t, Res{})
	alone.set("web", func(u *systemdtest.Unit) { u.Active = "active" })
	alone.put(t, someSettings)
	kindtest.Want(t, alone.fake, alone.res, "")
	if entries, err := os.ReadDir(alone.fake.VarDir()); len(entries) > 0 {
		t.Errorf("noted of settings that are not managed: %v, %v", entries, err)
	}
	alone.fake.SetRefresh(true)
	kindtest.Want(t, alone.fake, alone.res, "svc[systemd-nspawn@web.service] refreshed")
}

func TestNspawnRefuses(t *testing.T) {
	r := newRig(t, Res{State: "running"})
	image := r.root + "/var/lib/machines/web"
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		for _, apply := range []bool{false, true} {
			if got := kindtest.Verbs(t, r.fake, r.res, apply); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%t: %q, and not %q", apply, got, want)
			}
		}
		if got := r.called(); want != "" && got != "" {
			t.Errorf("it has called %s", got)
		}
	}
	says("there is no image of web: a folder " + image)
	dropIn := r.root + "/etc/systemd/system/systemd-nspawn@web.service.d"
	if err := os.MkdirAll(dropIn, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.HasSuffix(got, `"stopped" -> "running"`) || r.called() != "StartUnit" {
		t.Errorf("with --directory in it, perhaps: %s", got)
	}
	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	if err := os.RemoveAll(r.root + "/etc/systemd/system"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image+".raw", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Other("web", "machine-web.scope")
	says("a machine named web runs that systemd-nspawn@web.service has not started: it belongs to machine-web.scope")
	r.Manager.Remove(nspawnUnitOf("web")) // and a machined that has outlived its package is not asked
	says("there is no systemd-nspawn: install the package systemd-container")
	r.Other("web", "")
	r.Manager.Add(nspawnUnitOf("web"), systemdtest.Unit{Refuses: "exit-code"})
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "it is failed (failed), exit-code") {
		t.Error(got)
	}
}

// A failure is tried again when something has happened, and not for ever; a machined that
// comes and goes is nothing.
func TestNspawnWatch(t *testing.T) {
	r := newRig(t, Res{State: "running"})
	image := r.root + "/var/lib/machines/web"
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	kindtest.Watching(t, r.fake, r.res)
	for _, name := range []string{image, image + ".raw"} {
		if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "there is no image") {
			t.Error(got)
		}
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		r.fake.WaitEvent(t)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		r.fake.WaitEvent(t)
	}
	if err := os.Mkdir(image, 0o755); err != nil {
		t.Fatal(err)
	}
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, `svc[systemd-nspawn@web.service].state: "stopped" -> "running"`)
	kindtest.Verbs(t, r.fake, r.res, true)
	kindtest.NothingComesOf(t, r.fake, func() {
		r.Machined.Twitch("web")
		r.Manager.Twitch(nspawnUnitOf("web"))
		r.Machined.Twitch("other")
	})
	r.set("web", func(u *systemdtest.Unit) { u.Active = "failed" })
	r.fake.WaitEvent(t)
	kindtest.Verbs(t, r.fake, r.res, true)
	r.put(t, someSettings) // whoever manages it
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, "")

	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	r.fake.WaitEvent(t)
	r.Other("web", "machine-web.scope")
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "it belongs to machine-web.scope") {
		t.Error(got)
	}
	kindtest.NothingComesOf(t, r.fake, func() { r.Machined.Twitch("web") })
	r.Other("web", "")
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" {
		t.Error("it is not started")
	}

	r.Machined.Stop()
	kindtest.Want(t, r.fake, r.res, "")
	r.Machined.Start()
	asked := 0
	kindtest.NothingComesOf(t, r.fake, func() {
		asked = r.Asked()
		r.Machined.Stop()
		r.Machined.Start()
	})
	if now := r.Asked(); now != asked {
		t.Errorf("machined was asked %d times because it was there", now-asked)
	}
}

// A Watch that begins again, because other values have come, waits for what CheckApply does
// by these.
func TestNspawnWatchAgain(t *testing.T) {
	r := newRig(t, Res{State: "stopped"})
	kindtest.Watching(t, r.fake, r.res)()
	r.fake.Restart()
	r.res.State = "running"
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Want(t, r.fake, r.res, `svc[systemd-nspawn@web.service].state: "stopped" -> "running"`)
	kindtest.NothingComesOf(t, r.fake, func() { r.Manager.Twitch(nspawnUnitOf("web")) })
}

// After the bus was away nothing that happened meanwhile is lost.
func TestNspawnBusRestart(t *testing.T) {
	r := newRig(t, Res{State: "running"})
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Verbs(t, r.fake, r.res, true)
	repaired := func() {
		t.Helper()
		for deadline := time.Now().Add(await.Left()); r.Unit(nspawnUnitOf("web")).Active != "active"; {
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
	r.bus.Stop()
	r.Manager.Stop()
	r.Machined.Stop()
	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	r.bus.Start()
	r.Manager.Start()
	r.Machined.Start()
	repaired()
	r.set("web", func(u *systemdtest.Unit) { u.Active = "inactive" })
	repaired()
}

func TestNspawnAbsent(t *testing.T) {
	r := newRig(t, Res{State: "absent"})
	r.put(t, someSettings)
	r.set("web", func(u *systemdtest.Unit) { u.Active, u.File = "active", "enabled" })
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "with force: true it is removed") {
		t.Error(got)
	}
	if got := r.called(); got != "" {
		t.Errorf("refused, it has called %s", got)
	}
	r.res.Force = true
	got := kindtest.Verbs(t, r.fake, r.res, true)
	for _, part := range []string{"web.nspawn].state deleted", `"enabled" -> "disabled"`, `"running" -> "stopped"`, "state deleted"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
	if left, err := filepath.Glob(r.root + "/*/*/*/*"); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	kindtest.Want(t, r.fake, r.res, "")
	if got, err := r.res.Read(t.Context()); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	r.put(t, someSettings)
	if got, err := r.res.Read(t.Context()); got == nil || err != nil {
		t.Errorf("one that has only settings is %v, %v", got, err)
	}
	kindtest.Verbs(t, r.fake, r.res, true)
	r.Manager.Remove(nspawnUnitOf("web"))
	r.Machined.Stop()
	kindtest.Want(t, r.fake, r.res, "") // nor is anything to be done where nothing is installed
}

func TestNspawnSends(t *testing.T) {
	r := newRig(t, Res{State: "running"})
	kindtest.Verbs(t, r.fake, r.res, true)
	if got, ok := r.fake.Sent().(*Sends); !ok || got.Leader != 1001 {
		t.Errorf("%+v", r.fake.Sent())
	}
	r.res.State = "stopped"
	kindtest.Verbs(t, r.fake, r.res, true)
	if got, ok := r.fake.Sent().(*Sends); !ok || got.Leader != 0 {
		t.Errorf("%+v", r.fake.Sent())
	}
}

// TestNspawnReceives: others than Init has known of are made when a value comes; a secret
// is for root alone.
func TestNspawnReceives(t *testing.T) {
	r := newRig(t, Res{State: "running"})
	kindtest.Watching(t, r.fake, r.res)
	r.fake.SetRecv(map[string]*engine.Send{"settings": {Secret: true}})
	r.res.SetRecv(map[string]*engine.Send{"settings": {Secret: true}})
	r.res.Settings = new("[Exec]\nEnvironment=KEY=hidden\n")
	got := kindtest.Verbs(t, r.fake, r.res, true)
	if strings.Contains(got+strings.Join(r.fake.Logs(), ""), "hidden") || strings.HasPrefix(got, "error") {
		t.Error(got)
	}
	if st, err := os.Stat(r.settings()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// A folder that is purged knows of the settings.
func TestNspawnIsManaged(t *testing.T) {
	w, files := newWorld(t), files.New(nil)
	w.prepare(t, "web", t.TempDir())
	r := w.res("web", Res{Settings: new(someSettings)})
	t.Cleanup(func() {
		if below := files.ManagedBelow("/"); len(below) != 0 {
			t.Errorf("after Cleanup %v is managed", below)
		}
	})
	kindtest.Begin(t, "nspawn", r, enginetest.WithHost(kindtest.HostOn(t, w.bus)), enginetest.WithShared(files))
	if !files.Manages(r.settingsPath()) {
		t.Errorf("managed is %v", files.ManagedBelow("/"))
	}
}

func TestNspawnList(t *testing.T) {
	r := newRig(t, Res{})
	r.prepare(t, "db", t.TempDir())
	r.Image("not a name")
	r.Manager.Add(nspawnUnitOf("by-hand"), systemdtest.Unit{}) // as all that a template is for
	r.Other("by-hand", "machine-by.scope")
	r.Manager.Add(nspawnUnitOf("virtual"), systemdtest.Unit{})
	r.Other("virtual", "vm-x.scope")
	r.set("db", func(u *systemdtest.Unit) { u.Active, u.File = "active", "enabled" })
	r.put(t, someSettings)
	var list []string
	for got, err := range r.res.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n := got.(*Res)
		text := n.Name() + " " + n.State + " " + n.Startup
		if n.Settings != nil {
			text += " " + *n.Settings
		}
		list = append(list, text)
	}
	if got := strings.Join(list, "; "); got != "by-hand running disabled; db running enabled; web stopped disabled "+someSettings {
		t.Error(got)
	}
	r.Machined.Stop()
	for _, err := range r.res.List(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "systemd-machined is not there; install the package systemd-container") {
			t.Error(err)
		}
	}
}

func TestNspawnReversed(t *testing.T) {
	w := newWorld(t)
	text := new(someSettings)
	for _, c := range []struct{ want, was, undo Res }{
		{Res{State: "running"}, Res{State: "stopped", Startup: "enabled", Settings: text}, Res{State: "stopped"}},
		{Res{State: "running", Startup: "enabled", Settings: new("x")}, Res{State: "stopped", Startup: "disabled"}, Res{State: "stopped", Startup: "disabled", Settings: new("")}},
		{Res{State: "absent"}, Res{State: "running", Startup: "enabled", Settings: text}, Res{State: "running", Startup: "enabled", Settings: text}},
		{Res{State: "stopped", Startup: "disabled"}, Res{State: "running", Startup: "masked"}, Res{State: "stopped", Startup: "masked"}},
	} {
		got, err := w.res("web", c.want).Reversed(w.res("web", c.was))
		if err != nil || engine.CmpFields(got, w.res("web", c.undo)) != nil {
			t.Errorf("%+v: %+v, %v", c.want, got, err)
		}
	}
	if got, err := w.res("web", Res{State: "running"}).Reversed(nil); err != nil || got.(*Res).State != "stopped" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.res("web", Res{State: "absent", Force: true}).Reversed(w.res("web", Res{})); err == nil {
		t.Error("an image comes back")
	}
	if _, err := w.res("web", Res{}).Reversed(&basic.NoopRes{}); err == nil {
		t.Error("a container goes back to a noop")
	}
}

func TestNspawnValidate(t *testing.T) {
	systemd, none := kindOn(t, booted), kindOn(t, virtual.Facts{"init": "s6"})
	set := func(text string) Res { return Res{Settings: &text} }
	for _, c := range []struct {
		kind *virtual.Kind
		name string
		res  Res
		want string
	}{
		{systemd, "web", Res{}, ""},
		{systemd, "web-1.example", Res{State: "stopped", Startup: "masked"}, ""},
		{systemd, "a.socket", set("# x\n[Exec]\nParameters=a \\\n  b\n; y\n[X-mine]\nz=1\n"), ""},
		{systemd, "web", Res{State: "absent", Startup: "disabled", Force: true}, ""},
		{none, "web", Res{}, "no backend of svc can be used here"},
		{systemd, "-o", Res{}, "begins or ends with a dash"},
		{systemd, "../x", Res{}, "a dot where a part of the name is missing"},
		{systemd, "a/b", Res{}, `has '/' in it`},
		{systemd, "a\nb", Res{}, `has '\n' in it`},
		{systemd, ".host", Res{}, "a dot where a part"},
		{systemd, "a@b", Res{}, `has '@' in it`},
		{systemd, "a_b", Res{}, `has '_' in it`},
		{systemd, strings.Repeat("a", 65), Res{}, "65 bytes"},
		{systemd, "", Res{}, "the name is empty"},
		{systemd, "web", Res{State: "up"}, `state is "up", it must be running, stopped or absent`},
		{systemd, "web", Res{Startup: "on"}, `startup is "on"`},
		{systemd, "web", Res{State: "running", Startup: "masked"}, "a masked service cannot be started"},
		{systemd, "web", Res{Force: true}, "force is only for state absent"},
		{systemd, "web", Res{State: "absent", Startup: "enabled"}, "startup is enabled, and state is absent"},
		{systemd, "web", Res{State: "absent", Settings: new("")}, "settings are given, and state is absent"},
		{systemd, "web", set("a=b\n"), "settings: line 1: it stands before the first section"},
		{systemd, "web", set("[Exec]\n[File]\n"), "settings: line 2: it is none of the sections [Exec], [Files], [Network]"},
		{systemd, "web", set("[Exec\n"), "settings: line 1: it is none of the sections"},
		{systemd, "web", set("[Exec]\nBoot\n"), "settings: line 2: it is neither a section nor KEY=VALUE"},
		{systemd, "web", set("[Exec]\n=x\n"), "settings: line 2: it is neither"},
		{systemd, "web", set("[Exec]\nA=\x00\n"), "settings: line 2: there is a control character in it"},
	} {
		c.res.kind = c.kind
		c.res.SetKind("nspawn")
		c.res.SetName(c.name)
		err := c.res.Validate()
		if err == nil {
			err = c.res.CheckMachine(c.kind.System())
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %+v: %v", c.name, c.res, err)
		}
	}
}

// What comes before a container, and what after it.
func TestNspawnEdges(t *testing.T) {
	bound := "[Files]\nBind=+/srv/data:/data:rbind\nBindReadOnly = -/srv/www\nInaccessible=/srv/none\nBind=\n"
	box := &Res{Settings: &bound}
	for _, c := range []struct {
		what, before string
		res          engine.Res
		is           *Res
		after        bool // the container comes first
	}{
		{"a folder", "/var/lib/machines/web/", &file.Res{}, box, false},
		{"a folder above", "/var/lib/machines/", &file.Res{}, box, false},
		{"an archive", "/var/lib/machines/web/", &archived.Tar{Extract: "/x.tar"}, box, false},
		{"a raw image", "/var/lib/machines/web.raw", &download.Res{}, box, false},
		{"a mount", "/var/lib/machines", &mountkind.Res{}, box, false},
		{"the folder of settings", "/etc/systemd/nspawn/", &file.Res{}, box, false},
		{"settings", "/etc/systemd/nspawn/web.nspawn", &file.Res{}, &Res{}, false},
		{"what is bound", "/srv/data/", &file.Res{}, box, false},
		{"what is bound to be read", "/srv/www/", &file.Res{}, box, false},
		{"an addition", "/etc/systemd/system/systemd-nspawn@web.service.d/x.conf", &file.Res{}, box, false},
		{"an addition to all", "/etc/systemd/system/systemd-nspawn@.service.d/", &file.Res{}, box, false},
		{"the package", "systemd-container", &pkg.Res{}, box, false},
		{"what takes the image away", "/var/lib/machines/web", &file.Res{State: "absent"}, &Res{State: "absent"}, true},
	} {
		c.is.SetKind("nspawn")
		c.is.SetName("web")
		c.res.SetKind(kindNameOf(c.res))
		c.res.SetName(c.before)
		if first, found := nspawnMeets(t, c.is, c.res); !found || first != c.after {
			t.Errorf("%s: found %t, the container first %t", c.what, found, first)
		}
	}
	asks, err := box.AutoEdges()
	if text := fmt.Sprint(asks.Next()); err != nil || !strings.Contains(text, "pkg with /usr/lib/systemd/system/systemd-nspawn@.service") {
		t.Errorf("%s, %v", text, err)
	}
	other := &file.Res{}
	other.SetKind("file")
	other.SetName("/srv/none/")
	if _, found := nspawnMeets(t, box, other); found {
		t.Error("it wants what it does not bind")
	}
}

func kindNameOf(r engine.Res) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", r), "*resources."), "Res"))
}

// nspawnMeets asks as automatic edges do, in both directions.
func nspawnMeets(t *testing.T, box *Res, other engine.Res) (first, found bool) {
	t.Helper()
	for _, pair := range [][2]engine.Res{{box, other}, {other, box}} {
		asks, err := pair[0].(engine.EdgeableRes).AutoEdges()
		if err != nil {
			t.Fatal(err)
		}
		for asks != nil {
			list := asks.Next()
			hits := make([]bool, len(list))
			for _, ask := range list {
				if slices.ContainsFunc(pair[1].(engine.EdgeableRes).UIDs(), ask.IFF) {
					return (pair[0] == engine.Res(box)) != ask.IsReversed(), true
				}
			}
			if !asks.Test(hits) {
				break
			}
		}
	}
	return false, false
}

func TestNspawnClashes(t *testing.T) {
	box := &Res{State: "running", Startup: "enabled", Settings: new("")}
	box.SetKind("nspawn")
	box.SetName("web")
	for want, other := range map[string]engine.Res{
		"":                      &svc.Res{State: "running"},
		"the other one stopped": &svc.Res{State: "stopped"},
		"the other one masked":  &svc.Res{Startup: "masked"},
		"the nspawn writes one": &file.Res{Content: new("x")},
	} {
		other.SetKind(kindNameOf(other))
		if err := box.Clashes(other); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
	box.SetRecv(map[string]*engine.Send{"state": {}})
	if err := box.Clashes(&svc.Res{State: "stopped"}); err != nil {
		t.Errorf("what is not known yet clashes: %v", err)
	}
	uids := fmt.Sprint(box.UIDs())
	if uids != "[svc[systemd-nspawn@web] file[/etc/systemd/nspawn/web.nspawn]]" {
		t.Error(uids)
	}
}

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: watch.go, watchRest: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	w := newWorld(t)
	w.prepare(t, "box", t.TempDir())
	kindtest.WatchEnds(t, "nspawn", w.res("box", Res{State: "running"}), kindtest.HostOn(t, w.bus))
}
