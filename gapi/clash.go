package gapi

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// claim says that an item is what a UID names.
type claim struct {
	uid  autoedge.UID
	sum  uint64 // of the type of the UID and its hash
	item *item
	next int32 // an earlier one in the same row, from 1; 0 for none
}

// claim notes the identity of an item, if it could clash with another one.
// A fault of UIDs is left to the automatic edges, which tell it.
func (b *builder) claim(it *item) {
	if it.res == nil || it.bad || !it.clashing() || !it.alters() || it.moves() {
		return
	}
	if b.claims == nil {
		b.claims = make([]claim, 0, min(eachAtOnce, len(b.first)))
	}
	before := len(b.claims)
	if err := b.claimAll(it); err != nil {
		b.claims = b.claims[:before]
	}
}

// clashing reports whether the item is of a kind whose things can clash.
func (it *item) clashing() bool { return it.info != nil && it.info.Abilities.Clashing }

func (b *builder) claimAll(it *item) (err error) {
	defer callsafe.Recover("UIDs", &err)
	uids := it.res.(engine.ClashingRes).UIDs()
	for _, u := range uids {
		if h, ok := u.(interface{ Hash() string }); ok {
			b.claims = append(b.claims, claim{uid: u, sum: b.sum(u, h.Hash()), item: it})
		}
	}
	if b.declared(it) != nil {
		b.uids[it.vertex] = uids
	}
	return nil
}

// sum is the same for UIDs of one type and hash.
func (b *builder) sum(u autoedge.UID, hash string) uint64 {
	return maphash.Comparable(b.seed, reflect.TypeOf(u)) ^ maphash.String(b.seed, autoedge.SpaceOf(u)) ^ maphash.String(b.seed, hash)
}

// alters reports whether the item does something to what it is.
func (it *item) alters() bool {
	m := engine.MetaOf(it.res)
	return !m.Hidden && (m.Noop == nil || !*m.Noop)
}

// moves reports whether the item receives a value that may say what it is.
func (it *item) moves() bool {
	return slices.ContainsFunc(it.wires, func(w resgraph.Wire) bool {
		f := it.info.Type.Field(topKey(w.Field))
		return f == nil || f.Role != schema.RoleState
	})
}

// clashes reports the items that would undo the work of an earlier one.
func (b *builder) clashes() {
	rows := make([]int32, 1<<bits.Len(uint(len(b.claims)))) // the latest claim of each, from 1
	var refused *item
	for i := range b.claims {
		c := &b.claims[i]
		if c.item == refused {
			continue // one finding for each item
		}
		row := &rows[c.sum&uint64(len(rows)-1)]
		if c.next = *row; b.clash(c) {
			refused = c.item
			continue
		}
		*row = int32(i + 1)
	}
	b.claims = nil
}

// clash reports whether a claim clashes with an earlier one, and says so.
func (b *builder) clash(c *claim) bool {
	for at := c.next; at > 0; at = b.claims[at-1].next {
		other := &b.claims[at-1]
		first := other.item
		if other.sum != c.sum || first.id == c.item.id { // of the same id: declared twice, as was said already
			continue
		}
		if err := clash(other, c); err != nil {
			b.add(schema.Diagnostic{
				Pos: c.item.namePos(), Resource: c.item.id,
				Message: fmt.Sprintf("%s and %s are the same thing, %s, and would undo each other: %v", c.item.id, first.id, c.uid, err),
				Related: []schema.Related{{Pos: first.namePos(), Message: first.id + " is declared here"}},
			})
			return true
		}
	}
	return false
}

// clash returns why two claims of one key can't both be right.
func clash(first, c *claim) (err error) {
	defer callsafe.Recover("IFF or Clashes", &err)
	if !first.uid.IFF(c.uid) {
		return nil
	}
	return c.item.res.(engine.ClashingRes).Clashes(first.item.res)
}
