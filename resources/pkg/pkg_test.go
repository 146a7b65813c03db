package pkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

func TestPkgSuite(t *testing.T) {
	registry, kind := toyPkg(t)
	write := func(name, version string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(version), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	gone := func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, "git")); err != nil {
			t.Error(err)
		}
	}
	setup := func(_ *testing.T, dir string, f *enginetest.Fake) {
		tool := newToyTool(dir)
		tool.lists = tool.repo
		f.Host().SetCommand(tool.command)
	}
	for state, s := range map[string]struct {
		prepare map[string]string
		drifts  map[string]func(*testing.T, string)
	}{
		"installed":   {nil, map[string]func(*testing.T, string){"removed": gone}},
		"newest":      {map[string]string{"git": "1"}, map[string]func(*testing.T, string){"removed": gone, "older": write("git", "1")}},
		"1":           {nil, map[string]func(*testing.T, string){"removed": gone, "older": write("git", "0")}},
		"uninstalled": {map[string]string{"git": "1"}, map[string]func(*testing.T, string){"installed": write("git", "2")}},
	} {
		t.Run(state, func(t *testing.T) {
			suite := enginetest.Suite{
				Kind: "pkg", Registry: registry, Setup: setup, Drifts: s.drifts,
				Prepare: func(t *testing.T, dir string) {
					for name, version := range s.prepare {
						write(name, version)(t, dir)
					}
				},
				New: func(*testing.T, string) engine.Res {
					r := &Res{State: state, Recommends: true, Backed: virtualkind.Of(kind)}
					r.SetName("git")
					return r
				},
				ReadIgnores: []string{"recommends"},
			}
			enginetest.Run(t, suite)
		})
	}
}

func TestPkgValidate(t *testing.T) {
	_, kind := toyPkg(t)
	for _, c := range []struct {
		name string
		res  Res
		err  string
	}{
		{"git", Res{}, ""},
		{"git", Res{State: "1:2.0~rc1-3+b1"}, ""},
		{"-o", Res{}, `"-o" is no name of a package`},
		{"../x", Res{}, `"../x" is no name of a package`},
		{"a\nb", Res{}, `"a\nb" is no name of a package`},
		{"git", Res{State: "-1"}, `state is "-1", it must be installed, uninstalled, newest or a version`},
		{"git", Res{State: "1 --force"}, `state is "1 --force", it must be installed, uninstalled, newest or a version`},
		{"git", Res{State: "instaled"}, `state is "instaled", it must be installed, uninstalled, newest or a version`},
		{"git", Res{State: "yes"}, `state is "yes", it must be installed, uninstalled, newest or a version`},
		{"git", Res{State: "absent"}, `state is "absent", which is no version: write uninstalled`},
		{"git", Res{Purge: true}, "purge makes sense with state uninstalled only"},
		{"git", Res{State: "uninstalled", Purge: true}, "pkg.purge is not supported by the backend toy on this machine, only where os_family is Alpine or Arch or Debian"},
		{"git", Res{AllowNonFree: new(false), AllowUnsupported: new(true)}, ""},
		{"git", by("poor", Res{State: "uninstalled", AllowNonFree: new(false)}), "pkg.remove is not implemented by the backend poor"},
		{"git", by("none", Res{}), "no backend of pkg can be used here: none: there is no such backend, only poor, toy"},
		{"git", by("poor", Res{State: "uninstalled"}), "pkg.remove is not implemented by the backend poor"},
	} {
		c.res.Backed = virtualkind.Of(kind)
		c.res.SetName(c.name)
		err := kindtest.Judged(&c.res)
		if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%q %+v: %v, want %q", c.name, c.res.State, err, c.err)
		}
	}
}

// by is a package that a backend is asked for.
func by(backend string, r Res) Res {
	r.MetaParams().Backend = backend
	return r
}

// Many packages are one transaction, after one look.
func TestPkgBatch(t *testing.T) {
	var words, want, names []string
	for i := range 20 {
		words = append(words, fmt.Sprintf("p%02d", i))
		want = append(want, fmt.Sprintf(`p%02d [state: "uninstalled" -> "installed"] false`, i))
	}
	b := newPkgBench(t, words...)
	for _, w := range words {
		b.tool.repo[w] = []string{"1"}
		names = append(names, w)
	}
	b.want(t, false, want...)
	b.wantCalls(t)
	b.want(t, true, want...)
	all := "install " + strings.Join(names, " ")
	b.wantCalls(t, all, "refresh", all)
	if err := os.Remove(filepath.Join(b.tool.dir, "p07")); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = words[i] + " [] true"
	}
	want[7] = `p07 [state: "uninstalled" -> "installed"] false`
	b.want(t, true, want...)
	b.wantCalls(t, "install p07")
}

