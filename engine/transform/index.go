package transform

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// index finds the UIDs of a graph, by the Go type of the UID and its space: a UID
// can match only one of its own type and space. Those of a type with a method Hash are
// looked up by it; the others are gone through, within a budget. After fill they
// may be asked on many goroutines at once.
type index struct {
	g    *resgraph.Graph
	seed maphash.Seed
	part []bool        // by vertex: whether it is found
	gone []bool        // by vertex: whether it is to go
	list []*spaceIndex // few: one for each type and space
}

// maxCompared bounds the cost of UIDs without hashes of a whole graph: a second
// at most.
const maxCompared = 1 << 24

var errTooMany = errors.New("too many UIDs without a method Hash to compare, give them one")

// spaceIndex has the UIDs of one type and space.
type spaceIndex struct {
	typ    reflect.Type
	space  string // of UIDs that are data
	things []thing
	rows   []int32         // by the end of the sum: the thing put there last, from 1; nil for UIDs without Hash
	sorted func() []*thing // by their hashes, made when it is first called; nil with rows
}

// thing is one UID of one vertex.
type thing struct {
	uid    autoedge.UID
	sum    uint64 // of its hash
	vertex int32
	next   int32 // of the same row, from 1; 0 for none
}

type hashed interface{ Hash() string }

var hashType = reflect.TypeFor[hashed]()

func newIndex(g *resgraph.Graph) *index {
	return &index{g: g, seed: maphash.MakeSeed(), part: make([]bool, g.Len()), gone: make([]bool, g.Len())}
}

// sum returns the key to look a UID up by, 0 for a UID without Hash.
func (s *index) sum(u autoedge.UID) uint64 {
	if h, ok := u.(hashed); ok {
		return maphash.String(s.seed, h.Hash())
	}
	return 0
}

func (s *index) of(u autoedge.UID) *spaceIndex {
	t, space := reflect.TypeOf(u), autoedge.SpaceOf(u)
	for _, in := range s.list {
		if in.typ == t && in.space == space {
			return in
		}
	}
	return nil
}

// fill puts the things of all parts into the index, in order. It is called once.
func (s *index) fill(parts []edgeQueries) {
	room := 0 // for the things of the first one, as a rule the files
	for i := range parts {
		room += len(parts[i].things)
	}
	for i := range parts {
		for _, th := range parts[i].things {
			in := s.of(th.uid)
			if in == nil {
				in = &spaceIndex{typ: reflect.TypeOf(th.uid), space: autoedge.SpaceOf(th.uid), things: make([]thing, 0, room)}
				s.list, room = append(s.list, in), 0
			}
			in.things = append(in.things, th)
		}
	}
	for _, in := range s.list {
		if in.typ.Implements(hashType) {
			in.label()
		}
	}
}

// label makes it possible to look the things up by their sums.
func (in *spaceIndex) label() {
	in.rows = make([]int32, 1<<bits.Len(uint(len(in.things))))
	for i := range in.things {
		row := in.row(in.things[i].sum)
		in.things[i].next, *row = *row, int32(i+1)
	}
	in.sorted = sync.OnceValue(in.sort)
}

// sort returns the things in the order of their hashes.
func (in *spaceIndex) sort() []*thing {
	list := make([]*thing, len(in.things))
	for i := range in.things {
		list[i] = &in.things[i]
	}
	slices.SortStableFunc(list, func(a, b *thing) int { return strings.Compare(a.hash(), b.hash()) })
	return list
}

func (th *thing) hash() string { return th.uid.(hashed).Hash() }

func (in *spaceIndex) row(sum uint64) *int32 { return &in.rows[sum&uint64(len(in.rows)-1)] }

// named returns the vertex that a UID names by its id (autoedge.NameUID), other than the asking one and if it takes
// part; -1 for none. No resource has to say its id as a UID: the graph has them.
func (s *index) named(u autoedge.UID, asker int32) int32 {
	id := autoedge.NamedBy(u)
	if id == "" {
		return -1
	}
	if i, ok := s.g.Index(id); ok && int32(i) != asker && s.part[i] && !s.apart(int32(i), asker) {
		return int32(i)
	}
	return -1
}

// apart reports whether two vertices are about different machines: the UIDs of one of them mean nothing to the other.
func (s *index) apart(a, b int32) bool {
	return targets.Of(s.g.Value(int(a)).Res) != targets.Of(s.g.Value(int(b)).Res)
}

// prefixUID is a UID that asks for all UIDs of some type whose hashes have a beginning.
type prefixUID interface {
	HashPrefix() (autoedge.UID, string)
}

// all returns the matching vertices, other than the asking one, in the order of
// their hashes.
func (s *index) all(u prefixUID, asker int32) (list []int32) {
	of, prefix := u.HashPrefix()
	in := s.of(of)
	if in == nil || in.rows == nil {
		return nil
	}
	sorted := in.sorted()
	at, _ := slices.BinarySearchFunc(sorted, prefix, func(th *thing, p string) int { return strings.Compare(th.hash(), p) })
	for ; at < len(sorted) && strings.HasPrefix(sorted[at].hash(), prefix); at++ {
		if v := sorted[at].vertex; v != asker && !s.apart(v, asker) {
			list = append(list, v)
		}
	}
	return list
}

// useful reports whether no staying resource waits until the thing is gone.
func useful(u autoedge.UID) bool {
	x, ok := u.(interface{ Useful() bool })
	return ok && x.Useful()
}

// find returns the vertex that a UID of this sum names, other than the asking one; -1 for none. A vertex with the name as
// its id comes first. If there are several, it is the one with the lowest id, whatever the order in which they were
// declared. Comparisons are taken from the budget.
func (s *index) find(u autoedge.UID, sum uint64, asker int32, budget *int) (int32, error) {
	best := s.named(u, asker)
	if best >= 0 {
		return best, nil
	}
	in := s.of(u)
	if in == nil {
		return best, nil
	}
	better := func(th *thing) {
		switch {
		case th.vertex == asker, best >= 0 && s.g.ID(int(best)) <= s.g.ID(int(th.vertex)):
		case s.gone[th.vertex] && !s.gone[asker] && useful(th.uid):
		case th.uid.IFF(u) && !s.apart(th.vertex, asker):
			best = th.vertex
		}
	}
	if in.rows != nil {
		for at := *in.row(sum); at > 0; {
			th := &in.things[at-1]
			if at = th.next; th.sum == sum {
				better(th)
			}
		}
		return best, nil
	}
	if *budget -= len(in.things); *budget < 0 {
		return -1, errTooMany
	}
	for i := range in.things {
		better(&in.things[i])
	}
	return best, nil
}
