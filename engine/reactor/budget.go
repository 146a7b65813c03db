package reactor

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

const tableBudget = "budget" // key: the number of a change; when it was made, by the wall clock

// take asks the budget for one change of v. What has to be written down of it is
// in the job.
func (r *Reactor) take(v *vertex) error {
	if v.run.job.pass || !r.account.On() {
		return nil
	}
	v.run.job.refill = r.account.Refills()
	num, past, err := r.account.Take(r.now())
	for _, n := range past {
		r.recorder.Note(tableBudget, hold.BudgetKey(n), nil)
	}
	if err != nil {
		return err
	}
	v.run.job.spending = num
	return nil
}

// spent adds to the writes that come before v is altered what it takes from the
// budget.
func (r *Reactor) spent(v *vertex, writes []engine.Write) []engine.Write {
	if v.run.job.spending == 0 {
		return writes
	}
	return append(writes, engine.Write{Table: tableBudget, Key: hold.BudgetKey(v.run.job.spending), Value: hold.BudgetValue(r.opt.Wall())})
}

// untake gives it back: nothing was changed.
func (r *Reactor) untake(v *vertex) {
	if v.run.job.spending == 0 {
		return
	}
	r.account.GiveBack(v.run.job.spending)
	r.recorder.Note(tableBudget, hold.BudgetKey(v.run.job.spending), nil)
	v.run.job.spending = 0
}

// refill lets as much change again as at the start.
func (r *Reactor) refill() {
	for _, n := range r.account.Refill() {
		r.recorder.Note(tableBudget, hold.BudgetKey(n), nil)
	}
	r.unlatch()
}

// unlatch lets changes be made again as far as the time allows.
func (r *Reactor) unlatch() {
	if r.account.Unlatch() {
		r.recorder.Note(tableBudget, hold.BudgetEmpty, nil)
	}
}

// recallBudget counts the changes of an earlier process. Without a budget they
// are forgotten.
func (r *Reactor) recallBudget(ctx context.Context) error {
	for rec, err := range r.opt.Store.Records(ctx, tableBudget) {
		if err != nil {
			return fmt.Errorf("the change budget: %w", err)
		}
		if r.account.Recall(rec.Key, rec.Value, r.now(), r.opt.Wall()) {
			r.recorder.Note(tableBudget, rec.Key, nil)
		}
	}
	if r.account.Recalled() {
		r.log.Warn("the change budget was used up before the last end: what wants to change is held until it is resumed (mgmt resume)",
			slog.String("budget", r.account.String()))
	}
	return nil
}
