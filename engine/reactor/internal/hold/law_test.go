package hold_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// TestBudgetsAreWrittenAsTheyAreRead: the text of a budget is read as the same budget, and each budget that is read is valid.
func TestBudgetsAreWrittenAsTheyAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := hold.Budget{Within: time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "within"))}
		if rapid.Bool().Draw(t, "whole") {
			b.Within = max(time.Second, b.Within.Truncate(time.Second))
		}
		if b.Most = rapid.IntRange(0, 1000).Draw(t, "most"); b.Most == 0 {
			b.Share = float64(rapid.IntRange(1, 1000).Draw(t, "share")) / 10 / 100
		}
		got, err := hold.ParseBudget(b.String())
		if err != nil || got != b || got.Validate() != nil || !got.On() {
			t.Fatalf("%+v is written as %s, which is %+v, %v", b, b, got, err)
		}
	})
	for _, text := range []string{"x/5m", "Inf%/1h", "20/5m/1", "20 /5m", "1e3/5m", "20/5"} {
		if b, err := hold.ParseBudget(text); err == nil {
			t.Errorf("%q is read as %+v", text, b)
		}
	}
	for b, good := range map[hold.Budget]bool{
		{}: true, {Most: 1, Within: 1}: true, {Share: 1, Within: 1}: true, {Most: -1, Within: 1}: false, {Share: 1.1, Within: 1}: false, {Share: -0.1, Within: 1}: false, {Most: 1}: false, {Share: 0.1, Within: -1}: false,
	} {
		if err := b.Validate(); (err == nil) != good {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// TestAccountNeverOverspends plays changes, answers, operators and restarts on an account with its records. Within the time there are
// never more changes than the budget allows, unless an operator has said to go on. An account that was used up stays so.
func TestAccountNeverOverspends(t *testing.T) {
	const second = int64(time.Second)
	begin := time.Unix(1_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		b := hold.Budget{Most: rapid.IntRange(1, 4).Draw(t, "most"), Within: time.Duration(rapid.IntRange(1, 10).Draw(t, "within")) * time.Second}
		var now, zero int64 = 1, 0 // of the clock, and where it began on the wall
		a := &hold.Account{}
		a.Set(b, 100)
		wall := func() time.Time { return begin.Add(time.Duration(zero + now)) }
		store, live := map[string][]byte{}, map[uint64]int64{} // records, and the times of the changes that count
		empty := false
		young := func(t *rapid.T) {
			for num, at := range live {
				if zero+now-at >= int64(b.Within) {
					t.Fatalf("change %d still counts after %s", num, time.Duration(zero+now-at))
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				num, past, err := a.Take(now)
				for _, p := range past {
					if at, ok := live[p]; !ok || zero+now-at < int64(b.Within) {
						t.Fatalf("change %d counts no more after %s", p, time.Duration(zero+now-at))
					}
					delete(live, p)
					delete(store, hold.BudgetKey(p))
				}
				young(t)
				if allowed := !empty && len(live) < b.Most; allowed != (err == nil) || err != nil && !errors.Is(err, hold.ErrUsedUp) {
					t.Fatalf("%d of %d in the last %s, empty %t: %v", len(live), b.Most, b.Within, empty, err)
				}
				if err != nil {
					if empty = true; a.Tell() {
						store[hold.BudgetEmpty] = nil
					}
					return
				}
				if _, twice := live[num]; twice {
					t.Fatalf("the number %d is given twice", num)
				}
				live[num], store[hold.BudgetKey(num)] = zero+now, hold.BudgetValue(wall())
			},
			"give back": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing was taken")
				}
				num := rapid.SampledFrom(slices.Sorted(maps.Keys(live))).Draw(t, "number")
				a.GiveBack(num)
				delete(live, num)
				delete(store, hold.BudgetKey(num))
			},
			"refill": func(t *rapid.T) {
				fills := a.Refills()
				past := a.Refill()
				if slices.Sort(past); !slices.Equal(past, slices.Sorted(maps.Keys(live))) || a.Refills() != fills+1 {
					t.Fatalf("%v count no more, want %v", past, live)
				}
				a.Unlatch()
				empty = false
				clear(live)
				clear(store)
			},
			"unlatch": func(t *rapid.T) {
				_, there := store[hold.BudgetEmpty]
				if told := a.Unlatch(); told != there {
					t.Fatalf("the record has to go: %t, and it is there: %t", told, there)
				}
				delete(store, hold.BudgetEmpty)
				empty = false
			},
			"time": func(t *rapid.T) { now += rapid.Int64Range(0, 4).Draw(t, "seconds") * second },
			"restart": func(t *rapid.T) {
				zero, now = zero+now-1+rapid.Int64Range(0, 3).Draw(t, "seconds")*second, 1
				a = &hold.Account{}
				a.Set(b, 100)
				for _, key := range slices.Sorted(maps.Keys(store)) {
					if a.Recall(key, store[key], now, wall()) {
						num := uint64(0)
						_, _ = fmt.Sscan(key, &num)
						if at, ok := live[num]; !ok || zero+now-at < int64(b.Within) {
							t.Fatalf("the record %s counts no more", key)
						}
						delete(live, num)
						delete(store, key)
					}
				}
				young(t)
				if a.Recalled() != empty {
					t.Fatalf("after a restart empty is %t", !empty)
				}
			},
		})
	})
	var none hold.Account
	if !none.Recall("1", []byte("1"), 1, begin) {
		t.Error("a record counts where there is no budget")
	}
	var a hold.Account
	a.Set(hold.Budget{Most: 1, Within: time.Hour}, 1)
	for key, value := range map[string]string{"x": "1", "1": "x", "": "", "-1": "5"} {
		if !a.Recall(key, []byte(value), 1, begin) {
			t.Errorf("the record %q %q counts", key, value)
		}
	}
	if a.Recall("7", hold.BudgetValue(begin.Add(time.Hour)), 1, begin) || second64(a.Take(1)) == nil {
		t.Error("a change of the future, as after the wall clock was set back, does not count")
	}
	if a.Unlatch(); second64(a.Take(1+int64(time.Hour))) != nil {
		t.Error("a change of the future counts for longer than the time of the budget")
	}
}

