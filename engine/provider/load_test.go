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

// TestLoadCommandsCannot: what commands have no form for is said in words of files.
func TestLoadCommandsCannot(t *testing.T) {
	node, err := jsonNode("types.json", `{"name": "rec", "docs": "x", "features": ["find", "simple_get_filter", "noop_handler", "unverified"],
		"attributes": {"name": {"type": "String", "docs": "n", "kind": "namevar"}}, "get": ["a"], "set": ["b"]}`)
	must(t, err)
	err = provider.Load(engine.NewRegistry(), []*schema.Node{node}, nil).Err()
	if err == nil || err.Error() != "types.json:1:1: the type rec has the feature find, which commands can't have, only a provider in Go" {
		t.Error(err)
	}
}

// TestLoadTwice: of a type that is defined twice both places are said.
func TestLoadTwice(t *testing.T) {
	var nodes []*schema.Node
	for _, file := range []string{"a.json", "b.json"} {
		node, err := jsonNode(file, `{"name": "rec", "docs": "x", "attributes": {"name": {"type": "String", "docs": "n", "kind": "namevar"}}, "get": ["a"], "set": ["b"]}`)
		must(t, err)
		nodes = append(nodes, node)
	}
	err := provider.Load(engine.NewRegistry(), nodes, nil).Err()
	if err == nil || err.Error() != "b.json:1:1: the type rec is defined twice\n    a.json:1:1: first defined here" {
		t.Errorf("%q", err)
	}
}
