package expr_test

import (
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// everything has a field of each kind of type.
type everything struct {
	Bool     bool
	Int      int
	Float    float64
	Text     string
	Pointer  *string
	Time     time.Duration
	Size     schema.Size
	Mode     schema.Mode
	Ref      schema.Ref
	Secret   schema.Secret
	List     []string
	Numbers  []int
	Map      map[string]string
	Lists    map[string][]int
	Any      any
	Struct   struct{ A string }
	Structs  []struct{ A string }
	Optional *int
}

// TestFits: a value that decodes into a type fits it: the check of types refuses no graph that Decode would take.
func TestFits(t *testing.T) {
	all, err := schema.Of(&everything{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := expr.NewScope(nil)
	if err != nil {
		t.Fatal(err)
	}
	fits, refused := 0, 0
	for _, src := range []string{
		"true", "1", "1u", "2.0", "2.5", "'x'", "'5s'", "'0644'", "'file[a]'", "b'x'", "null", "[]", "['a']", "[1]", "[[1]]", "[1, 'a']", "[{'A': 'x'}]",
		"{}", "{'a': 'b'}", "{'a': 1}", "{'a': [1]}", "{'A': 'x'}", "{'A': ['x']}", "duration('5s')", "timestamp('2020-01-01T00:00:00Z')",
		"optional.of('x')", "optional.of([1])", "optional.none()", "dyn('x')", "dyn([1])",
	} {
		p, faults := scope.Compile(src)
		if len(faults) > 0 {
			t.Fatal(src, faults)
		}
		v, err := p.Eval(nil)
		if err != nil {
			t.Fatal(src, err)
		}
		if _, absent := v.(expr.Absent); absent {
			continue
		}
		for _, f := range all.Fields {
			node := &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: f.Key, Value: literal(t, v)}}}
			decodes := schema.Decode(node, &everything{}).Err() == nil
			switch {
			case decodes && !p.Type().Fits(f.Type):
				t.Errorf("%s decodes into %s, and does not fit it", src, f.Key)
			case decodes:
				fits++
			case !p.Type().Fits(f.Type):
				refused++
			}
		}
	}
	if fits < 100 || refused < 150 {
		t.Errorf("%d pairs fit and %d are refused: the check says too little", fits, refused)
	}
}

// literal returns a value as a graph has it: text in quotes.
func literal(t *testing.T, v any) *schema.Node {
	n, err := schema.NodeOf(v)
	if err != nil {
		t.Fatal(err)
	}
	var bare func(*schema.Node) *schema.Node
	bare = func(n *schema.Node) *schema.Node {
		c := &schema.Node{Kind: n.Kind, Text: n.Text, Quoted: n.Kind == schema.NodeString}
		for _, i := range n.Items {
			c.Items = append(c.Items, bare(i))
		}
		for _, p := range n.Pairs {
			c.Pairs = append(c.Pairs, schema.Pair{Key: p.Key, Value: bare(p.Value)})
		}
		return c
	}
	return bare(n)
}
