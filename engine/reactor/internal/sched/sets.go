package sched

import (
	"math"
	"math/bits"
)

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }
func (s *bitset) grow(n int) {
	if more := (n+63)/64 - len(*s); more > 0 {
		*s = append(*s, make(bitset, more)...)
	}
}
func (s bitset) has(v Vertex) bool { return s[uint32(v)/64]&(1<<(uint32(v)%64)) != 0 }
func (s bitset) add(v Vertex)      { s[uint32(v)/64] |= 1 << (uint32(v) % 64) }
func (s bitset) remove(v Vertex)   { s[uint32(v)/64] &^= 1 << (uint32(v) % 64) }

// levelSet is a multiset of levels that knows its lowest one: counters, and over
// them a tree of bits with 64 children a node. All it does takes at most six
// steps.
type levelSet struct {
	count []int32
	tree  [][]uint64 // tree[0] has a bit for each counter, tree[i+1] one for each word of tree[i]
}

func newLevelSet(n int) levelSet {
	s := levelSet{count: make([]int32, n)}
	for n > 0 {
		n = (n + 63) / 64
		s.tree = append(s.tree, make([]uint64, n))
		if n == 1 {
			break
		}
	}
	return s
}

func (s *levelSet) add(level int32) {
	s.count[level]++
	if s.count[level] > 1 {
		return
	}
	i := int(level)
	for _, row := range s.tree {
		was := row[i/64]
		row[i/64] |= 1 << (i % 64)
		if was != 0 {
			return
		}
		i /= 64
	}
}

func (s *levelSet) remove(level int32) {
	s.count[level]--
	if s.count[level] > 0 {
		return
	}
	i := int(level)
	for _, row := range s.tree {
		row[i/64] &^= 1 << (i % 64)
		if row[i/64] != 0 {
			return
		}
		i /= 64
	}
}

// grow makes room for levels below n, and some more.
func (s *levelSet) grow(n int) {
	if n <= len(s.count) {
		return
	}
	old := s.count
	*s = newLevelSet(n + n/2)
	for level, count := range old {
		if count > 0 {
			s.add(int32(level))
			s.count[level] = count
		}
	}
}

// min returns the lowest level of the set, or a level above all others if the
// set is empty.
func (s *levelSet) min() int32 {
	i := 0
	for h := len(s.tree) - 1; h >= 0; h-- {
		word := s.tree[h][i]
		if word == 0 {
			return math.MaxInt32
		}
		i = i*64 + bits.TrailingZeros64(word)
	}
	if len(s.tree) == 0 {
		return math.MaxInt32
	}
	return int32(i)
}
