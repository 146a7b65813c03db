package modeltest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// away is a World whose calls fail from some number of them on.
type away struct {
	world.World
	left int // calls that are answered yet
}

func (w *away) lost() error {
	if w.left--; w.left < 0 {
		return world.ErrUnavailable
	}
	return nil
}

// Get fails when the calls are used up.
func (w *away) Get(ctx context.Context, key string) (world.KV, error) {
	if err := w.lost(); err != nil {
		return world.KV{}, err
	}
	return w.World.Get(ctx, key)
}

// List fails when the calls are used up.
func (w *away) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if err := w.lost(); err != nil {
		return world.Page{}, err
	}
	return w.World.List(ctx, prefix, o)
}

// Txn fails when the calls are used up.
func (w *away) Txn(ctx context.Context, cs []world.Compare, ops []world.Op) (int64, bool, error) {
	if err := w.lost(); err != nil {
		return 0, false, err
	}
	return w.World.Txn(ctx, cs, ops)
}

// TestLostStore: each call of the API tells that the store is away, at whichever of its own calls that happens.
func TestLostStore(t *testing.T) {
	ctx := t.Context()
	for name, call := range map[string]func(r *rig) error{
		"get": func(r *rig) error { _, err := r.nb.Get(ctx, r.m, "a"); return err },
		"one": func(r *rig) error { _, err := r.nb.One(ctx, model.Query{Model: r.m}); return err },
		"first": func(r *rig) error {
			_, err := r.nb.First(ctx, model.Query{Model: r.m, Topics: []string{"t"}})
			return err
		},
		"list": func(r *rig) error { _, err := r.nb.List(ctx, model.Query{Model: r.m}); return err },
		"create": func(r *rig) error {
			_, err := r.nb.Create(ctx, r.object(map[string]any{"id": "b", "topic": "t"}), model.Write{})
			return err
		},
		"update": func(r *rig) error {
			_, err := r.nb.Update(ctx, r.object(map[string]any{"id": "a", "label": "y"}), model.Write{})
			return err
		},
		"replace": func(r *rig) error {
			_, err := r.nb.Replace(ctx, r.object(map[string]any{"id": "a"}), model.Write{})
			return err
		},
		"delete": func(r *rig) error { _, err := r.nb.Delete(ctx, r.m, "a", model.Write{Quiet: true}); return err },
		"call": func(r *rig) error {
			_, err := r.nb.Call(ctx, r.m, "a", "add", map[string]any{"field": "tags", "value": "x"}, model.Write{})
			return err
		},
		"try": func(r *rig) error {
			return r.nb.Try(ctx, func(tx *model.Tx) error { _, err := tx.Peek(r.m, "a"); return err })
		},
		"dry run": func(r *rig) error {
			return r.nb.DryRun(ctx, func(tx *model.Tx) error { _, err := tx.Get(r.m, "a"); return err })
		},
		"record": func(r *rig) error { _, err := r.nb.Record(ctx, r.m, "a"); return err },
		"restore": func(r *rig) error {
			return r.nb.PutRecord(ctx, model.Record{Table: "item", ID: "a", Topic: "u", Object: []byte("{}")})
		},
		"snapshot": func(r *rig) error { _, _, err := r.nb.Snapshot(ctx, model.Interest{}); return err },
		"status":   func(r *rig) error { _, err := r.nb.Status(ctx, "h", r.m, "a"); return err },
		"statuses": func(r *rig) error { _, err := r.nb.Statuses(ctx, r.m, "a"); return err },
		"of host":  func(r *rig) error { _, err := r.nb.StatusesOf(ctx, "h"); return err },
		"report": func(r *rig) error {
			return r.nb.PutStatus(ctx, "h", model.StatusOf{Model: r.m, ID: "a", JSON: []byte("1")})
		},
		"drop":     func(r *rig) error { _, err := r.nb.DropStatuses(ctx, "h"); return err },
		"allocate": func(r *rig) error { _, err := r.nb.Allocate(ctx, "item"); return err },
		"schema":   func(r *rig) error { _, err := r.nb.RecordSchema(ctx, r.m); return err },
		"migrate":  func(r *rig) error { _, err := r.nb.Migrate(ctx, false); return err },
		"reseal":   func(r *rig) error { _, err := r.nb.Reseal(ctx, []string{"t"}, nil, false); return err },
		"dump": func(r *rig) (last error) {
			for _, last = range r.nb.Records(ctx) {
				continue
			}
			return last
		},
	} {
		failed := 0
		for ; failed < 20; failed++ {
			w := memory.New()
			r := newRig(t, w, item(1))
			r.create("a", "t", "label", "x")
			if err := r.nb.PutStatus(ctx, "h", model.StatusOf{Model: r.m, ID: "a", JSON: []byte("1")}); err != nil {
				t.Fatal(err)
			}
			lost := &away{w, failed}
			over := r.nb.Over(lost)
			if r.nb.World() != w || over.World() != lost || over.Registry() != r.reg {
				t.Error("Over gives the same API over another World")
			}
			r.nb = over
			err := call(r)
			_ = w.Close()
			if err == nil {
				break
			}
			if !errors.Is(err, world.ErrUnavailable) {
				t.Errorf("%s after %d calls: %v", name, failed, err)
			}
		}
		if failed == 0 || failed == 20 {
			t.Errorf("%s: the store was away %d times", name, failed)
		}
	}
}

