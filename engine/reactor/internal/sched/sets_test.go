package sched

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The lowest level is that of a sorted list of all of them.
func TestLevelSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 4096, 4097, 300_000} {
		s := newLevelSet(n)
		var all []int32
		for range 2000 {
			if len(all) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(all))
				s.remove(all[i])
				all = slices.Delete(all, i, i+1)
			} else {
				l := int32(r.IntN(n))
				s.add(l)
				all = append(all, l)
			}
			want := int32(math.MaxInt32)
			if len(all) > 0 {
				want = slices.Min(all)
			}
			if got := s.min(); got != want {
				t.Fatalf("lowest of %d is %d, want %d", n, got, want)
			}
		}
	}
	var none levelSet
	if none.min() != math.MaxInt32 {
		t.Error("a set of no levels has a lowest one")
	}
}

func TestBitset(t *testing.T) {
	t.Parallel()
	s := newBitset(130)
	for _, v := range []Vertex{0, 63, 64, 129} {
		s.add(v)
		if !s.has(v) || s.has(v^1) {
			t.Errorf("%d", v)
		}
		s.remove(v)
		if s.has(v) {
			t.Errorf("%d stays", v)
		}
	}
}
