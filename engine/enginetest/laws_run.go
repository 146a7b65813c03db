package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lawInit: Init and Cleanup alter nothing in the world. Init also runs under noop, and
// at a swap it may run while the old vertex still works.
func lawInit(e *env) error {
	dir, err := e.dir()
	if err != nil {
		return err
	}
	before := e.Snapshot(e.scope, dir)
	r, err := e.rigAt(dir, e.machine())
	if err != nil {
		return err
	}
	if err := before.same(e.Snapshot(e.scope, dir)); err != nil {
		return fmt.Errorf("by Init: %w", err)
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := before.same(e.Snapshot(e.scope, dir)); err != nil {
		return fmt.Errorf("by Cleanup: %w", err)
	}
	return nil
}

// lawNoop: CheckApply(false) alters nothing, says the same each time, and reports the
// changes that CheckApply(true) then makes. This is what makes a plan true: the
// announced changes are the ones that an apply makes.
func lawNoop(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	if err := r.plan("at the start"); err != nil {
		return err
	}
	if err := e.never(); err != nil {
		return err
	}
	return e.eachDrift(func(r *rig, name string) error {
		r.Drifts[name](r.t, r.dir)
		return r.plan("after it")
	})
}

// never looks with a resource that is told by its Init that nothing is ever applied.
// Such a resource may leave out all that only an apply needs, but must still answer.
func (e *env) never() error {
	told := *e
	told.noop = true
	r, err := told.rig()
	if err != nil {
		return err
	}
	_, err = r.look("with Init.Noop")
	return errors.Join(err, r.close())
}

// look checks twice in a world that is not right, and returns the announced
// changes.
func (r *rig) look(when string) ([]engine.Change, error) {
	before := r.tree()
	ok, noop, err := r.run(false)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", when, err)
	case ok && !r.NoState:
		return nil, fmt.Errorf("%s: CheckApply(false) returned true, but the world is not as wanted", when)
	}
	if err := before.same(r.tree()); err != nil {
		return nil, fmt.Errorf("%s: CheckApply(false): %w", when, err)
	}
	// A first look that left something behind, such as a cache, would answer otherwise
	// now.
	_, again, err := r.run(false)
	if err != nil {
		return nil, fmt.Errorf("%s, a second time: %w", when, err)
	}
	if err := sameChanges(noop, again); err != nil {
		return nil, fmt.Errorf("%s: a second CheckApply(false) reports something else: %w", when, err)
	}
	return noop, nil
}

// plan looks in a world that is not right, and applies.
func (r *rig) plan(when string) error {
	noop, err := r.look(when)
	if err != nil {
		return err
	}
	_, applied, err := r.run(true)
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	return sameChanges(noop, applied)
}

// lawApply: CheckApply(true) makes the world right in one call. The next one
// finds it right, and then touches nothing.
func lawApply(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	if r.NoState {
		return errors.Join(r.apply(), r.apply())
	}
	if err := r.want(true, false, "at the start"); err != nil {
		return err
	}
	// Times of files are in the tree, so a file that is written anew with the same
	// content is found.
	before := r.tree()
	for _, apply := range []bool{true, false, true} {
		if err := r.want(apply, true, "after an apply"); err != nil {
			return err
		}
		if err := before.same(r.tree()); err != nil {
			return fmt.Errorf("CheckApply(%t) where all was right: %w", apply, err)
		}
	}
	return nil
}

// lawAnnounce: every change is given to Change once, before anything is altered. Its
// path is one of the kind, or of a child that the resource holds. So the log names a
// change even where the apply then hangs.
func lawAnnounce(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	if err := r.announced(); err != nil {
		return err
	}
	return e.eachDrift(func(r *rig, name string) error {
		r.Drifts[name](r.t, r.dir)
		return r.announced()
	})
}

