package graph

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// index finds vertices by their ids: a hash table of 8 bytes a slot. A map of Go would take twice the
// memory, and a copy of each id's address.
type index struct {
	seed  maphash.Seed
	slots []slot // a power of two, never full
	used  int
	// lent says that another index has the slots too: they are copied before one comes.
	lent atomic.Bool
}

// slot says of one vertex where it is. Its sum decides where the search for the vertex begins.
type slot struct {
	sum uint32
	at  int32 // from 1; 0 for an empty slot
}

func newIndex() *index { return &index{seed: maphash.MakeSeed()} }

// clone returns an index with the same content, at no cost until one of the two changes.
func (x *index) clone() *index {
	x.lent.Store(true)
	c := &index{seed: x.seed, slots: x.slots, used: x.used}
	c.lent.Store(true)
	return c
}

// sum returns what an id is looked for by.
func (x *index) sum(id string) uint32 { return uint32(maphash.String(x.seed, id)) }

// sumBytes is sum of an id in bytes.
func (x *index) sumBytes(id []byte) uint32 { return uint32(maphash.Bytes(x.seed, id)) }

// find returns the vertex of a sum for which is says yes, -1 if there is none.
func (x *index) find(sum uint32, is func(at int32) bool) int32 {
	if len(x.slots) == 0 {
		return -1
	}
	mask := uint32(len(x.slots) - 1)
	for i := sum & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s.at == 0 {
			return -1
		}
		if s.sum == sum && is(s.at-1) {
			return s.at - 1
		}
	}
}

// add puts a vertex in that is not there.
func (x *index) add(sum uint32, at int32) {
	x.room(x.used + 1)
	if x.lent.Swap(false) {
		x.slots = slices.Clone(x.slots)
	}
	x.put(slot{sum, at + 1})
	x.used++
}

// room makes room for so many vertices in all.
func (x *index) room(n int) {
	size := max(8, len(x.slots))
	for size/4*3 < n {
		size *= 2
	}
	if size <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, size)
	x.lent.Store(false)
	for _, s := range old {
		if s.at != 0 {
			x.put(s)
		}
	}
}

func (x *index) put(s slot) {
	mask := uint32(len(x.slots) - 1)
	i := s.sum & mask
	for x.slots[i].at != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}
