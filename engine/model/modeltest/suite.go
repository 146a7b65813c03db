package modeltest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/schema"
	"pgregory.net/rapid"
)

// Stores are all stores of objects, the default one first.
func Stores() []NamedStore {
	return []NamedStore{
		{Name: "maps", New: func() model.Store { return store.Maps() }},
		{Name: "btree", New: func() model.Store { return store.BTree() }},
		{Name: "linear", New: func() model.Store { return store.NewLinear() }},
	}
}

// Store plays random changes on a store and on the linear one, and asks both everything after each change.
func Store(t *testing.T, make func() model.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlayer(rt, make())
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			p.change()
			p.ask()
		}
	})
}

// player draws changes and questions. Both stores get the same ones.
type player struct {
	t            *rapid.T
	port, net    *model.Model
	mac          *model.Model // nested with an id
	store, truth model.Store
}

// must ends the test on an error.
func must[T any](t *rapid.T, v T, err error) T {
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// newPlayer defines models whose indexes go through all that a path can go through.
func newPlayer(t *rapid.T, s model.Store) *player {
	text, number := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindInt, Bits: 64}
	list := func(e *schema.Type) *schema.Type { return &schema.Type{Kind: schema.KindList, Elem: e} }
	dict := func(e *schema.Type) *schema.Type { return &schema.Type{Kind: schema.KindMap, Elem: e} }
	p := &player{t: t, store: s, truth: store.NewLinear()}
	label, err := model.Define(model.Spec{Name: "Label", Plain: true, Fields: []model.Field{{Key: "name", Type: text}}})
	label = must(t, label, err)
	p.mac, err = model.Define(model.Spec{
		Name: "Mac", Fields: []model.Field{{Key: "mac", Type: text}}, Indexes: map[string][]string{"mac": {"mac"}},
	})
	must(t, p.mac, err)
	p.net, err = model.Define(model.Spec{
		Name: "Net", Table: "net", Mixins: []model.Mixin{model.Topic}, Fields: []model.Field{{Key: "name", Type: text}, {Key: "up", Type: text, Target: "Net"}},
		Indexes: map[string][]string{"up_name": {"up.name"}, "name": {"name"}},
	})
	must(t, p.net, err)
	p.port, err = model.Define(model.Spec{
		Name: "Port", Table: "port",
		Fields: []model.Field{
			{Key: "k", Type: text}, {Key: "n", Type: number, Default: int64(3)}, {Key: "tags", Type: list(text), Set: true},
			{Key: "labels", Type: dict(list(nil)), Nested: label}, {Key: "macs", Type: list(nil), Nested: p.mac}, {Key: "home", Nested: p.net},
			{Key: "net", Type: text, Target: "net"}, {Key: "nets", Type: list(text), Target: "Net"},
		},
		Indexes: map[string][]string{
			"k": {"k"}, "kn": {"k", "n"}, "tag": {"tags"}, "label": {"labels.name"}, "mac": {"macs.mac"}, "net": {"net.id"},
			"net_name": {"net.name"}, "up": {"net.up.name", "k"}, "nets": {"nets.name", "tags", "n"},
		},
	})
	must(t, p.port, err)
	return p
}

// small has few values, so that objects meet.
var small = rapid.SampledFrom([]string{"a", "b", "c", ""})

// texts draws a list of a few texts.
func (p *player) texts(name string) []any {
	out := []any{}
	for _, s := range rapid.SliceOfN(small, 0, 3).Draw(p.t, name) {
		out = append(out, s)
	}
	return out
}

// maybe sets a field in half of the cases.
func (p *player) maybe(fields map[string]any, key string, v func() any) {
	if rapid.Bool().Draw(p.t, "set "+key) {
		fields[key] = v()
	}
}

// portFields draws the fields of a port.
func (p *player) portFields() map[string]any {
	f := map[string]any{}
	p.maybe(f, "k", func() any { return small.Draw(p.t, "k") })
	p.maybe(f, "n", func() any { return rapid.Int64Range(0, 3).Draw(p.t, "n") })
	p.maybe(f, "tags", func() any { return p.texts("tags") })
	p.maybe(f, "net", func() any { return small.Draw(p.t, "net") })
	p.maybe(f, "nets", func() any { return p.texts("nets") })
	p.maybe(f, "labels", func() any {
		d := map[string]any{}
		for _, s := range p.texts("labels") {
			d[fmt.Sprint("key", s)] = []any{map[string]any{"name": s}, map[string]any{}}
		}
		return d
	})
	p.maybe(f, "home", func() any { // first class, so it may be put by itself, too
		n := p.netFields()
		n["id"], n["topic"] = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(p.t, "home"), small.Draw(p.t, "home topic")
		return n
	})
	p.maybe(f, "macs", func() any {
		l := []any{}
		for i, s := range p.texts("macs") {
			l = append(l, map[string]any{"id": "m" + strconv.Itoa(rapid.IntRange(0, i).Draw(p.t, "mac")), "mac": s})
		}
		return l
	})
	return f
}

