package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// machines is a model whose records another part of the program writes: text of the form label/size.
func machines() model.Spec {
	return model.Spec{
		Name: "Machine", Table: "machine", Fields: []model.Field{{Key: "label", Type: text}, {Key: "size", Type: number}},
		Indexes: map[string][]string{"label": {"label"}},
		Foreign: &model.Foreign{Prefix: "machines/", Read: func(value []byte) (map[string]any, error) {
			label, size, ok := strings.Cut(string(value), "/")
			switch {
			case !ok:
				return nil, errors.New("there is no slash")
			case size == "odd":
				return map[string]any{"label": make(chan int)}, nil
			}
			return map[string]any{"label": label, "size": size}, nil
		}},
	}
}

// foreignRig has two machines that can be read, and three records that cannot. An NB with a prefix reads the foreign records without it.
func foreignRig(t *testing.T) (world.World, *model.NB, *model.Model, *model.Model) {
	t.Helper()
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	reg := model.NewRegistry(nil)
	m, own := define(t, machines()), define(t, item(1))
	if err := errors.Join(reg.Add(m), reg.Add(own)); err != nil {
		t.Fatal(err)
	}
	put(t, w, "machines/a%2Fb", "one/1", "machines/c", "two/2", "machines/broken", "x", "machines/odd", "x/odd", "machines/wrong", "x/many",
		"machines/c/below", "other/3", "machines/", "other/4", "machines/%zz", "other/5")
	return w, model.Open(w, reg, model.Options{Prefix: "p/"}), m, own
}

// put writes keys and values to a World as they are.
func put(t *testing.T, w world.World, pairs ...string) int64 {
	t.Helper()
	var ops []world.Op
	for pair := range slices.Chunk(pairs, 2) {
		ops = append(ops, world.Op{Key: pair[0], Value: []byte(pair[1])})
	}
	revision, _, err := w.Txn(t.Context(), nil, ops)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// TestForeignRecordsAreRead: the objects come by id, in lists and by index, and a key that is longer belongs to something else.
func TestForeignRecordsAreRead(t *testing.T) {
	_, nb, m, own := foreignRig(t)
	if !m.ReadOnly() || own.ReadOnly() {
		t.Fatal("the model with foreign records is read-only, and no other")
	}
	o, err := nb.Get(t.Context(), m, "a/b")
	if err != nil || o.ID() != "a/b" || o.Get("label") != "one" || o.Get("size") != int64(1) || o.Topic() != "" || o.Revision() == 0 {
		t.Fatal(o, err)
	}
	for id, code := range map[string]model.Code{
		"gone": model.NotFound, "c/below": model.NotFound, "broken": model.BadRecord, "odd": model.BadRecord, "wrong": model.BadRecord,
	} {
		if _, err := nb.Get(t.Context(), m, id); model.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", id, err, code)
		}
	}
	for _, c := range []struct {
		q    model.Query
		want string
	}{
		{model.Query{}, "a/b c"}, {model.Query{Limit: 1}, "a/b"}, {model.Query{After: "a/b"}, "c"}, {model.Query{After: "c"}, ""},
		{model.Query{Index: "label", Where: map[string]any{"label": "two"}}, "c"}, {model.Query{Index: "id", Where: map[string]any{"id": "a/b"}}, "a/b"},
		{model.Query{Topics: []string{"", "t"}}, "a/b c"}, {model.Query{Topics: []string{"t"}}, ""},
	} {
		c.q.Model = m
		list, err := nb.List(t.Context(), c.q)
		if got := ids(list); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.q, got, err, c.want)
		}
	}
	var bad []string
	for _, err := range nb.All(t.Context(), model.Query{Model: m}) {
		for _, f := range model.Faults(err) {
			bad = append(bad, string(f.Code)+" "+f.ID)
		}
	}
	if want := []string{"bad_record broken", "bad_record odd", "bad_record wrong"}; !slices.Equal(bad, want) {
		t.Errorf("the faults are %v, want %v", bad, want)
	}
}

