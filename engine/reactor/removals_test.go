package reactor_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingC14Removals: a Swap that removes too much changes nothing until just that is
// accepted, once.
func TestFindingC14Removals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{MaxRemovals: reactor.Removals{Most: 2, Share: 0.5}})
		defer rg.close()
		graph := func(n int) *decl {
			d := newDecl(t)
			for i := range n {
				d.add("v"+strconv.Itoa(i), &fake{w: w})
			}
			return d
		}
		rg.swap(graph(6))
		rg.swap(graph(4)) // two: not more than Most
		rg.swap(graph(8))
		rg.swap(graph(5)) // three, but less than half
		rg.swap(graph(8))
		synctest.Wait()
		held, ok := errors.AsType[*reactor.RemovalsError](rg.r.Swap(t.Context(), graph(2).g))
		if !ok || len(held.Removed) != 6 || held.Of != 8 || held.Removed[0] != "fake[v2]" {
			t.Fatalf("%+v", held)
		}
		if rest := rg.standing(); rest.Generation != 5 || rest.Code() != 0 {
			t.Errorf("held: %+v", rest)
		}
		rg.r.AcceptRemovals(t.Context(), held.Removed)
		if err := rg.r.Swap(t.Context(), graph(1).g); err == nil {
			t.Error("more was removed than was accepted")
		}
		rg.r.AcceptRemovals(t.Context(), held.Removed)
		rg.swap(graph(2))
		rg.swap(graph(6))
		if err := rg.r.Swap(t.Context(), graph(2).g); err == nil {
			t.Error("it was accepted for ever")
		}
	})
}

func TestParseRemovals(t *testing.T) {
	for text, want := range map[string]reactor.Removals{
		"10": {Most: 10}, "20%": {Share: 0.2}, "10,33%": {Most: 10, Share: 0.33}, "off": {},
	} {
		got, err := reactor.ParseRemovals(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v %v, written %s", text, got, err, got)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "0%", "101%", "10,", "1,2,x%"} {
		if got, err := reactor.ParseRemovals(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
