package hold

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// BudgetEmpty is the key of the record that says that the budget was used up and that
// no operator has said to go on.
const BudgetEmpty = "empty"

// Account counts the changes of a Budget. Runs take from it, on any goroutine. The caller
// keeps a record of each change in the store: a restart of the process does not say
// to go on. The zero Account has no bound.
type Account struct {
	active atomic.Bool // the Budget is a bound
	mu     sync.Mutex
	budget Budget
	most   int // at this moment
	spent  []spending
	next   uint64 // number
	empty  bool   // it was used up, and no operator has said to go on
	told   bool   // and the log has said so
	fills  uint64 // how often the operator has
}

// spending is one change, at a time of the reactor's clock.
type spending struct {
	num uint64
	at  int64
}

// On reports whether there is a bound. Callable from any goroutine.
func (a *Account) On() bool { return a.active.Load() }

// Set makes another bound count, for a graph of n vertices. Changes that were made still count.
func (a *Account) Set(b Budget, n int) {
	a.mu.Lock()
	a.budget = b
	a.active.Store(b.On())
	a.mu.Unlock()
	a.Fit(n)
}

// Fit makes the bound right for a graph of n vertices.
func (a *Account) Fit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = a.budget.Most
	if a.budget.Share > 0 {
		a.most = max(1, int(math.Ceil(a.budget.Share*float64(n))))
	}
}

// Take asks for one change. It returns its number, and the numbers of changes that
// do not count any more.
func (a *Account) Take(now int64) (num uint64, past []uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.spent) > 0 && a.spent[0].at <= now-int64(a.budget.Within) {
		past = append(past, a.spent[0].num)
		a.spent = a.spent[1:]
	}
	if a.empty || len(a.spent) >= a.most {
		a.empty = true
		return 0, past, ErrUsedUp
	}
	a.next++
	a.spent = append(a.spent, spending{a.next, now})
	return a.next, past, nil
}

// GiveBack says that a change that was taken was none.
func (a *Account) GiveBack(num uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent = slices.DeleteFunc(a.spent, func(s spending) bool { return s.num == num })
}

// Refill starts anew. It returns the numbers that do not count any more.
func (a *Account) Refill() (past []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.spent {
		past = append(past, s.num)
	}
	a.spent, a.empty = nil, false
	a.fills++
	return past
}

// Refills counts how often it was filled again. Callable from any goroutine.
func (a *Account) Refills() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fills
}

// Unlatch lets changes be made again as far as the time allows. It reports whether the
// record that the budget was used up has to go.
func (a *Account) Unlatch() (told bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	told, a.empty, a.told = a.told, false, false
	return told
}

// Tell reports whether this is the first time since the last refill that a change finds the
// budget used up: the log and the store have to say so.
func (a *Account) Tell() (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, a.told = !a.told, true
	return first
}

// String returns the bound as ParseBudget reads it.
func (a *Account) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.budget.String()
}

// BudgetKey is the key of the record of one change.
func BudgetKey(num uint64) string { return strconv.FormatUint(num, 10) }

// BudgetValue is the value of the record of a change that is made at a time of the wall clock.
func BudgetValue(wall time.Time) []byte { return strconv.AppendInt(nil, wall.UnixNano(), 10) }

// Recall takes a record of an earlier process. It reports whether the record counts no more. It
// is called before anything runs.
func (a *Account) Recall(key string, value []byte, now int64, wall time.Time) (past bool) {
	if !a.On() {
		return true
	}
	if key == BudgetEmpty {
		a.empty, a.told = true, true
		return false
	}
	num, err1 := strconv.ParseUint(key, 10, 64)
	at, err2 := strconv.ParseInt(string(value), 10, 64)
	ago := wall.Sub(time.Unix(0, at))
	if err1 != nil || err2 != nil || ago >= a.budget.Within {
		return true
	}
	a.spent = append(a.spent, spending{num, now - int64(max(ago, 0))})
	a.next = max(a.next, num)
	return false
}

// Recalled ends Recall. It reports whether the budget was used up before.
func (a *Account) Recalled() (empty bool) {
	sorted.Func(a.spent, func(a, b spending) int { return int(a.at - b.at) })
	return a.empty
}