func ids(list []*model.Object) string {
	var all []string
	for _, o := range list {
		all = append(all, o.ID())
	}
	return strings.Join(all, " ")
}

// TestForeignRecordsStay: each change is a ReadOnly, and none alters the World.
func TestForeignRecordsStay(t *testing.T) {
	w, nb, m, _ := foreignRig(t)
	o := made(t, m, map[string]any{"id": "c", "label": "x"})
	before, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, change := range map[string]func() error{
		"create":  func() error { _, err := nb.Create(ctx, o, model.Write{}); return err },
		"update":  func() error { _, err := nb.Update(ctx, o, model.Write{}); return err },
		"replace": func() error { _, err := nb.Replace(ctx, o, model.Write{}); return err },
		"delete":  func() error { _, err := nb.Delete(ctx, m, "c", model.Write{}); return err },
		"absent":  func() error { _, err := nb.Delete(ctx, m, "gone", model.Write{}); return err },
		"restore": func() error {
			return nb.PutRecord(ctx, model.Record{Table: "machine", ID: "c", Schema: 1, Object: []byte(`{"label":"x"}`)})
		},
		"try": func() error {
			return nb.Try(ctx, func(tx *model.Tx) error { _, err := tx.Update(o, model.Write{}); return err })
		},
	} {
		if err := change(); !errors.Is(err, model.ReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done, err := nb.Migrate(ctx, false); err != nil || len(done) > 0 {
		t.Errorf("a migration looks at foreign records: %v, %v", done, err)
	}
	after, err := w.List(ctx, "", world.ListOptions{})
	if err != nil || after.Revision != before.Revision {
		t.Errorf("the World went from revision %d to %d: %v", before.Revision, after.Revision, err)
	}
}

// TestForeignInterest: changes of foreign records come to the reader who names the model, and to no other. A Snapshot has what a Watch tells.
func TestForeignInterest(t *testing.T) {
	w, nb, m, own := foreignRig(t)
	from := create(t, nb, made(t, own, map[string]any{"id": "i", "topic": "t"})).Revision()
	create(t, nb, made(t, own, map[string]any{"id": "j", "topic": "u"}))
	put(t, w, "machines/c", "three/3")
	put(t, w, "machines/broken", "y")
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "machines/c", Delete: true}}); err != nil {
		t.Fatal(err)
	}
	put(t, w, "machines/new/below", "y/1", "machines/new", "y/1")
	last := create(t, nb, made(t, own, map[string]any{"id": "k", "topic": "t"})).Revision()
	for _, c := range []struct {
		name           string
		in             model.Interest
		changes, there string
	}{
		{"all models", model.Interest{}, "create j,create k", "i,j,k"},
		{"one topic", model.Interest{Topics: []string{"t"}}, "create k", "i,k"},
		{"no topic", model.Interest{Topics: []string{}}, "", ""},
		{"a topic twice", model.Interest{Topics: []string{"t", "t"}}, "create k", "i,k"},
		{"foreign", model.Interest{Models: []*model.Model{m}}, "set c,fault broken,delete c,create new", "a/b,fault broken,fault odd,fault wrong,new"},
		{"both", model.Interest{Models: []*model.Model{own, m}}, "create j,set c,fault broken,delete c,create new,create k", "a/b,fault broken,fault odd,fault wrong,i,j,k,new"},
		{"foreign without topic", model.Interest{Models: []*model.Model{m}, Topics: []string{""}}, "set c,fault broken,delete c,create new", "a/b,fault broken,fault odd,fault wrong,new"},
		{"both, of a topic", model.Interest{Models: []*model.Model{own, m}, Topics: []string{"t"}}, "create k", "i,k"},
	} {
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		if c.changes == "" {
			cancel()
		}
		for b, err := range nb.Watch(ctx, c.in, from) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for _, change := range b.Changes {
				what := change.Action.String()
				if change.Err != nil {
					what = "fault"
				}
				got = append(got, what+" "+change.ID)
			}
			if len(got) >= strings.Count(c.changes, ",")+1 {
				break
			}
		}
		cancel()
		want := strings.Split(c.changes, ",")
		slices.Sort(got)
		slices.Sort(want)
		if strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%s: the changes are %v, want %v", c.name, got, want)
		}
		at, all, err := nb.Snapshot(t.Context(), c.in)
		var there []string
		for _, change := range all {
			id := change.ID
			if change.Err != nil {
				id = "fault " + id
			}
			if there = append(there, id); change.Action != model.Create {
				t.Errorf("%s: %s is %s in a snapshot", c.name, id, change.Action)
			}
		}
		slices.Sort(there)
		if err != nil || strings.Join(there, ",") != c.there || at != last && len(all) > 0 {
			t.Errorf("%s: the snapshot at %d has %v, want %s: %v", c.name, at, there, c.there, err)
		}
	}
}

