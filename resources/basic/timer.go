package basic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("timer", func() engine.Res { return &TimerRes{} })
}

var (
	_ engine.Res            = (*TimerRes)(nil)
	_ engine.RefreshableRes = (*TimerRes)(nil)
	_ engine.OverlappingRes = (*TimerRes)(nil)
	_ engine.DescribedRes   = (*TimerRes)(nil)
)

// minInterval keeps a timer from keeping the machine busy all by itself.
const minInterval = 10 * time.Millisecond

// TimerRes ticks. Each tick is a change, so those whom it notifies run.
type TimerRes struct {
	traits.Base
	traits.Refreshable
	traits.Overlapping

	init  *engine.Init
	phase *timerPhase

	Interval time.Duration `yaml:"interval" lang:"interval" doc:"The time between two ticks; a bare integer is seconds." mgmt:"param,required,unit=s,min=10ms"`
}

// timerPhase says when the next tick is due. Watch only wakes up; whether a tick
// is due is decided by CheckApply from the clock, so a timer ticks also when it
// is polled and never watched.
type timerPhase struct {
	mu    sync.Mutex
	next  time.Time
	moved chan struct{} // of capacity 1: the phase was reset
}

// Default returns an empty resource.
func (x *TimerRes) Default() engine.Res { return &TimerRes{} }

// Validate refuses an interval that is absent or too short.
func (x *TimerRes) Validate() error {
	if x.Interval < minInterval {
		return fmt.Errorf("interval is %s, it must be at least %s", x.Interval, minInterval)
	}
	return nil
}

// Init sets the first tick one interval from now.
func (x *TimerRes) Init(init *engine.Init) error {
	x.init = init
	x.phase = &timerPhase{next: x.clock().Now().Add(x.Interval), moved: make(chan struct{}, 1)}
	return nil
}

// clock is that of the machine.
func (x *TimerRes) clock() clock.Clock { return engine.ClockOf(x.init.Host) }

// Cleanup has nothing to release.
func (x *TimerRes) Cleanup() error { return nil }

// Watch gives an event at each tick. It goes on by itself, so a tick that is not taken (under noop)
// is followed by the next.
func (x *TimerRes) Watch(ctx context.Context) error {
	at := x.phase.due()
	c := x.clock()
	t := clock.NewTimer(c, at.Sub(c.Now()))
	defer t.Stop()
	x.init.Running()
	for {
		select {
		case <-t.C:
			x.init.Event()
			at = after(at, x.Interval, c.Now())
		case <-x.phase.moved:
			at = x.phase.due()
		case <-ctx.Done():
			return nil
		}
		t.Reset(at.Sub(c.Now()))
	}
}

// CheckApply takes a tick that is due, or resets the phase on a refresh.
func (x *TimerRes) CheckApply(_ context.Context, apply bool) (bool, error) {
	now := x.clock().Now()
	refresh, due := x.init.Refresh(), !now.Before(x.phase.due())
	switch {
	case due:
		x.init.Change(engine.Change{Verb: engine.Ran})
	case refresh:
		x.init.Change(engine.Change{Verb: engine.Refreshed})
	default:
		return true, nil
	}
	if apply {
		x.phase.advance(now, x.Interval, refresh)
	}
	return false, nil
}

func (p *timerPhase) due() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// advance moves the next tick past now: on the grid of the ticks so far, or one
// whole interval from now if the phase is to be reset.
func (p *timerPhase) advance(now time.Time, interval time.Duration, reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !reset {
		p.next = after(p.next, interval, now)
		return
	}
	p.next = now.Add(interval)
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// after returns the first tick of the grid through t that is later than both t
// and now.
func after(t time.Time, interval time.Duration, now time.Time) time.Time {
	missed := max(now.Sub(t), 0) / interval
	return t.Add((missed + 1) * interval)
}

// Cmp compares the parameters.
func (x *TimerRes) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Doc describes the kind.
func (x *TimerRes) Doc() string {
	return `Ticks: at each interval it reports a change, so that those whom it notifies run.

A command that has to run every hour is an ` + "`exec`" + ` with ` + "`refreshonly`" + ` that is notified by a timer. The first tick comes one
interval after the start. Ticks that come while the last one is still being worked on are merged into one. A notification
resets the phase: the next tick comes one whole interval later, and the ticks go on from there.

Under noop a tick that is due stays due: it is reported, and not taken. A graph with a timer is quiet only between
two ticks, so it counts as converged only if the interval is longer than the quiet time that is asked for.`
}
