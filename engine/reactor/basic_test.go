package reactor_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

func TestChainConvergesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		d := newDecl(t)
		for _, n := range []string{"c", "b", "a"} {
			d.add(n, &fake{w: w})
		}
		rg.swap(d.edges("a>b", "b>c"))
		if c := rg.rest(); c[resgraph.StateOK] != 3 {
			t.Fatalf("counts %v", c)
		}
		rg.close()
		want := []string{"run a", "run b", "run c"}
		got := slices.DeleteFunc(w.order(), func(s string) bool { return s[:4] != "run " })
		if !slices.Equal(got, want) {
			t.Fatalf("ran %v, want %v", got, want)
		}
	})
}
