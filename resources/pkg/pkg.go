package pkg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
	"github.com/reactivegraph/mgmt/traits"
)

// The states of a package; any other word is a version.
const (
	installed   = "installed"
	uninstalled = "uninstalled"
	newest      = "newest"
)

func init() {
	virtualkind.Register("pkg", newPkg)
}

func newPkg(k *virtual.Kind) virtual.Resource { return &Res{Backed: virtualkind.Of(k)} }

var (
	_ virtual.Resource      = (*Res)(nil)
	_ engine.Batcher        = (*Res)(nil)
	_ engine.EdgeableRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Res is a package of the operating system: whether it is installed, and in which
// version. Its name is that of the package. The reactor owns an instance. The engine
// hands packages of one GroupKey that are due together to the CheckApplyBatch of one
// of them. Watch and that share seen, which has a lock.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	traits.Sendable

	State   string `yaml:"state" lang:"state" mgmt:"absent=uninstalled" doc:"The wanted state: installed, in whatever version; uninstalled; newest, the newest version that the repositories have; or a version, as the package manager writes it."`
	Version string `yaml:"version" lang:"version" mgmt:"readonly" doc:"The version that is installed."`

	Purge          bool `yaml:"purge" lang:"purge" mgmt:"param" doc:"With uninstalled: remove its configuration, too. Not every package manager can."`
	Recommends     bool `yaml:"recommends" lang:"recommends" mgmt:"param" doc:"Install recommended packages, too, where the package manager knows such a thing."`
	AllowDowngrade bool `yaml:"allowdowngrade" lang:"allowdowngrade" mgmt:"param" doc:"With a version: allow a version older than the installed one."`
	AllowUntrusted bool `yaml:"allowuntrusted" lang:"allowuntrusted" mgmt:"param" doc:"Allow an unsigned package."`

	AllowNonFree     *bool `yaml:"allownonfree" lang:"allownonfree" mgmt:"param" doc:"Allow a package that the distribution keeps apart because it has no free licence. False refuses to install one; only apt can tell."`
	AllowUnsupported *bool `yaml:"allowunsupported" lang:"allowunsupported" mgmt:"param" doc:"Allow a package that is not the distribution's own, or that it does not look after. False refuses to install one; only apt can tell."`

	virtualkind.Backed
	seen   *seen
	stamps *databaseStamps // nil for those of the machine
}

// Sends is what a package sends when it is as wanted.
type Sends struct {
	Version string `yaml:"version" lang:"version" doc:"The version that is installed; empty if it is not, or another package provides it."`
}

// Sends returns an empty value of the type that is sent.
func (*Res) Sends() any { return &Sends{} }

// Default returns a package that is installed with its recommended packages.
func (r *Res) Default() engine.Res {
	return &Res{State: installed, Recommends: true, Backed: virtualkind.Of(r.VirtualKind())}
}

// Backends returns the names of the package managers that are known.
func (r *Res) Backends() []string { return r.BackendNames("pkg") }

// Backend names the package manager that was asked for. It is empty where the engine
// may choose.
func (r *Res) Backend() string { return engine.MetaOf(r).Backend }

func (r *Res) state() string {
	if r.State == "" {
		return installed
	}
	return r.State
}

// pinned reports whether a version is wanted.
func (r *Res) pinned() bool {
	return !slices.Contains([]string{installed, uninstalled, newest}, r.state())
}

// picky reports whether it matters where the package comes from.
func (r *Res) picky() bool { return forbids(r.AllowNonFree) || forbids(r.AllowUnsupported) }

// forbids reports whether something is said not to be allowed.
func forbids(allow *bool) bool { return allow != nil && !*allow }

