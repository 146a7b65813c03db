package fleet

import (
	"testing"
	"time"
)

// TestFindingQ13Clocks: the time of a host that is gone is by its own clock, which may be ahead of ours, and may have jumped.
func TestFindingQ13Clocks(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for seen, want := range map[time.Time]string{
		now.Add(-3 * time.Minute):    " for 3m0s",
		now.Add(-100 * time.Hour):    " for 100h0m0s",
		now:                          "",
		now.Add(time.Hour):           "",
		now.Add(-time.Duration(1e9)): " for 1s",
		{}:                           "",
	} {
		if got := unseen(seen, now); got != want {
			t.Errorf("seen at %v: %q, want %q", seen, got, want)
		}
	}
}