// announced runs the resource and holds that each change was told before the machine
// was altered. The hook compares the whole tree at each call. Only the first late
// change is kept for the error.
func (r *rig) announced() error {
	before := r.tree()
	var late error
	r.fake.OnChange(func(c engine.Change) {
		if err := before.same(r.tree()); err != nil && late == nil {
			late = fmt.Errorf("Change(%s) was called after something was altered: %w", c, err)
		}
	})
	_, changes, err := r.run(true)
	r.fake.OnChange(nil)
	if err := errors.Join(err, late); err != nil {
		return err
	}
	return goodChanges(r.Registry, r.res, changes)
}

// ofChild reports whether a change is that of a child, whose id stands before the
// field; see engine.Init.Child.
func ofChild(reg *engine.Registry, field string) bool {
	kind, rest, ok := strings.Cut(field, "[")
	return ok && reg.Has(kind) && strings.Contains(rest, "]")
}

// goodChanges holds that each change names a parameter, with values of its type. A
// change without a field is about the resource as a whole. Two reports of one change
// would count twice in the totals.
func goodChanges(reg *engine.Registry, res engine.Res, changes []engine.Change) error {
	t, err := schema.Of(res)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Field != "" && !ofChild(reg, c.Field) {
			if _, _, err := t.At(c.Field); err != nil {
				return fmt.Errorf("Change(%s): the Field of a Change is the path of a parameter, or empty for the thing as a whole: %w", c, err)
			}
		}
		if c.Verb == engine.Updated && sameValue(c.From, c.To) {
			return fmt.Errorf("Change(%s) changes nothing", c)
		}
		for _, o := range changes[:i] {
			if o.Field == c.Field && o.Verb == c.Verb && sameValue(o.From, c.From) && sameValue(o.To, c.To) {
				return fmt.Errorf("Change(%s) was reported twice", c)
			}
		}
	}
	return nil
}

// lawRead: Read alters nothing; after an apply it shows what was wanted. Parameters
// that steer or are only written cannot be read back, and those of ReadIgnores have a
// reason. A zero value counts as not wanted.
func lawRead(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	_, ok := engine.As[engine.Readable](r.res)
	if !ok {
		return nil
	}
	if _, err := r.read(); err != nil {
		return fmt.Errorf("before an apply: %w", err)
	}
	if err := r.apply(); err != nil {
		return err
	}
	got, err := r.read()
	switch {
	case err != nil:
		return fmt.Errorf("after an apply: %w", err)
	case got == nil:
		return errors.New("after an apply Read finds nothing")
	case got.Kind() != r.res.Kind() || got.Name() != r.res.Name():
		return fmt.Errorf("what Read of %s returned is %s", r.res, got)
	}
	_, v, err := fields(r.res)
	if err != nil {
		return err
	}
	err = sameFields(r.res, got, func(f *schema.Field) bool {
		return readableRole(f.Role) && !v.FieldByIndex(f.Index).IsZero() && !slices.Contains(r.ReadIgnores, f.Key)
	})
	if err != nil {
		return fmt.Errorf("after an apply Read shows something else: %w", err)
	}
	return nil
}

// readableRole leaves out parameters that steer, that count at the creation only, or
// that are only written: they cannot be read back.
func readableRole(r schema.Role) bool {
	return r == schema.RoleState || r == schema.RoleIdentity || r == schema.RoleReadOnly
}

// read calls Read between Begin and End of the thing that the resource shares, as the
// engine does it. It fails if Read has altered the tree.
func (r *rig) read() (got engine.Res, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	before := r.tree()
	answer := make(chan engine.Res, 1)
	err = r.within("Read", func() error {
		return r.shared(ctx, func() error {
			res, err := lifecycle.Read(ctx, r.res)
			answer <- res
			return traced(err)
		})
	})
	if err != nil {
		return nil, err
	}
	return <-answer, before.same(r.tree())
}

// lawRepair: CheckApply repairs every drift in one call, Watch never called: so it goes
// under poll. That is law 1 of the engine: every resource converges under poll.
func lawRepair(e *env) error {
	return e.eachDrift(func(r *rig, name string) error {
		r.Drifts[name](r.t, r.dir)
		if err := r.want(true, false, "after it"); err != nil {
			return err
		}
		return r.settled("after the repair")
	})
}

