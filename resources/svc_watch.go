package resources

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
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
	vain int // how often in a row a change had no effect
}

// svcLook is what matters of a service.
type svcLook struct{ there, running, enabled, masked, passing, failed bool }

func svcLookOf(info *svc.Info) svcLook {
	if info == nil {
		return svcLook{}
	}
	is := func(b *bool) bool { return b != nil && *b }
	return svcLook{true, info.Running, info.Enabled, is(info.Masked), is(info.Passing), is(info.Failed)}
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
func (r *SvcRes) Watch(ctx context.Context) error { return r.watch(ctx, "svc", r, r.follow) }

// follow follows the service by what the manager tells, or asks it now and then.
func (r *SvcRes) follow(ctx context.Context, c *chosen) error {
	if err := r.subscribe(ctx, c); err != nil {
		return err
	}
	c.armed()
	if c.sub == nil {
		return c.poll(ctx, func() { r.compare(ctx, c) })
	}
	for {
		if err := wait(ctx, c, c.sub.C(), nil); err != nil {
			return err
		}
		if err := r.woken(ctx, c); err != nil {
			return err
		}
	}
}

// subscribe subscribes to what the manager tells of the service; c.sub is nil where it
// tells nothing. If it fails, the subscription is the one before.
func (r *SvcRes) subscribe(ctx context.Context, c *chosen) (err error) {
	c.kind.Aside(func() {
		defer engine.Caught("Watch", &err)
		var sub engine.Subscription
		if sub, err = c.Watch(ctx, []string{svc.Watched(r.Name(), r.Session)}); err == nil {
			c.subscribed(sub)
		}
	})
	return err
}

// woken looks at what the manager has told. The subscription is made anew when signals may
// have been lost, or the service has come or gone.
func (r *SvcRes) woken(ctx context.Context, c *chosen) error {
	if !c.sub.Cause().Resync && !r.compare(ctx, c) {
		return nil
	}
	if err := r.again(ctx, c); err != nil {
		return err
	}
	r.init.Event()
	return nil
}

// again subscribes anew. A manager that is being restarted may be away for a while; the
// old subscription tells when it is back.
func (r *SvcRes) again(ctx context.Context, c *chosen) (err error) {
	pause := time.NewTimer(svcPause)
	defer pause.Stop()
	for range svcTries {
		if err = r.subscribe(ctx, c); err == nil {
			return nil
		}
		pause.Reset(svcPause)
		select {
		case <-c.sub.C():
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// compare tells of the service if it is not as CheckApply has seen it, or cannot be
// looked at. It reports whether the subscription has to be made anew: the service has come or
// gone, and with it perhaps the unit that it is a name of.
func (r *SvcRes) compare(ctx context.Context, c *chosen) (moved bool) {
	differs, moved := r.differs(ctx, c)
	if differs {
		r.init.Event()
	}
	return moved
}

// differs reports whether the service is not as CheckApply has seen it, or cannot be
// looked at; and whether it has come or gone.
func (r *SvcRes) differs(ctx context.Context, c *chosen) (differs, moved bool) {
	if r.seen.lock(ctx) != nil {
		return false, false
	}
	defer r.seen.unlock()
	var info *svc.Info
	var err error
	c.kind.Aside(func() {
		defer engine.Caught("Watch", &err)
		info, err = r.look(ctx, c.Module)
	})
	now := svcLookOf(info)
	if err != nil || !r.seen.any {
		return true, false
	}
	return now != r.seen.last, now.there != r.seen.last.there
}
