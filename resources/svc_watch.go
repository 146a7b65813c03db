package resources

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// A manager that is away may come back: so often it is tried again, after this time or
// when it tells.
const (
	svcTries = 12
	svcPause = 5 * time.Second
)

// svcSeen is what CheckApply has seen last. While it runs Watch waits, and compares
// then: so what CheckApply does itself is no event, not even if it fails, and a service that cannot be
// started is not started again and again.
type svcSeen struct {
	held chan struct{} // of capacity 1; full while CheckApply runs or Watch looks
	any  bool          // CheckApply has looked
	last svcLook
}

// svcLook is what matters of a service.
type svcLook struct{ there, running, enabled, masked, failed bool }

func svcLookOf(info *svc.Info) svcLook {
	if info == nil {
		return svcLook{}
	}
	is := func(b *bool) bool { return b != nil && *b }
	return svcLook{true, info.Running, info.Enabled, is(info.Masked), is(info.Failed)}
}

func newSvcSeen() *svcSeen { return &svcSeen{held: make(chan struct{}, 1)} }

func (s *svcSeen) lock(ctx context.Context) error {
	select {
	case s.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *svcSeen) unlock() { <-s.held }

// known notes what was seen. The lock is held.
func (s *svcSeen) known(info *svc.Info) { s.any, s.last = true, svcLookOf(info) }

func (s *svcSeen) forget() { s.any = false }

// Watch tells of each state that CheckApply has not seen.
func (r *SvcRes) Watch(ctx context.Context) error { return r.watch(ctx, "svc", r, r.followAll) }

func (r *SvcRes) followAll(ctx context.Context, c *chosen) error {
	sub, err := r.subscribe(ctx, c.Module)
	if err != nil {
		return err
	}
	r.init.Running()
	if sub == nil {
		return c.poll(ctx, func() {
			if differs, _ := r.differs(ctx, c.Module); differs {
				r.init.Event()
			}
		})
	}
	defer func() { sub.Close() }()
	for {
		if err := r.follow(ctx, c, sub); err != nil {
			return err
		}
		next, err := r.again(ctx, c.Module, sub)
		if err != nil {
			return err
		}
		sub.Close()
		sub = next
		r.init.Event()
	}
}

func (r *SvcRes) subscribe(ctx context.Context, m *virtual.Module) (sub engine.Subscription, err error) {
	aside(func() {
		defer engine.Caught("Watch", &err)
		sub, err = m.Watch(ctx, []string{svc.Watched(r.Name(), r.Session)})
	})
	return sub, err
}

// again subscribes anew. A manager that is being restarted may be away for a while; the
// old subscription tells when it is back.
func (r *SvcRes) again(ctx context.Context, m *virtual.Module, old engine.Subscription) (sub engine.Subscription, err error) {
	pause := time.NewTimer(svcPause)
	defer pause.Stop()
	for range svcTries {
		if sub, err = r.subscribe(ctx, m); err == nil {
			return sub, nil
		}
		pause.Reset(svcPause)
		select {
		case <-old.C():
		case <-pause.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// follow waits for wake-ups. It returns nil when the subscription has to be made
// anew: signals may have been lost, or the service has come or gone, and with it perhaps the
// unit that it is a name of. Else it returns what wait does.
func (r *SvcRes) follow(ctx context.Context, c *chosen, sub engine.Subscription) error {
	for {
		if err := wait(ctx, c, sub.C(), nil); err != nil {
			return err
		}
		if sub.Cause().Resync {
			return nil
		}
		differs, moved := r.differs(ctx, c.Module)
		if differs {
			r.init.Event()
		}
		if moved {
			return nil
		}
	}
}

// differs reports whether the service is not as CheckApply has seen it, or cannot be
// looked at; and whether it has come or gone.
func (r *SvcRes) differs(ctx context.Context, m *virtual.Module) (differs, moved bool) {
	if r.seen.lock(ctx) != nil {
		return false, false
	}
	defer r.seen.unlock()
	var info *svc.Info
	var err error
	aside(func() {
		defer engine.Caught("Watch", &err)
		info, err = r.look(ctx, m)
	})
	now := svcLookOf(info)
	if err != nil || !r.seen.any {
		return true, false
	}
	return now != r.seen.last, now.there != r.seen.last.there
}