// One that no repository has keeps no other from being installed, nor does one that
// fails.
func TestPkgOneFails(t *testing.T) {
	b := newPkgBench(t, "git", "nope", "real", "bad", "old=9", "a", "c")
	b.tool.repo["bad"], b.tool.repo["a"], b.tool.repo["c"] = []string{"1"}, []string{"1"}, []string{"1"}
	b.tool.fail = map[string]string{"bad": "its script ended with 1"}
	b.want(t, true,
		`git [state: "uninstalled" -> "installed"] false`,
		`nope [state: "uninstalled" -> "installed"] false pkg.install: no repository has nope`,
		`real [state: "uninstalled" -> "installed"] false`,
		`bad [state: "uninstalled" -> "installed"] false pkg.install: toy: its script ended with 1`,
		`old [state: "uninstalled" -> "9"] false pkg.install: no repository has old`,
		`a [state: "uninstalled" -> "installed"] false`,
		`c [state: "uninstalled" -> "installed"] false`,
	)
	if n := slices.IndexFunc(b.tool.calls, func(c string) bool { return c == "refresh" }); n != 1 || slices.Contains(b.tool.calls[2:], "refresh") {
		t.Errorf("the lists are fetched once, after the first failure: %q", b.tool.calls)
	}
	b.want(t, true, "git [] true",
		`nope [state: "uninstalled" -> "installed"] false pkg.install: no repository has nope`, "real [] true",
		`bad [state: "uninstalled" -> "installed"] false pkg.install: toy: its script ended with 1`,
		`old [state: "uninstalled" -> "9"] false pkg.install: no repository has old`, "a [] true", "c [] true")
}

// TestFindingQ11Plan: a plan says of a package that no repository has that it can't be installed. Without lists nothing is known.
func TestFindingQ11Plan(t *testing.T) {
	b := newPkgBench(t, "git", "nope", "virtual", "gone=uninstalled")
	change := " [state: \"uninstalled\" -> \"installed\"] false"
	b.want(t, false, "git"+change, "nope"+change, "virtual"+change, "gone [] true")
	b.tool.lists = b.tool.repo
	b.put(t, "real", "1") // which provides the virtual one
	b.want(t, false, "git"+change, "nope [] false "+errNotOffered.Error(), "virtual [] true", "gone [] true")
	for _, r := range b.res { // the look before a run
		r.(*Res).Handle().Noop = false
	}
	if out := b.res[0].(*Res).CheckApplyBatch(t.Context(), false, b.res); out[1].Err != nil || out[1].OK {
		t.Errorf("before a run it is %+v", out[1])
	}
	b.tool.repo["nope"] = []string{"1"} // a run fetches the lists
	b.want(t, true, "git"+change, "nope"+change, "virtual [] true", "gone [] true")
}

// States that exclude each other need transactions of their own; what goes, goes
// first.
func TestPkgStates(t *testing.T) {
	b := newPkgBench(t, "git=newest", "real=uninstalled", "old=1", "x=uninstalled", "y=newest")
	b.tool.lists = b.tool.repo
	b.tool.repo["y"] = []string{"1", "3"}
	b.put(t, "git", "1")
	b.put(t, "real", "1")
	b.put(t, "old", "0")
	b.want(t, true,
		`git [state: "1" -> "2"] false`,
		`real [state: "1" -> "uninstalled"] false`,
		`old [state: "0" -> "1"] false`,
		`x [] true`,
		`y [state: "uninstalled" -> "3"] false`,
	)
	b.wantCalls(t, "remove real", "install git", "install old=1 y")
}

func TestPkgDowngrade(t *testing.T) {
	b := newPkgBench(t, "git=1")
	b.tool.lists = b.tool.repo
	b.put(t, "git", "2")
	b.want(t, true, "git [] false version 2 is installed, which is newer than 1 (allowdowngrade: true allows to go back)")
	b.wantCalls(t)
	b.res[0].(*Res).AllowDowngrade = true
	b.want(t, true, `git [state: "2" -> "1"] false`)
	b.want(t, true, "git [] true")
}

// A virtual package is installed if one is that provides it.
func TestPkgVirtual(t *testing.T) {
	b := newPkgBench(t, "virtual")
	b.put(t, "real", "1")
	b.want(t, true, "virtual [] true")
	b.wantCalls(t)
}

