package store

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/tidwall/btree"
)

// Maps returns an empty store whose indexes are maps. An index has one level for each element of a tuple. The last
// level has the entries.
func Maps() *Indexed {
	return newIndexed(func() ids { return hashed{} }, func(paths int) index { return &level{depth: paths} })
}

// hashed is a map of the entries.
type hashed map[string]*entry

func (h hashed) get(id string) *entry { return h[id] }
func (h hashed) put(e *entry)         { h[e.id] = e }
func (h hashed) remove(id string)     { delete(h, id) }
func (h hashed) len() int             { return len(h) }
func (h hashed) sorted() bool         { return false }

func (h hashed) each(yield func(*entry) bool) {
	for _, e := range h {
		if !yield(e) {
			return
		}
	}
}

// level is one element of the keys. The last level has the entries.
type level struct {
	depth int // levels from here on, with this one
	next  map[any]*level
	last  map[any]*group
}

// add makes the levels of a key as far as they are absent.
func (l *level) add(key []any, e *entry) {
	for ; l.depth > 1; key = key[1:] {
		if l.next == nil {
			l.next = map[any]*level{}
		}
		down := l.next[key[0]]
		if down == nil {
			down = &level{depth: l.depth - 1}
			l.next[key[0]] = down
		}
		l = down
	}
	if l.last == nil {
		l.last = map[any]*group{}
	}
	g := l.last[key[0]]
	if g == nil {
		g = &group{}
		l.last[key[0]] = g
	}
	g.add(e)
}

// remove takes levels that become empty away, so that old keys cost nothing.
func (l *level) remove(key []any, e *entry) {
	if l.depth > 1 {
		if down := l.next[key[0]]; down != nil {
			if down.remove(key[1:], e); len(down.next)+len(down.last) == 0 {
				delete(l.next, key[0])
			}
		}
		return
	}
	if g := l.last[key[0]]; g != nil && g.remove(e) {
		delete(l.last, key[0])
	}
}

// find looks into one map for each element, or into all of a level for Any.
func (l *level) find(wanted []any, yield func(*entry)) {
	first := wanted[0]
	switch {
	case l.depth > 1 && first == model.Any:
		for _, down := range l.next {
			down.find(wanted[1:], yield)
		}
	case l.depth > 1:
		if down := l.next[first]; down != nil {
			down.find(wanted[1:], yield)
		}
	case first == model.Any:
		for _, g := range l.last {
			g.each(yield)
		}
	default:
		if g := l.last[first]; g != nil {
			g.each(yield)
		}
	}
}

// maxFew is how many entries a group keeps in a slice.
const maxFew = 64

// group is the entries of one key, sorted by id: a slice of a few, a tree of many.
type group struct {
	few  []*entry
	many *btree.BTreeG[*entry]
}

// at returns the place of an entry among the few, and whether it is there.
func (g *group) at(e *entry) (int, bool) {
	return slices.BinarySearchFunc(g.few, e.id, func(x *entry, id string) int { return strings.Compare(x.id, id) })
}

// add changes to a tree above maxFew: an insertion into a long slice would move too much.
func (g *group) add(e *entry) {
	if g.many != nil {
		g.many.Set(e)
		return
	}
	i, there := g.at(e)
	if there {
		return
	}
	if g.few = slices.Insert(g.few, i, e); len(g.few) <= maxFew {
		return
	}
	g.many = btree.NewBTreeGOptions(lessID, btree.Options{NoLocks: true})
	for _, e := range g.few {
		g.many.Set(e)
	}
	g.few = nil
}

// lessID orders by id, which never changes while an entry is in a tree.
func lessID(a, b *entry) bool { return a.id < b.id }

// remove reports whether the group is empty afterwards.
func (g *group) remove(e *entry) bool {
	if g.many != nil {
		g.many.Delete(e)
		return g.many.Len() == 0
	}
	if i, there := g.at(e); there {
		g.few = slices.Delete(g.few, i, i+1)
	}
	return len(g.few) == 0
}

// each yields in the order of ids.
func (g *group) each(yield func(*entry)) {
	if g.many != nil {
		g.many.Scan(func(e *entry) bool {
			yield(e)
			return true
		})
		return
	}
	for _, e := range g.few {
		yield(e)
	}
}
