package resources

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// svcStep is one change, and the calls that make it.
type svcStep struct {
	change engine.Change
	calls  []*virtual.Fn[svc.UnitArgs, virtual.Nothing]
}

// CheckApply compares the service with what is wanted, and makes it so. Startup comes
// first: what is masked cannot be started.
func (r *SvcRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := r.seen.lock(ctx); err != nil {
		return false, err
	}
	defer r.seen.unlock()
	m, err := r.open(ctx, "svc", r.Provider())
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
		return false, fmt.Errorf("there is no service %s; is the package installed that brings it?", r.Name())
	}
	steps := r.steps(info)
	for _, s := range steps {
		r.init.Change(s.change)
	}
	if len(steps) == 0 || !apply {
		return len(steps) == 0, nil
	}
	err = r.take(ctx, m, steps)
	if info, lerr := r.look(ctx, m); lerr == nil {
		r.seen.known(info) // what we have done ourselves is no event
	} else {
		r.seen.forget()
	}
	return false, err
}

func (r *SvcRes) take(ctx context.Context, m *virtual.Module, steps []svcStep) error {
	for _, s := range steps {
		for _, call := range s.calls {
			if _, _, err := call.Call(ctx, m, r.args()); err != nil {
				return err
			}
		}
	}
	return nil
}

// steps returns what has to be done.
func (r *SvcRes) steps(info *svc.Info) []svcStep {
	var steps []svcStep
	add := func(field, from, to string, calls ...*virtual.Fn[svc.UnitArgs, virtual.Nothing]) {
		steps = append(steps, svcStep{engine.Change{Field: field, From: from, To: to}, calls})
	}
	if from := svcStartup(info); r.Startup != "" && from != r.Startup {
		add("startup", from, r.Startup, svcBoot(from, r.Startup)...)
	}
	state := svcState(info)
	switch {
	case r.State == svcRunning && state != svcRunning && r.init.Refresh():
		add("state", state, svcRunning, svc.Restart) // for what it reads is new, however often it has crashed
	case r.State == svcRunning && state != svcRunning:
		add("state", state, svcRunning, svc.Start)
	case r.State == svcStopped && state != svcStopped:
		add("state", state, svcStopped, svc.Stop)
	case state == svcRunning && r.init.Refresh():
		steps = append(steps, svcStep{engine.Change{Verb: engine.Refreshed}, []*virtual.Fn[svc.UnitArgs, virtual.Nothing]{svc.Reload}})
	}
	return steps
}

// svcBoot returns the calls that change what happens at boot. What comes to light when a
// service is unmasked may be either, so the call after that is made in any case.
func svcBoot(from, to string) (calls []*virtual.Fn[svc.UnitArgs, virtual.Nothing]) {
	if to == svcMasked {
		return append(calls, svc.Mask)
	}
	if from == svcMasked {
		calls = append(calls, svc.Unmask)
	}
	if to == svcEnabled {
		return append(calls, svc.Enable)
	}
	return append(calls, svc.Disable)
}
