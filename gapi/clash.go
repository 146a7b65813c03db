package gapi

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// claim says that an item is what a UID names.
type claim struct {
	uid  engine.ResUID
	key  claimKey
	item *item
	next int // an earlier one of the same key, -1 for none
}

// claimKey is where a claim is looked up.
type claimKey struct {
	typ  reflect.Type
	hash string
}

// claim notes what an item says that it is, if it could clash with another one.
// What UIDs does wrong is left to the automatic edges, which tell it.
func (b *builder) claim(it *item) {
	if it.res == nil || it.bad || !it.info.Abilities.Clashing || !it.alters() || it.moves() {
		return
	}
	if list, err := claimsOf(it); err == nil {
		it.claims = list
	}
}

func claimsOf(it *item) (list []claim, err error) {
	defer engine.Caught("UIDs", &err)
	for _, u := range it.res.(engine.ClashingRes).UIDs() {
		if h, ok := u.(interface{ Hash() string }); ok {
			list = append(list, claim{uid: u, key: claimKey{reflect.TypeOf(u), h.Hash()}, item: it, next: -1})
		}
	}
	return list, nil
}

// alters reports whether the item does something to what it is.
func (it *item) alters() bool {
	m := it.res.MetaParams()
	return !m.Hidden && (m.Noop == nil || !*m.Noop)
}

// moves reports whether the item receives a value that may say what it is.
func (it *item) moves() bool {
	return slices.ContainsFunc(it.wires, func(w engine.Wire) bool {
		f := it.info.Type.Field(topKey(w.Field))
		return f == nil || f.Role != schema.RoleState
	})
}

// clashes reports the items that would undo what an earlier one does.
func (b *builder) clashes() {
	var claims []claim
	last := map[claimKey]int{}
	for _, it := range b.items {
		for _, c := range it.claims {
			if at, there := last[c.key]; there {
				c.next = at
			}
			if b.clash(claims, c) {
				break // one finding for each item
			}
			last[c.key] = len(claims)
			claims = append(claims, c)
		}
		it.claims = nil
	}
}

// clash reports whether a claim clashes with an earlier one, and says so.
func (b *builder) clash(claims []claim, c claim) bool {
	for i := c.next; i >= 0; i = claims[i].next {
		first := claims[i].item
		if first.id == c.item.id { // declared twice, as was said already
			continue
		}
		if err := clash(claims[i], c); err != nil {
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
func clash(first, c claim) (err error) {
	defer engine.Caught("IFF or Clashes", &err)
	if !first.uid.IFF(c.uid) {
		return nil
	}
	return c.item.res.(engine.ClashingRes).Clashes(first.item.res)
}
