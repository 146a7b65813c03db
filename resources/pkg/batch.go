package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// step is what has to be done with a package. The greater ones come first: removals
// make room for the others.
type step int

const (
	nothing step = iota
	install
	upgrade
	remove
	purge
)

// member is one package of a batch. It lives for one batch. The three errors are
// kept apart: err is of the package itself, the other two of its surroundings.
type member struct {
	*Res

	was  string           // the version that is installed; empty for none
	from *backends.Origin // its repository; nil if that is not known
	by   []string         // the installed packages that provide it, if it is not installed itself
	step step
	to   string // the state that it gets, as it is shown

	changed bool // a change was told
	err     error
	held    error // another program uses the package manager
	broken  error // the database could not be repaired
}

// batch is one call of CheckApplyBatch. Only its goroutine uses it. The members
// share one backend, as their GroupKey says.
type batch struct {
	m       *virtual.Module
	members []*member

	plan    bool  // nothing is applied
	fetched bool  // the lists were fetched
	offline error // why they could not be

	holder func(backend string) *pkglock.Holder // holder
}

func newPkgBatch(m *virtual.Module, members []engine.Res) *batch {
	b := &batch{m: m, holder: holder}
	for _, r := range members {
		b.members = append(b.members, &member{Res: r.(*Res)})
	}
	return b
}

// CheckApplyBatch looks at all packages at once, tells the differences, and brings
// about the wanted state in as few transactions as can be. It locks seen of each
// member, so no Watch compares in between. It may block for minutes: for another
// program up to othersWait, and for the transactions, which are not cut. The
// outcomes are in the order of the members.
func (r *Res) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	for i, m := range members {
		seen := m.(*Res).seen
		if err := seen.Lock(ctx); err != nil {
			for _, held := range members[:i] {
				held.(*Res).seen.Unlock()
			}
			return virtualkind.FailAll(len(members), err)
		}
	}
	defer func() {
		for _, m := range members {
			m.(*Res).seen.Unlock()
		}
	}()
	m, err := r.Open(ctx, "pkg", r.Backend())
	if err != nil {
		return virtualkind.FailAll(len(members), err)
	}
	defer m.Close()
	b := newPkgBatch(m, members)
	if err := b.checkApply(ctx, apply); err != nil {
		return virtualkind.FailAll(len(members), err)
	}
	return b.outcomes()
}

// outcomes returns the results. A package is right only if no change was told, in
// this call or by a repair.
func (b *batch) outcomes() []engine.Outcome {
	out := make([]engine.Outcome, len(b.members))
	for i, p := range b.members {
		err := errors.Join(p.err, p.broken)
		out[i] = engine.Outcome{OK: !p.changed && err == nil, Err: err}
	}
	return out
}

// checkApply is the whole course: fresh lists, a look, a wait for others, a repair,
// the report, the transactions, a second look. A returned error is of all members;
// others are left in them.
func (b *batch) checkApply(ctx context.Context, apply bool) error {
	if apply || !b.members[0].Handle().Noop {
		b.renew(ctx)
	}
	b.plan = !apply && b.members[0].Handle().Noop // else it is the look before a run, which fetches the lists where it has to
	if err := b.see(ctx); err != nil {
		return err
	}
	if apply {
		if err := b.yield(ctx); err != nil {
			return err
		}
	}
	if err := b.restore(ctx, apply); err != nil {
		return err
	}
	for _, p := range b.members {
		p.tell()
	}
	switch {
	case apply && slices.ContainsFunc(b.members, (*member).todo):
		b.apply(ctx)
	case apply:
		for _, p := range b.members {
			p.err = errors.Join(p.err, p.held)
		}
	}
	for _, p := range b.members {
		if p.step == nothing && p.err == nil {
			p.err = p.Handle().Send(&Sends{p.was})
		}
	}
	return nil
}

// todo reports whether something has to be done and can be.
func (p *member) todo() bool { return p.step != nothing && p.err == nil && p.held == nil }

// renew fetches the lists if they are too old to know the newest versions. A failed
// fetch is not a failure: the old lists have to do. Only packages that want the
// newest version ask for it, once per day. A dry run by noop fetches nothing.
func (b *batch) renew(ctx context.Context) {
	for _, p := range b.members {
		lists, ok := p.Handle().Shared.(*lists)
		if p.state() == newest && ok && lists.due(b.m.Backend.Name) {
			b.fetch(ctx)
			if b.offline != nil {
				p.Handle().Log.Warn("the lists of packages could not be fetched; what is the newest is told by those that are there", "event", "stale_lists", "error", b.offline)
			}
			return
		}
	}
}

// fetch fetches the lists, once for a batch. It needs the network, and its failure
// is kept in offline for the errors that follow from it.
func (b *batch) fetch(ctx context.Context) {
	if !b.fetched {
		b.fetched = true
		_, _, b.offline = backends.RefreshDB.Call(ctx, b.m, virtual.Nothing{})
	}
}

