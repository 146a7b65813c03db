package cmd

import (
	"testing"
	"time"
)

// TestFindingQ13Clocks: the time of a host that is gone is by its own clock, which may be ahead of ours, and may have jumped.
func TestFindingQ13Clocks(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for seen, want := range map[time.Time]string{
		now.Add(-3 * time.Minute):    "gone for 3m0s",
		now.Add(-100 * time.Hour):    "gone for 100h0m0s",
		now:                          "gone",
		now.Add(time.Hour):           "gone",
		now.Add(-time.Duration(1e9)): "gone for 1s",
		{}:                           "gone, and was never there",
	} {
		if got := goneText(seen, now); got != want {
			t.Errorf("seen at %v: %q, want %q", seen, got, want)
		}
	}
}

// TestFindingQ14Clocks: the same of a host that is missing at the end of a deploy.
func TestFindingQ14Clocks(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for seen, want := range map[time.Time]string{
		now.Add(-5 * time.Minute): "not seen for 5m0s",
		now.Add(time.Hour):        "not there",
		{}:                        "not there",
	} {
		if got := unseenText(seen, now); got != want {
			t.Errorf("seen at %v: %q, want %q", seen, got, want)
		}
	}
}