// netFields draws the fields of a net, which may refer to another net.
func (p *player) netFields() map[string]any {
	f := map[string]any{}
	p.maybe(f, "name", func() any { return small.Draw(p.t, "name") })
	p.maybe(f, "up", func() any { return small.Draw(p.t, "up") })
	return f
}

// change does one thing on both stores, and compares the answers. A put is more likely than the rest, and some puts are
// refused: they have an empty id, or lack the topic.
func (p *player) change() {
	id := small.Draw(p.t, "id") // the empty one is refused
	m, fields := p.port, p.portFields
	if rapid.Bool().Draw(p.t, "net?") {
		m, fields = p.net, p.netFields
	}
	switch rapid.IntRange(0, 9).Draw(p.t, "what") {
	case 0, 1:
		a, b := p.store.Delete(m, id, 0), p.truth.Delete(m, id, 0)
		p.same("Delete", a, b)
	case 2:
		p.store.Invalidate(m, id)
		p.truth.Invalidate(m, id)
	case 3:
		if rapid.IntRange(0, 9).Draw(p.t, "clear") == 0 {
			p.store.Clear()
			p.truth.Clear()
		}
	default:
		f := fields()
		f["id"] = id
		if m == p.net && rapid.IntRange(0, 9).Draw(p.t, "with topic") > 0 {
			f["topic"] = small.Draw(p.t, "topic")
		}
		o, err := m.New(f)
		o = must(p.t, o, err)
		p.same("Put", model.CodeOf(p.store.Put(o)), model.CodeOf(p.truth.Put(o)))
	}
}

// same compares two answers by their text.
func (p *player) same(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Fatalf("%s: %v, and the linear store: %v", what, got, want)
	}
}

// ask compares the answers to one question about each index, to a question by topics, and by id. Whether a nested object
// is valid is not compared: the linear store knows that of the object around it only.
func (p *player) ask() {
	macFields := func() map[string]any { return map[string]any{"mac": small.Draw(p.t, "mac")} }
	for i, m := range []*model.Model{p.port, p.net, p.mac} {
		like, err := m.New([]func() map[string]any{p.portFields, p.netFields, macFields}[i]())
		like = must(p.t, like, err)
		for _, x := range m.Indexes() {
			p.question(model.Query{Model: m, Index: x.Name, Like: like, Limit: rapid.IntRange(0, 2).Draw(p.t, "limit"), After: small.Draw(p.t, "after")})
		}
		p.question(model.Query{Model: m})
		p.question(model.Query{Model: m, Topics: []string{small.Draw(p.t, "topic"), "a"}})
		p.same("Len", p.store.Len(m), p.truth.Len(m))
		for _, id := range []string{"a", "b", "c", "m0", "m1"} {
			a, av := p.store.Peek(m, id)
			b, bv := p.truth.Peek(m, id)
			if !a.Equal(b) || m == p.port && av != bv {
				p.t.Fatalf("Peek %s %s: %v %v, and the linear store: %v %v", m.Name(), id, a, av, b, bv)
			}
		}
	}
}

// question compares the answers to a query, in their order.
func (p *player) question(q model.Query) {
	a, err := p.store.List(p.t.Context(), q)
	b, err2 := p.truth.List(p.t.Context(), q)
	p.same("the error of List", err, err2)
	if !slices.EqualFunc(a, b, (*model.Object).Equal) {
		p.t.Fatalf("%s by %q of %v: %s, and the linear store: %s", q.Model.Name(), q.Index, q.Like, ids(a), ids(b))
	}
	if !slices.IsSortedFunc(a, func(x, y *model.Object) int { return model.Compare(x.ID(), y.ID()) }) {
		p.t.Fatalf("not sorted: %v", a)
	}
	for _, ask := range []func(model.Store) (*model.Object, error){
		func(s model.Store) (*model.Object, error) { return s.One(p.t.Context(), q) },
		func(s model.Store) (*model.Object, error) { return s.First(p.t.Context(), q) },
	} {
		x, err := ask(p.store)
		y, err2 := ask(p.truth)
		if p.same("the error", model.CodeOf(err), model.CodeOf(err2)); !x.Equal(y) {
			p.t.Fatalf("%v, and the linear store: %v", x, y)
		}
	}
}