func second64(_ uint64, _ []uint64, err error) error { return err }

// TestBudgetsOfShares: a share is of the vertices that the graph has now, and never less than one change.
func TestBudgetsOfShares(t *testing.T) {
	for _, c := range []struct {
		share float64
		n     int
		want  int
	}{{0.1, 100, 10}, {0.1, 101, 11}, {0.1, 1, 1}, {0.1, 0, 1}, {1, 3, 3}, {0.001, 10, 1}} {
		var a hold.Account
		a.Set(hold.Budget{Share: c.share, Within: time.Hour}, 1)
		a.Fit(c.n)
		got := 0
		for range c.want + 2 {
			if _, _, err := a.Take(1); err == nil {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%g of %d vertices allows %d changes, want %d", c.share, c.n, got, c.want)
		}
	}
}

// TestWaitsAreWithinBounds: the wait before another try is never negative, never above the longest one, and with the same luck no
// shorter than the wait before. No delay of a graph makes it fail.
func TestWaitsAreWithinBounds(t *testing.T) {
	errs := []error{
		errors.New("plain"), syscall.EMFILE, fmt.Errorf("write: %w", syscall.ENOSPC), syscall.ECONNREFUSED, &net.DNSError{}, context.DeadlineExceeded,
	}
	length := rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Hour, math.MaxInt64 / 2, math.MaxInt64}), rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		m := new(engine.MetaParams)
		m.Retry = rapid.SampledFrom([]int{engine.RetryDefault, engine.RetryForever, 3}).Draw(t, "retry")
		m.Delay, m.DelayMax, m.Poll = length.Draw(t, "delay"), length.Draw(t, "longest"), length.Draw(t, "poll")
		err := rapid.SampledFrom(errs).Draw(t, "error")
		for _, most := range []bool{true, false} { // with the longest and with the shortest wait that chance gives
			b := hold.Backoff{Rand: func(n int64) int64 {
				if n <= 0 {
					t.Fatalf("a random number below %d", n)
				}
				if most {
					return 0
				}
				return n - 1
			}}
			before := time.Duration(0)
			for tried := range int32(80) {
				wait, yes := b.Again(m, err, tried)
				if allowed := m.Retry != 3 || tried < 3; yes != allowed {
					t.Fatalf("try %d of %d: %t", tried, m.Retry, yes)
				}
				if wait < before || wait < 0 || m.DelayMax > 0 && wait > m.DelayMax || m.Retry == engine.RetryDefault && m.Poll > 0 && wait > m.Poll {
					t.Fatalf("try %d waits %s after %s; the longest is %s, the poll %s", tried, wait, before, m.DelayMax, m.Poll)
				}
				before = wait
			}
		}
	})
}
