package reactor_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestFindingD6Limits: a bound that is altered while the graph runs counts from then on. A
// larger budget lets nothing go by itself, and none at all lets everything go.
func TestFindingD6Limits(t *testing.T) {
	for name, play := range map[string]func(*testing.T, *rig, func(reactor.Limits)){
		"larger": func(t *testing.T, rg *rig, set func(reactor.Limits)) {
			set(reactor.Limits{MaxChanges: reactor.Budget{Most: 4, Within: time.Hour}})
			synctest.Wait()
			if c, err := rg.r.Counts(t.Context()); err != nil || c[resgraph.StateHeld] != 3 {
				t.Fatalf("a larger budget has let go what nobody has resumed: %v, %v", c, err)
			}
			if err := rg.r.Resume(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if c := rg.rest(); c[resgraph.StateHeld] != 0 {
				t.Errorf("after resume: %v", c)
			}
			if err := rg.r.SetLimits(t.Context(), reactor.Limits{MaxChanges: reactor.Budget{Most: 1}}); err == nil {
				t.Error("a budget without a time is taken")
			}
		},
		"none": func(t *testing.T, rg *rig, set func(reactor.Limits)) {
			set(reactor.Limits{})
			if c := rg.rest(); c[resgraph.StateOK] != 4 {
				t.Errorf("without a budget: %v", c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}, Parallel: 4})
				defer rg.close()
				w := newWorld()
				d := newDecl(t)
				for i := range 4 {
					f, tick := drifting(w, same("wrong"))
					defer close(tick)
					d.add(fmt.Sprint("bad", i), f)
				}
				rg.swap(d)
				if c := rg.rest(); c[resgraph.StateHeld] != 3 {
					t.Fatalf("held: %v", c)
				}
				play(t, rg, func(l reactor.Limits) {
					t.Helper()
					if err := rg.r.SetLimits(t.Context(), l); err != nil {
						t.Fatal(err)
					}
				})
			})
		})
	}
}
