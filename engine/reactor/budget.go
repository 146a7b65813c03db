package reactor

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/records"
)

const tableBudget = "budget" // key: the number of a change; when it was made, by the wall clock

// take asks the budget for one change of v. The job keeps its
// number, which is to be recorded.
func (x *runner) take(v *vertex) error {
	if v.run.job.pass || !x.account.On() {
		return nil
	}
	v.run.job.refill = x.account.Refills()
	num, past, err := x.account.Take(x.now())
	for _, n := range past {
		x.memory.recorder.Note(tableBudget, hold.BudgetKey(n), nil)
	}
	if err != nil {
		return err
	}
	v.run.job.spending = num
	return nil
}

// spent adds the record of the change that v takes from the budget. It is written before v is
// altered.
func (x *runner) spent(v *vertex, writes []records.Write) []records.Write {
	if v.run.job.spending == 0 {
		return writes
	}
	return append(writes, records.Write{Table: tableBudget, Key: hold.BudgetKey(v.run.job.spending), Value: hold.BudgetValue(x.opt.Wall())})
}

// untake gives it back: nothing was changed.
func (x *runner) untake(v *vertex) {
	if v.run.job.spending == 0 {
		return
	}
	x.account.GiveBack(v.run.job.spending)
	x.memory.recorder.Note(tableBudget, hold.BudgetKey(v.run.job.spending), nil)
	v.run.job.spending = 0
}

// refill lets as much change again as at the start.
func (c *core) refill() {
	for _, n := range c.account.Refill() {
		c.memory.recorder.Note(tableBudget, hold.BudgetKey(n), nil)
	}
	c.unlatch()
}

// unlatch lets changes be made again as far as the time allows.
func (c *core) unlatch() {
	if c.account.Unlatch() {
		c.memory.recorder.Note(tableBudget, hold.BudgetEmpty, nil)
	}
}

// recallBudget counts the changes of an earlier process. Without a budget they
// are forgotten.
func (c *core) recallBudget(ctx context.Context) error {
	for rec, err := range c.opt.Store.Records(ctx, tableBudget) {
		if err != nil {
			return fmt.Errorf("the change budget: %w", err)
		}
		if c.account.Recall(rec.Key, rec.Value, c.now(), c.opt.Wall()) {
			c.memory.recorder.Note(tableBudget, rec.Key, nil)
		}
	}
	if c.account.Recalled() {
		c.log.Warn("the change budget was used up before the last end: what wants to change is held until it is resumed (mgmt resume)",
			slog.String("budget", c.account.String()))
	}
	return nil
}
