package pkglock

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFindingB3LockWaitEnds: nobody waits for a lock when the services have left the graph.
func TestFindingB3LockWaitEnds(t *testing.T) {
	locks, _, _ := heldBy(t, "record", ByRecord)
	held := func() *Holder { return Held(locks) }
	w := &Waits{Life: t.Context()}
	w.Add(&engine.Init{}, held(), held)
	w.Close() // and returns
	w.Add(&engine.Init{}, held(), held)
	if w.who != nil {
		t.Error("it waits after its end")
	}
}
