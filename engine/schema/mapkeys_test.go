package schema_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestKeysOfAMap: a map with an enum takes the keys of it alone, read as a plain value and into the Go side. Each wrong key is a finding with its place
// and the key that was meant.
func TestKeysOfAMap(t *testing.T) {
	typ := &schema.Type{Kind: schema.KindStruct, Name: "x", Fields: []*schema.Field{{Key: "ports", Type: &schema.Type{
		Kind: schema.KindMap, Enum: []string{"tcp", "udp"}, Elem: &schema.Type{Kind: schema.KindInt, Bits: 64},
	}}}}
	built, err := schema.Build(typ)
	if err != nil {
		t.Fatal(err)
	}
	node := func(keys ...string) *schema.Node {
		m := &schema.Node{Kind: schema.NodeMap}
		for i, key := range keys {
			pos := schema.Pos{File: "g", Line: int32(i + 1), Col: 3}
			m.Pairs = append(m.Pairs, schema.Pair{Key: key, Pos: pos, Value: &schema.Node{Kind: schema.NodeInt, Text: "1", Pos: pos}})
		}
		return &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "ports", Value: m}}}
	}
	readers := map[string]func(*schema.Node) schema.Diagnostics{
		"plain": func(n *schema.Node) schema.Diagnostics { _, found := schema.Value(built, n); return found },
		"go":    func(n *schema.Node) schema.Diagnostics { d := built.New(); return schema.Decode(n, &d) },
	}
	for name, read := range readers {
		if found := read(node("tcp", "udp")); found != nil {
			t.Errorf("%s: %v", name, found)
		}
		found := read(node("tcp", "updp", "sctp"))
		text := found.Error()
		if len(found) != 2 || !strings.Contains(text, `g:2:3: unknown key "updp" in ports`) || !strings.Contains(text, `g:3:3: unknown key "sctp" in ports`) || found[0].Suggestion != "udp" {
			t.Errorf("%s: %v", name, found)
		}
	}
	if text := built.Fields[0].Type.String(); text != "a map of whole numbers with the keys tcp, udp" {
		t.Errorf("it is described as %q", text)
	}
	other := *typ.Fields[0].Type
	other.Enum = []string{"tcp"}
	if other.Equal(typ.Fields[0].Type) {
		t.Error("maps with other keys are equal")
	}
	for want, bad := range map[string]*schema.Type{
		`enum has "a" twice`: {Kind: schema.KindMap, Enum: []string{"a", "a"}, Elem: &schema.Type{Kind: schema.KindBool}},
		"enum is for text":   {Kind: schema.KindList, Enum: []string{"a"}, Elem: &schema.Type{Kind: schema.KindBool}},
	} {
		if _, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "x", Fields: []*schema.Field{{Key: "k", Type: bad}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
