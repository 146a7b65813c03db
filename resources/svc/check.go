package svc

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// step is one change, and the calls that make it.
type step struct {
	// change is told before the calls are made, so that a plan and a run tell the same.
	change engine.Change
	boot   []*virtual.Fn[backends.BootArgs, virtual.Nothing] // about what happens at boot
	act    *virtual.Fn[backends.UnitArgs, virtual.Nothing]   // about now; nil for nothing
}

// CheckApply compares the service with the wanted state, and makes it so. Startup comes first: a
// masked service cannot be started.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	// Watch looks at the service too, and must not take a half-made change for an event.
	if err := r.seen.Lock(ctx); err != nil {
		return false, err
	}
	defer r.seen.Unlock()
	m, err := r.OpenFor(ctx, "svc", r)
	if err != nil {
		return false, err
	}
	defer m.Close()
	info, err := r.look(ctx, m)
	if err != nil {
		return false, err
	}
	p, err := r.judged(ctx, m, info)
	if err != nil {
		return false, err
	}
	r.seen.known(info)
	// A package manager that is at work may be about to install the service. Then the resource
	// waits, and does not fail.
	if info == nil && (r.State == Running || r.Startup == Enabled) {
		if r.Handle().Noop { // a resource above may bring it
			r.tellMissing()
		}
		return false, cmp.Or(r.awaited(info), fmt.Errorf("there is no service %s; is the package installed that brings it?", r.Name()))
	}
	steps, err := r.steps(ctx, m, info, p)
	if err != nil {
		return false, err
	}
	for _, s := range steps {
		r.Handle().Change(s.change)
	}
	// A service that is right has not lost its state in vain.
	if len(steps) == 0 {
		r.seen.vain = 0
	}
	if len(steps) == 0 {
		err := r.serves(ctx, m, info, p)
		if r.Handle().Noop && failure.IsWait(err) {
			err = nil // nothing is to be done
		}
		return err == nil, err
	}
	// A service with nothing to do waits for nothing, so this question comes last.
	if err := r.awaited(info); err != nil || !apply {
		return false, err
	}
	err = r.take(ctx, m, steps)
	if err == nil && p == crashing && !starts(steps) {
		err = r.serves(ctx, m, info, p)
	}
	// The look tells whether the change has lasted. It is made after an error too, since a part
	// may have been done.
	now, lerr := r.look(ctx, m)
	// Another client has stopped or disabled it meanwhile, or it did not last.
	lost := state(now) != Running && r.State == Running && (err == nil || state(info) == Running)
	disabled := r.Startup != "" && startup(info) == r.Startup && startup(now) != r.Startup
	if lerr != nil || lost || disabled || err == nil && r.overtaken(now) {
		r.seen.forget()
	} else {
		r.seen.known(now) // what we have done ourselves is no event
	}
	return false, err
}

// tellMissing tells what is wanted of a service that is not there.
func (r *Res) tellMissing() {
	for _, c := range []engine.Change{{Field: "startup", To: r.Startup}, {Field: "state", To: r.State}} {
		if c.To != "" {
			r.Handle().Change(c)
		}
	}
}

// vain is how often in a row a service is looked at again that has lost its new state: another
// client has changed it since, or it can't have that state, as a unit that can't be enabled by
// itself.
const vain = 3

// overtaken reports whether to look again, since it is not as it was just made.
func (r *Res) overtaken(now *backends.Info) bool {
	if (r.State == "" || state(now) == r.State) && (r.Startup == "" || startup(now) == r.Startup) {
		r.seen.vain = 0
		return false
	}
	r.seen.vain++
	return r.seen.vain <= vain
}

