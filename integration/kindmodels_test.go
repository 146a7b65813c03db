package integration

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// TestKindsAreModels: every kind of the registry is a model, and an object of it can be written and read again.
func TestKindsAreModels(t *testing.T) {
	kinds := engine.DefaultRegistry()
	reg := model.NewRegistry(kinds)
	if n := len(kinds.Kinds()); n < 20 {
		t.Fatalf("only %d kinds are registered", n)
	}
	nb := model.Open(memory.New(), reg, model.Options{})
	for _, kind := range kinds.Kinds() {
		m, err := reg.Model(kind)
		if err != nil || m.Kind() != kind || !m.FirstClass() {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		fields := map[string]any{"id": "/x y", "topic": "host:a", "meta": map[string]any{"noop": true}, "depend": []any{"noop[x]"}}
		for _, f := range m.Fields() {
			if f.Required && f.Default == nil && fields[f.Key] == nil {
				fields[f.Key] = "1"
			}
		}
		o, err := m.New(fields)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if _, err := nb.Create(t.Context(), o, model.Write{}); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		got, err := nb.Get(t.Context(), m, "/x y")
		if err != nil || got.Version() != 1 || len(got.Parents()) != 1 || got.Topic() != "host:a" {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
	if _, err := reg.Order(false); err != nil {
		t.Error(err)
	}
}
