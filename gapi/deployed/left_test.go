package deployed_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
)

// TestFindingQ12Left: a report names what has left the graph with its deploy, as long as that is in effect. What a process finds gone at its start may be of other graphs.
func TestFindingQ12Left(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	wants := func(graph string, number int64, left ...deploy.Left) {
		t.Helper()
		h.wants(graph, number, deploy.StateConverged, "")
		if got := h.report().Left; !slices.Equal(got, left) {
			t.Errorf("with %s has left %v, want %v", graph, got, left)
		}
	}
	r.put("one")
	wants("one", 1)
	r.put("undoes")
	wants("undoes", 2, deploy.Left{Resource: "noop[one]", Undone: true})
	h.reload <- struct{}{}
	h.facts.set("other")
	wants("undoes", 2, deploy.Left{Resource: "noop[one]", Undone: true})
	r.put("two")
	wants("two", 3, deploy.Left{Resource: "noop[undoes]"})
	h.end()
	h = r.start("h", dir)
	wants("two", 3)
}
