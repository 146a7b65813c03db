package modeltest_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestFactsAreAModel: a host writes its facts, others find the host by a role, and equal facts write nothing.
func TestFactsAreAModel(t *testing.T) {
	w := memory.New()
	defer w.Close()
	m, err := model.Facts()
	if err != nil {
		t.Fatal(err)
	}
	reg := model.NewRegistry(nil)
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	nb := model.Open(w, reg, model.Options{})
	put := func(facts map[string]any) *model.Object {
		t.Helper()
		if err := nb.PutFacts(t.Context(), m, "web1", []string{"web", "db"}, facts); err != nil {
			t.Fatal(err)
		}
		list, err := nb.List(t.Context(), model.Query{Model: m, Index: "role", Where: map[string]any{"roles": "web"}})
		if err != nil || len(list) != 1 || list[0].ID() != "web1" {
			t.Fatal(list, err)
		}
		return list[0]
	}
	first := put(map[string]any{"os": "Debian", "cpus": 2, "old": true})
	if again := put(map[string]any{"os": "Debian", "cpus": 2, "old": true}); again.Revision() != first.Revision() {
		t.Errorf("equal facts were written at revision %d, after %d", again.Revision(), first.Revision())
	}
	next := put(map[string]any{"os": "Debian", "cpus": 4})
	if facts, _ := next.Get("facts").(map[string]any); len(facts) != 2 || next.Version() != 2 || !slices.Equal(model.Changed(first, next), []string{"facts", "version"}) {
		t.Errorf("%v, version %d, changed %v", facts, next.Version(), model.Changed(first, next))
	}
}
