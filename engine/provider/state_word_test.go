package provider_test

import (
	"context"
	"iter"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

type silent struct{}

func (silent) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(func(provider.Record, error) bool) {}
}

func (silent) Set(context.Context, *provider.Runtime, []provider.Change) error { return nil }

// In a graph the word is state; ensure is read too, and the provider says ensure. Only a
// type that has an attribute state of its own keeps both.
func TestFindingD5StateOfDataTypes(t *testing.T) {
	ensure := provider.Attribute{Name: "ensure", Type: "Enum[present, absent]"}
	name := provider.Attribute{Name: "name", Type: "String", Role: provider.Namevar}
	own := provider.Attribute{Name: "state", Type: "Optional[String]"}
	for _, c := range []struct {
		attrs []provider.Attribute
		keys  map[string]string // written in a graph: the key that it stands for, or nothing
	}{
		{[]provider.Attribute{name, ensure}, map[string]string{"state": "state", "ensure": "state"}},
		{[]provider.Attribute{name, ensure, own}, map[string]string{"state": "state", "ensure": "ensure"}},
		{[]provider.Attribute{name}, map[string]string{"state": "", "ensure": ""}},
	} {
		k, err := provider.New(provider.Definition{Name: "thing", Doc: "A thing.", Attributes: c.attrs},
			func() provider.Provider { return silent{} })
		if err != nil {
			t.Fatal(err)
		}
		for word, key := range c.keys {
			r := k.New()
			pair := schema.Pair{Key: word, Value: &schema.Node{Kind: schema.NodeString, Text: "absent"}}
			err := schema.Decode(&schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{pair}}, r).Err()
			if (err == nil) != (key != "") {
				t.Errorf("%v: %s: %v", c.attrs, word, err)
			}
			if v, _ := schema.Get(r, key); key != "" && v != "absent" {
				t.Errorf("%v: %s gives %s: %v", c.attrs, word, key, v)
			}
		}
	}
}

// One that says both is told so.
func TestFindingD5StateGivenTwice(t *testing.T) {
	k, err := provider.New(provider.Definition{Name: "thing", Doc: "A thing.", Attributes: []provider.Attribute{
		{Name: "name", Type: "String", Role: provider.Namevar}, {Name: "ensure", Type: "Enum[present, absent]"},
	}}, func() provider.Provider { return silent{} })
	if err != nil {
		t.Fatal(err)
	}
	text := &schema.Node{Kind: schema.NodeString, Text: "absent"}
	n := &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "state", Value: text}, {Key: "ensure", Value: text}}}
	var r engine.Res = k.New()
	if ds := schema.Decode(n, r); ds.Err() == nil {
		t.Error("both were taken")
	}
}