// lawRefresh: a notification is acted on by apply only, reported as a change, and then
// over. The two runs must report the same changes, so a plan tells of a refresh too.
func lawRefresh(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	if _, ok := engine.As[engine.RefreshableRes](r.res); !ok {
		return nil
	}
	if err := r.apply(); err != nil {
		return err
	}
	before := r.tree()
	r.refresh(true)
	_, noop, err := r.run(false)
	if err != nil {
		return fmt.Errorf("with a notification: %w", err)
	}
	if err := before.same(r.tree()); err != nil {
		return fmt.Errorf("with a notification: CheckApply(false): %w", err)
	}
	_, applied, err := r.run(true)
	if err != nil {
		return fmt.Errorf("with a notification: %w", err)
	}
	if err := sameChanges(noop, applied); err != nil {
		return fmt.Errorf("with a notification: %w", err)
	}
	r.refresh(false)
	return r.settled("after a refresh")
}

// refresh sets a pending notification, for both ways to ask: that of Init and that of
// the trait.
func (r *rig) refresh(b bool) {
	r.fake.SetRefresh(b)
	r.res.(engine.RefreshableRes).SetRefresh(b)
}

// lawSend: a sent value has the stated type, and is sent each time, also where all was
// right. A receiver may start after its sender was found right, so a kind cannot send
// changes alone.
func lawSend(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	a, err := engine.AbilitiesOf(r.res)
	if err != nil || a.Sends == nil {
		return err
	}
	for _, when := range []string{"the first CheckApply(true)", "the second CheckApply(true)"} {
		if err := r.apply(); err != nil {
			return err
		}
		sent := r.fake.Sent()
		if sent == nil {
			return fmt.Errorf("%s sent nothing", when)
		}
		t, err := schema.TypeOf(sent)
		if err != nil {
			return fmt.Errorf("%s sent a %T: %w", when, sent, err)
		}
		if !t.Equal(a.Sends) {
			return fmt.Errorf("%s sent %s, but Sends states %s", when, t, a.Sends)
		}
	}
	return nil
}

// lawBatch: a batch of one answers what CheckApply would. The engine runs ready
// resources of one key together, and judges each of them alone.
func lawBatch(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	b, ok := engine.As[engine.Batcher](r.res)
	if !ok || b.GroupKey() == "" {
		return nil
	}
	alone, changes, err := r.run(false)
	if err != nil {
		return err
	}
	// The world was not altered between the two calls, so both must say the same.
	r.fake.Reset()
	r.fake.SetNoop(true)
	defer r.fake.SetNoop(false)
	var out []engine.Outcome
	err = r.shared(context.Background(), func() error {
		return guard("CheckApplyBatch", func() error {
			out = b.CheckApplyBatch(context.Background(), false, []engine.Res{r.res})
			return nil
		})
	})
	switch {
	case err != nil:
		return err
	case len(out) != 1:
		return fmt.Errorf("a batch of one has %d outcomes", len(out))
	case out[0].Err != nil:
		return fmt.Errorf("a batch of one: %w", out[0].Err)
	case out[0].OK != alone:
		return fmt.Errorf("a batch of one returned %t, CheckApply %t", out[0].OK, alone)
	}
	return sameChanges(changes, r.fake.Changes())
}

// lawCancelled: under a context that has ended, CheckApply returns soon, and leaves the
// world as it was or as it is wanted, and tells which. Its error must be that of the
// context. An altered world must be right for the next run.
func lawCancelled(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	before := r.tree()
	_, _, err = r.runWith(ctx, true)
	switch {
	case err == nil:
		return r.settled("after a CheckApply under a context that has ended, without an error")
	case !errors.Is(err, context.Canceled):
		return fmt.Errorf("under a context that has ended: %w", err)
	}
	if len(before.Changed(r.tree())) == 0 {
		return nil
	}
	return r.settled("after a CheckApply under a context that has ended, which altered something")
}
