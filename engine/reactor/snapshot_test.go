package reactor_test

import (
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestSnapshotIsOfOneMoment: the counts are those of the states beside them, and a pause is either of a vertex or absent.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		w := newWorld()
		rg.swap(newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}))
		synctest.Wait()
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]", Reason: "work"}); err != nil {
			t.Fatal(err)
		}
		check := func(generation, vertices, absent int, counts reactor.Counts) {
			t.Helper()
			s, err := rg.r.Snapshot(t.Context())
			if err != nil || s.Rest.Generation != generation || s.Rest.Counts != counts || len(s.Statuses) != vertices || len(s.Absent) != absent {
				t.Fatalf("%+v, %v", s, err)
			}
			if absent == 1 && (s.Absent[0].Resource != "fake[a]" || s.Absent[0].Reason != "work") {
				t.Errorf("%+v", s.Absent)
			}
			var sum reactor.Counts
			for _, st := range s.Statuses {
				sum[st.Rest]++
			}
			if sum != counts {
				t.Errorf("the states are %v, and counted are %v", sum, counts)
			}
		}
		check(1, 2, 0, reactor.Counts{resgraph.StateOK: 1, resgraph.StatePaused: 1})
		rg.swap(newDecl(t).add("b", &fake{w: w}))
		synctest.Wait()
		check(2, 1, 1, reactor.Counts{resgraph.StateOK: 1})
	})
}