// TestTornKeys: a key that says a topic without a record, and a counter that is no number, are a BadRecord each.
func TestTornKeys(t *testing.T) {
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, model.Spec{Name: "Item", Table: "item", Mixins: []model.Mixin{model.Topic, model.UniqueKey}})
	put(t, w, "p/i/item/torn", "t", "p/u/item", "many")
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"get": func() error { _, err := r.nb.Get(ctx, r.m, "torn"); return err },
		"create": func() error {
			_, err := r.nb.Create(ctx, r.object(map[string]any{"id": "b", "topic": "t"}), model.Write{})
			return err
		},
		"allocate": func() error { _, err := r.nb.Allocate(ctx, "item"); return err },
	} {
		if err := call(); !errors.Is(err, model.BadRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.nb.Delete(ctx, r.m, "torn", model.Write{}); err != nil {
		t.Error("a torn object can be deleted:", err)
	}
	if _, err := r.nb.Get(ctx, r.m, "torn"); !errors.Is(err, model.NotFound) {
		t.Error("it is still there:", err)
	}
	put(t, w, "p/u/item", "41")
	if o, err := r.nb.Create(ctx, r.object(map[string]any{"id": "b", "topic": "t"}), model.Write{}); err != nil || o.Get("unique_key") != int64(42) {
		t.Errorf("%v, %v", o, err)
	}
}

// TestHooksStopChanges: the error of each hook stops the change, is the cause of a HookFailed, and nothing is written.
func TestHooksStopChanges(t *testing.T) {
	refused := errors.New("refused")
	stop := ""
	at := func(hook string) error {
		if stop == hook {
			return refused
		}
		return nil
	}
	s := item(1)
	s.Hooks = model.Hooks{
		CreatePre: func(_ context.Context, tx *model.Tx, o *model.Object) (*model.Object, error) {
			if _, err := tx.Registry().Model("item"); err != nil {
				return nil, err
			}
			return o, at("create")
		},
		UpdatePre: func(_ context.Context, _ *model.Tx, o, was *model.Object) (*model.Object, error) {
			if stop == "rename" {
				return o.With("id", was.ID()+"2")
			}
			return o, at("update")
		},
		DeletePre: func(context.Context, *model.Tx, *model.Object) error { return at("delete") },
		ListPost: func(_ context.Context, list []*model.Object) ([]*model.Object, error) {
			return slices.DeleteFunc(list, func(o *model.Object) bool { return o.ID() == "hidden" }), at("list")
		},
	}
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, s)
	ctx := t.Context()
	before := r.create("a", "t", "label", "x").Revision()
	for hook, change := range map[string]func() error{
		"create": func() error {
			_, err := r.nb.Create(ctx, r.object(map[string]any{"id": "b", "topic": "t"}), model.Write{})
			return err
		},
		"update": func() error {
			_, err := r.nb.Update(ctx, r.object(map[string]any{"id": "a", "label": "y"}), model.Write{})
			return err
		},
		"delete": func() error { _, err := r.nb.Delete(ctx, r.m, "a", model.Write{}); return err },
		"list":   func() error { _, err := r.nb.List(ctx, model.Query{Model: r.m}); return err },
		"rename": func() error {
			_, err := r.nb.Update(ctx, r.object(map[string]any{"id": "a", "label": "y"}), model.Write{})
			return err
		},
	} {
		stop = hook
		err := change()
		if hook == "rename" {
			if !errors.Is(err, model.Validation) || !strings.Contains(err.Error(), "an object keeps its id") {
				t.Errorf("%s: %v", hook, err)
			}
			continue
		}
		if !errors.Is(err, model.HookFailed) || !strings.Contains(err.Error(), "refused") || hook != "list" && !errors.Is(err, refused) {
			t.Errorf("%s: %v", hook, err)
		}
	}
	stop = ""
	if page, err := w.List(ctx, "", world.ListOptions{}); err != nil || page.Revision != before {
		t.Errorf("something was written: %d, %v", page.Revision, err)
	}
	r.create("hidden", "t")
	if list, err := r.nb.List(ctx, model.Query{Model: r.m}); err != nil || ids(list) != "a" {
		t.Errorf("%s, %v", ids(list), err)
	}
	if r.get("hidden") == nil {
		t.Error("Get calls no hook of lists")
	}
}

