package reactor

import (
	"hash/maphash"
	"math/bits"
)

// names finds the vertices of the present graph by their ids: a hash table with linear probing. A map of Go
// would take three times the memory. Many goroutines may look while no change of the graph is put into effect.
type names struct {
	seed  maphash.Seed
	slots []*vertex // a power of two, at least a quarter of them nil; none at first
	used  int
}

// find returns the vertex with an id, nil if there is none.
func (n *names) find(id string) *vertex {
	if n.used == 0 {
		return nil
	}
	return n.slots[n.place(id)]
}

// put puts a vertex in, in the place of one with the same id.
func (n *names) put(v *vertex) {
	n.room(n.used + 1)
	at := n.place(v.ID)
	if n.slots[at] == nil {
		n.used++
	}
	n.slots[at] = v
}

// remove removes the vertex with an id. The vertices behind it move up, so that no search ends at the hole.
func (n *names) remove(id string) {
	if n.find(id) == nil {
		return
	}
	n.used--
	hole := n.place(id)
	n.slots[hole] = nil
	mask := len(n.slots) - 1
	for at := (hole + 1) & mask; n.slots[at] != nil; at = (at + 1) & mask {
		v := n.slots[at]
		if home := n.home(v.ID); (at-home)&mask >= (at-hole)&mask { // its home is not behind the hole
			n.slots[hole], n.slots[at] = v, nil
			hole = at
		}
	}
}

// room makes room for so many vertices in all.
func (n *names) room(all int) {
	if 4*all <= 3*len(n.slots) {
		return
	}
	if n.slots == nil {
		n.seed = maphash.MakeSeed()
	}
	old := n.slots
	n.slots = make([]*vertex, max(8, 1<<bits.Len(uint(4*all/3))))
	for _, v := range old {
		if v != nil {
			n.slots[n.place(v.ID)] = v
		}
	}
}

// place returns the slot of an id, else an empty slot for it.
func (n *names) place(id string) int {
	mask := len(n.slots) - 1
	at := n.home(id)
	for n.slots[at] != nil && n.slots[at].ID != id {
		at = (at + 1) & mask
	}
	return at
}

// home returns the slot at which the search for an id begins.
func (n *names) home(id string) int {
	return int(maphash.String(n.seed, id)) & (len(n.slots) - 1)
}
