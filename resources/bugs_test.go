package resources

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// The tests named TestBugNN are those of docs/development/bugs.md.

// TestBug28_CancelledWatchesEnd: the Watch of every kind here returns as soon as it is
// told to, however often, and none goes on turning. The packages of the other kinds ask the same.
//
// Seen failing with: timer.go, Watch: ctx.Done answered by a break out of the select
// alone; file/watch.go, Watch: the same; exec/watch.go, Watch: the same, and for an
// end of follow too.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	all := map[string]engine.Res{}
	containers := newNspawnWorld(t)
	containers.prepare(t, "box", t.TempDir())
	all["nspawn"] = containers.res("box", NspawnRes{State: "running"})
	hosts := map[string]engine.Host{"nspawn": kindtest.HostOn(t, containers.bus)}
	for kind, r := range all {
		t.Run(kind, func(t *testing.T) { kindtest.WatchEnds(t, kind, r, hosts[kind]) })
	}
}
