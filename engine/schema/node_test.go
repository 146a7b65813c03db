package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestNodeAt: a path leads to its node, or as near to it as there are nodes.
func TestNodeAt(t *testing.T) {
	node := func(kind schema.NodeKind, text string) *schema.Node { return &schema.Node{Kind: kind, Text: text} }
	leaf, last := node(schema.NodeString, "leaf"), node(schema.NodeInt, "last")
	list := &schema.Node{Kind: schema.NodeList, Text: "list", Items: []*schema.Node{leaf, last}}
	inner := &schema.Node{Kind: schema.NodeMap, Text: "inner", Pairs: []schema.Pair{{Key: "b", Value: list}, {Key: "x.y", Value: leaf}}}
	root := &schema.Node{Kind: schema.NodeMap, Text: "root", Pairs: []schema.Pair{{Key: "a", Value: inner}}}
	for path, want := range map[string]*schema.Node{
		"a": inner, "a.b": list, "a.b[0]": leaf, "a.b[1]": last, `a["x.y"]`: leaf,
		"": root, "nope": root, "a.nope.b": inner, "a.b[2]": list, "a.b[1].c": last, "a.b.c": list, "a[0]": inner, "a.b[": root,
	} {
		if got := root.At(path); got != want {
			t.Errorf("at %q: %+v", path, got)
		}
	}
	if got := (*schema.Node)(nil).At("a.b[0]"); got != nil {
		t.Errorf("below nothing: %v", got)
	}
}

// TestNodeAll: each node comes once, before those that it holds, until the reader stops.
func TestNodeAll(t *testing.T) {
	node := func(text string) *schema.Node { return &schema.Node{Kind: schema.NodeString, Text: text} }
	list := &schema.Node{Kind: schema.NodeList, Text: "list", Items: []*schema.Node{node("a"), nil, node("b")}}
	root := &schema.Node{Kind: schema.NodeMap, Text: "root", Pairs: []schema.Pair{{Key: "l", Value: list}, {Key: "n"}, {Key: "c", Value: node("c")}}}
	for stop, want := range map[string]string{"": "root list a b c ", "root": "root ", "list": "root list ", "b": "root list a b ", "c": "root list a b c "} {
		var got strings.Builder
		for n := range root.All() {
			if got.WriteString(n.Text + " "); n.Text == stop {
				break
			}
		}
		if got.String() != want {
			t.Errorf("until %q: %q, not %q", stop, got.String(), want)
		}
	}
	for n := range (*schema.Node)(nil).All() {
		t.Errorf("below nothing: %v", n)
	}
}

// TestDescribe: a message names each value in a bounded length.
func TestDescribe(t *testing.T) {
	long := strings.Repeat("é", 41)
	for _, c := range []struct {
		node schema.Node
		want string
	}{
		{schema.Node{Kind: schema.NodeNull}, "nothing"},
		{schema.Node{Kind: schema.NodeList}, "a list"},
		{schema.Node{Kind: schema.NodeMap}, "a map"},
		{schema.Node{Kind: schema.NodeInt, Text: "7"}, "7"},
		{schema.Node{Kind: schema.NodeString, Text: "a\nb"}, `the text "a\nb"`},
		{schema.Node{Kind: schema.NodeString, Text: long[2:]}, `the text "` + long[2:] + `"`},
		{schema.Node{Kind: schema.NodeString, Text: long}, `the text "` + long[2:] + `..."`},
		{schema.Node{Kind: 99}, "something unknown"},
	} {
		if got := c.node.Describe(); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

// TestConcealedNumbers: no finding shows a hidden scalar that is a number or true, whatever the field is.
func TestConcealedNumbers(t *testing.T) {
	type params struct {
		B bool
		I int8
		U uint8
		F float32
		M schema.Mode
		S schema.Size
		D time.Duration
		L []int
		E string `mgmt:"enum=a|b"`
		R schema.Ref
	}
	typ, err := schema.TypeOf(params{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []schema.Node{
		{Kind: schema.NodeInt, Text: "-98765"}, {Kind: schema.NodeInt, Text: "98765"}, {Kind: schema.NodeInt, Text: "0123"},
		{Kind: schema.NodeInt, Text: "420"}, {Kind: schema.NodeFloat, Text: "98.765"}, {Kind: schema.NodeBool, Text: "true"},
	} {
		for _, key := range typ.Keys() {
			var v params
			whole := &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: key, Value: &n}}}
			plain, hidden := schema.Decode(whole, &params{}), schema.Decode(whole.Conceal(key), &v)
			if (plain.Err() == nil) != (hidden.Err() == nil) {
				t.Errorf("%s: %s: hidden it gives %v, else %v", key, n.Text, hidden, plain)
			}
			words := strings.NewReplacer("true or false", "").Replace(hidden.Error())
			if strings.Contains(words, strings.TrimPrefix(n.Text, "-")) {
				t.Errorf("%s: %s is shown: %s", key, n.Text, hidden)
			}
		}
	}
}
