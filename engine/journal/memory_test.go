package journal_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/storetest"
	"github.com/reactivegraph/mgmt/engine/records"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Backend{Open: func(*testing.T) records.Store { return journal.NewMemory() }})
}

// TestReopen shows that the part of the suite for durable stores runs: a store
// that is simply kept is one that survives.
func TestReopen(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		Open:   func(*testing.T) records.Store { return journal.NewMemory() },
		Reopen: func(_ *testing.T, s records.Store) records.Store { return s },
	})
}
