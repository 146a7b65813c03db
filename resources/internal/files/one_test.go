package files

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// TestOne: a file is managed from Manage to Cleanup. A copy of the resource, as a new graph may bring it, takes back nothing of the
// first one.
func TestOne(t *testing.T) {
	all := New(nil)
	init := &engine.Init{Shared: all}
	managed := func() int { return len(all.ManagedBelow("/etc")) }
	var first One
	first.Manage(init, "/etc/a")
	copied := first
	copied.Manage(init, "")
	if err := copied.Cleanup(); err != nil || managed() != 1 {
		t.Errorf("%d files are managed after the end of the copy, %v", managed(), err)
	}
	if err := first.Cleanup(); err != nil || managed() != 0 {
		t.Errorf("%d files are managed after the end, %v", managed(), err)
	}
	var none One
	if err := none.Cleanup(); err != nil {
		t.Error("Cleanup without Manage:", err)
	}
}