// see is a look that Watch has to know of. The stamp is taken first: a change during
// the look counts as unseen.
func (b *batch) see(ctx context.Context) error {
	stamp := backends.Stamp(b.m.Backend.Name)
	if err := b.look(ctx); err != nil {
		return err
	}
	for _, p := range b.members {
		p.seen.stamp = stamp
	}
	return nil
}

// look finds out the installed packages, and the steps to take. It alters nothing. A
// package that cannot be judged has an error and no step, and the others go on.
func (b *batch) look(ctx context.Context) error {
	is, err := b.read(ctx)
	if err != nil {
		return err
	}
	for _, p := range b.members {
		p.note(is)
		p.err = b.m.Needs(p.Needs()...) // what it can't do since the facts have changed
		if p.err == nil {
			p.err = b.judge(ctx, p, is)
		}
		if p.err != nil {
			p.step = nothing
		}
	}
	return b.vet(ctx)
}

// vet asks for the origins of the packages to install, where it matters, and refuses
// packages that are not allowed. It asks once for all, and only about packages that
// restrict their origin. An error means that nothing could be told, and leaves from
// nil.
func (b *batch) vet(ctx context.Context) error {
	ask := map[string]string{}
	for _, p := range b.members {
		if p.doubtful() {
			ask[p.Name()] = p.version()
		}
	}
	if len(ask) == 0 {
		return nil
	}
	all, _, err := backends.Origins.Call(ctx, b.m, backends.OriginsArgs{Pkgs: ask})
	for _, p := range b.members {
		if from, ok := all[p.Name()]; ok && p.doubtful() {
			if p.from, p.err = &from, p.refuse(from); p.err != nil {
				p.step = nothing
			}
		}
	}
	return err
}

// doubtful reports whether the package is to be installed, restricts its origin, and
// the origin is not known yet.
func (p *member) doubtful() bool {
	return p.picky() && p.todo() && p.from == nil && (p.step == install || p.step == upgrade)
}

// version is the wanted version; empty for the repository's choice.
func (p *member) version() string {
	if p.pinned() {
		return p.State
	}
	return ""
}

// refuse returns an error if the package restricts its origin and this one is not
// allowed. The error names the parameter that would allow it.
func (p *member) refuse(from backends.Origin) error {
	switch {
	case forbids(p.AllowNonFree) && !from.Free:
		return fmt.Errorf("it comes from %s, where the distribution keeps what has no free licence (allownonfree: true allows that)", from.Repo)
	case forbids(p.AllowUnsupported) && !from.Supported:
		return fmt.Errorf("it comes from %s, which the distribution does not look after (allowunsupported: true allows that)", from.Repo)
	}
	return nil
}

// vetAll vets once more with new lists, and refuses packages that no list has: their origin is
// unknown.
func (b *batch) vetAll(ctx context.Context) {
	if !slices.ContainsFunc(b.members, (*member).doubtful) {
		return
	}
	b.fetch(ctx)
	err := b.vet(ctx)
	for _, p := range b.members {
		if p.doubtful() {
			p.err = errors.Join(errors.New("no repository has it, so it can't be said whether it is allowed"), err, b.offline)
		}
	}
}

// note takes the facts of the package; no step is due so far.
func (p *member) note(is facts) {
	p.was, p.by = is.installed[p.Name()], is.provided[p.Name()]
	p.step, p.to, p.err, p.from = nothing, p.state(), nil, nil
}

// facts are the answers of the package manager about a batch, by the names of
// packages. A package without an entry does not have that property.
type facts struct {
	installed map[string]string
	provided  map[string][]string // the installed packages that provide a missing one
	newest    map[string]string   // the versions of packages that should be the newest
	left      map[string]string   // removed packages with configuration left, which should go
	missing   map[string]bool     // not in the lists of the repositories; of a plan alone, since a transaction tells
}

// names returns the names of the members for which a function is true.
func (b *batch) names(which func(*member) bool) (names []string) {
	for _, p := range b.members {
		if which(p) {
			names = append(names, p.Name())
		}
	}
	return names
}

// read asks the package manager, once for all members. A question is asked only if a
// member depends on its answer, since each one costs a program.
func (b *batch) read(ctx context.Context) (is facts, err error) {
	all := backends.NamesArgs{Names: b.names(func(*member) bool { return true })}
	if is.installed, _, err = backends.ListInstalled.Call(ctx, b.m, all); err != nil {
		return is, err
	}
	virtually := b.names(func(p *member) bool { return p.state() == installed && is.installed[p.Name()] == "" })
	if len(virtually) > 0 && b.m.Needs(backends.Provided.Name()) == nil {
		if is.provided, _, err = backends.Provided.Call(ctx, b.m, backends.NamesArgs{Names: virtually}); err != nil {
			return is, err
		}
	}
	newest := b.names(func(p *member) bool { return p.state() == newest })
	if len(newest) > 0 {
		if is.newest, _, err = backends.LatestVersion.Call(ctx, b.m, backends.NamesArgs{Names: newest}); err != nil {
			return is, err
		}
	}
	if err := b.readOffers(ctx, &is); err != nil {
		return is, err
	}
	purged := b.names(func(p *member) bool { return p.Purge && is.installed[p.Name()] == "" })
	if len(purged) > 0 && b.m.Needs(backends.ListRemoved.Name()) == nil {
		is.left, _, err = backends.ListRemoved.Call(ctx, b.m, backends.NamesArgs{Names: purged})
	}
	return is, err
}

