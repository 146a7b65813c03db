package resources

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// pkgTransaction is packages with which the same is to be done in the same way.
type pkgTransaction struct {
	*pkgBatch
	how     pkgHow
	members []*pkgMember
}

// pkgHow is what packages of one transaction have in common.
type pkgHow struct {
	step                             pkgStep
	recommends, downgrade, untrusted bool
}

func (p *pkgMember) how() pkgHow {
	how := pkgHow{step: p.step}
	if p.step == pkgInstall {
		how.recommends, how.downgrade, how.untrusted = p.Recommends, p.AllowDowngrade, p.AllowUntrusted
	}
	return how
}

// transactions returns the transactions to make: first the removals, which may stand in the way of
// the others.
func (b *pkgBatch) transactions() []*pkgTransaction {
	var all []*pkgTransaction
	for _, p := range b.members {
		if !p.todo() {
			continue
		}
		at := slices.IndexFunc(all, func(t *pkgTransaction) bool { return t.how == p.how() })
		if at < 0 {
			at = len(all)
			all = append(all, &pkgTransaction{pkgBatch: b, how: p.how()})
		}
		all[at].members = append(all[at].members, p)
	}
	slices.SortStableFunc(all, func(x, y *pkgTransaction) int { return int(y.how.step) - int(x.how.step) })
	return all
}

// call makes the one call of the package manager.
func (t *pkgTransaction) call(ctx context.Context, members []*pkgMember) (err error) {
	var names []string
	want := map[string]string{}
	for _, p := range members {
		names = append(names, p.Name())
		want[p.Name()] = p.version()
	}
	var changes map[string]backends.Change
	switch t.how.step {
	case pkgPurge:
		changes, _, err = backends.Purge.Call(ctx, t.m, backends.RemoveArgs{Names: names})
	case pkgRemove:
		changes, _, err = backends.Remove.Call(ctx, t.m, backends.RemoveArgs{Names: names})
	case pkgUpgrade:
		changes, _, err = backends.Upgrade.Call(ctx, t.m, backends.UpgradeArgs{Names: names})
	default:
		changes, _, err = backends.Install.Call(ctx, t.m, backends.InstallArgs{
			Pkgs: want, Recommends: t.how.recommends, Downgrade: t.how.downgrade, Untrusted: t.how.untrusted,
		})
	}
	if err == nil && members[0].Handle().Log != nil {
		members[0].Handle().Log.Info("packages were changed in one transaction", "event", "transaction", "packages", len(members), "changes", len(changes))
	}
	return err
}

// run makes the call. If it fails for want of new lists, these are fetched, and it is made again.
// If it still fails, the packages that it has not brought are tried without the ones that no
// repository has, and else in halves. Errors are left with the members.
func (t *pkgTransaction) run(ctx context.Context, members []*pkgMember) {
	err := t.call(ctx, members)
	unknown, unreachable := pkgMissing(err)
	if (unknown != nil || unreachable) && !t.fetched {
		t.fetch(ctx)
		err = t.call(ctx, members)
		unknown, unreachable = pkgMissing(err)
	}
	if err == nil {
		return
	}
	if unknown != nil || unreachable {
		err = errors.Join(err, t.offline)
	}
	_, locked := errors.AsType[*backends.LockedError](err)
	if len(members) == 1 || locked || unreachable && unknown == nil && t.offline != nil || ctx.Err() != nil {
		pkgFail(members, err)
		return
	}
	known := slices.DeleteFunc(slices.Clone(members), func(p *pkgMember) bool { return pkgNamed(unknown, p.Name()) })
	if len(known) < len(members) {
		pkgFail(slices.DeleteFunc(slices.Clone(members), func(p *pkgMember) bool { return slices.Contains(known, p) }), err)
		if len(known) > 0 {
			t.run(ctx, known)
		}
		return
	}
	t.halves(ctx, members, err)
}

// halves tries the remaining packages in two smaller transactions.
func (t *pkgTransaction) halves(ctx context.Context, members []*pkgMember, err error) {
	pending, lookErr := t.pending(ctx, members)
	if lookErr != nil {
		pkgFail(members, errors.Join(err, lookErr))
		return
	}
	if len(pending) < 2 {
		pkgFail(pending, err)
		return
	}
	half := len(pending) / 2
	t.run(ctx, pending[:half])
	t.run(ctx, pending[half:])
}

// pending looks again and returns the packages that still have to be brought.
func (t *pkgTransaction) pending(ctx context.Context, members []*pkgMember) ([]*pkgMember, error) {
	again := &pkgBatch{m: t.m, holder: t.holder}
	for _, p := range members {
		again.members = append(again.members, &pkgMember{PkgRes: p.PkgRes})
	}
	if err := again.look(ctx); err != nil {
		return nil, err
	}
	var pending []*pkgMember
	for i, p := range again.members {
		if p.step != pkgNothing || p.err != nil {
			pending = append(pending, members[i])
		}
	}
	return pending, nil
}

func pkgFail(members []*pkgMember, err error) {
	for _, p := range members {
		p.err = err
	}
}

// pkgMissing takes an error apart: the names that no repository has, and whether a
// repository was not reached.
func pkgMissing(err error) (unknown []string, unreachable bool) {
	if e, ok := errors.AsType[*backends.UnknownError](err); ok {
		unknown = e.Names
	}
	_, unreachable = errors.AsType[*backends.UnreachableError](err)
	return unknown, unreachable
}

// pkgNamed reports whether a package is among the named ones, perhaps without the architecture.
func pkgNamed(names []string, name string) bool {
	plain, _, _ := strings.Cut(name, ":")
	return slices.Contains(names, name) || slices.Contains(names, plain)
}
