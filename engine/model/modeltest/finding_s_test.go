package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestFindingS1ReferenceFallsThrough: a reference to an object that only the database has is followed there, by a View, Refs and Deep,
// and the object is kept. What neither has is a RefNotFound, and an error of the database is that error.
func TestFindingS1ReferenceFallsThrough(t *testing.T) {
	w := memory.New()
	defer w.Close()
	peer := item(1, model.Field{Key: "peer", Type: text, Target: "item"})
	r := newRig(t, w, peer)
	r.create("far", "t", "label", "far away")
	near := r.create("near", "t", "peer", "far")
	through := &model.Through{Store: store.Maps(), NB: r.nb}
	if err := through.Store.Put(near); err != nil {
		t.Fatal(err)
	}
	v := model.NewView(t.Context(), near, r.reg, through)
	if got, err := v.Get(t.Context(), "peer.label"); err != nil || got != "far away" {
		t.Errorf("the view has %v, %v", got, err)
	}
	if o, valid := through.Store.Peek(r.m, "far"); o == nil || !valid {
		t.Error("the target is not kept")
	}
	through.Store.Delete(r.m, "far", 0)
	if all, err := model.Refs(t.Context(), r.reg, through, near); err != nil || ids(all) != "far" {
		t.Errorf("the references are %s, %v", ids(all), err)
	}
	through.Store.Delete(r.m, "far", 0)
	if out, err := model.Deep(t.Context(), r.reg, through, near); err != nil || fmt.Sprint(out["peer"]) == "far" {
		t.Errorf("in depth: %v, %v", out, err)
	}
	if _, err := r.nb.Update(t.Context(), r.object(map[string]any{"id": "far", "label": "moved"}), model.Write{}); err != nil {
		t.Fatal(err)
	}
	through.Store.Invalidate(r.m, "far")
	if got, err := v.Get(t.Context(), "peer.label"); err != nil || got != "moved" {
		t.Errorf("after a change: %v, %v", got, err)
	}
	lost := r.create("lost", "t", "peer", "nobody")
	if _, err := model.NewView(t.Context(), lost, r.reg, through).Get(t.Context(), "peer.label"); model.CodeOf(err) != model.RefNotFound {
		t.Errorf("of nobody: %v", err)
	}
	away := &model.Through{Store: store.Maps(), NB: r.nb.Over(unavailable{w})}
	if _, err := model.NewView(t.Context(), near, r.reg, away).Get(t.Context(), "peer.label"); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("without the database: %v", err)
	}
}

// unavailable is a World that cannot be reached.
type unavailable struct{ world.World }

func (unavailable) Get(context.Context, string) (world.KV, error) {
	return world.KV{}, world.ErrUnavailable
}

// TestFindingS2OlderRevision: whatever comes late, an event, an answer of the database or a version without a revision, a newer snapshot
// stays, also where that is marked as out of date.
func TestFindingS2OlderRevision(t *testing.T) {
	for name, s := range map[string]model.Store{"maps": store.Maps(), "btree": store.BTree(), "linear": store.NewLinear()} {
		w := memory.New()
		defer w.Close()
		r := newRig(t, w, item(1))
		old := r.create("a", "t", "label", "old")
		now, err := r.nb.Update(t.Context(), r.object(map[string]any{"id": "a", "label": "new"}), model.Write{})
		if err != nil {
			t.Fatal(err)
		}
		versioned := r.object(map[string]any{"id": "b", "topic": "t", "label": "new", "version": 7})
		earlier := r.object(map[string]any{"id": "b", "topic": "t", "label": "old", "version": 6})
		copied := &model.Replica{Store: s, Source: r.nb, Reg: r.reg}
		update := func(o *model.Object) {
			t.Helper()
			if err := copied.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		update(now)
		update(versioned)
		for _, valid := range []bool{true, false} {
			if !valid {
				s.Invalidate(r.m, "a")
				s.Invalidate(r.m, "b")
			}
			for what, come := range map[string]func(){
				"an event": func() { update(old) }, "a version": func() { update(earlier) },
				"a change": func() {
					if err := copied.Apply(t.Context(), model.Change{Action: model.Update, Model: r.m, ID: "a", Object: old}); err != nil {
						t.Fatal(err)
					}
				},
				"an answer": func() { s.Fill(old, old.Revision()) },
				"a put":     func() { _ = s.Put(old) },
				"a deletion": func() {
					if err := copied.Delete(t.Context(), r.m, "a", old.Revision()); err != nil {
						t.Fatal(err)
					}
				},
			} {
				come()
				for _, id := range []string{"a", "b"} {
					if o, _ := s.Peek(r.m, id); o == nil || o.Get("label") != "new" {
						t.Fatalf("%s: after %s (valid: %t) %s is %v", name, what, valid, id, o)
					}
				}
			}
		}
		s.Fill(now, now.Revision())
		if _, valid := s.Peek(r.m, "a"); !valid {
			t.Errorf("%s: the same revision, read again, is not valid", name)
		}
	}
}

// TestFindingS3DeleteHookOfAbsent: the hook of a deletion runs for an object that the database lacks, with its id, and can stop it; what it has written
// is not kept.
func TestFindingS3DeleteHookOfAbsent(t *testing.T) {
	refused := errors.New("refused")
	var heard []string
	var stop error
	s := item(1)
	s.Hooks = model.Hooks{DeletePre: func(_ context.Context, tx *model.Tx, was *model.Object) error {
		heard = append(heard, was.ID())
		if stop != nil || was.Topic() != "" {
			return stop
		}
		o, err := was.Model().New(map[string]any{"id": "trace", "topic": "t"})
		if err == nil {
			_, err = tx.Create(o, model.Write{})
		}
		return err
	}}
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, s)
	r.create("a", "t")
	if _, err := r.nb.Delete(t.Context(), r.m, "none", model.Write{}); model.CodeOf(err) != model.NotFound {
		t.Errorf("an absent object: %v", err)
	}
	stop = refused
	if _, err := r.nb.Delete(t.Context(), r.m, "none", model.Write{}); !errors.Is(err, refused) {
		t.Errorf("a hook that refuses: %v", err)
	}
	stop = nil
	if _, err := r.nb.Delete(t.Context(), r.m, "a", model.Write{}); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(heard); got != "[none none a]" {
		t.Errorf("the hook has heard of %s", got)
	}
	if _, err := r.nb.Get(t.Context(), r.m, "trace"); model.CodeOf(err) != model.NotFound {
		t.Errorf("what the hook wrote is there: %v", err)
	}
}

