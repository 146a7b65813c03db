package journal

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fullDisk refuses what a history saves, for a while.
type fullDisk struct {
	kept
	full atomic.Bool
}

func (d *fullDisk) save(s saving) error {
	if d.full.Load() {
		return ErrFull
	}
	return d.kept.save(s)
}

// TestHistoryOverflow: what has no room is counted, and an entry says so when there
// is room again.
func TestHistoryOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{kept: kept{chunks: map[uint64][]byte{}}}
		h := newHistory(disk, HistoryOptions{Buffer: 64 << 10}.withDefaults(), slog.New(slog.DiscardHandler))
		h.start()
		defer h.Close()
		h.Append(Entry{Outcome: "first"})
		synctest.Wait()
		disk.full.Store(true)
		given, none := 0, 0
		for range 100 {
			if h.Append(Entry{Data: make([]byte, 1000)}) > 0 {
				given++
			} else {
				none++
			}
		}
		if given < 50 || none < 20 {
			t.Fatalf("%d had room and %d none", given, none)
		}
		if h.Append(Entry{Data: make([]byte, 1<<20)}) != 0 {
			t.Error("an entry of any size has room")
		}
		none++
		time.Sleep(time.Minute)
		if _, next := h.Bounds(); next != uint64(given)+2 {
			t.Errorf("after %d entries the next is %d", given+1, next)
		}
		disk.full.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		h.Append(Entry{Outcome: "last"})
		told, other := 0, 0
		for e := range h.Query(t.Context(), Query{}) {
			n := 0
			if _, err := fmt.Sscanf(string(e.Data), `{"dropped":%d}`, &n); (err == nil) != (e.Outcome == OutcomeDropped) {
				t.Errorf("an entry %q with %q", e.Outcome, e.Data)
			}
			if told += n; n == 0 {
				other++
			}
		}
		if told != none || other != given+2 {
			t.Errorf("%d were dropped and %d are told; %d are kept and %d are there", none, told, given+2, other)
		}
	})
}
