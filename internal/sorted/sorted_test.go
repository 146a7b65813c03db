package sorted_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// pair is an element whose place in the first list is known.
type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// pairs is a list of n elements with few keys, so that many are equal.
func pairs(n int) []pair {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	list := make([]pair, n)
	for i := range list {
		list[i] = pair{rnd.IntN(n/4 + 1), i}
	}
	return list
}

// TestFunc: Func orders lists of every length, and loses no element.
func TestFunc(t *testing.T) {
	for n := range 200 {
		list := pairs(n)
		want := slices.Clone(list)
		sorted.Func(list, byKey)
		if !slices.IsSortedFunc(list, byKey) {
			t.Fatalf("%d elements are not in order: %v", n, list)
		}
		all := func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) }
		slices.SortFunc(list, all)
		slices.SortFunc(want, all)
		if !slices.Equal(list, want) {
			t.Fatalf("%d elements became others", n)
		}
	}
}

// TestStable: Stable does the same as the stable sort of package slices.
func TestStable(t *testing.T) {
	for n := range 200 {
		list := pairs(n)
		want := slices.Clone(list)
		sorted.Stable(list, byKey)
		slices.SortStableFunc(want, byKey)
		if !slices.Equal(list, want) {
			t.Fatalf("%v, not %v", list, want)
		}
	}
}