// TestRecordsAreADump: each record comes with its envelope and text, readable or not, and PutRecord brings it back as it was.
func TestRecordsAreADump(t *testing.T) {
	eachWorld(t, func(r *rig) {
		ctx := t.Context()
		r.create("a", "t", "label", "x")
		if _, err := r.nb.Update(model.WithOrigin(ctx, "client"), r.object(map[string]any{"id": "a", "label": "y"}), model.Write{}); err != nil {
			t.Fatal(err)
		}
		r.create("b", "u", "label", "z")
		if _, err := r.nb.Delete(ctx, r.m, "b", model.Write{Quiet: true}); err != nil {
			t.Fatal(err)
		}
		r.create("c", "t")
		key := "" // of the record that a process has torn
		page, err := r.w.List(ctx, "", world.ListOptions{})
		for _, kv := range page.KVs {
			if strings.HasSuffix(kv.Key, "m/t/"+r.m.Table()+"/c") {
				key = kv.Key
			}
		}
		if err != nil || key == "" {
			t.Fatal(page, err)
		}
		put(t, r.w, key, `{"torn`)
		dump := func() (all []model.Record) {
			for rec, err := range r.nb.Records(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rec)
			}
			return all
		}
		all := dump()
		if len(all) != 2 || all[0].ID != "a" || all[0].Topic != "t" || all[0].Origin != "client" || all[0].Version != 2 || all[0].Schema != 1 || !strings.Contains(string(all[0].Object), `"label":"y"`) {
			t.Fatalf("%+v", all)
		}
		if string(all[1].Object) != `"{\"torn"` || all[1].ID != "c" || all[1].Schema != 0 {
			t.Errorf("the torn record is %+v", all[1])
		}
		for range r.nb.Records(ctx) {
			break // a reader that stops gets no more
		}
		for _, want := range all {
			if got, err := r.nb.Record(ctx, r.m, want.ID); err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("%+v, want %+v: %v", got, want, err)
			}
		}
		if _, err := r.nb.Record(ctx, r.m, "b"); !errors.Is(err, model.NotFound) {
			t.Errorf("a deleted record: %v", err)
		}
		moved := all[0]
		moved.Topic = "v"
		if err := r.nb.PutRecord(ctx, moved); err != nil {
			t.Fatal(err)
		}
		if o, err := r.nb.Get(ctx, r.m, "a"); err != nil || o.Get("label") != "y" || o.Version() != 2 || o.Origin() != "client" {
			t.Errorf("%v, %v", o, err)
		}
		if all := dump(); len(all) != 2 || all[1].Topic != "v" {
			t.Errorf("the record of the old topic is still there: %+v", all)
		}
		if err := r.nb.PutRecord(ctx, model.Record{Table: "nowhere", ID: "x"}); !errors.Is(err, model.UnknownModel) {
			t.Errorf("a table without a model: %v", err)
		}
		if err := r.nb.PutRecord(ctx, model.Record{Table: r.m.Table(), ID: "x", Object: []byte("{")}); err == nil {
			t.Error("an object that is no JSON")
		}
	})
}
