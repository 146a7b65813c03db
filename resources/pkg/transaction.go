package pkg

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// transaction is packages with which the same is to be done in the same way. It is
// one call of the package manager, until that fails.
type transaction struct {
	*batch
	how     how
	members []*member
}

// how is what packages of one transaction have in common. Two members with equal
// values can share a call.
type how struct {
	step                             step
	recommends, downgrade, untrusted bool
}

func (p *member) how() how {
	how := how{step: p.step}
	if p.step == install {
		how.recommends, how.downgrade, how.untrusted = p.Recommends, p.AllowDowngrade, p.AllowUntrusted
	}
	return how
}

// transactions returns the transactions to make: first the removals, which may stand
// in the way of the others. Packages without a step, or with an error, are in none.
// The order of the members stays within a transaction.
func (b *batch) transactions() []*transaction {
	var all []*transaction
	for _, p := range b.members {
		if !p.todo() {
			continue
		}
		at := slices.IndexFunc(all, func(t *transaction) bool { return t.how == p.how() })
		if at < 0 {
			at = len(all)
			all = append(all, &transaction{batch: b, how: p.how()})
		}
		all[at].members = append(all[at].members, p)
	}
	slices.SortStableFunc(all, func(x, y *transaction) int { return int(y.how.step) - int(x.how.step) })
	return all
}

// call makes the one call of the package manager. An error says nothing about single
// packages: the database may have some of them by then.
func (t *transaction) call(ctx context.Context, members []*member) (err error) {
	var names []string
	want := map[string]string{}
	for _, p := range members {
		names = append(names, p.Name())
		want[p.Name()] = p.version()
	}
	var changes map[string]backends.Change
	switch t.how.step {
	case purge:
		changes, _, err = backends.Purge.Call(ctx, t.m, backends.RemoveArgs{Names: names})
	case remove:
		changes, _, err = backends.Remove.Call(ctx, t.m, backends.RemoveArgs{Names: names})
	case upgrade:
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

// run makes the call. If it fails for want of new lists, these are fetched, and it
// is made again. If it still fails, the packages that it has not brought are tried
// without the ones that no repository has, and else in halves. Errors are left with
// the members. A lock that is held, and the end of ctx, stop the search: smaller
// transactions would fail in the same way. With n packages, of them one broken, it takes about 2 log n calls.
func (t *transaction) run(ctx context.Context, members []*member) {
	err := t.call(ctx, members)
	unknown, unreachable := missing(err)
	if (unknown != nil || unreachable) && !t.fetched {
		t.fetch(ctx)
		err = t.call(ctx, members)
		unknown, unreachable = missing(err)
	}
	if err == nil {
		return
	}
	if unknown != nil && !unreachable { // else the error itself says what cannot be reached
		err = errors.Join(err, t.offline)
	}
	_, locked := errors.AsType[*backends.LockedError](err)
	if len(members) == 1 || locked || unreachable && unknown == nil && t.offline != nil || ctx.Err() != nil {
		fail(members, err)
		return
	}
	known := slices.DeleteFunc(slices.Clone(members), func(p *member) bool { return named(unknown, p.Name()) })
	if len(known) < len(members) {
		fail(slices.DeleteFunc(slices.Clone(members), func(p *member) bool { return slices.Contains(known, p) }), err)
		if len(known) > 0 {
			t.run(ctx, known)
		}
		return
	}
	t.halves(ctx, members, err)
}

// halves tries the remaining packages in two smaller transactions. Packages that the
// failed call has brought all the same are left out. A single one that remains keeps
// the error.
func (t *transaction) halves(ctx context.Context, members []*member, err error) {
	pending, lookErr := t.pending(ctx, members)
	if lookErr != nil {
		fail(members, errors.Join(err, lookErr))
		return
	}
	if len(pending) < 2 {
		fail(pending, err)
		return
	}
	half := len(pending) / 2
	t.run(ctx, pending[:half])
	t.run(ctx, pending[half:])
}

// pending looks again and returns the packages that still have to be brought. It
// uses a batch of its own, so the steps and errors of the members stay.
func (t *transaction) pending(ctx context.Context, members []*member) ([]*member, error) {
	again := &batch{m: t.m, holder: t.holder}
	for _, p := range members {
		again.members = append(again.members, &member{Res: p.Res})
	}
	if err := again.look(ctx); err != nil {
		return nil, err
	}
	var pending []*member
	for i, p := range again.members {
		if p.step != nothing || p.err != nil {
			pending = append(pending, members[i])
		}
	}
	return pending, nil
}

// fail leaves an error with packages, in the place of an older one.
func fail(members []*member, err error) {
	for _, p := range members {
		p.err = err
	}
}

// missing takes an error apart: the names that no repository has, and whether a
// repository was not reached.
func missing(err error) (unknown []string, unreachable bool) {
	if e, ok := errors.AsType[*backends.UnknownError](err); ok {
		unknown = e.Names
	}
	_, unreachable = errors.AsType[*backends.UnreachableError](err)
	return unknown, unreachable
}

// named reports whether a package is among the named ones, perhaps without the
// architecture. Package managers leave the architecture out of some messages.
func named(names []string, name string) bool {
	plain, _, _ := strings.Cut(name, ":")
	return slices.Contains(names, name) || slices.Contains(names, plain)
}
