package cmd

import (
	"errors"
	"testing"
)

// TestKeepGood: a failure is tried again, and a success is kept.
func TestKeepGood(t *testing.T) {
	calls := 0
	f := keepGood(func() (int, error) {
		if calls++; calls == 1 {
			return 0, errors.New("the disk is full")
		}
		return calls, nil
	})
	if _, err := f(); err == nil {
		t.Error("the first call does not fail")
	}
	for range 2 {
		if v, err := f(); v != 2 || err != nil {
			t.Errorf("a later call gives %d: %v", v, err)
		}
	}
}
