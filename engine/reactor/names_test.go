package reactor

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// TestNames: the table says what a map says, whatever comes, is replaced and goes.
// Seen failing with: remove without moving up what stands behind the hole.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n names
		is := map[string]*vertex{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "id"))
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				n.remove(id)
				delete(is, id)
			case 1:
				v := &vertex{}
				v.ID = id
				n.put(v)
				is[id] = v
			default:
				n.room(rapid.IntRange(0, 100).Draw(t, "room"))
			}
			if n.used != len(is) {
				t.Fatalf("%d names, want %d", n.used, len(is))
			}
			for i := range 41 {
				if id := fmt.Sprint(i); n.find(id) != is[id] {
					t.Fatalf("%s: %v, want %v", id, n.find(id), is[id])
				}
			}
		}
	})
}

// metaRes is a resource of which the metaparameters matter.
type metaRes struct {
	traits.Base
	otherMethods
}

type otherMethods struct{ engine.Res }

// TestMetasAreShared: equal metaparameters are kept once, also where others came in between, and unequal ones never.
func TestMetasAreShared(t *testing.T) {
	var m metas
	first := map[int]*engine.MetaParams{}
	for i := range 200 {
		res, retry := &metaRes{}, i*i%7
		res.MetaParams().Retry, res.MetaParams().Noop = retry, new(true)
		got := m.share(res)
		if got.Retry != retry || res.MetaParams() != got {
			t.Fatalf("retry is %d, want %d", got.Retry, retry)
		}
		if first[retry] == nil {
			first[retry] = got
		}
		if first[retry] != got {
			t.Errorf("retry %d is kept twice", retry)
		}
	}
	for i := range 100 { // more than are remembered
		res := &metaRes{}
		if res.MetaParams().Retry = i; m.share(res).Retry != i {
			t.Errorf("retry is not %d", i)
		}
	}
}
