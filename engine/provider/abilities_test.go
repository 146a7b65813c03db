package provider_test

import (
	"reflect"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestAbilitiesByDefinition: the features of a kind decide what its resources state, and engine.AbilitiesOf and
// engine.As say the same. All kinds have resources of one Go type, which two kinds do not share as a key.
func TestAbilitiesByDefinition(t *testing.T) {
	keys, types := map[schema.TypeKey]bool{}, map[reflect.Type]bool{}
	combinations := []provider.Features{
		0, provider.Refreshable, provider.Find, provider.Find | provider.Refreshable, provider.RemoteResource | provider.Find,
	}
	for _, f := range combinations {
		kind, err := provider.New(leafSuite(f).Definition, func() provider.Provider { return anyProvider{} })
		if err != nil {
			t.Fatal(err)
		}
		r := kind.New()
		r.SetKind("leaf")
		keys[schema.KeyOf(r)], types[reflect.TypeOf(r)] = true, true
		sends, err := schema.TypeOf(r.(engine.SendableRes).Sends())
		if err != nil {
			t.Fatal(err)
		}
		want := engine.Abilities{
			Refreshable: f&provider.Refreshable != 0, Listable: f&provider.Find == 0, Targeted: f&provider.RemoteResource != 0,
			Recvable: true, Edgeable: true, Clashing: true, Batcher: true, Reversible: true, Readable: true, Shared: true,
			Overlapping: true, Sends: sends,
		}
		if got, err := engine.AbilitiesOf(r); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v, %v", f, got, want, err)
		}
		if _, ok := engine.As[engine.RefreshableRes](r); ok != want.Refreshable {
			t.Errorf("%s: As says %t of being refreshable", f, ok)
		}
		if _, ok := engine.As[engine.Listable](r); ok != want.Listable {
			t.Errorf("%s: As says %t of being listable", f, ok)
		}
	}
	if len(types) != 1 || len(keys) != len(combinations) {
		t.Errorf("%d Go types and %d keys of %d kinds", len(types), len(keys), len(combinations))
	}
}
