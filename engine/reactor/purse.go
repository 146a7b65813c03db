package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

const (
	tableBudget = "budget" // key: the number of a change; when it was made, by the wall clock
	budgetEmpty = "empty"  // a key of it: the budget was used up, and nobody has said to go on
)

// purse counts the changes of a Budget. Runs take from it, on any goroutine. What
// was taken is in the store: who restarts the process has not said to go on.
type purse struct {
	Budget             // altered on the loop only, under mu
	active atomic.Bool // Budget is a bound
	mu     sync.Mutex
	most   int // at this moment
	spent  []spending
	next   uint64 // number
	empty  bool   // it was used up, and nobody has said to go on
	fills  uint64 // how often somebody has
}

// spending is one change, at a time of the reactor's clock.
type spending struct {
	num uint64
	at  int64
}

// on reports whether there is a bound. Callable from any goroutine.
func (p *purse) on() bool { return p.active.Load() }

// set makes another bound count, for a graph of n vertices. What was spent stays spent.
func (p *purse) set(b Budget, n int) {
	p.mu.Lock()
	p.Budget = b
	p.active.Store(b.on())
	p.mu.Unlock()
	p.fit(n)
}

// fit makes the bound right for a graph of n vertices.
func (p *purse) fit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = p.Most
	if p.Share > 0 {
		p.most = max(1, int(math.Ceil(p.Share*float64(n))))
	}
}

// take asks for one change. It returns its number, and those that are so long ago
// that they count no more.
func (p *purse) take(now int64) (num uint64, past []uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.spent) > 0 && p.spent[0].at <= now-int64(p.Within) {
		past = append(past, p.spent[0].num)
		p.spent = p.spent[1:]
	}
	if p.empty || len(p.spent) >= p.most {
		p.empty = true
		return 0, past, errHeld
	}
	p.next++
	p.spent = append(p.spent, spending{p.next, now})
	return p.next, past, nil
}

// giveBack says that a change that was taken was none.
func (p *purse) giveBack(num uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = slices.DeleteFunc(p.spent, func(s spending) bool { return s.num == num })
}

// refill starts anew. It returns what counts no more.
func (p *purse) refill() (past []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spent {
		past = append(past, s.num)
	}
	p.spent, p.empty = nil, false
	p.fills++
	return past
}

// refills counts how often it was filled again.
func (p *purse) refills() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fills
}

// unlatch lets changes be made again as far as the time allows.
func (p *purse) unlatch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.empty = false
}

func budgetKey(num uint64) string { return strconv.FormatUint(num, 10) }

// take asks the budget for one change of v. What has to be written down of it is
// in the job.
func (r *Reactor) take(v *vertex) error {
	if v.job.pass || !r.purse.on() {
		return nil
	}
	v.job.refill = r.purse.refills()
	num, past, err := r.purse.take(r.now())
	for _, n := range past {
		r.scribe.note(tableBudget, budgetKey(n), nil)
	}
	if err != nil {
		return err
	}
	v.job.spending = num
	return nil
}

// spent adds to the writes that come before v is altered what it takes from the
// budget.
func (r *Reactor) spent(v *vertex, writes []engine.Write) []engine.Write {
	if v.job.spending == 0 {
		return writes
	}
	now := strconv.FormatInt(r.opt.Wall().UnixNano(), 10)
	return append(writes, engine.Write{Table: tableBudget, Key: budgetKey(v.job.spending), Value: []byte(now)})
}

// untake gives it back: nothing was changed.
func (r *Reactor) untake(v *vertex) {
	if v.job.spending == 0 {
		return
	}
	r.purse.giveBack(v.job.spending)
	r.scribe.note(tableBudget, budgetKey(v.job.spending), nil)
	v.job.spending = 0
}

// refill lets as much change again as at the start.
func (r *Reactor) refill() {
	for _, n := range r.purse.refill() {
		r.scribe.note(tableBudget, budgetKey(n), nil)
	}
	r.unlatch()
}

// unlatch lets changes be made again as far as the time allows: nobody waits to be
// told any more.
func (r *Reactor) unlatch() {
	r.purse.unlatch()
	if r.usedUp {
		r.scribe.note(tableBudget, budgetEmpty, nil)
	}
	r.usedUp = false
}

// recallBudget counts the changes of an earlier process. Without a budget they
// are forgotten.
func (r *Reactor) recallBudget(ctx context.Context) error {
	p := &r.purse
	for rec, err := range r.opt.Store.Records(ctx, tableBudget) {
		if err != nil {
			return fmt.Errorf("the change budget: %w", err)
		}
		if rec.Key == budgetEmpty && p.on() {
			p.empty, r.usedUp = true, true
			continue
		}
		num, err1 := strconv.ParseUint(rec.Key, 10, 64)
		at, err2 := strconv.ParseInt(string(rec.Value), 10, 64)
		ago := r.opt.Wall().Sub(time.Unix(0, at))
		if err1 != nil || err2 != nil || !p.on() || ago >= p.Within {
			r.scribe.note(tableBudget, rec.Key, nil)
			continue
		}
		p.spent = append(p.spent, spending{num, r.now() - int64(max(ago, 0))})
		p.next = max(p.next, num)
	}
	if p.empty {
		r.log.Warn("the change budget was used up before the last end: what wants to change is held until it is resumed (mgmt resume)",
			slog.String("budget", p.String()))
	}
	slices.SortFunc(p.spent, func(a, b spending) int { return int(a.at - b.at) })
	return nil
}
