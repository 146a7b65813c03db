package graph

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMinset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 4096, 4097, 70_000}).Draw(t, "bound")
		s := newMinset(bound)
		var model []int
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if bound > 0 && rapid.Bool().Draw(t, "add") {
				v := rapid.IntRange(0, bound-1).Draw(t, "v")
				s.add(v)
				model = append(model, v)
				slices.Sort(model)
				model = slices.Compact(model)
				continue
			}
			if s.empty() != (len(model) == 0) {
				t.Fatalf("empty() = %t with %v", s.empty(), model)
			}
			if len(model) == 0 {
				continue
			}
			if got := s.pop(); got != model[0] {
				t.Fatalf("pop() = %d, want %d", got, model[0])
			}
			model = model[1:]
		}
	})
}
