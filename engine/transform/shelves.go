package transform

import (
	"errors"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
)

// shelves hold what the resources of a graph are, by the Go type of the UID: a UID
// can match only one of its own type. Those of a type with a method Hash are
// looked up by it; the others are gone through, within a budget. After label they
// may be asked on many goroutines at once.
type shelves struct {
	g    *engine.Graph
	list []*shelf // few: one for each type
	room int      // for the things of the first one, as a rule the files
}

// maxCompared bounds what the UIDs without hashes of a whole graph cost: a second
// at most.
const maxCompared = 1 << 24

var errTooMany = errors.New("too many UIDs without a method Hash to compare, give them one")

// shelf has the UIDs of one type.
type shelf struct {
	typ    reflect.Type
	things []thing
	first  map[string]int32 // by hash: the one put there last; nil where there is none
}

// thing is one UID of one vertex.
type thing struct {
	uid    engine.ResUID
	vertex int32
	next   int32 // with the same hash, or -1
}

type hashed interface{ Hash() string }

var hashType = reflect.TypeFor[hashed]()

func newShelves(g *engine.Graph, room int) *shelves {
	return &shelves{g: g, room: room}
}

func (s *shelves) of(t reflect.Type) *shelf {
	for _, sh := range s.list {
		if sh.typ == t {
			return sh
		}
	}
	return nil
}

// put notes that vertex v is what the UID names.
func (s *shelves) put(u engine.ResUID, v int32) {
	t := reflect.TypeOf(u)
	if t == nil {
		return
	}
	sh := s.of(t)
	if sh == nil {
		sh = &shelf{typ: t, things: make([]thing, 0, s.room)}
		s.list, s.room = append(s.list, sh), 0
	}
	sh.things = append(sh.things, thing{uid: u, vertex: v, next: -1})
}

// label makes it possible to look the things up by their hashes. It is called
// after the last put. A UID whose Hash panics is named to skip and not found.
func (s *shelves) label(skip func(v int32, err error)) {
	for _, sh := range s.list {
		if !sh.typ.Implements(hashType) {
			continue
		}
		sh.first = make(map[string]int32, len(sh.things))
		for i := range sh.things {
			th := &sh.things[i]
			if err := guarded("Hash", func() error { sh.label(int32(i)); return nil }); err != nil {
				skip(th.vertex, err)
			}
		}
	}
}

func (sh *shelf) label(i int32) {
	th := &sh.things[i]
	key := th.uid.(hashed).Hash()
	if first, there := sh.first[key]; there {
		th.next = first
	}
	sh.first[key] = i
}

// find returns the vertex that a UID names, other than the one that asks; -1 for
// none. If there are several, it is the one with the lowest id, whatever the order
// in which they were declared. What has to be compared is taken from the budget.
func (s *shelves) find(u engine.ResUID, asker int32, budget *int) (int32, error) {
	best := int32(-1)
	sh := s.of(reflect.TypeOf(u))
	if sh == nil {
		return best, nil
	}
	better := func(th *thing) {
		if th.vertex == asker || best >= 0 && s.g.ID(int(best)) <= s.g.ID(int(th.vertex)) || !th.uid.IFF(u) {
			return
		}
		best = th.vertex
	}
	if h, ok := u.(hashed); ok {
		if at, there := sh.first[h.Hash()]; there {
			for ; at >= 0; at = sh.things[at].next {
				better(&sh.things[at])
			}
		}
		return best, nil
	}
	if *budget -= len(sh.things); *budget < 0 {
		return -1, errTooMany
	}
	for i := range sh.things {
		better(&sh.things[i])
	}
	return best, nil
}
