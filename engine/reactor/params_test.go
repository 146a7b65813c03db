package reactor_test

import (
	"reflect"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestParams: what a resource declares is told without secrets, also those that other parameters or other resources hold, and a received
// parameter by its sender.
func TestParams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t).add("src", newSender(w, func() sends { return sends{Out: "v"} })).
			add("a", &fake{w: w, Want: "user:s3cret-9f3c", Key: "s3cret-9f3c"}, "free=fake[src].out").
			add("b", &fake{w: w, Env: map[string]string{"X": "s3cret-9f3c"}}).edges("src>a")
		i, _ := d.g.Index("fake[a]")
		d.g.Value(i).Alter(func(s *resgraph.Special) { s.Secret = []string{"key"} })
		rg.swap(d)
		rg.rest()
		params := func(id string) []reactor.Param {
			list, err := rg.r.Params(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		want := []reactor.Param{
			{Name: "want", Value: "user:" + schema.Redacted},
			{Name: "free", From: []schema.Ref{{Kind: "fake", Name: "src", Key: "out"}}},
			{Name: "key", Value: schema.NewSecret(schema.Redacted)},
		}
		if got := params("fake[a]"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
		if got := params("fake[b]"); !reflect.DeepEqual(got, []reactor.Param{{Name: "env", Value: map[string]any{"X": schema.Redacted}}}) {
			t.Errorf("%+v", got)
		}
		if _, err := rg.r.Params(t.Context(), "fake[none]"); err == nil {
			t.Error("there is no such resource")
		}
	})
}