// Without the mirror it is told why, once, and nothing is tried in halves.
func TestPkgOffline(t *testing.T) {
	b := newPkgBench(t, "git", "real")
	b.tool.mirror = errors.New("no route to mirror.example.com")
	got := b.run(t.Context(), true)
	for i, name := range []string{"git", "real"} {
		if !strings.Contains(got[i], "no repository has "+name) && !strings.Contains(got[i], "no repository has git") ||
			!strings.Contains(got[i], "and the network is up): no route to mirror.example.com") {
			t.Errorf("%s", got[i])
		}
	}
	b.wantCalls(t, "install git real", "refresh", "install git real", "install real")
}

// TestFindingQ16OneReason: neither packages nor lists come from a dead mirror, and that is said once. All packages of a transaction have
// the same error, so that they can be named together.
func TestFindingQ16OneReason(t *testing.T) {
	b := newPkgBench(t, "git", "real")
	b.tool.lists, b.tool.mirror, b.tool.silent = b.tool.repo, errors.New("no route to mirror.example.com"), true
	const why = `pkg.install: a repository cannot be reached (see whether its address is right and the network is up): no route to mirror.example.com`
	b.want(t, true, `git [state: "uninstalled" -> "installed"] false `+why, `real [state: "uninstalled" -> "installed"] false `+why)
	b.wantCalls(t, "install git real", "refresh", "install git real")
}

// One that is perhaps in a repository that cannot be reached keeps no other from being installed.
func TestPkgHalfOffline(t *testing.T) {
	b := newPkgBench(t, "git", "nope")
	b.tool.lists, b.tool.mirror = b.tool.repo, errors.New("no route")
	got := b.run(t.Context(), true)
	if got[0] != `git [state: "uninstalled" -> "installed"] false` || !strings.Contains(got[1], "no repository has nope") || !strings.Contains(got[1], "the other half") {
		t.Errorf("%q", got)
	}
	b.wantCalls(t, "install git nope", "refresh", "install git nope", "install git")
}

// A lock is everybody's error at once.
func TestPkgLocked(t *testing.T) {
	b := newPkgBench(t, "git", "real")
	b.tool.lists, b.tool.locked = b.tool.repo, "process 7 (unattended-upgr)"
	const why = `pkg.install: toy is locked by process 7 (unattended-upgr), for longer than 2m0s`
	b.want(t, true, `git [state: "uninstalled" -> "installed"] false `+why, `real [state: "uninstalled" -> "installed"] false `+why)
	b.wantCalls(t, "install git real")
}

// For the newest the lists are fetched by the first apply, and once a day.
func TestPkgNewestFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPkgBench(t, "git=newest", "real=newest")
		b.put(t, "git", "1")
		b.put(t, "real", "1")
		lists := &lists{clock: clock.System{}}
		for _, f := range b.fakes {
			f.Init().Shared = lists
		}
		b.want(t, false, "git [] true", "real [] true")
		b.want(t, true, `git [state: "1" -> "2"] false`, "real [] true")
		b.wantCalls(t, "refresh", "install git")
		b.want(t, true, "git [] true", "real [] true")
		b.wantCalls(t)
		b.tool.repo["git"] = []string{"1", "2", "3"}
		time.Sleep(listsAge)
		b.want(t, true, `git [state: "2" -> "3"] false`, "real [] true")
		b.wantCalls(t, "refresh", "install git")
		b.tool.mirror = errors.New("gone")
		time.Sleep(listsAge)
		b.want(t, true, "git [] true", "real [] true")
		b.wantCalls(t, "refresh")
		if logs := b.fakes[0].Logs(); len(logs) != 1 || !strings.Contains(logs[0], "could not be fetched") {
			t.Errorf("the log is %q", logs)
		}
	})
}

