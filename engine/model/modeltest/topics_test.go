package modeltest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// strict is a World that refuses a host everything but its topics, as the roles of a store do, and that fails where it is told to.
type strict struct {
	world.World
	fail string // the key whose Get fails
}

// Watch refuses the records of all topics.
func (w *strict) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	if prefix == "m/" {
		return func(yield func(world.Batch, error) bool) { yield(world.Batch{}, world.ErrRefused) }
	}
	return w.World.Watch(ctx, prefix, from)
}

// Get fails for one key.
func (w *strict) Get(ctx context.Context, key string) (world.KV, error) {
	if key == w.fail {
		return world.KV{}, world.ErrUnavailable
	}
	return w.World.Get(ctx, key)
}

func strictNB(t *testing.T, models ...model.Spec) (*strict, *model.NB, []*model.Model) {
	t.Helper()
	w := &strict{World: memory.New()}
	t.Cleanup(func() { _ = w.Close() })
	reg := model.NewRegistry(nil)
	var all []*model.Model
	for _, s := range models {
		m := define(t, s)
		if err := reg.Add(m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return w, model.Open(w, reg, model.Options{}), all
}

func create(t *testing.T, nb *model.NB, o *model.Object) *model.Object {
	t.Helper()
	o, err := nb.Create(t.Context(), o, model.Write{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWatchOfTopicsAlone: where the roles of the store refuse the whole, each topic is watched, and an object that moves
// between two of them is never gone.
func TestWatchOfTopicsAlone(t *testing.T) {
	_, nb, ms := strictNB(t, item(1))
	m := ms[0]
	from := create(t, nb, made(t, m, map[string]any{"id": "before", "topic": "a"})).Revision()
	create(t, nb, made(t, m, map[string]any{"id": "x", "topic": "a"}))
	create(t, nb, made(t, m, map[string]any{"id": "foreign", "topic": "c"}))
	if _, err := nb.Update(t.Context(), made(t, m, map[string]any{"id": "x", "topic": "b"}), model.Write{}); err != nil {
		t.Fatal(err)
	}
	create(t, nb, made(t, m, map[string]any{"id": "y", "topic": "b"}))
	if _, err := nb.Delete(t.Context(), m, "y", model.Write{}); err != nil {
		t.Fatal(err)
	}
	create(t, nb, made(t, m, map[string]any{"id": "last", "topic": "a"}))
	var got []string
	var last int64
	for b, err := range nb.Watch(t.Context(), model.Interest{Topics: []string{"a", "b"}}, from) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Revision < last {
			t.Errorf("the revision went from %d to %d", last, b.Revision)
		}
		last = b.Revision
		for _, c := range b.Changes {
			got = append(got, c.Action.String()+" "+c.ID+" "+c.Topic)
		}
		if len(got) == 5 {
			break
		}
	}
	slices.Sort(got)
	if want := "create last a,create x a,create x b,create y b,delete y b"; strings.Join(got, ",") != want {
		t.Errorf("%s, want %s", strings.Join(got, ","), want)
	}
}

// TestReplicaKeepsOrder: an older snapshot makes no event, a failing read leaves an object waiting, and a deletion ends the wait.
func TestReplicaKeepsOrder(t *testing.T) {
	w, nb, ms := strictNB(t, model.Spec{Name: "Net", Table: "net", Mixins: []model.Mixin{model.BasicEvents}, Fields: []model.Field{{Key: "a", Type: text}}},
		model.Spec{Name: "Port", Table: "port", Fields: []model.Field{{Key: "net", Type: text, Target: "Net"}}})
	net, port := ms[0], ms[1]
	events, seen := &model.Events{}, 0
	for _, name := range net.Events() {
		if _, err := events.On(net, name, func(context.Context, model.Event) error { seen++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	r := &model.Replica{Store: store.Maps(), Source: nb, Reg: nb.Registry(), Events: events}
	apply := func(o *model.Object) error {
		return r.Apply(t.Context(), model.Change{Action: model.Update, Model: o.Model(), ID: o.ID(), Object: o})
	}
	p, q := create(t, nb, made(t, port, map[string]any{"id": "p", "net": "n"})), create(t, nb, made(t, port, map[string]any{"id": "q", "net": "n"}))
	if err := errors.Join(apply(p), apply(q)); err != nil || r.Waiting() != 2 {
		t.Fatal(err, r.Waiting())
	}
	if err := r.Delete(t.Context(), port, "q", q.Revision()+1); err != nil || r.Waiting() != 1 {
		t.Errorf("a deleted object waits: %v, %d", err, r.Waiting())
	}
	old := create(t, nb, made(t, net, map[string]any{"id": "n", "a": "1"}))
	now, err := nb.Update(t.Context(), made(t, net, map[string]any{"id": "n", "a": "2"}), model.Write{})
	if err != nil {
		t.Fatal(err)
	}
	w.fail = "i/port/p"
	if err := apply(now); !errors.Is(err, world.ErrUnavailable) || r.Waiting() != 1 {
		t.Errorf("a read that fails: %v, %d wait", err, r.Waiting())
	}
	w.fail = ""
	if err := errors.Join(apply(old), apply(now)); err != nil || r.Waiting() != 0 || seen != 1 {
		t.Errorf("an older snapshot, and the same again: %v, %d wait, %d events", err, r.Waiting(), seen)
	}
	if r.Store.Len(port) != 1 {
		t.Error("the object that waited did not come")
	}
}

// TestListTellsOfALostStore: a list that cannot look behind a reference is an error, and not a list without the object.
func TestListTellsOfALostStore(t *testing.T) {
	w, nb, ms := strictNB(t, model.Spec{Name: "Net", Table: "net", Fields: []model.Field{{Key: "a", Type: text}}},
		model.Spec{Name: "Port", Table: "port", Fields: []model.Field{{Key: "net", Type: text, Target: "Net"}}, Indexes: map[string][]string{"a": {"net.a"}}})
	create(t, nb, made(t, ms[0], map[string]any{"id": "n", "a": "1"}))
	create(t, nb, made(t, ms[1], map[string]any{"id": "p", "net": "n"}))
	q := model.Query{Model: ms[1], Index: "a", Where: map[string]any{"net.a": "1"}}
	if list, err := nb.List(t.Context(), q); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	w.fail = "i/net/n"
	if list, err := nb.List(t.Context(), q); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("%v, %v", list, err)
	}
}