// TestFindingS3FailedCallIsTakenBack: a transaction may go on without a call that has failed, and nothing is left of what its hooks have
// asked for.
func TestFindingS3FailedCallIsTakenBack(t *testing.T) {
	refused := errors.New("refused")
	trace := func(tx *model.Tx, m *model.Model, id string) error {
		made, err := m.New(map[string]any{"id": "trace of " + id, "topic": "t"})
		if err == nil {
			_, err = tx.Create(made, model.Write{})
		}
		if earlier, e := tx.Get(m, "earlier"); e == nil && err == nil {
			earlier, err = earlier.With("label", "by the hook")
			if err == nil {
				_, err = tx.Update(earlier, model.Write{})
			}
		}
		return err
	}
	s := item(1)
	s.Hooks = model.Hooks{
		CreatePre: func(_ context.Context, tx *model.Tx, o *model.Object) (*model.Object, error) {
			if o.ID() != "refused" {
				return o, nil
			}
			return o, errors.Join(refused, trace(tx, o.Model(), o.ID()))
		},
		UpdatePre: func(_ context.Context, tx *model.Tx, o, _ *model.Object) (*model.Object, error) {
			if o.ID() != "a" {
				return o, nil
			}
			return o, errors.Join(refused, trace(tx, o.Model(), o.ID()))
		},
		DeletePre: func(_ context.Context, tx *model.Tx, was *model.Object) error {
			return trace(tx, was.Model(), was.ID())
		},
	}
	w := memory.New()
	defer w.Close()
	r := newRig(t, w, s)
	r.create("a", "t")
	object := func(id, label string) *model.Object {
		o, err := r.m.New(map[string]any{"id": id, "topic": "t", "label": label})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if _, err := r.nb.Txn(t.Context(), func(tx *model.Tx) error {
		if _, err := tx.Create(object("earlier", "own"), model.Write{}); err != nil {
			return err
		}
		if _, err := tx.Delete(r.m, "none", model.Write{}); model.CodeOf(err) != model.NotFound {
			t.Errorf("an absent object: %v", err)
		}
		if _, err := tx.Create(object("refused", ""), model.Write{}); !errors.Is(err, refused) {
			t.Error(err)
		}
		if _, err := tx.Update(object("a", "new"), model.Write{}); !errors.Is(err, refused) {
			t.Error(err)
		}
		_, err := tx.Create(object("later", ""), model.Write{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	list, err := r.nb.List(t.Context(), model.Query{Model: r.m})
	var ids []string
	for _, o := range list {
		ids = append(ids, o.ID())
	}
	if got := fmt.Sprint(ids); err != nil || got != "[a earlier later]" {
		t.Errorf("%v, %v", got, err)
	}
	if o, err := r.nb.Get(t.Context(), r.m, "earlier"); err != nil || o.Get("label") != "own" {
		t.Errorf("%v, %v", o, err)
	}
}

// TestFindingS4NullInRequired: null in a required field is refused where the object is made, in all ways to make one, with its place; a
// default takes its place, and a field that is not given is still asked for at the write.
func TestFindingS4NullInRequired(t *testing.T) {
	inner := define(t, model.Spec{Name: "Inner", Plain: true, Fields: []model.Field{{Key: "must", Type: text, Required: true}}})
	m := define(t, model.Spec{Name: "Thing", Table: "thing", Fields: []model.Field{
		{Key: "must", Type: text, Required: true}, {Key: "kind", Type: text, Required: true, Default: "plain"}, {Key: "inner", Nested: inner},
	}})
	good, err := m.New(map[string]any{"id": "1", "kind": nil})
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) error { _, err := m.Parse("f", []byte(text)); return err }
	_, made := m.New(map[string]any{"id": "1", "must": nil})
	_, with := good.With("must", nil)
	for field, err := range map[string]error{"must": made, "must ": with, "must  ": parse(`{"must": null}`), "inner.must": parse(`{"inner": {"must": null}}`)} {
		faults := model.Faults(err)
		if len(faults) != 1 || faults[0].Code != model.Validation || faults[0].Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if model.CodeOf(good.Check()) != model.Validation {
		t.Error("a field that is not given is no fault of the write")
	}
}
