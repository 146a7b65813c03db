package store

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/tidwall/btree"
)

// BTree returns an empty store whose objects and indexes are ordered trees.
func BTree() *Indexed {
	return newIndexed(
		func() ids { return &ordered{btree.NewBTreeGOptions(lessID, btree.Options{NoLocks: true})} },
		func(int) index {
			return &tree{btree.NewBTreeGOptions(lessItem, btree.Options{NoLocks: true})}
		})
}

// ordered is a tree of the entries by id.
type ordered struct{ t *btree.BTreeG[*entry] }

// get compares with an entry that has the id alone.
func (o *ordered) get(id string) *entry {
	e, _ := o.t.Get(&entry{id: id})
	return e
}

func (o *ordered) put(e *entry)                 { o.t.Set(e) }
func (o *ordered) remove(id string)             { o.t.Delete(&entry{id: id}) }
func (o *ordered) len() int                     { return o.t.Len() }
func (o *ordered) sorted() bool                 { return true }
func (o *ordered) each(yield func(*entry) bool) { o.t.Scan(yield) }

// item is a key of an entry. Without an entry it comes before all of its key.
type item struct {
	key []any
	e   *entry
}

// lessItem orders by key, then by id.
func lessItem(a, b item) bool {
	if c := slices.CompareFunc(a.key, b.key, model.Compare); c != 0 {
		return c < 0
	}
	switch {
	case a.e == nil || b.e == nil:
		return a.e == nil && b.e != nil
	}
	return strings.Compare(a.e.id, b.e.id) < 0
}

// tree is an index in the order of its keys. A query whose first elements are given reads on from the first such key;
// Any at the beginning reads all.
type tree struct{ t *btree.BTreeG[item] }

func (x *tree) add(key []any, e *entry)    { x.t.Set(item{key, e}) }
func (x *tree) remove(key []any, e *entry) { x.t.Delete(item{key, e}) }

// find reads on from the first key that begins as wanted does, up to the first Any.
func (x *tree) find(wanted []any, yield func(*entry)) {
	begin := wanted
	if i := slices.Index(wanted, model.Any); i >= 0 {
		begin = wanted[:i]
	}
	x.t.Ascend(item{key: begin}, func(i item) bool {
		if !slices.Equal(i.key[:len(begin)], begin) {
			return false
		}
		if model.Matches(wanted, i.key) {
			yield(i.e)
		}
		return true
	})
}
