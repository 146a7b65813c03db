package sched_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The machine starts no goroutine; this keeps it so.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