// readOffers finds out, for a plan, which of the packages to install no repository has.
func (b *batch) readOffers(ctx context.Context, is *facts) error {
	wanted := b.names(func(p *member) bool {
		return p.state() != uninstalled && is.installed[p.Name()] == "" && len(is.provided[p.Name()]) == 0
	})
	if !b.plan || len(wanted) == 0 || b.m.Needs(backends.Offered.Name()) != nil {
		return nil
	}
	offered, _, err := backends.Offered.Call(ctx, b.m, backends.ContentsArgs{Names: wanted})
	is.missing = make(map[string]bool, len(wanted))
	for _, name := range wanted {
		is.missing[name] = !slices.Contains(offered, name)
	}
	return err
}

// errNotOffered is why a plan takes an installation for one that will fail.
var errNotOffered = errors.New("no repository has it, as far as the lists of packages on this machine tell; a run fetches them once more")

// judge finds the step for a package from the facts. The order of the cases matters:
// a package that is provided by another one counts as installed, unless a version is
// wanted.
func (b *batch) judge(ctx context.Context, p *member, is facts) error {
	switch name := p.Name(); {
	case p.state() == uninstalled && p.was == "" && is.left[name] == "":
	case p.state() == uninstalled && p.Purge:
		p.step = purge
	case p.state() == uninstalled:
		p.step = remove
	case is.missing[name]:
		return errNotOffered
	case p.was == "" && len(p.by) == 0:
		p.step = install
		if v := is.newest[name]; v != "" {
			p.to = v
		}
	case p.state() == newest && is.newest[name] != "":
		p.to = is.newest[name]
		order, err := b.compare(ctx, p.was, p.to)
		if order < 0 {
			p.step = upgrade
		}
		return err
	case p.pinned():
		return b.judgeVersion(ctx, p)
	}
	return nil
}

// judgeVersion finds the step for a package with a wanted version. A newer one is
// kept, and is an error, unless a downgrade is allowed.
func (b *batch) judgeVersion(ctx context.Context, p *member) error {
	order, err := b.compare(ctx, p.was, p.State)
	switch {
	case err != nil:
		return err
	case order > 0 && !p.AllowDowngrade:
		return fmt.Errorf("version %s is installed, which is newer than %s (allowdowngrade: true allows to go back)", p.was, p.State)
	case order != 0:
		p.step = install
	}
	return nil
}

// compare orders two versions by the rules of the package manager: below 0 if x is
// older. Equal texts need no program.
func (b *batch) compare(ctx context.Context, x, y string) (int, error) {
	if x == y {
		return 0, nil
	}
	order, _, err := backends.VersionCmp.Call(ctx, b.m, backends.CompareArgs{A: x, B: y})
	return order, err
}

// tell reports the difference of a package, if there is one. Left configuration that has to go is a change of its
// own, since the package is gone already.
func (p *member) tell() {
	if p.step == nothing {
		return
	}
	p.changed = true
	if p.step == purge && p.was == "" {
		p.Handle().Change(engine.Change{Field: "purge", From: false, To: true})
		return
	}
	from := p.was
	if from == "" {
		from = uninstalled
	}
	p.Handle().Change(engine.Change{Field: "state", From: from, To: p.to})
}

// apply takes the steps, and looks again: only the state after them counts. Errors
// of calls are kept only for members that are not as wanted after the second look.
// That look goes on for a while after the end of ctx, so that the outcome is known.
func (b *batch) apply(ctx context.Context) {
	b.vetAll(ctx)
	for _, t := range b.transactions() {
		t.run(ctx, t.members)
	}
	failed := make([]error, len(b.members))
	for i, p := range b.members {
		failed[i] = errors.Join(p.err, p.held)
	}
	after, cancel := backends.Afterwards(ctx, engine.ClockOf(b.members[0].Host()))
	defer cancel()
	err := b.see(after)
	for i, p := range b.members {
		switch {
		case err != nil:
			p.err = errors.Join(failed[i], err)
		case p.step == nothing && p.err == nil:
		case failed[i] != nil:
			p.err = failed[i]
		case p.err == nil:
			p.err = fmt.Errorf("%s has ended without an error, but the package is not %s now", b.m.Backend.Name, p.to)
		}
	}
}
