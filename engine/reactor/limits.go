package reactor

import (
	"context"
	"errors"
)

// Limits are the bounds that can be altered while Run is going on; see Options.
type Limits struct {
	MaxChanges  Budget
	MaxRemovals Removals
	Fight       Fight
}

// SetLimits makes other bounds count from now on. What was spent of the change budget stays
// spent, and what a brake holds stays held until Resume, unless the new limits have no such
// brake. The error says what is wrong with the limits; then nothing is altered. It returns when
// that is in effect. Callable from any goroutine.
func (r *Reactor) SetLimits(ctx context.Context, l Limits) error {
	if err := errors.Join(l.MaxChanges.Validate(), l.Fight.Validate()); err != nil {
		return err
	}
	return r.do(ctx, func() {
		r.removals.Store(&l.MaxRemovals)
		r.opt.Fight = l.Fight
		r.purse.set(l.MaxChanges, len(r.byIndex))
		if !l.MaxChanges.on() {
			r.refill()
			r.release(BrakeBudget)
		}
		if l.Fight.Times == 0 {
			r.release(BrakeFight)
		}
	})
}

// release lets go what a brake holds.
func (r *Reactor) release(brake string) {
	for _, v := range r.byIndex {
		if v.held != nil && v.held.Brake == brake {
			r.resumeOne(v)
		}
	}
}
