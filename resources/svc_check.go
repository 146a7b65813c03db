package resources

import (
	"cmp"
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// svcStep is one change, and the calls that make it.
type svcStep struct {
	change engine.Change
	boot   []*virtual.Fn[backends.BootArgs, virtual.Nothing] // about what happens at boot
	act    *virtual.Fn[backends.UnitArgs, virtual.Nothing]   // about now; nil for nothing
}

// CheckApply compares the service with the wanted state, and makes it so. Startup comes first: a
// masked service cannot be started.
func (r *SvcRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
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
	r.seen.known(info)
	if info == nil && (r.State == svcRunning || r.Startup == svcEnabled) {
		return false, cmp.Or(r.awaited(info), fmt.Errorf("there is no service %s; is the package installed that brings it?", r.Name()))
	}
	steps, err := r.steps(ctx, m, info)
	if err != nil {
		return false, err
	}
	for _, s := range steps {
		r.Handle().Change(s.change)
	}
	if len(steps) == 0 {
		r.seen.vain = 0
	}
	if len(steps) == 0 {
		return true, nil
	}
	if err := r.awaited(info); err != nil || !apply {
		return false, err
	}
	err = r.take(ctx, m, steps)
	now, lerr := r.look(ctx, m)
	// Another client has stopped or disabled it meanwhile, or it did not last.
	lost := svcState(now) != svcRunning && r.State == svcRunning && (err == nil || svcState(info) == svcRunning)
	disabled := r.Startup != "" && svcStartup(info) == r.Startup && svcStartup(now) != r.Startup
	if lerr != nil || lost || disabled || err == nil && r.overtaken(now) {
		r.seen.forget()
	} else {
		r.seen.known(now) // what we have done ourselves is no event
	}
	return false, err
}

// svcVain is how often in a row a service is looked at again that has lost its new state: another
// client has changed it since, or it can't have that state, as a unit that can't be enabled by
// itself.
const svcVain = 3

// overtaken reports whether to look again, since it is not as it was just made.
func (r *SvcRes) overtaken(now *backends.Info) bool {
	if (r.State == "" || svcState(now) == r.State) && (r.Startup == "" || svcStartup(now) == r.Startup) {
		r.seen.vain = 0
		return false
	}
	r.seen.vain++
	return r.seen.vain <= svcVain
}

func (r *SvcRes) take(ctx context.Context, m *virtual.Module, steps []svcStep) error {
	for _, s := range steps {
		if err := r.boot(ctx, m, s.boot); err != nil {
			return err
		}
		if s.act == nil {
			continue
		}
		if _, _, err := s.act.Call(ctx, m, r.args()); err != nil {
			return err
		}
	}
	return nil
}

// boot calls the function that alters the start at boot. A manager that has to be told of that is
// told when no other resource alters something any more.
func (r *SvcRes) boot(ctx context.Context, m *virtual.Module, calls []*virtual.Fn[backends.BootArgs, virtual.Nothing]) error {
	shared, later := r.Handle().Shared.(*svcShared)
	later = later && m.Needs(backends.Reread.Name()) == nil
	for _, call := range calls {
		if _, _, err := call.Call(ctx, m, backends.BootArgs{UnitArgs: r.args(), Later: later}); err != nil {
			return err
		}
		if later {
			shared.later(r.Handle())
		}
	}
	return nil
}

// steps returns what has to be done.
func (r *SvcRes) steps(ctx context.Context, m *virtual.Module, info *backends.Info) ([]svcStep, error) {
	var steps []svcStep
	add := func(from, to string, act *virtual.Fn[backends.UnitArgs, virtual.Nothing]) {
		steps = append(steps, svcStep{change: engine.Change{Field: "state", From: from, To: to}, act: act})
	}
	if from := svcStartup(info); r.Startup != "" && from != r.Startup {
		steps = append(steps, svcStep{change: engine.Change{Field: "startup", From: from, To: r.Startup}, boot: svcBoot(from, r.Startup)})
	}
	state := svcState(info)
	switch {
	case r.State == svcRunning && state != svcRunning && r.Handle().Refresh():
		add(state, svcRunning, backends.Restart) // for what it reads is new, however often it has crashed
	case r.State == svcRunning && state != svcRunning:
		add(state, svcRunning, backends.Start)
	case r.State == svcStopped && state != svcStopped:
		add(state, svcStopped, backends.Stop)
	case state == svcRunning && r.Handle().Refresh():
		step, err := r.refresh(ctx, m)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// refresh returns the effect of a notification on a running service, with the words for it.
func (r *SvcRes) refresh(ctx context.Context, m *virtual.Module) (svcStep, error) {
	done := func(how string, act *virtual.Fn[backends.UnitArgs, virtual.Nothing]) (svcStep, error) {
		return svcStep{change: engine.Change{Verb: engine.Refreshed, To: how}, act: act}, nil
	}
	if r.OnRefresh == svcRestart {
		return done("restarted, as refresh says", backends.Restart)
	}
	if m.Needs(backends.CanReload.Name()) != nil {
		return done("reloaded, or restarted if it cannot reload", backends.Reload)
	}
	can, _, err := backends.CanReload.Call(ctx, m, r.args())
	switch {
	case err != nil:
		return svcStep{}, err
	case can:
		return done("reloaded", backends.Reload)
	case r.OnRefresh == svcReload:
		return svcStep{}, fmt.Errorf("the service %s cannot reload its configuration: give it a way to (ExecReload= of a unit), or write refresh: restart", r.Name())
	}
	return done("restarted, since it cannot reload", backends.Reload)
}

// svcBoot returns the calls that change the start at boot. An unmasked service may be enabled or
// not, so the call after that is made in any case.
func svcBoot(from, to string) (calls []*virtual.Fn[backends.BootArgs, virtual.Nothing]) {
	if to == svcMasked {
		return append(calls, backends.Mask)
	}
	if from == svcMasked || from == svcPassingMasked {
		calls = append(calls, backends.Unmask)
	}
	if to == svcEnabled {
		return append(calls, backends.Enable)
	}
	return append(calls, backends.Disable)
}
