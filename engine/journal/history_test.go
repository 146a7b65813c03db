package journal_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/journal"
)

func ids(t interface{ Fatal(...any) }, h *journal.History, q journal.Query) (list []uint64) {
	for e, err := range h.Query(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.ID)
	}
	return list
}

// TestHistoryLaws compares a history with a list, over restarts.
func TestHistoryLaws(t *testing.T) {
	for name, durable := range map[string]bool{"memory": false, "file": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { historyLaws(t, r, durable) })
		})
	}
}

func historyLaws(t *testing.T, r *rapid.T, durable bool) {
	now := time.Unix(1_700_000_000, 5)
	var clock atomic.Int64 // now, for the goroutine of the history
	clock.Store(now.UnixNano())
	opt := journal.HistoryOptions{Now: func() time.Time { return time.Unix(0, clock.Load()) }, FlushEvery: time.Microsecond}
	path := newPath(t)
	var j *journal.Journal
	open := func() *journal.History {
		if !durable {
			return journal.NewHistory(opt)
		}
		var err error
		if j, err = journal.Open(path, journal.Options{History: opt}); err != nil {
			r.Fatal(err)
		}
		return j.History()
	}
	h := open()
	defer func() { // also where rapid gives a run up
		if j != nil {
			_ = j.Close()
		}
		_ = h.Close()
	}()
	var model []journal.Entry
	word := rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("long", 300)})
	r.Repeat(map[string]func(*rapid.T){
		"append": func(r *rapid.T) {
			for range rapid.IntRange(1, 40).Draw(r, "n") {
				now = now.Add(time.Duration(rapid.IntRange(-5, 10).Draw(r, "step")) * time.Second)
				clock.Store(now.UnixNano())
				e := journal.Entry{At: now, Resource: word.Draw(r, "resource"), Outcome: word.Draw(r, "outcome"), Data: []byte(word.Draw(r, "data"))}
				if rapid.Bool().Draw(r, "clock") {
					e.At = time.Time{}
				}
				e.ID = h.Append(e)
				e.At = now
				if n := len(model); n > 0 && e.ID != model[n-1].ID+1 {
					r.Fatalf("id %d follows %d", e.ID, model[n-1].ID)
				}
				model = append(model, e)
			}
		},
		"restart": func(r *rapid.T) {
			if durable {
				if err := j.Close(); err != nil {
					r.Fatal(err)
				}
				h = open()
			}
		},
		"query": func(r *rapid.T) {
			q := journal.Query{
				Resource: word.Draw(r, "resource"), Outcome: word.Draw(r, "outcome"), Newest: rapid.Bool().Draw(r, "newest"),
				Limit: rapid.IntRange(0, 5).Draw(r, "limit"), After: rapid.Uint64Range(0, 60).Draw(r, "after"),
				Before: rapid.Uint64Range(0, 60).Draw(r, "before"),
			}
			if rapid.Bool().Draw(r, "times") {
				q.From, q.Until = now.Add(-time.Minute), now.Add(time.Second)
			}
			compare(r, h, model, q)
		},
	})
	compare(r, h, model, journal.Query{})
}

func compare(r *rapid.T, h *journal.History, model []journal.Entry, q journal.Query) {
	var want []journal.Entry
	for _, e := range model {
		if e.ID > q.After && (q.Before == 0 || e.ID < q.Before) && (q.Resource == "" || e.Resource == q.Resource) &&
			(q.Outcome == "" || e.Outcome == q.Outcome) && !e.At.Before(q.From) && (q.Until.IsZero() || e.At.Before(q.Until)) {
			want = append(want, e)
		}
	}
	if q.Newest {
		slices.Reverse(want)
	}
	if q.Limit > 0 && len(want) > q.Limit {
		want = want[:q.Limit]
	}
	var got []journal.Entry
	for e, err := range h.Query(context.Background(), q) {
		if err != nil {
			r.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(got, want, func(a, b journal.Entry) bool {
		return a.ID == b.ID && a.At.Equal(b.At) && a.Resource == b.Resource && a.Outcome == b.Outcome && string(a.Data) == string(b.Data)
	}) {
		r.Fatalf("%+v: got %d entries %v, want %d", q, len(got), got, len(want))
	}
}

// TestHistoryPrune: the oldest go by age and by size, and the ids go on.
func TestHistoryPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := journal.NewHistory(journal.HistoryOptions{MaxAge: 24 * time.Hour, MaxBytes: 256 << 10})
		defer h.Close()
		last := uint64(0)
		for range 100 {
			for range 100 {
				last = h.Append(journal.Entry{Data: make([]byte, 100)})
			}
			time.Sleep(2 * time.Second)
		}
		oldest, next := h.Bounds()
		got := ids(t, h, journal.Query{})
		if kept := len(got) * 107; kept > 300<<10 || kept < 200<<10 || got[0] != oldest || got[len(got)-1] != last || next != last+1 {
			t.Errorf("%d entries from %d to %d are kept; bounds %d %d", len(got), got[0], got[len(got)-1], oldest, next)
		}
		time.Sleep(48 * time.Hour)
		if got := ids(t, h, journal.Query{}); len(got) > 50 {
			t.Errorf("after two days %d entries are kept", len(got))
		}
		if id := h.Append(journal.Entry{}); id != last+1 {
			t.Errorf("id %d follows %d", id, last)
		}
	})
}

// TestHistoryKilled: what is not closed keeps what was flushed, and no id is given
// twice.
func TestHistoryKilled(t *testing.T) {
	path, copied := newPath(t), newPath(t)
	j := open(t, path, journal.Options{History: journal.HistoryOptions{FlushEvery: time.Millisecond}})
	h := j.History()
	first := h.Append(journal.Entry{Outcome: "kept"})
	for len(diskIDs(t, path, copied)) == 0 { // until it is flushed
		time.Sleep(time.Millisecond)
	}
	lost := h.Append(journal.Entry{Outcome: "perhaps"})
	k := open(t, copied, journal.Options{})
	if got := ids(t, k.History(), journal.Query{Outcome: "kept"}); !slices.Equal(got, []uint64{first}) {
		t.Errorf("there are %v", got)
	}
	if id := k.History().Append(journal.Entry{}); id <= lost {
		t.Errorf("id %d was given again, after %d", id, lost)
	}
}

// diskIDs copies a journal that is in use, as a crash would leave it, and returns
// what its history holds.
func diskIDs(t *testing.T, path, to string) []uint64 {
	t.Helper()
	copyFile(t, path, to)
	k, err := journal.Open(to, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = k.Close()
		copyFile(t, path, to)
	}()
	return ids(t, k.History(), journal.Query{})
}

func TestFollow(t *testing.T) {
	h := journal.NewHistory(journal.HistoryOptions{})
	defer h.Close()
	f := h.Follow()
	defer f.Close()
	gone := h.Follow()
	gone.Close()
	const n = 5000
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				h.Append(journal.Entry{Outcome: "x"})
			}
		})
	}
	seen := map[uint64]bool{}
	for last := uint64(0); len(seen) < n; {
		<-f.C()
		for _, id := range ids(t, h, journal.Query{After: last}) {
			if id <= last || seen[id] {
				t.Fatalf("id %d after %d", id, last)
			}
			seen[id], last = true, id
		}
	}
	wg.Wait()
	if max := slices.Max(slices.Collect(maps.Keys(seen))); max != n {
		t.Errorf("the last id is %d", max)
	}
	select {
	case <-gone.C():
		t.Error("one that is closed was woken")
	default:
	}
}
