package transform

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Memory is what the automatic edges of the graph that runs came from. With it, a resource that
// is declared as it runs (Known.Same) is not asked again: it is answered as before, unless
// something came, changed or went that it had asked for. So the parameters that Cmp compares must
// decide the result of AutoEdges. The result of UIDs is compared itself, and may change.
//
// The zero value is of no graph. A Memory is for graphs that run one after the other,
// and for one goroutine at a time.
type Memory struct {
	known *answers // of the graph that runs
	next  *answers // of the graph that was transformed last
	stale map[string]struct{}
}

// Forget says that the vertices with these ids have changed without a graph: they are asked again.
func (m *Memory) Forget(ids ...string) {
	for _, id := range ids {
		if m.stale == nil {
			m.stale = map[string]struct{}{}
		}
		m.stale[id] = struct{}{}
	}
}

// isStale reports whether the answers of a vertex are from before it has changed.
func (m *Memory) isStale(id string) bool {
	_, stale := m.stale[id]
	return stale
}

// Known says what is known of the vertices of a graph before its first step, by their indices. Both functions may be
// nil, and are called on many goroutines at once.
type Known struct {
	Same func(i int) bool           // the resource that runs under the id is declared just so: see reactor.Stage
	UIDs func(i int) []autoedge.UID // the UIDs of the resource, nil if they have not been asked for
}

func (k Known) same(v int32) bool { return k.Same != nil && k.Same(int(v)) }

func (k Known) uids(v int32) []autoedge.UID {
	if k.UIDs == nil {
		return nil
	}
	return k.UIDs(int(v))
}

// AutoEdge is the step AutoEdge, and makes the same of a graph, only sooner.
func (m *Memory) AutoEdge(h engine.Host, k Known) Step {
	return Step{Name: "autoedge", Apply: func(ctx context.Context, g *resgraph.Graph, n *Notes) (*resgraph.Graph, error) {
		return m.autoEdge(ctx, h, g, k, n)
	}}
}

// Keep says that the graph runs that was transformed last.
func (m *Memory) Keep() {
	if m.next != nil {
		m.known, m.next, m.stale = m.next, nil, nil
	}
}

// autoEdge adds the automatic edges. It takes over the answers of the graph that runs for vertices that stay, and asks all others. What
// it has found out counts for the next graph only after Keep: a graph that is refused must leave no answers behind.
func (m *Memory) autoEdge(ctx context.Context, h engine.Host, g *resgraph.Graph, k Known, n *Notes) (*resgraph.Graph, error) {
	m.next = nil
	if same := k.Same; same != nil && len(m.stale) > 0 {
		k.Same = func(i int) bool { return same(i) && !m.isStale(g.ID(i)) }
	}
	a := &edgeQueries{g: g, n: n, index: newIndex(g), knows: k}
	if m.known != nil {
		a.index.seed = m.known.seed
	}
	edgeable := a.edgeable()
	a.answers = newAnswers(g, a.index.seed)
	if h != nil {
		a.survey(ctx, h, edgeable)
	}
	a.describeAll(edgeable)
	a.recall = m.known.recall(g, k, a.answers)
	if a.askAll(ctx, edgeable); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m.next = a.answers
	if len(a.wanted) == 0 {
		return g, nil
	}
	return a.admit(), nil
}

// answers are, by vertex, what AutoEdge has found out of a graph.
type answers struct {
	seed  maphash.Seed
	ids   []string
	is    rows[uint32] // the sums of its UIDs, cut; 0 for one without Hash
	asked rows[uint32] // those of the UIDs that it has asked by
	found rows[answer]
	loose []loose // the questions that no sum answers
	again []bool  // it has to be asked again in any case: it has failed, or asked by a UID without a single Hash
}

// loose is a question that is not looked up by one sum: by a UID without Hash, or a UID that means all of some.
type loose struct {
	asker int32
	uid   autoedge.UID
}

// answer is one vertex that was found for another vertex that asked.
type answer struct {
	vertex   int32
	reversed bool // it comes first
	notify   bool
	fixed    bool // also where both are to go
}

func newAnswers(g *resgraph.Graph, seed maphash.Seed) *answers {
	return &answers{seed: seed, ids: g.AllIDs(), again: make([]bool, g.Len())}
}