// Needs returns the names of the functions that a backend has to have for such a
// package. A state that is received is not known yet, so then only reading is asked
// for.
func (r *Res) Needs() []string {
	need := []string{backends.ListInstalled.Name()}
	if virtualkind.Coming(r, "state") {
		return need
	}
	switch {
	case r.state() == uninstalled && r.Purge:
		return append(need, backends.Purge.Name())
	case r.state() == uninstalled:
		return append(need, backends.Remove.Name())
	case r.state() == newest:
		need = append(need, backends.LatestVersion.Name(), backends.Upgrade.Name(), backends.VersionCmp.Name())
	case r.pinned():
		need = append(need, backends.VersionCmp.Name())
	default:
		need = append(need, backends.Provided.Name())
	}
	if r.picky() {
		need = append(need, backends.Origins.Name())
	}
	return append(need, backends.Install.Name(), backends.RefreshDB.Name())
}

// Validate checks the name and the parameters. It asks no package manager, and
// returns all faults at once. A version is checked for its form alone, since only
// the backend knows its rules.
func (r *Res) Validate() error {
	errs := []error{backends.CheckName(r.Name())}
	if r.pinned() {
		if ours, ok := words[r.State]; ok {
			errs = append(errs, fmt.Errorf("state is %q, which is no version: write %s", r.State, ours))
		} else if backends.CheckVersion(r.State) != nil || !strings.ContainsAny(r.State, "0123456789") {
			errs = append(errs, fmt.Errorf("state is %q, it must be installed, uninstalled, newest or a version", r.State))
		}
	}
	if r.Purge && r.state() != uninstalled {
		errs = append(errs, errors.New("purge makes sense with state uninstalled only"))
	}
	return errors.Join(errs...)
}

// CheckMachine returns an error for each function that the backend of a machine
// lacks, such as a purge by dnf.
func (r *Res) CheckMachine(m engine.Machine) error { return r.Check("pkg", r, m) }

// words are the words that other tools have for the states. Validate names our word
// for them.
var words = map[string]string{"present": installed, "latest": newest, "absent": uninstalled, "removed": uninstalled, "purged": uninstalled}

// Init keeps the handle.
func (r *Res) Init(init *engine.Init) error {
	r.Keep(init)
	r.seen = newPkgSeen()
	return nil
}

// Cmp compares the parameters, and the backends to choose from.
func (r *Res) Cmp(o engine.Res) error { return virtual.Cmp(r, o) }

// CheckApply is a batch of one. So there is one way to check a package.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	out := r.CheckApplyBatch(ctx, apply, []engine.Res{r})[0]
	return out.OK, out.Err
}

// GroupKey is the same for all packages of one package manager. The engine calls
// CheckApplyBatch with members of one key only.
func (r *Res) GroupKey() string { return "pkg:" + r.Backend() }

// Read returns the package as it is: the state that is wanted if it has that, else
// the version that is installed; nil if none is. It alters nothing. A state that is
// true of the package is kept in its words, so that it does not look like a
// difference.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	m, err := r.Open(ctx, "pkg", r.Backend())
	if err != nil {
		return nil, err
	}
	defer m.Close()
	b := newPkgBatch(m, []engine.Res{r})
	is, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	p := b.members[0]
	p.note(is)
	switch err := b.judge(ctx, p, is); {
	case p.step == nothing && err == nil:
		return r.as(r.Name(), r.state(), p.was), nil
	case p.was == "":
		return nil, nil
	}
	return r.as(r.Name(), p.was, p.was), nil
}

// as makes a resource of a package that is installed.
func (r *Res) as(name, state, version string) engine.Res {
	is := &Res{State: state, Version: version, Recommends: true, Backed: virtualkind.Of(r.VirtualKind())}
	is.SetKind(r.Kind())
	is.SetName(name)
	return is
}

// List yields all packages that are installed. They are read by one call, and
// yielded in the order of their names.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		m, err := r.Open(ctx, "pkg", r.Backend())
		if err != nil {
			yield(nil, err)
			return
		}
		defer m.Close()
		all, _, err := backends.ListInstalled.Call(ctx, m, backends.NamesArgs{})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(r.as(name, installed, all[name]), nil) {
				return
			}
		}
	}
}

