package model

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
)

// Bounds say how often something may happen that does not come from the engine.
type Bounds [causes]int8

// node is a state that was reached, with what may still happen.
type node struct {
	State State
	left  Bounds
}

// origin is how a state was reached first.
type origin struct {
	from   int32
	action *Action
	v      int
}

// Explore visits all states within bounds, the nearest first. It returns their number, and how the first law that does not hold is broken.
// Of a state that was visited it keeps two hashes of 64 bits.
func (m *Model) Explore(b Bounds) (states int, err error) {
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	numbers, origins := map[[2]uint64]int32{}, []origin{}
	var todo []node
	reach := func(n node, o origin) int32 {
		key := [2]uint64{maphash.Comparable(seeds[0], n), maphash.Comparable(seeds[1], n)}
		number, known := numbers[key]
		if !known {
			number = int32(len(origins))
			numbers[key], origins, todo = number, append(origins, o), append(todo, n)
		}
		return number
	}
	reach(node{State{Graph: -1}, b}, origin{})
	var steps [][2]int32 // of the engine
	var n, next node
	var from, to at
	for i := int32(0); len(todo) > 0; i++ {
		n, todo = todo[0], todo[1:]
		rests := n.State.Graph >= 0
		for k := range m.Actions {
			action, left := &m.Actions[k], n.left
			if action.Of != Engine && !(action.Of == Edit && n.State.Graph < 0) { // the first graph of a process is not counted
				left[action.Of]--
			}
			for v := 0; v < N && left[action.Of] >= 0; v++ {
				if from = m.at(&n.State, v); !action.Guard(&from) {
					continue
				}
				next = node{n.State, left}
				to = m.at(&next.State, v)
				action.Effect(&to)
				to = m.at(&next.State, v)
				j := reach(next, origin{i, action, v})
				if action.Of == Engine {
					rests, steps = false, append(steps, [2]int32{i, j})
				}
				for _, l := range laws {
					if l.step != nil && !l.step(action.Name, &from, &to) {
						return len(origins), fmt.Errorf("%s: %s%s %d: %+v", l.name, path(origins, i), action.Name, v, next.State)
					}
				}
			}
		}
		from = m.at(&n.State, 0)
		for _, l := range laws {
			if rests && l.rest != nil && !l.rest(&from) {
				return len(origins), fmt.Errorf("%s: at rest: %s: %+v", l.name, path(origins, i), n.State)
			}
		}
	}
	if i := endless(len(origins), steps); i >= 0 {
		return len(origins), fmt.Errorf("it never comes to rest: %s", path(origins, i))
	}
	return len(origins), nil
}

// endless returns a state from which the engine may go on for ever, -1 for none.
func endless(states int, steps [][2]int32) int32 {
	slices.SortFunc(steps, func(a, b [2]int32) int { return cmp.Compare(a[1], b[1]) })
	left := make([]int32, states) // steps to states from which it may go on for ever
	for _, s := range steps {
		left[s[0]]++
	}
	var ended []int32
	for i, n := range left {
		if n == 0 {
			ended = append(ended, int32(i))
		}
	}
	for len(ended) > 0 {
		i := ended[len(ended)-1]
		ended = ended[:len(ended)-1]
		at, _ := slices.BinarySearchFunc(steps, i, func(s [2]int32, to int32) int { return cmp.Compare(s[1], to) })
		for ; at < len(steps) && steps[at][1] == i; at++ {
			before := steps[at][0]
			if left[before]--; left[before] == 0 {
				ended = append(ended, before)
			}
		}
	}
	return int32(slices.IndexFunc(left, func(n int32) bool { return n > 0 }))
}

// path tells how a state was reached.
func path(origins []origin, i int32) (text string) {
	for ; i > 0; i = origins[i].from {
		text = fmt.Sprintf("%s %d, ", origins[i].action.Name, origins[i].v) + text
	}
	return text
}
