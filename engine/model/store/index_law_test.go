package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/model"
)

// keyed is what one entry of the model of an index is: its key, written as text, and its id.
type keyed struct{ key, id string }

// found returns the ids that an index finds, sorted. An entry that is found twice is there twice.
func found(x index, wanted []any) []string {
	var all []string
	x.find(wanted, func(e *entry) { all = append(all, e.id) })
	slices.Sort(all)
	return all
}

// TestIndexesAlike plays random steps on nested maps, on a tree and on a set. Any question has the
// same answer from all three, also one with Any in any place. Emptied levels are gone.
func TestIndexesAlike(t *testing.T) {
	const paths = 3
	value := rapid.SampledFrom([]any{nil, false, true, int64(0), int64(1), "", "a", "b"})
	key := rapid.SliceOfN(value, paths, paths)
	question := rapid.SliceOfN(rapid.OneOf(value, rapid.Just[any](model.Any)), paths, paths)
	rapid.Check(t, func(t *rapid.T) {
		levels, ordered := &level{depth: paths}, BTree().newIndex(paths)
		set, keys, entries := map[keyed]bool{}, map[keyed][]any{}, map[string]*entry{}
		for i := range 5 {
			entries[fmt.Sprint(i)] = &entry{id: fmt.Sprint(i)}
		}
		pick := func(t *rapid.T) ([]any, *entry, keyed) {
			k, id := key.Draw(t, "key"), fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "id"))
			return k, entries[id], keyed{fmt.Sprintf("%#v", k), id}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k, e, as := pick(t)
				levels.add(k, e)
				ordered.add(k, e)
				set[as], keys[as] = true, k
			},
			"remove": func(t *rapid.T) {
				k, e, as := pick(t)
				if len(set) > 0 && rapid.Bool().Draw(t, "known") {
					as = rapid.SampledFrom(slices.SortedFunc(maps.Keys(set), func(a, b keyed) int {
						return slices.Compare([]string{a.key, a.id}, []string{b.key, b.id})
					})).Draw(t, "which")
					k, e = keys[as], entries[as.id]
				}
				levels.remove(k, e)
				ordered.remove(k, e)
				delete(set, as)
			},
			"": func(t *rapid.T) {
				wanted := question.Draw(t, "wanted")
				var want []string
				for as := range set {
					if model.Matches(wanted, keys[as]) {
						want = append(want, as.id)
					}
				}
				slices.Sort(want)
				for name, x := range map[string]index{"maps": levels, "tree": ordered} {
					if got := found(x, wanted); !slices.Equal(got, want) {
						t.Fatalf("%s find %q for %#v, want %q", name, got, wanted, want)
					}
				}
				if len(set) == 0 && len(levels.next) > 0 {
					t.Fatalf("an index without entries keeps %d levels", len(levels.next))
				}
			},
		})
	})
}

// TestGroupGrows: a group answers in the order of ids on both sides of maxFew, takes an entry once, and
// says when it is empty.
func TestGroupGrows(t *testing.T) {
	for _, n := range []int{1, maxFew, maxFew + 1, 3 * maxFew} {
		g, all := &group{}, make([]*entry, n)
		for i := range all {
			all[i] = &entry{id: fmt.Sprintf("%04d", (i*37)%n*n+i)}
			g.add(all[i])
			g.add(all[i])
		}
		var ids []string
		g.each(func(e *entry) { ids = append(ids, e.id) })
		if len(ids) != n || !slices.IsSorted(ids) {
			t.Errorf("%d entries: %d are there, sorted: %t", n, len(ids), slices.IsSorted(ids))
		}
		if g.remove(&entry{id: "none"}) {
			t.Errorf("%d entries: the group is empty after the removal of another one", n)
		}
		for i, e := range all {
			if empty := g.remove(e); empty != (i == n-1) {
				t.Errorf("%d entries: after %d removals empty is %t", n, i+1, empty)
			}
		}
	}
}

// TestDeletionsAreBounded: of more than maxGone deletions the oldest is forgotten. A later revision of a
// known one counts, an earlier one does not, and forgetting makes room.
func TestDeletionsAreBounded(t *testing.T) {
	var d deletions
	id := func(i int) nested { return nested{id: fmt.Sprint(i)} }
	d.add(id(0), 0)
	if len(d.at) != 0 {
		t.Error("a deletion without a revision is remembered")
	}
	for i := range maxGone {
		d.add(id(i), 5)
	}
	d.add(id(1), 9)
	d.add(id(1), 3)
	d.forget(id(2))
	d.forget(id(2))
	d.add(id(maxGone), 5)
	if len(d.at) != maxGone || len(d.order) != maxGone || d.at[id(0)] != 5 || d.at[id(1)] != 9 {
		t.Errorf("%d remembered, %d in order, revisions %d and %d; want %d, %d, 5 and 9",
			len(d.at), len(d.order), d.at[id(0)], d.at[id(1)], maxGone, maxGone)
	}
	d.add(id(maxGone+1), 5)
	if _, known := d.at[id(0)]; known || len(d.at) != maxGone || len(d.order) != maxGone {
		t.Errorf("the oldest is known: %t, of %d and %d", known, len(d.at), len(d.order))
	}
}