// Reversed returns the resource that brings back the version before; none if there
// was none. before is the result of Read from before the first change; nil stands
// for no package. An old version may be gone from the repositories by then, which
// makes the undo fail.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	undo := &Res{State: uninstalled, Recommends: r.Recommends, AllowUntrusted: r.AllowUntrusted, Backed: virtualkind.Of(r.VirtualKind())}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	if before == nil {
		return undo, nil
	}
	was, ok := before.(*Res)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case was.state() == uninstalled:
	case r.state() == installed || was.Version == "":
		undo.State = installed // it was, and is left as it is
	default:
		undo.State, undo.AllowDowngrade = was.Version, true
	}
	return undo, nil
}

// Doc describes the kind.
func (r *Res) Doc() string {
	return `Keeps a package of the operating system installed, in whatever version, the newest or a given one, or uninstalled.

The package manager of the machine is found by itself: apt, dnf, zypper, apk or pacman; the metaparameter ` + "`backend`" + `
names another one. A feature that it does not have, such as to purge with dnf, is an error when the graph is loaded.
Never is a question asked: altered configuration files stay as they are, and services are not restarted by needrestart.

All packages that are due at one time are one transaction. If that fails, the remaining packages are tried in smaller ones,
so a package that cannot be installed does not keep others from it. The state of the database afterwards decides.

A transaction that has begun is never cut: not by a new graph without the package, not by a stop, a timeout or ` + "`--max-runtime`" + `.
The log names the command that may finish; a second signal to stop cuts it, and names the cost. A download by apt, and the wait for
a lock, end at once. A package that is right is ` + "`ok`" + ` at once, whatever else the transaction has to bring.

Before anything else mgmt repairs a package database that a transaction has left interrupted. If that fails, one resource fails and says
what to do; the repair is tried again after 15 seconds, later every ten minutes, and when something else is interrupted.

If another program uses the package manager, it is waited for, for two minutes; then the packages that are not as wanted fail, and are
tried again at once when the lock is free. Its unfinished work does not count as drift. The lists of packages are fetched
if a package, a version or a file is not in the repositories as they were known, once for each transaction; for ` + "`newest`" + ` also
once a day, and after a change of something that the package depends on. To look alters nothing and fetches nothing, so a plan tells the newest version as far as it is known,
and of apt also which packages no repository has.

The database of the package manager is watched, so a removed package comes back at once. New versions in
the repositories are seen when something else changes, or with the metaparameter ` + "`poll`" + `.

` + "`installed`" + ` is also true of a virtual package that an installed one provides. Versions are compared by the rules of
the package manager.

A file, a command or a service that needs the files of a package comes after it. That holds also if the package is not installed yet
and the package manager has lists of the files of packages; see [automatic edges](../../transforms.md#what-a-package-will-bring).

` + "`allownonfree: false`" + ` and ` + "`allowunsupported: false`" + ` refuse to install a package without a free licence (of the components non-free, non-free-firmware, restricted and multiverse), or a package that is not the distribution's own (or of Ubuntu's universe and
multiverse). That is about the package itself, not about its dependencies, and about new packages, not about installed ones. Both
are
allowed if nothing is said. Package managers that cannot tell refuse such a resource when the graph is loaded.`
}

var _ virtual.UsingRes = (*Res)(nil)

// Uses says what a package needs. The reference page shows by it which backend can
// do what.
func (r *Res) Uses() (all []virtual.Use) {
	for _, state := range []string{installed, uninstalled, newest, "a version"} {
		all = append(all, virtualkind.Use("state: "+state, &Res{State: state}))
	}
	all = append(all, virtualkind.Use("allownonfree: false, allowunsupported: false", &Res{AllowNonFree: new(bool), AllowUnsupported: new(bool)}))
	return append(all, virtualkind.Use("state: uninstalled, purge: true", &Res{State: uninstalled, Purge: true}))
}
