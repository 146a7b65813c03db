package graph

import "math/bits"

// Sort returns the vertices so that every edge leads from an earlier one to a
// later one. Of all such orders it follows the order of adding
// most closely: at each place stands the lowest index whose predecessors all
// stand before it. If there is a cycle, the error is the *CycleError of Cycle.
// The slice is the caller's. Takes O(vertices + edges).
func (g *Graph[V]) Sort() ([]int, error) {
	l := g.read()
	if !l.sorted() {
		return nil, g.Cycle()
	}
	order := make([]int, len(l.order))
	for at, v := range l.order {
		order[at] = int(v)
	}
	return order, nil
}

// sorted makes order and rank if they are not there yet, and reports whether
// there is no cycle.
func (l *layout) sorted() bool {
	l.orderOnce.Do(func() {
		l.order, _ = l.kahn()
		if len(l.order) == l.n {
			l.rank = make([]int32, l.n)
			for at, v := range l.order {
				l.rank[v] = int32(at)
			}
		}
	})
	return len(l.order) == l.n
}

// kahn places one vertex after the other, each as soon as its predecessors are
// placed, the lowest index first. It returns the order and how many predecessors
// each vertex still waits for: none, if it was placed.
func (l *layout) kahn() (order, waits []int32) {
	waits = make([]int32, l.n)
	ready := newMinset(l.n)
	for v := range l.n {
		waits[v] = l.inStart[v+1] - l.inStart[v]
		if waits[v] == 0 {
			ready.add(v)
		}
	}
	order = make([]int32, 0, l.n)
	for !ready.empty() {
		v := ready.pop()
		order = append(order, int32(v))
		for _, w := range l.out(v) {
			if waits[w]--; waits[w] == 0 {
				ready.add(int(w))
			}
		}
	}
	return order, waits
}

// minset is a set of numbers below a bound that gives out its least one. It is
// a tree of bit words, each bit saying whether the word below it is not empty,
// so every operation touches as many words as the bound has digits in base 64.
type minset [][]uint64

func newMinset(bound int) minset {
	var s minset
	for {
		bound = (bound + 63) / 64
		s = append(s, make([]uint64, max(bound, 1)))
		if bound <= 1 {
			return s
		}
	}
}

func (s minset) empty() bool { return s[len(s)-1][0] == 0 }

func (s minset) add(i int) {
	for _, level := range s {
		word := &level[i/64]
		was := *word
		*word |= 1 << (i % 64)
		if was != 0 {
			return
		}
		i /= 64
	}
}

// pop removes the least number and returns it. The set must not be empty.
func (s minset) pop() int {
	i := 0
	for at := len(s) - 1; at >= 0; at-- {
		i = i*64 + bits.TrailingZeros64(s[at][i])
	}
	rest := i
	for _, level := range s {
		word := &level[rest/64]
		*word &^= 1 << (rest % 64)
		if *word != 0 {
			break
		}
		rest /= 64
	}
	return i
}
