package provider_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// FuzzDefinition holds that no definition panics, that what is said of one is bounded and
// has a place, and that New takes what DecodeDefinition accepts.
func FuzzDefinition(f *testing.F) {
	f.Add(aptKey)
	vectors, err := readDefinitionVectors("testdata/puppet/definitions.json")
	defMust(err)
	for _, v := range vectors {
		f.Add(string(v.Definition))
	}
	files, err := filepath.Glob("testdata/broken/*.json")
	defMust(err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		defMust(err)
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		n, err := jsonNode("f", src)
		if err != nil {
			return
		}
		for _, n := range append(n.Items, n) {
			fuzzDefinition(t, n)
		}
	})
}

func fuzzDefinition(t *testing.T, n *schema.Node) {
	if n.Kind == schema.NodeMap && n.Get("provider") == nil && n.Get("get") == nil && n.Get("dispatch") == nil {
		n = &schema.Node{Kind: n.Kind, Pos: n.Pos, Pairs: append(n.Pairs, schema.Pair{Key: "provider", Pos: n.Pos, Value: &schema.Node{Kind: schema.NodeString, Pos: n.Pos, Text: "go"}})}
	}
	def, src, ds := provider.DecodeDefinition(n)
	if len(ds) > 2*(schema.MaxFindings+1) {
		t.Fatalf("%d findings", len(ds))
	}
	for _, d := range ds {
		if d.Pos.Line < 1 && d.More == 0 || len(d.Message) > 5000 {
			t.Fatalf("%+v", d)
		}
	}
	if ds.Err() != nil || src.Dispatch != nil {
		return
	}
	if err := def.Check().Err(); err != nil {
		t.Fatalf("Check refuses what was read: %v", err)
	}
	if _, err := provider.New(*def, func() provider.Provider { return anyProvider{} }); err != nil {
		t.Fatalf("New refuses it: %v", err)
	}
}