// recall says what of the answers still holds in a graph whose vertices say what now.is has;
// nil if there are none.
func (s *answers) recall(g *resgraph.Graph, k Known, now *answers) *recall {
	if s == nil {
		return nil
	}
	r := &recall{known: s, knows: k, now: make([]int32, len(s.ids)), was: make([]int32, g.Len())}
	for i := range r.was {
		r.was[i] = -1
	}
	r.find(g)
	for old, at := range r.now {
		if at < 0 {
			r.name(s.ids[old])
			r.touch(s.is.of(int32(old)))
		}
	}
	for i := range g.Len() {
		is, old := now.is.of(int32(i)), r.was[i]
		if old >= 0 && k.same(int32(i)) && slices.Equal(is, s.is.of(old)) {
			continue
		}
		r.name(now.ids[i])
		r.touch(is)
		if old >= 0 {
			r.touch(s.is.of(old))
		}
	}
	return r
}

// recall is what is known of another graph, for this one.
type recall struct {
	known   *answers
	knows   Known
	now     []int32              // by index there: that of the same id here, -1 for none
	was     []int32              // the other way round
	touched [touches / 64]uint64 // the ends of the sums of changed UIDs
}

const touches = 1 << 18

// find finds the vertices by their ids, on all processors. Most stand where they stood.
func (r *recall) find(g *resgraph.Graph) {
	var wg sync.WaitGroup
	for from := 0; from < len(r.now); from += askAtOnce {
		wg.Go(func() {
			likely := from
			for old := from; old < min(from+askAtOnce, len(r.now)); old++ {
				at, ok := likely, likely < g.Len() && g.ID(likely) == r.known.ids[old]
				if !ok {
					at, ok = g.Index(r.known.ids[old])
				}
				if !ok {
					r.now[old] = -1
					continue
				}
				r.now[old], r.was[at], likely = int32(at), int32(old), at+1
			}
		})
	}
	wg.Wait()
}

// name touches the thing of a resource that does not say so: see autoedge.NameUID.
func (r *recall) name(id string) { r.set(uint32(maphash.String(r.known.seed, id))) }

func (r *recall) touch(sums []uint32) {
	for _, sum := range sums {
		r.set(sum)
	}
}

func (r *recall) set(sum uint32) { r.touched[sum%touches/64] |= 1 << (sum % 64) }

func (r *recall) has(sum uint32) bool { return r.touched[sum%touches/64]&(1<<(sum%64)) != 0 }

// holds returns where the answers stand that vertex v of g got, if it would get them again.
func (r *recall) holds(v int32) (old int32, yes bool) {
	if r == nil || !r.knows.same(v) {
		return -1, false
	}
	old = r.was[v]
	if old < 0 || r.known.again[old] || slices.ContainsFunc(r.known.asked.of(old), r.has) {
		return -1, false
	}
	return old, true
}

// rows are a list for each vertex, one after the other.
type rows[T any] struct {
	all  []T
	ends []int32
}

// of returns the list of one vertex.
func (r *rows[T]) of(v int32) []T {
	from := int32(0)
	if v > 0 {
		from = r.ends[v-1]
	}
	return r.all[from:r.ends[v]]
}

// end ends the list of a vertex.
func (r *rows[T]) end() { r.ends = append(r.ends, int32(len(r.all))) }

// concat returns the rows of n vertices from those of some of them, which the parts have in
// order. The others have none.
func concat[T any](n int, some []int32, parts []*rows[T]) rows[T] {
	size := 0
	for _, p := range parts {
		size += len(p.all)
	}
	r := rows[T]{all: make([]T, 0, size), ends: make([]int32, 0, n)}
	for _, p := range parts {
		base := int32(len(r.all))
		for i, end := range p.ends {
			for len(r.ends) < int(some[i]) {
				r.ends = append(r.ends, r.last())
			}
			r.ends = append(r.ends, base+end)
		}
		some = some[len(p.ends):]
		r.all = append(r.all, p.all...)
	}
	for len(r.ends) < n {
		r.ends = append(r.ends, r.last())
	}
	return r
}

func (r *rows[T]) last() int32 {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}
