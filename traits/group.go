package traits

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// Groupable lets a resource run others of its kind as its members; by itself it
// refuses. A resource that groups has its own GroupCmp, or its own GroupKey, or both,
// and calls in its own method of that name
//
//   - InitGroup at the end of Init, CleanupGroup in Cleanup,
//   - CheckGroup at the end of CheckApply, with its own findings,
//   - CmpGroup in Cmp, besides its own comparison.
//
// Watch is the owner's alone: a kind whose members have something to watch watches
// it for them. All of it does nothing where there are no members.
type Groupable struct {
	group *group // nil for no members
}

type group struct {
	members []engine.Res
	asked   atomic.Bool // somebody has asked for them
}

// GroupKey leaves it to GroupCmp.
func (*Groupable) GroupKey() string { return engine.GroupByCmp }

// GroupCmp returns nil where the kind has a GroupKey: what has the same key may be grouped.
func (*Groupable) GroupCmp(r engine.GroupableRes) error {
	if r.GroupKey() == engine.GroupByCmp {
		return errors.New("its kind has neither a GroupCmp nor a GroupKey")
	}
	return nil
}

// SetGroup is called by the engine with the members, before Init.
func (g *Groupable) SetGroup(members []engine.Res) {
	g.group = nil
	if len(members) > 0 {
		g.group = &group{members: members}
	}
}

// Group returns the members.
func (g *Groupable) Group() []engine.Res {
	if g.group != nil {
		g.group.asked.Store(true)
	}
	return g.members()
}

// MembersAsked reports whether there are no members, or the resource has asked for them; see reactor.checkMembers.
func (g *Groupable) MembersAsked() bool { return g.group == nil || g.group.asked.Load() }

func (g *Groupable) members() []engine.Res {
	if g.group == nil {
		return nil
	}
	return g.group.members
}

// InitGroup initialises the members, each with a handle of its own, made from the
// owner's. On an error the initialised ones are cleaned up again.
func (g *Groupable) InitGroup(init *engine.Init) error {
	for i, m := range g.members() {
		if err := member(m, "Init", func() error { return m.Init(memberInit(init, m)) }); err != nil {
			return errors.Join(err, cleanup(g.members()[:i]))
		}
	}
	return nil
}

// CleanupGroup cleans up the members, in reverse, whatever one of them says.
func (g *Groupable) CleanupGroup() error { return cleanup(g.members()) }

func cleanup(members []engine.Res) error {
	var errs []error
	for i := len(members) - 1; i >= 0; i-- {
		errs = append(errs, member(members[i], "Cleanup", members[i].Cleanup))
	}
	return errors.Join(errs...)
}

// CheckGroup runs the CheckApply of each member, in order, and returns the results
// for the CheckApply of the owner; ok and err are the owner's own results. A member
// that fails, or panics, does not keep the others from running; the end of the
// context does.
func (g *Groupable) CheckGroup(ctx context.Context, apply, ok bool, err error) (bool, error) {
	if g.group == nil {
		return ok && err == nil, err
	}
	g.group.asked.Store(true)
	errs := []error{err}
	for _, m := range g.members() {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		errs = append(errs, member(m, "CheckApply", func() error {
			good, err := m.CheckApply(ctx, apply)
			ok = ok && good
			return err
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return ok, nil
}

// CmpGroup compares the members with those of another owner: the same ones, in the
// same order, that want the same.
func (g *Groupable) CmpGroup(r engine.Res) error {
	o, ok := r.(interface{ members() []engine.Res })
	if !ok || len(o.members()) != len(g.members()) {
		return errors.New("the members of the group differ")
	}
	for i, m := range g.members() {
		b := o.members()[i]
		if m.String() != b.String() || reflect.TypeOf(m) != reflect.TypeOf(b) {
			return fmt.Errorf("the members of the group differ: %s in place of %s", b, m)
		}
		if err := member(m, "Cmp", func() error { return m.Cmp(b) }); err != nil {
			return err
		}
	}
	return nil
}

// memberInit makes the handle of a member: that of a child, which is notified when
// the owner is.
func memberInit(init *engine.Init, m engine.Res) *engine.Init {
	c := init.Child(m)
	if _, ok := engine.As[engine.RefreshableRes](m); ok {
		c.Refresh = init.Refresh
	}
	return c
}

// member calls a method of a member. Its error names it.
func member(m engine.Res, method string, f func() error) error {
	if err := callsafe.Do(method, f); err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	return nil
}