func TestPkgList(t *testing.T) {
	b := newPkgBench(t, "git")
	b.put(t, "git", "1")
	b.put(t, "real", "2")
	var got []string
	for r, err := range b.res[0].(*Res).List(t.Context()) {
		p := r.(*Res)
		got = append(got, fmt.Sprint(p, p.State, p.Version, err))
	}
	if want := []string{"pkg[git]installed1<nil>", "pkg[real]installed2<nil>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPkgReversed(t *testing.T) {
	for _, c := range []struct {
		state, version, was, back string
		down                      bool
	}{
		{"installed", "", "", "uninstalled", false},
		{"installed", "1", "installed", "installed", false},
		{"newest", "1", "1", "1", true},
		{"uninstalled", "1", "1", "1", true},
		{"uninstalled", "", "uninstalled", "uninstalled", false},
	} {
		var before engine.Res
		if c.was != "" {
			before = &Res{State: c.was, Version: c.version}
		}
		got, err := (&Res{State: c.state}).Reversed(before)
		if p := got.(*Res); err != nil || p.State != c.back || p.AllowDowngrade != c.down {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
	}
}

// What may not come from everywhere is refused by where it would come from, also in a plan, and keeps nothing else from
// coming; what is installed already is left, and what no list has is refused when new ones do not have it either.
func TestPkgOrigins(t *testing.T) {
	b := newPkgBench(t, "fw-blob", "xtra", "git", "old-blob", "x-blob=newest", "nope")
	for name := range strings.FieldsSeq("fw-blob xtra old-blob x-blob") {
		b.tool.repo[name] = []string{"1"}
	}
	b.put(t, "old-blob", "0")
	for _, r := range b.res {
		r.(*Res).AllowNonFree = new(false)
	}
	b.res[1].(*Res).AllowUnsupported = new(false)
	nonfree := "it comes from there, where the distribution keeps what has no free licence (allownonfree: true allows that)"
	unsupported := "it comes from there, which the distribution does not look after (allowunsupported: true allows that)"
	const comes = ` [state: "uninstalled" -> "installed"] false`
	unknown := "nope" + comes + " no repository has it, so it can't be said whether it is allowed"
	b.want(t, false, "fw-blob"+comes, "xtra"+comes, "git"+comes, "old-blob [] true", `x-blob [state: "uninstalled" -> "newest"] false`, "nope"+comes)
	b.want(t, true, "fw-blob"+comes+" "+nonfree, "xtra"+comes+" "+unsupported, "git"+comes, "old-blob [] true",
		`x-blob [state: "uninstalled" -> "newest"] false `+nonfree, unknown)
	b.wantCalls(t, "refresh", "install git")
	b.want(t, false, "fw-blob [] false "+nonfree, "xtra [] false "+unsupported, "git [] true", "old-blob [] true", "x-blob [] false "+nonfree, "nope [] false "+errNotOffered.Error())
	b.res[0].(*Res).AllowNonFree = new(true)
	b.want(t, true, "fw-blob"+comes, "xtra [] false "+unsupported, "git [] true", "old-blob [] true", "x-blob [] false "+nonfree, unknown)
}

// Edges: a service after its package; a file below its folder in /etc after it, too.
func TestPkgEdges(t *testing.T) {
	r := &Res{}
	r.SetKind("pkg")
	r.SetName("nginx:amd64")
	has := func(uids []autoedge.UID, u autoedge.UID) bool {
		return slices.ContainsFunc(uids, func(o autoedge.UID) bool { return o.IFF(u) })
	}
	for _, path := range []string{"/usr/sbin/nginx", "/etc/nginx", "/lib/systemd/system/nginx.service"} {
		u := traits.PkgFileUID(autoedge.BaseUID{}, path)
		if !has(r.UIDs(), u) {
			t.Errorf("it does not have %s", path)
		}
	}
	if !has(r.UIDs(), traits.PkgUID(autoedge.BaseUID{}, "nginx")) {
		t.Error("it is not named by its name")
	}
	f := &file.Res{Path: "/etc/nginx/conf.d/a.conf"}
	edges, err := f.AutoEdges()
	if err != nil || !has(edges.Next(), traits.PkgFileUID(autoedge.BaseUID{}, "/etc/nginx")) {
		t.Errorf("a file does not ask for the package of its folder: %v", err)
	}
}

// A package sends its version when it is as wanted, and not before: neither when that is only checked,
// nor when it has failed.
func TestPkgSends(t *testing.T) {
	b := newPkgBench(t, "git", "nope", "virtual", "old=uninstalled")
	b.tool.lists = b.tool.repo
	b.put(t, "real", "1")
	for _, step := range []struct {
		apply bool
		want  []any
	}{
		{false, []any{nil, nil, &Sends{}, &Sends{}}},
		{true, []any{&Sends{"2"}, nil, &Sends{}, &Sends{}}},
		{false, []any{&Sends{"2"}, nil, &Sends{}, &Sends{}}},
	} {
		b.run(t.Context(), step.apply)
		for i, f := range b.fakes {
			if got := f.Sent(); !reflect.DeepEqual(got, step.want[i]) {
				t.Errorf("with apply %t, %s sent %v, want %v", step.apply, b.res[i], got, step.want[i])
			}
		}
	}
}

// TestPkgCancelled: while somebody else runs, it can be cancelled.
func TestPkgCancelled(t *testing.T) {
	b := newPkgBench(t, "git", "real")
	second := b.res[1].(*Res)
	if err := second.seen.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range b.res[0].(*Res).CheckApplyBatch(ctx, true, b.res) {
		if !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%v", o.Err)
		}
	}
	second.seen.Unlock()
	b.tool.lists = b.tool.repo
	b.want(t, true, `git [state: "uninstalled" -> "installed"] false`, `real [state: "uninstalled" -> "installed"] false`)
}

var _ virtual.Watcher = (*toy)(nil)

// What CheckApply has seen is no event; anything else is.
func TestPkgSeen(t *testing.T) {
	s := newPkgSeen()
	if !s.differs("toy") {
		t.Error("nothing was seen yet")
	}
	s.stamp = "of another time"
	if !s.differs("apt") {
		t.Error("the database is another one")
	}
	if now := backends.Stamp("apt"); now != "" { // there is dpkg
		if s.stamp = now; s.differs("apt") {
			t.Error("the database is the same")
		}
	}
}

// of is a package named git of a machine that has apt.
func of(t testing.TB) *Res {
	t.Helper()
	c := virtual.NewCatalog()
	if err := errors.Join(c.Declare(backends.Interface()), c.Add(backends.Apt())); err != nil {
		t.Fatal(err)
	}
	system := func(virtual.Facts) virtual.System {
		return virtual.System{Facts: virtual.Facts{"os_family": "Debian"}, Has: func(string) bool { return true }}
	}
	kind, err := virtual.NewKind(c, "pkg", system)
	if err != nil {
		t.Fatal(err)
	}
	r := &Res{State: installed, Backed: virtualkind.Of(kind)}
	r.SetName("git")
	return r
}

// TestLoadRefusesPackages: what a backend lacks is an error when the graph is loaded: a function that it should have, one that none must have, a parameter.
func TestLoadRefusesPackages(t *testing.T) {
	by := func(r engine.Res, backend string) { r.MetaParams().Backend = backend }
	debian := kindtest.OnMachine(t, virtual.Facts{"os_family": "Debian", "kernel": "Linux", "init": "systemd", "systemd_booted": true})
	runit := kindtest.OnMachine(t, virtual.Facts{"kernel": "Linux", "init": "runit"})
	kindtest.Loaded(t, debian, "pkg", func(r *Res) { r.State = "newest" }, "")
	kindtest.Loaded(t, debian, "pkg", func(r *Res) { r.State, r.Purge = "uninstalled", true }, "")
	kindtest.Loaded(t, debian, "pkg", func(r *Res) { r.State, r.Purge = "uninstalled", true; by(r, "dnf") }, "pkg.purge is not implemented by the backend dnf")
	// What is only looked at, or will be received, needs no more than to look.
	bare := virtual.Native("bare", func(context.Context, virtual.Env) (*toy, error) { return &toy{}, nil }, virtual.Func("list_installed", (*toy).listInstalled))
	bare.Module = "pkg"
	more := virtual.DefaultCatalog().Clone()
	if err := more.Add(bare); err != nil {
		t.Fatal(err)
	}
	toys, err := virtual.Rebind(engine.DefaultRegistry(), more, func(virtual.Facts) virtual.System { return virtual.System{} })
	if err != nil {
		t.Fatal(err)
	}
	kindtest.Loaded(t, toys, "pkg", func(*Res) {}, "pkg.install is not implemented by the backend bare")
	kindtest.Loaded(t, toys, "pkg", func(r *Res) { r.SetRecv(map[string]*engine.Send{"state": {}}) }, "")
	kindtest.Loaded(t, runit, "pkg", func(*Res) {}, "no backend of pkg can be used here: apk: it is for machines where os_family is Alpine (here os_family is not known); apt: ")
}

// TestPackageWatchOnlyWaits: whatever the Watch has to ask, it asks on another stack. Its own would stay as large as that has made
// it.
func TestPackageWatchOnlyWaits(t *testing.T) {
	r := of(t)
	f := kindtest.Begin(t, "pkg", r)
	kindtest.Resynced(t, f, r.Handle(), r)
}

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: internal/virtualkind/watch.go, WatchBy: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "pkg", of(t), nil)
}

// TestPackageGoesAfterItsService: a package that goes waits until the service of its name has stopped.
func TestPackageGoesAfterItsService(t *testing.T) {
	gone := of(t)
	gone.SetName("nginx:amd64")
	gone.State = uninstalled
	e, err := gone.AutoEdges()
	kindtest.Must(t, err)
	want := traits.SvcUID(autoedge.BaseUID{}, "nginx", false)
	for e != nil {
		next := e.Next()
		if slices.ContainsFunc(next, func(u autoedge.UID) bool { return want.IFF(u) && u.IsReversed() }) {
			return
		}
		if len(next) == 0 || !e.Test(make([]bool, len(next))) {
			break
		}
	}
	t.Error("it does not wait")
}
