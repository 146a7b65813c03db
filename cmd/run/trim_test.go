package run

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestTrimmer: memory is tidied twice for each graph, when it has been at rest for a
// while, and not at the end of a run that is over before.
func TestTrimmer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr := newTrimmer()
		tr.free = func() { n++ }
		o := tr.observe(mgmt.Observer{Swapped: func(reactor.Swap) {}, Converged: func(bool, reactor.Counts) {}})
		if err := tr.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			o.Swapped(reactor.Swap{})
			for range 5 { // drift, repaired
				o.Converged(true, reactor.Counts{})
				o.Converged(false, reactor.Counts{})
				time.Sleep(time.Minute)
			}
		}
		synctest.Wait()
		if n != 6 {
			t.Errorf("tidied %d times for 3 graphs", n)
		}
		o.Swapped(reactor.Swap{})
		o.Converged(true, reactor.Counts{})
		time.Sleep(trimAfter[0] / 2)
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if n != 6 {
			t.Error("tidied at the end")
		}
	})
}
