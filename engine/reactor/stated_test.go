package reactor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// stating is a fake that states its abilities as data.
type stating struct {
	fake `yaml:",inline"`
	says engine.Abilities
}

func (s *stating) Abilities() engine.Abilities { return s.says }
func (s *stating) Cmp(o engine.Res) error      { return s.fake.Cmp(&o.(*stating).fake) }

// TestStatedByEach: two resources of one Go type may state different abilities, whichever of them comes first. What one of
// them does not state is not asked of it.
func TestStatedByEach(t *testing.T) {
	for _, first := range []string{"hears", "deaf"} {
		bubble(t, func(t *testing.T) {
			w := newWorld()
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			acted := map[string]int{}
			note := func(_ context.Context, f *fake, apply bool) (bool, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if apply && f.init.Refresh() {
					acted[f.Name()]++
				}
				return true, nil
			}
			all := map[string]*stating{
				"hears": {fake: fake{w: w, check: note}, says: engine.Abilities{Refreshable: true}},
				"deaf":  {fake: fake{w: w, check: note}},
				"quiet": {fake: fake{w: w, watch: func(context.Context, *fake) error { panic("its Watch was called") }}, says: engine.Abilities{Unwatched: true}},
			}
			ev := make(chan struct{})
			d := newDecl(t).add("src", changer(w, ev)).add(first, all[first])
			for name, r := range all {
				if name != first {
					d.add(name, r)
				}
			}
			rg.swap(d.edges("src!hears", "src!deaf"))
			rg.rest()
			ev <- struct{}{}
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if acted["hears"] != 1 || acted["deaf"] != 0 {
				t.Errorf("%s is first: refreshes were %v", first, acted)
			}
		})
	}
}

// TestRestated: a resource that wants the same, and states other abilities than the running one, takes its place: its kind was
// taken out and came back as another one. With the same statement the running one goes on.
func TestRestated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		inits := func() (n int) {
			for _, line := range w.order() {
				if line == "init a" {
					n++
				}
			}
			return n
		}
		for i, says := range []engine.Abilities{{}, {}, {Refreshable: true}, {Refreshable: true}, {}} {
			rg.swap(newDecl(t).add("a", &stating{fake: fake{w: w}, says: says}))
			synctest.Wait()
			if got, want := inits(), []int{1, 1, 2, 2, 3}[i]; got != want {
				t.Errorf("after graph %d there were %d resources, want %d", i+1, got, want)
			}
		}
	})
}

// astray is a fake that can't say its target.
type astray struct {
	fake `yaml:",inline"`
}

func (*astray) Targeted() bool { return true }
func (*astray) Target() string { panic("no map") }

// TestTargetThatPanics: a resource that panics over its target runs all the same, and the loop goes on.
func TestTargetThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t).add("a", &astray{fake{w: w}})
		d.g.Value(0).Pos = schema.Pos{File: "graph.yaml", Line: 1, Col: 1}
		rg.swap(d)
		wantState(t, rg, w, "a", resgraph.StateOK, 1)
	})
}
