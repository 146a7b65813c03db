package expand

import (
	"cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Description is what a module says of itself. Outputs without a declaration are of any type here: each instance computes values of
// its own.
type Description struct {
	Name, Doc       string
	Inputs, Outputs *schema.Type // maps with fixed keys
}

// Describe reads the inputs and the outputs of a module, and computes neither. It is called by a verb that shows them.
func Describe(d *Document, o Options) (Description, schema.Diagnostics) {
	// The declarations are read as a use of the module reads them, so both find the same faults.
	g := New(o)
	g.inputs.docs[d.File] = d
	name := d.Root.Get("module")
	if d.Root.Kind != schema.NodeMap || name == nil {
		g.errorf(d.Root.Pos, "this is no module: the key module gives its name")
		return Description{}, g.Findings()
	}
	x := Description{Name: name.Text, Inputs: &schema.Type{Kind: schema.KindStruct}, Outputs: &schema.Type{Kind: schema.KindStruct}}
	if n := d.Root.Get("comment"); n != nil {
		x.Doc = n.Text
	}
	if n := d.Root.Get("inputs"); n != nil {
		g.declareInputs(n)
		for _, p := range n.Pairs {
			if v := g.given[p.Key]; v != nil {
				f := &schema.Field{Key: p.Key, Type: typeOf(v.word), Doc: v.doc, Required: !v.known, Default: v.value, HasDefault: v.known}
				x.Inputs.Fields = append(x.Inputs.Fields, f)
			}
		}
	}
	// The type of an output without a declaration is known when it is computed.
	if n := d.Root.Get("outputs"); n != nil {
		for _, p := range n.Pairs {
			f := &schema.Field{Key: p.Key, Type: typeOf("any")}
			if p.Value.Get("value") != nil {
				f.Type = typeOf(textOr(p.Value.Get("type"), "any"))
				f.Doc = textOr(p.Value.Get("doc"), "")
			}
			x.Outputs.Fields = append(x.Outputs.Fields, f)
		}
	}
	return x, g.Findings()
}

// textOr returns the text of a node, or another one where that is not there.
func textOr(n *schema.Node, other string) string {
	if n == nil {
		return other
	}
	return cmp.Or(n.Text, other)
}

// typeOf returns the type of a word for one.
func typeOf(word string) *schema.Type {
	// The parts of lists and maps have no declaration.
	anything := &schema.Type{Kind: schema.KindAny}
	switch word {
	case "text":
		return &schema.Type{Kind: schema.KindString}
	case "int":
		return &schema.Type{Kind: schema.KindInt, Bits: 64}
	case "float":
		return &schema.Type{Kind: schema.KindFloat, Bits: 64}
	case "bool":
		return &schema.Type{Kind: schema.KindBool}
	case "list":
		return &schema.Type{Kind: schema.KindList, Elem: anything}
	case "map":
		return &schema.Type{Kind: schema.KindMap, Elem: anything}
	}
	return anything
}
