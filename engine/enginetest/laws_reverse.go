package enginetest

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reversal"
)

// lawReverse: a kind undoes its work as it claims: afterwards Read shows the earlier
// state. Read shows that, too, while the first change is being told. It may say, before anything was altered, that it can't. A kind without Read or
// Reversed has nothing to keep here.
func lawReverse(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	_, ok := engine.As[engine.Readable](r.res)
	if _, can := engine.As[engine.ReversibleRes](r.res); !ok || !can {
		return nil
	}
	was, err := r.read()
	if err != nil {
		return fmt.Errorf("before an apply: %w", err)
	}
	undo, err := e.undoOf(r.res, was)
	if err != nil {
		return err
	}
	if undo == nil {
		return nil
	}
	if err := r.pictured(was); err != nil {
		return err
	}
	u, err := e.rigOf(undo, r.dir, r.machine)
	if err != nil {
		return fmt.Errorf("what undoes it: %w", err)
	}
	if err := u.undo(); err != nil {
		return fmt.Errorf("what undoes it: %w", err)
	}
	now, err := r.read()
	if err != nil {
		return fmt.Errorf("after it was undone: %w", err)
	}
	return asBefore(was, now)
}

// pictured applies. A resource that says so is read at its first change, and shows what was there before: the engine keeps that for an undo.
func (r *rig) pictured(was engine.Res) error {
	var now engine.Res
	var bad error
	told := false
	_, may := engine.As[declaration.ReadsInChange](r.res)
	r.fake.OnChange(func(engine.Change) {
		if may && !told {
			told = true
			now, bad = r.read()
		}
	})
	err := r.apply()
	r.fake.OnChange(nil)
	switch {
	case err != nil || !told:
		return err
	case bad != nil:
		return fmt.Errorf("while its first change is told, in a CheckApply that goes on: %w", bad)
	}
	if err := asBefore(was, now); err != nil {
		return fmt.Errorf("while its first change is told: %w", err)
	}
	return nil
}

// undoOf makes the resource that undoes another one, by way of its record; nil where
// that can't be. The engine keeps the record on disk, so the undoing resource is made
// of data alone, as after a restart.
func (e *env) undoOf(res, was engine.Res) (engine.Res, error) {
	img, err := reversal.Take(res, was, nil)
	if err != nil {
		return nil, err
	}
	undo, err := lifecycle.Undo(img, &reversal.Reversal{Kind: res.Kind(), Name: res.Name()}, e.Registry.New, false)
	if _, panicked := errors.AsType[*callsafe.PanicError](err); panicked {
		return nil, err
	}
	if err != nil {
		return nil, nil // it says that it can't
	}
	return undo, nil
}

// undo looks, which alters nothing, applies, and is right then.
func (r *rig) undo() error {
	before := r.tree()
	if _, _, err := r.run(false); err != nil {
		return err
	}
	if err := before.same(r.tree()); err != nil {
		return fmt.Errorf("CheckApply(false) altered something: %w", err)
	}
	if err := r.apply(); err != nil {
		return err
	}
	return r.settled("after it was undone")
}

// asBefore compares the two readings. Read shows nil for an absent thing, and then it
// must be absent again.
func asBefore(was, now engine.Res) error {
	if was == nil && now == nil {
		return nil
	}
	if was == nil || now == nil {
		return fmt.Errorf("before an apply Read showed %v, and after it was undone %v", was, now)
	}
	if err := engine.CmpFields(was, now); err != nil {
		return fmt.Errorf("after it was undone Read shows something else than before: %w", err)
	}
	return nil
}
