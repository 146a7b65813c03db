package graph

import (
	"hash/maphash"
	"slices"
)

// index finds vertices by their ids: a hash table of 8 bytes a slot. A map of Go would take twice the
// memory, and a copy of each id's address.
type index struct {
	seed  maphash.Seed
	slots []slot // a power of two, never full
	used  int
}

// slot says of one vertex where it is. Its sum decides where the search for the vertex begins.
type slot struct {
	sum uint32
	at  int32 // from 1; 0 for an empty slot
}

func newIndex() index { return index{seed: maphash.MakeSeed()} }

func (x index) clone() index {
	x.slots = slices.Clone(x.slots)
	return x
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
	if x.used >= len(x.slots)/4*3 {
		x.room(x.used + 1)
	}
	x.put(slot{sum, at + 1})
	x.used++
}

// room makes room for so many vertices in all.
func (x *index) room(n int) {
	size := 8
	for size/4*3 < n {
		size *= 2
	}
	if size <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, size)
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
