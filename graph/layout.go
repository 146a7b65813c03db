package graph

import (
	"slices"
	"sync"
)

// layout is both adjacencies of a graph as compressed rows. Once made it never
// changes, but for the values computed lazily behind a sync.Once. Edges are
// numbered in the order of (from, to), so the k-th entry of succ is edge k.
type layout struct {
	n int

	decls []decl  // in the order of (from, to), then of declaration
	first []int32 // where edge k's declarations begin in decls; nil if each has one

	outStart []int32 // n+1; vertex i's successors are succ[outStart[i]:outStart[i+1]]
	succ     []int32
	inStart  []int32 // n+1, and so on
	pred     []int32
	inEdge   []int32 // the edge that pred's entry belongs to

	orderOnce sync.Once
	order     []int32 // topological, cut short where a cycle stops it
	rank      []int32 // position in order; nil if there is a cycle

	cycleOnce sync.Once
	cycle     foundCycle
}

// changed drops the layout. Most changes come many in a row: only the first has one to drop.
func (g *Graph[V]) changed() {
	if g.layout.Load() != nil {
		g.layout.Store(nil)
	}
}

// read returns the layout, making it if something changed since it was made.
func (g *Graph[V]) read() *layout {
	if l := g.layout.Load(); l != nil {
		return l
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.layout.Load(); l != nil {
		return l
	}
	l := newLayout(len(g.ids), g.decls)
	g.decls = l.decls
	g.layout.Store(l)
	return l
}

// newLayout lays out declarations in any order between n vertices.
func newLayout(n int, decls []decl) *layout {
	l := &layout{n: n, decls: sortDecls(n, decls)}
	l.layOut()
	l.layIn()
	return l
}

// sortDecls returns the declarations in the order of (from, to), keeping those of
// one pair in the order that they are in: two rounds of counting sort.
func sortDecls(n int, decls []decl) []decl {
	if slices.IsSortedFunc(decls, byPair) {
		return slices.Clip(decls)
	}
	next, from := make([]int32, n+1), make([]int32, n+1)
	for _, d := range decls {
		next[d.to+1]++
		from[d.from+1]++
	}
	addUp(next)
	addUp(from)
	byTo := make([]int32, len(decls))
	for i, d := range decls {
		byTo[next[d.to]] = int32(i)
		next[d.to]++
	}
	sorted := make([]decl, len(decls))
	for _, i := range byTo {
		d := decls[i]
		sorted[from[d.from]] = d
		from[d.from]++
	}
	return sorted
}

func byPair(a, b decl) int {
	if a.from != b.from {
		return int(a.from) - int(b.from)
	}
	return int(a.to) - int(b.to)
}

// addUp turns the sizes of groups, of which that of group i stands at i+1, into where the groups begin.
func addUp(sizes []int32) {
	for i := 1; i < len(sizes); i++ {
		sizes[i] += sizes[i-1]
	}
}

// layOut fills in the successors.
func (l *layout) layOut() {
	l.outStart = make([]int32, l.n+1)
	l.succ = make([]int32, 0, len(l.decls))
	for i, d := range l.decls {
		if i > 0 && byPair(l.decls[i-1], d) == 0 {
			if l.first == nil {
				l.first = upTo(len(l.succ), len(l.decls))
			}
			continue
		}
		if l.first != nil {
			l.first = append(l.first, int32(i))
		}
		l.succ = append(l.succ, d.to)
		l.outStart[d.from+1]++
	}
	if l.first != nil {
		l.first = append(l.first, int32(len(l.decls)))
	}
	addUp(l.outStart)
}

// upTo returns the numbers below n, with room for more.
func upTo(n, room int) []int32 {
	s := make([]int32, n, room+1)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// layIn fills in the predecessors from the successors.
func (l *layout) layIn() {
	l.inStart = make([]int32, l.n+1)
	for _, v := range l.succ {
		l.inStart[v+1]++
	}
	addUp(l.inStart)
	next := slices.Clone(l.inStart)
	l.pred = make([]int32, len(l.succ))
	l.inEdge = make([]int32, len(l.succ))
	for u := range l.n {
		for k := l.outStart[u]; k < l.outStart[u+1]; k++ {
			at := &next[l.succ[k]]
			l.pred[*at] = int32(u)
			l.inEdge[*at] = k
			*at++
		}
	}
}

func (l *layout) out(i int) []int32 {
	a, b := l.outStart[i], l.outStart[i+1]
	return l.succ[a:b:b]
}

func (l *layout) in(i int) []int32 {
	a, b := l.inStart[i], l.inStart[i+1]
	return l.pred[a:b:b]
}

// find returns the number of the edge between two vertices, by a binary search
// in the shorter of the two rows that it is in.
func (l *layout) find(from, to int) (int32, bool) {
	if from < 0 || to < 0 || from >= l.n || to >= l.n {
		return 0, false
	}
	out, in := l.out(from), l.in(to)
	if len(out) <= len(in) {
		k, ok := slices.BinarySearch(out, int32(to))
		return l.outStart[from] + int32(k), ok
	}
	k, ok := slices.BinarySearch(in, int32(from))
	if !ok {
		return 0, false
	}
	return l.inEdge[int(l.inStart[to])+k], true
}

// declared returns the declarations of edge k; there is at least one.
func (l *layout) declared(k int32) []decl {
	if l.first == nil {
		return l.decls[k : k+1]
	}
	return l.decls[l.first[k]:l.first[k+1]]
}