// take makes the steps in their order. The first error ends it: a service that can't be unmasked
// can't be started.
func (r *Res) take(ctx context.Context, m *virtual.Module, steps []step) error {
	for _, s := range steps {
		if err := r.boot(ctx, m, s.boot); err != nil {
			return err
		}
		if s.act == nil {
			continue
		}
		r.seen.lives.begin(r.now())
		_, _, err := s.act.Call(ctx, m, r.Args())
		if s.act == backends.Stop || r.State != Running {
			if err != nil {
				return err
			}
			continue
		}
		if err == nil {
			err = r.lasts(ctx, m)
		} else if !failure.IsWait(err) { // it may have been up for a moment
			if by, wait := r.byOthers(ctx, m, false); by {
				err = wait
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// starts reports whether one of the steps does something with the service now.
func starts(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.act != nil })
}

// boot calls the function that alters the start at boot. A manager that has to be told of that is
// told when no other resource alters something any more.
func (r *Res) boot(ctx context.Context, m *virtual.Module, calls []*virtual.Fn[backends.BootArgs, virtual.Nothing]) error {
	shared, later := r.Handle().Shared.(*shared)
	// A manager without such a call reads its files by itself, and has nothing to be told.
	later = later && m.Needs(backends.Reread.Name()) == nil
	for _, call := range calls {
		if _, _, err := call.Call(ctx, m, backends.BootArgs{UnitArgs: r.Args(), Later: later}); err != nil {
			return err
		}
		if later {
			shared.later(r.Handle())
		}
	}
	return nil
}

// steps returns what has to be done.
func (r *Res) steps(ctx context.Context, m *virtual.Module, info *backends.Info, p phase) ([]step, error) {
	var steps []step
	add := func(from, to string, act *virtual.Fn[backends.UnitArgs, virtual.Nothing]) {
		steps = append(steps, step{change: engine.Change{Field: "state", From: from, To: to}, act: act})
	}
	if from := startup(info); r.Startup != "" && from != r.Startup {
		steps = append(steps, step{change: engine.Change{Field: "startup", From: from, To: r.Startup}, boot: boot(from, r.Startup)})
	}
	// A step about the state comes after that about the boot; see CheckApply.
	state := state(info)
	switch {
	case r.State == Running && state != Running && r.Handle().Refresh():
		add(state, Running, backends.Restart) // for what it reads is new, however often it has crashed
	case r.State == Running && state != Running && p == crashing: // its manager starts it
	case r.State == Running && state != Running:
		add(state, Running, backends.Start)
	case r.State == Stopped && state != Stopped:
		add(state, Stopped, backends.Stop)
	case state == Running && r.Handle().Refresh():
		step, err := r.refresh(ctx, m)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// refresh returns the effect of a notification on a running service, with the words for it.
func (r *Res) refresh(ctx context.Context, m *virtual.Module) (step, error) {
	done := func(how string, act *virtual.Fn[backends.UnitArgs, virtual.Nothing]) (step, error) {
		return step{change: engine.Change{Verb: engine.Refreshed, To: how}, act: act}, nil
	}
	if r.OnRefresh == Restart {
		return done("restarted, as refresh says", backends.Restart)
	}
	// This manager can't be asked. Its own call decides.
	if m.Needs(backends.CanReload.Name()) != nil {
		return done("reloaded, or restarted if it cannot reload", backends.Reload)
	}
	can, _, err := backends.CanReload.Call(ctx, m, r.Args())
	switch {
	case err != nil:
		return step{}, err
	case can:
		return done("reloaded", backends.Reload)
	case r.OnRefresh == Reload:
		return step{}, fmt.Errorf("the service %s cannot reload its configuration: give it a way to (ExecReload= of a unit), or write refresh: restart", r.Name())
	}
	return done("restarted, since it cannot reload", backends.Reload)
}

// boot returns the calls that change the start at boot. An unmasked service may be enabled or
// not, so the call after that is made in any case.
func boot(from, to string) (calls []*virtual.Fn[backends.BootArgs, virtual.Nothing]) {
	// To mask a service also ends its start at boot, so no other call is needed.
	if to == Masked {
		return append(calls, backends.Mask)
	}
	if from == Masked || from == maskedUntilBoot {
		calls = append(calls, backends.Unmask)
	}
	if to == Enabled {
		return append(calls, backends.Enable)
	}
	return append(calls, backends.Disable)
}
