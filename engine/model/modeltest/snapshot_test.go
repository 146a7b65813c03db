package modeltest_test

import (
	"context"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/await"
)

// busy is a World in which another user writes right after the first list.
type busy struct {
	world.World
	write func()
}

func (w *busy) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	p, err := w.World.List(ctx, prefix, o)
	if write := w.write; write != nil {
		w.write = nil
		write()
	}
	return p, err
}

// TestSnapshotOfAnEmptyStore: an object that is created between two lists of a Snapshot is in it, or in the Watch behind it. The
// store was empty at the first list.
func TestSnapshotOfAnEmptyStore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	m, err := model.Define(model.Spec{Name: "Port", Table: "port", Mixins: []model.Mixin{model.Topic}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := m.New(map[string]any{"id": "p", "topic": "a"})
	if err != nil {
		t.Fatal(err)
	}
	reg := model.NewRegistry(nil)
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	w2 := &busy{World: w, write: func() {
		if _, err := model.Open(w.Join(), reg, model.Options{}).Create(ctx, o, model.Write{}); err != nil {
			t.Error(err)
		}
	}}
	nb := model.Open(w2, reg, model.Options{})
	in := model.Interest{Topics: []string{"a", "b"}}
	at, all, err := nb.Snapshot(ctx, in)
	if err != nil || len(all) > 0 {
		t.Fatalf("the snapshot has %v, %v", all, err)
	}
	for b, err := range nb.Watch(ctx, in, at) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Changes) == 1 && b.Changes[0].ID == "p" {
			return
		}
	}
	t.Error("the object that was created during the snapshot is lost")
}
