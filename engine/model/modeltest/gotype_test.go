package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

type rack struct {
	ID     string  `yaml:"id"`
	Room   string  `yaml:"room" mgmt:"required"`
	State  string  `yaml:"state" mgmt:"enum=up|down"`
	Height int     `yaml:"height"`
	Note   *string `yaml:"note"`
}

// TestTypedHooks: a hook alters the struct, and the object keeps what the struct lacks.
func TestTypedHooks(t *testing.T) {
	m, err := model.Of(rack{State: "up"}, model.Spec{Table: "rack", Mixins: []model.Mixin{model.Topic, model.Version}, Hooks: model.Hooks{
		CreatePre: model.OnCreate(func(_ context.Context, _ *model.Tx, r *rack) error {
			r.Room = "hall " + r.ID // required, and filled here
			r.Note = nil
			return nil
		}),
		UpdatePre: model.OnUpdate(func(_ context.Context, _ *model.Tx, r *rack, was rack) error {
			if r.Height < was.Height {
				return fmt.Errorf("a rack does not shrink from %d", was.Height)
			}
			return nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := model.NewRegistry(nil)
	if err := r.Add(m); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer w.Close()
	nb := model.Open(w, r, model.Options{})
	o, err := nb.Create(t.Context(), made(t, m, map[string]any{"id": "r1", "topic": "all", "height": 9, "note": "gone"}), model.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Get("room") != "hall r1" || o.Version() != 1 || o.Get("note") != nil || o.Has("state") {
		t.Errorf("%v", o.Values())
	}
	_, err = nb.Update(t.Context(), made(t, m, map[string]any{"id": "r1", "height": 8}), model.Write{})
	if !errors.Is(err, model.HookFailed) || !strings.Contains(err.Error(), "shrink from 9") {
		t.Error(err)
	}
}

func made(t *testing.T, m *model.Model, fields map[string]any) *model.Object {
	t.Helper()
	o, err := m.New(fields)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
