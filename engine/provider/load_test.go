package provider_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestLoadNamesAKind: a file may name the provider of a kind that is there, as well as
// one that the program brings.
func TestLoadNamesAKind(t *testing.T) {
	s := newStock("x")
	k, err := provider.New(simple(0), s.clerk)
	must(t, err)
	for name, want := range map[string]string{"rec": "", "mine": "", "rek": `there is no Go provider "rek": there are mine, rec`} {
		reg := engine.NewRegistry()
		must(t, reg.Register("rec", k.New))
		node, err := jsonNode("types.json", `{"name": "copy", "docs": "Another.", "attributes": {
			"name": {"type": "String", "docs": "n", "kind": "namevar"}, "a": {"type": "Optional[String]", "docs": "a"}}, "provider": "`+name+`"}`)
		must(t, err)
		err = provider.Load(reg, []*schema.Node{node}, provider.Providers{"mine": s.clerk}).Err()
		if want == "" && (err != nil || !reg.Has("copy")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