// TestOneAndFirst: One wants exactly one object and First the smallest id, in the database and in a store alike.
func TestOneAndFirst(t *testing.T) {
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, item(1))
	s := store.BTree()
	for _, id := range []string{"b", "a", "c"} {
		label := "two"
		if id == "c" {
			label = "one"
		}
		if err := s.Put(r.create(id, "t", "label", label)); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []model.Source{r.nb, s} {
		for label, want := range map[string]struct{ one, first string }{
			"one": {"c", "c"}, "two": {string(model.Multiple), "a"}, "none": {string(model.NotFound), string(model.NotFound)},
		} {
			q := model.Query{Model: r.m, Index: "label", Where: map[string]any{"label": label}}
			for call, c := range map[string]struct {
				ask  func(context.Context, model.Query) (*model.Object, error)
				want string
			}{"one": {source.One, want.one}, "first": {source.First, want.first}} {
				o, err := c.ask(t.Context(), q)
				got := string(model.CodeOf(err))
				if o != nil {
					got = o.ID()
				}
				if got != c.want {
					t.Errorf("%T, %s of %s: %s, want %s: %v", source, call, label, got, c.want, err)
				}
			}
		}
		if _, err := source.One(t.Context(), model.Query{Model: r.m, Index: "lable"}); !errors.Is(err, model.UnknownIndex) {
			t.Errorf("%T: %v", source, err)
		}
	}
}

// TestThroughNeedsAnID: only a question by id goes on to the database, be it by value or by example.
func TestThroughNeedsAnID(t *testing.T) {
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, item(1))
	r.create("a", "t", "label", "x")
	through := &model.Through{Store: store.Maps(), NB: r.nb}
	for name, c := range map[string]struct {
		q    model.Query
		want model.Code
	}{
		"by value": {model.Query{Where: map[string]any{"id": "a"}}, ""}, "by index": {model.Query{Index: "id", Where: map[string]any{"id": "a"}}, ""},
		"by example": {model.Query{Like: r.object(map[string]any{"id": "a"})}, ""}, "absent": {model.Query{Where: map[string]any{"id": "b"}}, model.NotFound},
		"no id": {model.Query{}, model.NeedsID}, "a number": {model.Query{Where: map[string]any{"id": 5}}, model.NeedsID},
		"an example without one": {model.Query{Like: r.object(map[string]any{"label": "x"})}, model.NeedsID},
		"another index":          {model.Query{Index: "label", Where: map[string]any{"label": "x", "id": "a"}}, model.NeedsID},
	} {
		c.q.Model = r.m
		o, err := through.One(t.Context(), c.q)
		if model.CodeOf(err) != c.want || (o == nil) != (c.want != "") || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
	if through.Store.Len(r.m) != 1 {
		t.Errorf("the store keeps %d objects, and no miss", through.Store.Len(r.m))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	through.NB = r.nb.Over(&blocked{w, t.Context()})
	if _, err := through.Get(gone, r.m, "later"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has given up waits: %v", err)
	}
}

// blocked is a World whose Get waits for the end of the test.
type blocked struct {
	world.World
	end context.Context
}

// Get waits.
func (w *blocked) Get(context.Context, string) (world.KV, error) {
	<-w.end.Done()
	return world.KV{}, world.ErrClosed
}
