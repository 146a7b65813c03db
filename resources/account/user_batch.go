package account

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// accountTries is how often a user or group is looked at, and made right, at most,
// while others change the databases. So a program that rewrites a database without
// end makes a failure, and not a loop.
const accountTries = 5

// errGone is about a user who was made and is not there: another program has removed him at once.
var errGone = errors.New("it was made, and is not in the database: is that written by another program, again and again?")

// inAccounts is a user, or a group, in a batch; T is the record of one in the
// databases.
type inAccounts[T any] interface {
	Name() string
	absent() bool
	send(info *T) error
}

// accountBatch checks several users, or groups, of a system by one look. It lives
// for one CheckApplyBatch, and only that goroutine uses it.
type accountBatch[T any] struct {
	root   string
	clock  clock.Clock
	shared engine.Shared // an accountsSeen, or nil
	all    func(context.Context) ([]T, error)
	name   func(*T) string
	check  func(ctx context.Context, one engine.Res, info *T, apply bool) (bool, error) // info is nil for not there

	print backends.Print // of the databases, before they were looked at
	named map[string]*T
}

// look reads the databases, each once at most. The print is taken first: a change
// during the reading then counts as one after it, and costs one more look at most.
func (a *accountBatch[T]) look(ctx context.Context) (err error) {
	a.print = backends.PrintOf(a.root, a.clock.Now())
	shared, _ := a.shared.(*accountsSeen[T])
	a.named, err = shared.look(a.root, a.clock, func() (map[string]*T, error) {
		all, err := a.all(ctx)
		named := make(map[string]*T, len(all))
		for i := range all {
			named[a.name(&all[i])] = &all[i]
		}
		return named, err
	})
	return err
}

// checkApply checks all members with one look, makes each of them right, and has
// those send that are there then. Numbers that the system has chosen are known only
// after a second look, so that is made if anything was altered. A failed second look
// fails the members that have something to send.
func (a *accountBatch[T]) checkApply(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	if err := a.look(ctx); err != nil {
		return virtualkind.FailAll(len(members), err)
	}
	out, altered := make([]engine.Outcome, len(members)), false
	for i, m := range members {
		out[i] = a.settle(ctx, m, apply)
		altered = altered || apply && !out[i].OK
	}
	var err error
	if altered {
		err = a.look(ctx)
	}
	for i, m := range members {
		if out[i].Err != nil || !out[i].OK && !apply || m.(inAccounts[T]).absent() {
			continue
		}
		failed := err
		if failed == nil {
			failed = a.sent(ctx, m, apply)
		}
		if failed != nil {
			out[i] = engine.Outcome{Err: failed}
		}
	}
	return out
}

// settle makes one right. A failure while others changed the databases says nothing
// of their present state: then it is looked again. It returns the last failure after
// accountTries looks.
func (a *accountBatch[T]) settle(ctx context.Context, one engine.Res, apply bool) (o engine.Outcome) {
	for range accountTries {
		o.OK, o.Err = a.check(ctx, one, a.named[one.Name()], apply)
		if o.Err == nil || ctx.Err() != nil || !a.print.Differs(backends.PrintOf(a.root, a.clock.Now())) {
			return o
		}
		if err := a.look(ctx); err != nil {
			return engine.Outcome{Err: err}
		}
	}
	return o
}

// sent has one send its facts. If others have removed it again, it is made again.
func (a *accountBatch[T]) sent(ctx context.Context, one engine.Res, apply bool) error {
	for range accountTries {
		if info := a.named[one.Name()]; info != nil {
			return one.(inAccounts[T]).send(info)
		}
		if o := a.settle(ctx, one, apply); o.Err != nil {
			return o.Err
		}
		if err := a.look(ctx); err != nil {
			return err
		}
	}
	return errGone
}
