package gapi

import (
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Memory is the last good graph that was built with it. A graph that names the same resources in the same order, and declares the
// same edges at the same places, takes its edges from there: of 100,000 resources with 300,000 edges that is most
// of the work. A Memory decides nothing: with it and without it, Build finds and makes the same. References are compared by sums of
// 64 bits with a seed that no graph can know.
//
// The zero value is ready. A Memory is for graphs that come one after the other, and for one goroutine at a time.
//
// A resource that was made in Go is altered once: a graph that declares it as the graph before did takes it as it is, since it may run.
type Memory struct {
	known *drafted
	seed  maphash.Seed
	ready ready

	reg     *engine.Registry     // of the last part
	goKinds map[goKind]*kindInfo // the types of ready resources in such parts, but of those that state their abilities
}

// ready are the resources of the graph before that were made in Go. It keeps nothing else of their declarations, which may be millions.
type ready struct {
	list   []engine.Res              // by their places in the graph; nil for any other resource
	given  map[engine.Res]given      // of those whose declaration has something to decode
	noop   bool                      // of the graph
	places func() map[engine.Res]int // where each of them stands in the list; made when it is asked for
}

// given is what a declaration has for its resource.
type given struct{ value, meta *schema.Node }

// readyIn returns the resources of a list that were made in Go, and nothing where there are none.
func readyIn(list []Declaration, noop bool) ready {
	var r ready
	for i := range list {
		d := &list[i]
		if d.Res == nil || reflect.TypeOf(d.Res).Kind() != reflect.Pointer {
			continue
		}
		if r.list == nil {
			r = ready{list: make([]engine.Res, len(list)), given: map[engine.Res]given{}, noop: noop}
		}
		r.list[i] = d.Res
		if d.Value != nil || d.Meta != nil {
			r.given[d.Res] = given{d.Value, d.Meta}
		}
	}
	all := r.list
	r.places = sync.OnceValue(func() map[engine.Res]int {
		places := make(map[engine.Res]int, len(all))
		for i, res := range all {
			if res != nil {
				places[res] = i
			}
		}
		return places
	})
	return r
}

// made reports whether an item has a resource that was made for the graph before, and is declared as there: its kind and its name are
// those that the builder has set. Most often it stands at the same place of the list.
func (b *builder) made(it *item) bool {
	if it.Res == nil || len(b.ready.list) == 0 || b.ready.noop != b.d.Noop || reflect.TypeOf(it.Res).Kind() != reflect.Pointer {
		return false
	}
	if at := int(it.at); at >= len(b.ready.list) || b.ready.list[at] != it.Res {
		if _, ok := b.ready.places()[it.Res]; !ok {
			return false
		}
	}
	return it.Res.Kind() == it.kind && it.Res.Name() == it.name && b.ready.given[it.Res] == given{it.Value, it.Meta}
}

// keepReady remembers the resources that were made in Go for a graph without a fault. A fault is told by each build anew.
func (m *Memory) keepReady(b *builder) {
	if m != nil && b.errors == 0 {
		m.ready = readyIn(b.d.Resources, b.d.Noop)
	}
}

// drafted is what is kept of a graph.
type drafted struct {
	g    *resgraph.Graph // its ids and edges, without the resources, which may hold secrets
	sums []uint64
}

// sums are of what each resource says of edges, by vertex, and at the end of the edges that were declared by themselves.
type sums struct {
	seed maphash.Seed
	all  []uint64
}

// NewDraft is the function NewDraft, with this memory.
func (m *Memory) NewDraft(reg *engine.Registry, d *Declared) *Draft {
	if d == nil {
		return &Draft{}
	}
	if m.seed == (maphash.Seed{}) {
		m.seed = maphash.MakeSeed()
	}
	b := newBuilder(reg, d)
	b.like, b.sums, b.ready = m.known, &sums{seed: m.seed}, m.ready
	x := newDraft(b)
	m.keepReady(b)
	x.last = m
	return x
}

// NewPart is the function NewPart, with this memory: what all resources of a type have in common is looked up once.
func (m *Memory) NewPart(reg *engine.Registry, d *Declared, runs Running) *Draft {
	if m.reg != reg {
		m.reg, m.goKinds = reg, map[goKind]*kindInfo{}
	}
	return newPart(reg, d, runs, m.goKinds)
}

// keep remembers a graph that was built without an error.
func (m *Memory) keep(b *builder) {
	if m != nil && !b.d.Partial {
		m.known = &drafted{g: b.g.Bare(), sums: b.sums.all}
	}
}

// has reports whether a vertex has an id.
func (k *drafted) has(at int, id []byte) bool {
	return k != nil && at < k.g.Len() && k.g.ID(at) == string(id)
}

// differ says that the graph is not like the one before after all. Its vertices so far are entered now.
func (b *builder) differ() {
	if b.like == nil {
		return
	}
	b.like = nil
	b.g.Grow(cap(b.first), 0)
	for _, it := range b.first {
		b.enter(it)
	}
}

// recall takes the graph before, once all resources are declared, if their references are the same. Without a graph before, the
// sums are for the next one: they are made on another processor meanwhile, and the returned function waits for them.
func (b *builder) recall() (wait func()) {
	var adding sync.WaitGroup
	switch {
	case b.sums == nil:
	case b.like == nil:
		adding.Go(func() { b.sums.add(b.d, b.first) })
	default:
		b.sums.add(b.d, b.first)
		b.compare()
	}
	return adding.Wait
}

// compare takes the graph before if the references are the same as there.
func (b *builder) compare() {
	if len(b.first) != b.like.g.Len() || !slices.Equal(b.sums.all, b.like.sums) {
		b.differ()
		return
	}
	name := b.g.Name
	b.g = b.like.g.Clone()
	b.g.Name = name
}

// add adds the sums of a graph whose resources have been declared. It alters nothing else.
func (s *sums) add(d *Declared, items []*item) {
	s.all = make([]uint64, 0, len(items)+1)
	var text []byte
	for _, it := range items {
		text = text[:0]
		for _, refs := range [...][]RefDecl{it.Before, it.Depend, it.Notify, it.Listen} {
			text = binary.AppendUvarint(text, uint64(len(refs)))
			for i := range refs {
				text = appendRef(text, &refs[i].Ref, refs[i].Pos)
			}
		}
		for i := range it.Recv {
			r := &it.Recv[i]
			text = appendRef(appendText(text, r.Field), &r.From, r.Pos)
		}
		s.all = append(s.all, maphash.Bytes(s.seed, text))
	}
	sum := uint64(0)
	for i := range d.Edges { // one after the other, each with the sum of those before
		e := &d.Edges[i]
		text = binary.NativeEndian.AppendUint64(text[:0], sum)
		text = appendPos(appendText(text, e.Name), e.Pos)
		for _, end := range [...]*EdgeEnd{&e.From, &e.To} {
			r := end.Ref()
			text = appendRef(text, &r, schema.Pos{Line: end.At.Line, Col: end.At.Col})
		}
		text = strconv.AppendBool(text, e.Notify)
		sum = maphash.Bytes(s.seed, text)
	}
	s.all = append(s.all, sum)
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func appendRef(to []byte, r *schema.Ref, pos schema.Pos) []byte {
	return appendPos(appendText(appendText(appendText(to, r.Kind), r.Name), r.Key), pos)
}

func appendPos(to []byte, p schema.Pos) []byte {
	to = binary.AppendUvarint(appendText(to, p.File), uint64(p.Line))
	return binary.AppendUvarint(to, uint64(p.Col))
}
