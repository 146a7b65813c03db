package traits

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

// Child makes a resource a child of a composite resource. It gets its kind and its
// name, which is part of the names of its state folder and its changes.
func Child(kind, name string, r engine.Res) engine.Res {
	r.SetKind(kind)
	r.SetName(name)
	return r
}

// Children drives the resources that a composite resource holds, without their
// Watch: the composite watches their things itself. The zero value has
// none. It is a field of the composite, not embedded, and used by one goroutine at
// a time, as CheckApply is.
//
// The parameters of the composite alone decide its children, so it writes one
// method that makes them, and uses that
//
//   - in Validate: ValidateChildren(r.children()...),
//   - in CheckMachine, if a child is done by one of several backends: CheckChildren(m, r.children()...),
//   - in Init: r.kids.Init(init, r.children()...), and r.kids.Cleanup() in Cleanup,
//   - in CheckApply: r.kids.Follow(r.children()...), because a parameter may have
//     been received since; then ok, err := r.kids.CheckApply(ctx, false), in which
//     all of them say what they would change; and, unless that was ok or failed or
//     nothing is to be altered, return false, r.kids.Apply(ctx).
//
// CheckApply(ctx, true) alters one child before the next one has said what it would
// change. So it is for a single child only.
//
// Cmp needs nothing more than that of the parameters. An error, and a panic, of a
// child is one of the composite, and names the child.
type Children struct{ list []*kid }

type kid struct {
	res    engine.Res
	init   *engine.Init
	change func(engine.Change) // that of the handle
	ready  bool                // initialised
	mute   bool                // its changes are not reported
}

// ValidateChildren returns everything that is wrong with the parameters of the
// children.
func ValidateChildren(children ...engine.Res) error {
	var errs []error
	for _, r := range children {
		errs = append(errs, member(r, "Validate", r.Validate))
	}
	return errors.Join(errs...)
}

// CheckChildren returns the needs of the children that a machine does not have.
func CheckChildren(m engine.Machine, children ...engine.Res) error {
	var errs []error
	for _, r := range children {
		if c, ok := engine.As[engine.MachineCheckedRes](r); ok {
			errs = append(errs, member(r, "CheckMachine", func() error { return c.CheckMachine(m) }))
		}
	}
	return errors.Join(errs...)
}

// Init initialises the children, in order, each with a handle of its own made from
// that of the composite. On an error the initialised ones are cleaned up again, and
// there are none.
func (c *Children) Init(init *engine.Init, children ...engine.Res) error {
	c.list = nil
	for _, r := range children {
		k := newKid(init, r)
		if err := k.begin(); err != nil {
			return errors.Join(err, c.Cleanup())
		}
		c.list = append(c.list, k)
	}
	return nil
}

func newKid(init *engine.Init, r engine.Res) *kid {
	k := &kid{res: r, init: init.Child(r)}
	k.change = k.init.Change
	k.init.Change = func(ch engine.Change) {
		if !k.mute {
			k.change(ch)
		}
	}
	return k
}

func (k *kid) begin() error {
	err := member(k.res, "Init", func() error { return k.res.Init(k.init) })
	k.ready = err == nil
	return err
}

func (k *kid) end() error {
	if !k.ready {
		return nil
	}
	k.ready = false
	return member(k.res, "Cleanup", k.res.Cleanup)
}

// Cleanup cleans up the children, in reverse, whatever one of them says. After it
// there are none.
func (c *Children) Cleanup() error {
	var errs []error
	for i := len(c.list) - 1; i >= 0; i-- {
		errs = append(errs, c.list[i].end())
	}
	c.list = nil
	return errors.Join(errs...)
}

// Follow puts children in the place of those of Init that now want something
// else; they are the same number of the same kinds and names. Children with the
// same parameters go on.
func (c *Children) Follow(children ...engine.Res) error {
	if len(children) != len(c.list) {
		return fmt.Errorf("there are %d children in place of %d", len(children), len(c.list))
	}
	for i, r := range children {
		if err := c.list[i].follow(r); err != nil {
			return err
		}
	}
	return nil
}

func (k *kid) follow(r engine.Res) error {
	if k.res.String() != r.String() {
		return fmt.Errorf("the child %s is in place of %s", r, k.res)
	}
	if k.ready && member(r, "Cmp", func() error { return k.res.Cmp(r) }) == nil {
		return nil
	}
	if err := member(r, "Validate", r.Validate); err != nil {
		return err
	}
	if err := k.end(); err != nil {
		return err
	}
	k.res = r
	return k.begin()
}

// CheckApply runs the CheckApply of each child, in order, and returns the results
// for the CheckApply of the composite. The first error ends it, and so does the end
// of the context. Without apply, a child after one that would change something may
// need the result of that change. If it fails then, that counts as a change that
// can't be told yet, and the children after it are not asked.
func (c *Children) CheckApply(ctx context.Context, apply bool) (bool, error) {
	all := true
	for _, k := range c.list {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		ok, err := k.checkApply(ctx, apply)
		switch {
		case err != nil && (apply || all):
			return false, err
		case err != nil:
			k.init.Change(engine.Change{To: engine.Unknown})
			return false, nil
		}
		all = all && ok
	}
	return all, nil
}

func (k *kid) checkApply(ctx context.Context, apply bool) (ok bool, err error) {
	err = member(k.res, "CheckApply", func() (err error) {
		ok, err = k.res.CheckApply(ctx, apply)
		return err
	})
	return ok && err == nil, err
}

// Apply is CheckApply with apply, and reports no changes: it makes the changes that
// CheckApply without apply has reported. It is for a composite with work in
// between.
func (c *Children) Apply(ctx context.Context) error {
	for _, k := range c.list {
		k.mute = true
	}
	defer func() {
		for _, k := range c.list {
			k.mute = false
		}
	}()
	_, err := c.CheckApply(ctx, true)
	return err
}

// Handle returns the handle of a child, by its place. It serves to give the child
// something in Recv or Refresh before CheckApply, or to read its sent values.
func (c *Children) Handle(i int) *engine.Init { return c.list[i].init }
