package reactor

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// Compare compares a graph, or a part of one, with the graph that runs, for Same. Its resources must have been
// made, need not have been validated, and must not be altered any more. Vertices without a value are left out.
// It takes all processors for as long as that takes, and does not block.
func (st *Stage) Compare(g *resgraph.Graph) {
	st.draft, st.same = g, make([]bool, g.Len())
	st.r.values.RLock()
	defer st.r.values.RUnlock()
	st.r.pairs(g, func(i int, decl *resgraph.Vertex, v *vertex) {
		if decl == nil || decl.Res == nil {
			return
		}
		_, groupable := engine.As[engine.GroupableRes](decl.Res)
		st.same[i] = !groupable && len(decl.Recv) == 0 && v.same(decl)
	})
}

// Same reports whether the resource that runs under this id is declared just so in the graph of Compare. It goes
// on in the place of the declared one, which need not be validated, and not be asked for its edges. A vertex that
// receives values is compared by Commit alone, and so is a possible member of a group. Callable from any
// goroutine, once Compare has returned.
func (st *Stage) Same(id string) bool {
	if st.draft == nil {
		return false
	}
	i, ok := st.draft.Index(id)
	return ok && st.same[i]
}

// SameAt is Same of the vertex with an index in the graph of Compare.
func (st *Stage) SameAt(i int) bool { return i < len(st.same) && st.same[i] }

// isSame is Same for vertex i of a graph, where that is still the one that was compared.
func (st *Stage) isSame(i int, decl *resgraph.Vertex) bool {
	return st.SameAt(i) && st.draft.Value(i) == decl
}

// pairs calls do, on all processors, for each vertex of a graph under whose id one runs.
func (r *Reactor) pairs(g *resgraph.Graph, do func(i int, decl *resgraph.Vertex, v *vertex)) {
	const chunk = 2000
	some := func(from, to int) {
		old := from // where the next one stands in the old graph, as a rule
		_ = apart.Each("Cmp", from, to, func(i int) error {
			if v := r.likely(g.ID(i), old); v != nil {
				old = int(v.index) + 1
				do(i, g.Value(i), v)
			}
			return nil
		}, func(int, error) {}) // as after a panic of Cmp: see same
	}
	n := g.Len()
	if len(r.loop.byIndex) == 0 {
		n = 0
	}
	if n <= chunk {
		some(0, n)
		return
	}
	var wg sync.WaitGroup
	for from := 0; from < n; from += chunk {
		wg.Go(func() { some(from, min(from+chunk, n)) })
	}
	wg.Wait()
}

// likely returns the running vertex of an id, nil for none. It is looked for at a likely place
// first: a look into the map of a large graph is dear.
func (r *Reactor) likely(id string, at int) *vertex {
	l := &r.loop
	if at < len(l.byIndex) && l.byIndex[at].ID == id {
		return l.byIndex[at]
	}
	return l.named(id)
}

// same reports whether v may go on in the place of a declared one, to which the
// values have been carried.
func (v *vertex) same(d *resgraph.Vertex) (yes bool) {
	panicked := callsafe.Do("Cmp", func() error { yes = v.equals(d); return nil })
	return yes && panicked == nil // the making of the new one tells of the panic
}

// equals is same without a guard: methods of the resource may panic.
func (v *vertex) equals(d *resgraph.Vertex) bool {
	if v.once != d.Special().Once || !v.Begun() && !v.meta.Hidden {
		return false // a Swap that failed could not bring it back
	}
	if reflect.TypeOf(v.Res) != reflect.TypeOf(d.Res) || !v.wired().Same(d.Recv) {
		return false
	}
	if engine.StatesOther(d.Res, v.abil.Abilities) {
		return false // its kind has become another one
	}
	if m := engine.MetaOf(d.Res); !v.meta.Equal(m) || !v.hasKey(batchKey(d.Res, m, v.noop)) {
		return false
	}
	return v.Res.Cmp(d.Res) == nil
}

// runs reports whether a declared vertex has the very resource that runs, and receives the same.
func (v *vertex) runs(d *resgraph.Vertex) bool {
	t := reflect.TypeOf(d.Res)
	return t != nil && t.Comparable() && v.Res == d.Res && v.once == d.Special().Once && (v.Begun() || v.meta.Hidden) && v.wired().Same(d.Recv)
}

// hasKey reports whether that is the key of v's batch.
func (v *vertex) hasKey(key string) bool {
	if v.key == nil {
		return key == ""
	}
	return *v.key == key
}

// batchKey returns the key that vertices must share to run in one call, empty for a vertex that
// runs alone. It has the semaphores that hosts share: a vertex without them does not wait for the store.
func batchKey(res engine.Res, m *engine.MetaParams, noop bool) string {
	b, ok := engine.As[engine.Batcher](res)
	if !ok || b.GroupKey() == "" {
		return ""
	}
	semas, err := sharedSemas(semasIn(m, true))
	if err != nil {
		return "" // it runs alone, and fails alone
	}
	return fmt.Sprintf("%s\x00%s\x00%t\x00%d\x00%s\x00%s", res.Kind(), b.GroupKey(), noop, m.Timeout, strings.Join(semas, "\x00"), proofsKey(m))
}
