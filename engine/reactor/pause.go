package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Pause leaves resources, or with an empty name everything, alone until a time: they are watched, but not
// run. A run that goes on ends first. A pause survives a restart of the process if the Store does, and takes the
// place of an earlier one of the same resource. All take effect at one moment, or with an error none. It returns when they are in
// effect; callable from any goroutine.
func (r *Reactor) Pause(ctx context.Context, pauses ...Pause) error {
	wall := r.opt.Wall()
	for _, p := range pauses {
		if left := p.Until.Sub(wall); !p.Until.IsZero() && left <= 0 {
			return fmt.Errorf("the pause would have ended %s ago", -left)
		}
	}
	if err := r.lockHolds(ctx); err != nil {
		return err
	}
	defer func() { <-r.holding }()
	if err := r.known(ctx, pauses); err != nil {
		return err
	}
	if err := r.keepPauses(ctx, pauses, wall); err != nil {
		return err
	}
	return r.do(context.WithoutCancel(ctx), func() { // they are kept, so they hold
		for _, p := range pauses {
			r.loop.pause(&p, max(p.Until.Sub(wall), 0))
		}
	})
}

func (r *Reactor) lockHolds(ctx context.Context) error {
	select {
	case r.holding <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// known refuses pauses of which a resource is not in the graph.
func (r *Reactor) known(ctx context.Context, pauses []Pause) (err error) {
	e := r.do(ctx, func() {
		for _, p := range pauses {
			if p.Resource != "" && r.loop.named(p.Resource) == nil {
				err = &UnknownResourceError{p.Resource}
				return
			}
		}
	})
	return cmp.Or(e, err)
}

// absentPauses returns the pauses of resources that are not in the graph, by name.
func (l *loop) absentPauses() (list []Pause) {
	for _, id := range l.holds.pauses.Names() {
		if id != "" && l.named(id) == nil {
			list = append(list, *l.holds.pauses.Own(id))
		}
	}
	return list
}

// keepPauses records pauses in one step.
func (r *Reactor) keepPauses(ctx context.Context, pauses []Pause, wall time.Time) error {
	writes := make([]records.Write, 0, len(pauses))
	for _, p := range pauses {
		text, err := p.Record(max(p.Until.Sub(wall), 0))
		if err != nil {
			return fmt.Errorf("the pause cannot be recorded: %w", err)
		}
		writes = append(writes, records.Write{Table: tablePause, Key: hold.PauseKey(p.Resource), Value: text})
	}
	if err := r.memory.recorder.Commit(ctx, writes); err != nil {
		return fmt.Errorf("the pause cannot be recorded: %w", err)
	}
	return nil
}

// NotHeldError is the error of Resume for a resource that nothing keeps from going on.
type NotHeldError struct {
	Resource string
	State    resgraph.State
}

func (e *NotHeldError) Error() string {
	text := fmt.Sprintf("%s is neither paused nor held: it is %s", e.Resource, e.State)
	if e.State == resgraph.StateFailed {
		text += ", and retry tries it again"
	}
	return text
}

// Resume ends the pause of a resource and lets it go if a limit holds it. With an
// empty name it does so for everything, and the change budget begins anew. It
// returns when that is in effect; callable from any goroutine. The error is a
// *NotHeldError if the resource is neither paused nor held.
func (r *Reactor) Resume(ctx context.Context, resource string) error {
	return r.resume(ctx, func() (ended []string, err error) {
		if resource == "" {
			return r.loop.resumeAll(), nil
		}
		ended, err = r.loop.resumeNow(resource)
		if err == nil {
			r.loop.unlatchIdle()
		}
		return ended, err
	})
}

// ResumeHeld is Resume for those of some resources that are paused or held, at one moment. It returns which they are.
func (r *Reactor) ResumeHeld(ctx context.Context, resources []string) (resumed []string, err error) {
	err = r.resume(ctx, func() (ended []string, err error) {
		ended, resumed, err = r.loop.resumeSome(resources)
		return ended, err
	})
	return resumed, err
}

// resume has pauses ended on the loop, and records which.
func (r *Reactor) resume(ctx context.Context, now func() (ended []string, err error)) error {
	if err := r.lockHolds(ctx); err != nil {
		return err
	}
	defer func() { <-r.holding }()
	var err error
	var ended []string
	if e := r.do(ctx, func() { ended, err = now() }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	var writes []records.Write
	for _, id := range ended {
		writes = append(writes, records.Write{Table: tablePause, Key: hold.PauseKey(id)})
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.memory.recorder.Commit(ctx, writes); err != nil {
		return fmt.Errorf("resumed, but that cannot be recorded: after a restart it is paused again: %w", err)
	}
	return nil
}

var errAllPaused = errors.New("everything is paused: resume everything, and then pause what has to be left alone")

// resumeNow returns which pauses it has ended.
func (l *loop) resumeNow(resource string) (ended []string, err error) {
	v, p := l.named(resource), l.holds.pauses.Own(resource)
	switch {
	case v == nil && p == nil:
		return nil, &UnknownResourceError{resource}
	case p == nil && l.holds.pauses.Own("") != nil:
		return nil, errAllPaused
	}
	if p == nil && v.hold.HeldBy(LimitApproval) {
		return nil, &UnapprovedError{resource}
	}
	if p == nil && !v.hold.IsHeld() {
		return nil, &NotHeldError{resource, l.m.State(v.slot)}
	}
	if p != nil {
		ended = append(ended, resource)
		l.unpause(resource)
	}
	if v != nil {
		v.hold.Allow()
		l.resumeOne(v)
	}
	return ended, nil
}

// resumeSome resumes those that are paused or held. It returns whose pauses it has ended, and who goes on. The error is errAllPaused where
// that keeps all of them.
func (l *loop) resumeSome(resources []string) (ended, resumed []string, err error) {
	for _, id := range resources {
		pauses, e := l.resumeNow(id)
		if e == nil {
			ended, resumed = append(ended, pauses...), append(resumed, id)
		} else if errors.Is(e, errAllPaused) {
			err = e
		}
	}
	if len(resumed) == 0 {
		return nil, nil, err
	}
	l.unlatchIdle()
	return ended, resumed, nil
}

// unlatchIdle lets the budget begin anew where it holds nothing any more.
func (l *loop) unlatchIdle() {
	if !slices.ContainsFunc(l.byIndex, func(v *vertex) bool { return v.hold.HeldBy(LimitBudget) }) {
		l.unlatch()
	}
}

// resumeAll ends all pauses, and returns which. Everything goes on, and again as much may change.
func (l *loop) resumeAll() (ended []string) {
	for _, id := range l.holds.pauses.Names() {
		ended = append(ended, id)
		l.unpause(id)
	}
	l.refill()
	for _, v := range l.byIndex {
		l.resumeOne(v)
	}
	return ended
}

// recallPauses puts the pauses of an earlier process into effect.
func (l *loop) recallPauses(ctx context.Context) error {
	for rec, err := range l.opt.Store.Records(ctx, tablePause) {
		if err != nil {
			return fmt.Errorf("the pauses: %w", err)
		}
		p, left, past := hold.PauseOf(rec.Key, rec.Value, l.opt.Wall())
		switch {
		case past:
			l.memory.recorder.Note(tablePause, rec.Key, nil)
		case p != nil:
			l.pause(p, left)
		}
	}
	return nil
}

// Limits are the bounds that can be altered while Run is going on; see Options.
type Limits struct {
	MaxChanges  Budget
	MaxRemovals Removals
	Flapping    Flapping
	Approve     Approval
	Windows     Windows
	Policy      Policy // nil for none

	ApproveExpiry time.Duration // DefaultApproveExpiry when 0
}

// SetLimits makes other bounds count from now on. Spent changes of the budget stay spent, and vertices held by it or by Flapping stay
// so until Resume, unless the new limits have no such limit. The others are looked at again. The error names the
// wrong limits; then nothing is altered. It returns when that is in effect. Callable from any
// goroutine.
func (r *Reactor) SetLimits(ctx context.Context, l Limits) error {
	if err := errors.Join(l.MaxChanges.Validate(), l.Flapping.Validate()); err != nil {
		return err
	}
	return r.do(ctx, func() {
		r.removals.Store(&l.MaxRemovals)
		r.opt.Flapping = l.Flapping
		was := r.guards.Swap(&guards{l.Approve, l.Windows, l.Policy, cmp.Or(l.ApproveExpiry, DefaultApproveExpiry)})
		r.account.Set(l.MaxChanges, len(r.loop.byIndex))
		if !l.MaxChanges.On() {
			r.loop.refill()
			r.loop.release(LimitBudget)
		}
		if l.Flapping.Times == 0 {
			r.loop.release(LimitFlapping)
		}
		r.loop.release(LimitWindow)
		for _, v := range r.loop.byIndex {
			_, denied := errors.AsType[*DeniedError](v.past.lastErr)
			if v.hold.HeldBy(LimitApproval) || denied && was.policy != l.Policy {
				r.loop.event(v)
			}
		}
	})
}

// release lets held changes go.
func (l *loop) release(limit string) {
	for _, v := range l.byIndex {
		if v.hold.HeldBy(limit) {
			l.resumeOne(v)
		}
	}
}
