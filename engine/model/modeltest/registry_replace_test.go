package modeltest_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// zoneModel defines the table zone with some fields.
func zoneModel(t *testing.T, fields ...string) *model.Model {
	t.Helper()
	s := model.Spec{Name: "Zone", Table: "zone"}
	for _, key := range fields {
		s.Fields = append(s.Fields, model.Field{Key: key, Type: &schema.Type{Kind: schema.KindString}})
	}
	m, err := model.Define(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReplaceRegistry: all that use a registry see other models from then on, also a watch that began before, and are told.
func TestReplaceRegistry(t *testing.T) {
	w := memory.New()
	defer w.Close()
	reg, next := model.NewRegistry(nil), model.NewRegistry(nil)
	was, now := zoneModel(t, "a"), zoneModel(t, "a", "b")
	if err := reg.Add(was); err != nil {
		t.Fatal(err)
	}
	if err := next.Add(now); err != nil {
		t.Fatal(err)
	}
	nb := model.Open(w, reg, model.Options{})
	o, err := was.New(map[string]any{"id": "1", "a": "x"})
	if err == nil {
		o, err = nb.Create(t.Context(), o, model.Write{})
	}
	if err != nil {
		t.Fatal(err)
	}
	created := o.Revision()
	changed := reg.Changed()
	reg.Replace(next)
	select {
	case <-changed:
	default:
		t.Error("nobody is told of the other models")
	}
	select {
	case <-reg.Changed():
		t.Error("the models have changed once, and a second change is told")
	default:
	}
	m, err := nb.Registry().Model("zone")
	if err != nil || m != now {
		t.Fatal(m, err)
	}
	o, err = m.New(map[string]any{"id": "1", "b": "y"})
	if err == nil {
		_, err = nb.Update(t.Context(), o, model.Write{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range nb.Watch(t.Context(), model.Interest{Models: []*model.Model{was}}, created) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Changes) == 0 {
			continue
		}
		if c := b.Changes[0]; c.Err != nil || c.Model != now || c.Object.Get("b") != "y" {
			t.Errorf("the watch of the models before tells %+v", c)
		}
		break
	}
}
