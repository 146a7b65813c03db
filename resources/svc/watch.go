package svc

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// seen is what CheckApply has seen last. While it runs Watch waits, and compares then. So
// changes of CheckApply make no event, not even if it fails, and a service that cannot be started
// is not started again and again.
type seen struct {
	watches.Turns      // CheckApply, or Watch
	any           bool // CheckApply has looked
	last          look
	vain          int // how often in a row a change had no effect
	lives
}

// look is what matters of a service.
type look struct {
	there, running, enabled, masked, passing, failed, busy bool
	phase                                                  phase
}

// lookOf leaves out in what turn of a row of crashes the service is: the row is one state.
func lookOf(info *backends.Info, p phase) look {
	if info == nil {
		return look{phase: p}
	}
	yes := func(b *bool) bool { return b != nil && *b }
	l := look{true, info.Running, info.Enabled, yes(info.Masked), yes(info.Passing), yes(info.Failed), busy(info), p}
	if p == crashing {
		l.running, l.failed, l.busy = false, false, false
	}
	return l
}

func newSvcSeen() *seen { return &seen{Turns: watches.NewTurns()} }

// known notes what was seen. The lock is held.
func (s *seen) known(info *backends.Info) { s.any, s.last = true, lookOf(info, s.phase(info)) }

func (s *seen) forget() { s.any = false }

// Watch tells of each state that CheckApply has not seen.
func (r *Res) Watch(ctx context.Context) error { return r.WatchBy(ctx, "svc", r, r.seen.Turns) }

// Follow subscribes to what the manager tells of the service.
func (r *Res) Follow(ctx context.Context, c *virtualkind.Chosen) error {
	sub, err := c.Watch(ctx, []string{backends.Watched(r.Name(), r.Session)})
	if err == nil {
		c.Subscribed(sub, nil)
	}
	return err
}

// Woken tells of the service if it is not as CheckApply has seen it. The subscription is made anew when signals
// may have been lost, or the service has come or gone, and with it perhaps the unit that it is a name of.
func (r *Res) Woken(ctx context.Context, c *virtualkind.Chosen) error {
	if !c.Lost() {
		differs, moved := r.differs(ctx, c.Module)
		if differs {
			r.Handle().Event()
		}
		if !moved {
			r.wakeWhenSteady(c)
			return nil
		}
	}
	return c.Again(ctx)
}

// wakeWhenSteady has a service that was started by its manager after a crash looked at when it has stayed up for long enough: nobody
// tells of that.
func (r *Res) wakeWhenSteady(c *virtualkind.Chosen) {
	if r.State == Running && r.seen.last.phase == crashing && !r.seen.lives.up.IsZero() {
		c.Every(max(r.seen.lives.left(r.now(), r.Stable), time.Millisecond))
		return
	}
	c.Calm()
}

// differs reports whether the service is not as CheckApply has seen it, or cannot be
// looked at; and whether it has come or gone. The lock is held.
func (r *Res) differs(ctx context.Context, m *virtual.Module) (differs, moved bool) {
	info, err := r.look(ctx, m)
	if err != nil || !r.seen.any {
		return true, false
	}
	p, err := r.judged(ctx, m, info)
	if err != nil {
		return true, false
	}
	now := lookOf(info, p)
	return now != r.seen.last, now.there != r.seen.last.there
}
