package hosts_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// removedList is the operator's list.
type removedList struct {
	mu      sync.Mutex
	hosts   []string
	changed chan struct{}
}

func (l *removedList) Removed(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.hosts, host)
}

func (l *removedList) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *removedList) set(hosts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.hosts, l.changed = hosts, make(chan struct{})
}

// TestFindingH9RemovedHostsDoNotCount: in a store that lets everybody write, facts, exports, candidates and places of a removed host do not count, from the
// moment when it is on the list, and what it writes later does not count either. A host that comes back counts again.
func TestFindingH9RemovedHostsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := memory.New()
		defer open.Close()
		list := &removedList{changed: make(chan struct{})}
		s := hosts.Store{World: hosts.Without(open, list), Clock: clock.System{}}
		lease, err := open.Lease(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		put := func(key, value string) {
			t.Helper()
			if _, _, err := open.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value), Lease: lease}}); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		seen := map[string]map[string]bool{}
		for _, prefix := range []string{hosts.Prefix, hosts.ExportPrefix(hosts.All), hosts.SchedulePrefix(hosts.All)} {
			go func() {
				for c := range s.Follow(t.Context(), prefix) {
					mu.Lock()
					if seen[prefix] == nil || c.Whole {
						seen[prefix] = map[string]bool{}
					}
					for _, u := range c.Updates {
						seen[prefix][u.Key] = !u.Deleted
					}
					mu.Unlock()
				}
			}()
		}
		foe := []string{hosts.MemberKey("foe"), "exports/all/foe/host/a", hosts.ScheduleKey("all", "lead", "foe")}
		for _, key := range foe {
			put(key, `{"strategy":"sticky","count":1}`)
		}
		put(hosts.ScheduleKey("all", "lead", "good"), `{"strategy":"sticky","count":1}`)
		wants := func(counts bool, leader string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			mu.Lock()
			n := 0
			for _, keys := range seen {
				for _, key := range foe {
					if keys[key] {
						n++
					}
				}
			}
			mu.Unlock()
			if (n == len(foe)) != counts || !counts && n > 0 {
				t.Errorf("%d of %d keys of the removed host count", n, len(foe))
			}
			if chosen, _, err := hosts.Scheduled(t.Context(), s, "all", "lead"); err != nil || !slices.Equal(chosen, []string{leader}) {
				t.Errorf("chosen are %v, %v; want %s", chosen, err, leader)
			}
		}
		wants(true, "foe")
		taken, err := (hosts.Store{World: open, Clock: clock.System{}}).Acquire(t.Context(), time.Minute, hosts.Semaphore{Topic: "all", Name: "one", Count: 1}, "foe")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			h, err := s.Acquire(t.Context(), time.Minute, hosts.Semaphore{Topic: "all", Name: "one", Count: 1}, "good")
			if err == nil {
				h.Release()
			}
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("there were two places: %v", err)
		default:
		}
		list.set("foe")
		wants(false, "good")
		if err := <-got; err != nil {
			t.Errorf("the place of the removed host stays taken: %v", err)
		}
		for _, key := range foe {
			put(key, `{"strategy":"sticky","count": 1}`)
		}
		wants(false, "good")
		list.set()
		wants(true, "foe")
		taken.Release()
	})
}
