package yaml

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// resource reads one entry of a kind.
// Parameters are only collected here: Build knows the kind and checks them. Each fault is told.
// An entry with a faulty name is left out, and Build reports one without the key name.
func (p *part) resource(kind schema.Pair, n *schema.Node) {
	if d := p.before.at(len(p.resources), kind, n); d != nil {
		p.resources, p.items = append(p.resources, *d), append(p.items, n)
		return
	}
	// A declaration with a fault is not kept for the next reading.
	errs := p.found.Errors()
	if n.Kind == schema.NodeNull {
		p.errorf(n.Pos, "this entry is empty, a resource begins with \"name:\"")
		return
	}
	if n.Kind != schema.NodeMap {
		p.errorf(n.Pos, "a resource is a map that begins with \"name:\", not %s", n.Describe())
		return
	}
	d := gapi.Declaration{Kind: kind.Key, KindPos: kind.Pos, Pos: n.Pos}
	named := false
	for i, pair := range n.Pairs {
		if pair.Key == "name" {
			named = true
			d.Name, d.NamePos = p.text(pair.Value, "a name"), pair.Value.Pos
		} else if !p.reserved(&d, pair) {
			if d.Value == nil {
				// The room is for the pairs that are left, so one allocation is enough.
				d.Value = &schema.Node{Kind: schema.NodeMap, Pos: n.Pos, Pairs: make([]schema.Pair, 0, len(n.Pairs)-i)}
			}
			d.Value.Pairs = append(d.Value.Pairs, pair)
		}
	}
	if named && d.Name == "" {
		if k := n.Get("name").Kind; k == schema.NodeString {
			p.errorf(d.NamePos, "the name is empty")
		}
		return
	}
	p.resources = append(p.resources, d)
	if p.graph == nil {
		return
	}
	// A finding has to be told by each reading, and sent values belong to this one.
	if p.found.Errors() > errs || n.Get(expand.SentKey) != nil {
		n = nil
	}
	p.items = append(p.items, n)
}

// readItems are the declarations of a file that computes, with the nodes that they were made of. The next reading takes those of equal nodes.
// Both lists have the same length. They are read by the next reading, and never altered.
type readItems struct {
	items []*schema.Node // nil for an item that is read each time
	list  []gapi.Declaration
}

// at returns the declaration that was made of a node at the same place of the list, nil for none. A list that has grown or shrunk is read anew
// from there on.
// Nodes are compared by pointer: the expansion gives the same node for the same inputs.
func (r *readItems) at(i int, kind schema.Pair, n *schema.Node) *gapi.Declaration {
	if r == nil || i >= len(r.items) || r.items[i] != n || n == nil {
		return nil
	}
	if d := &r.list[i]; d.Kind == kind.Key && d.KindPos == kind.Pos {
		return d
	}
	return nil
}

// reserved reads a key that every resource has.
// It reports whether the key is one of those. Package expand adds keys of its own to a document
// that computes; no author may write them.
func (p *part) reserved(d *gapi.Declaration, pair schema.Pair) bool {
	if p.graph == nil && expand.IsOwnKey(pair.Key) {
		p.errorf(pair.Pos, expand.OwnKeyText)
		return true
	}
	switch pair.Key {
	case "meta":
		if p.mapOf(pair.Value, "meta must be a map of metaparameters") != nil {
			d.Meta = pair.Value
		}
	case expand.Unread:
		d.Unread = pair.Value.Text
	case expand.Hidden:
		var hidden []schema.Secret // not d.Hidden: that would have each declaration take memory of its own
		p.found.Add(schema.Decode(pair.Value, &hidden)...)
		d.Hidden = hidden
	case expand.Proved:
		var read []world.Proof
		p.found.Add(schema.Decode(pair.Value, &read)...)
		d.Proofs = append(d.Proofs, read...)
	case "recv":
		d.Recv = append(d.Recv, p.recv(pair.Value)...)
	case expand.SentKey:
		for _, v := range p.graph.Sent(pair.Value) {
			r := gapi.RecvDecl{Field: v.Field, From: v.From, Pos: v.Pos, Formula: v.Formula}
			if !v.Open {
				r.Source = v.Source
			}
			d.Recv = append(d.Recv, r)
		}
	case "before":
		d.Before = p.refs(pair)
	case "depend":
		d.Depend = p.refs(pair)
	case "notify":
		d.Notify = p.refs(pair)
	case "listen":
		d.Listen = p.refs(pair)
	default:
		return false
	}
	return true
}

// A faulty reference is a finding, and the others stay.
func (p *part) recv(n *schema.Node) []gapi.RecvDecl {
	const what = "recv must be a map from parameters to what they receive, such as content: password[app].password"
	var list []gapi.RecvDecl
	for _, pair := range p.mapOf(n, what) {
		if r, ok := p.ref(pair.Value, true); ok {
			list = append(list, gapi.RecvDecl{Field: pair.Key, From: r, Pos: pair.Pos})
		}
	}
	return list
}

// refs reads a list of references, or a single one.
func (p *part) refs(pair schema.Pair) []gapi.RefDecl {
	items := []*schema.Node{pair.Value}
	if pair.Value.Kind != schema.NodeString {
		items = p.listOf(pair.Value, pair.Key+" must be a list of references such as exec[restart]")
	}
	list := make([]gapi.RefDecl, 0, len(items))
	for _, item := range items {
		if r, ok := p.ref(item, false); ok {
			list = append(list, gapi.RefDecl{Ref: r, Pos: item.Pos})
		}
	}
	return list
}

// ref reads one reference, with or without the key of a value.
// A key is the part behind the last bracket, as in kind[name].key.
func (p *part) ref(n *schema.Node, keyed bool) (schema.Ref, bool) {
	form := "kind[name]"
	if keyed {
		form += ".key"
	}
	if n.Kind != schema.NodeString {
		p.errorf(n.Pos, "a reference is text such as %q, not %s%s", form, n.Describe(), flowHint(n))
		return schema.Ref{}, false
	}
	r, err := schema.ParseRef(n.Text)
	switch {
	case err != nil:
		p.errorf(n.Pos, "%v", err)
	case keyed && r.Key == "":
		p.errorf(n.Pos, "%s names no value, write %s.key", r, r)
	case !keyed && r.Key != "":
		p.errorf(n.Pos, "%s names a value, a reference to a resource is %s", r, r.ID())
	default:
		return r, true
	}
	return r, false
}

// flowHint helps with a: exec[x] inside brackets, where it needs quotes.
func flowHint(n *schema.Node) string {
	if n.Kind == schema.NodeList || n.Kind == schema.NodeMap {
		return "; inside [ ] and { } put it in quotes"
	}
	return ""
}

// It serves a list of edges that was converted as a whole.
func (p *part) edgeList(n *schema.Node) {
	for _, item := range p.listOf(n, "edges must be a list of edges, each with from and to") {
		p.edge(item)
	}
}

// It makes room, as taker says.
func (p *part) expect(edges int) { p.edges = slices.Grow(p.edges, edges) }

func (p *part) pieced(rest []byte, found cuts) { p.rest, p.pieces = rest, found }

// edge reads one item of the edges, and keeps nothing of the node.
func (p *part) edge(n *schema.Node) {
	if n.Kind != schema.NodeMap {
		p.errorf(n.Pos, "an edge is a map with from and to, not %s", n.Describe())
		return
	}
	p.edges = append(p.edges, p.ends(n))
}

// ends reads an edge. Whatever its faults, the readable ends are looked for. An
// unreadable end is zero, and nothing more is said at its place.
func (p *part) ends(n *schema.Node) gapi.EdgeDecl {
	e := gapi.EdgeDecl{Pos: n.Pos}
	for _, pair := range n.Pairs {
		switch pair.Key {
		case "name":
			e.Name = p.text(pair.Value, "the name of an edge")
		case "comment":
			p.remark(pair.Value)
		case "from":
			e.From = gapi.EndOf(p.end(pair.Value), pair.Value.Pos)
		case "to":
			e.To = gapi.EndOf(p.end(pair.Value), pair.Value.Pos)
		case "notify":
			e.Notify = p.boolean(pair.Value, "notify of an edge")
		default:
			p.unknown(pair, " in an edge", "name", "from", "to", "notify", "comment")
		}
	}
	for _, key := range []string{"from", "to"} {
		if n.Get(key) == nil {
			p.errorf(n.Pos, "the edge has no %q, write %s: {kind: K, name: N}", key, key)
		}
	}
	return e
}

// end reads one end of an edge: {kind: K, name: N}, or a reference. It is zero if
// that has no kind or no name.
func (p *part) end(n *schema.Node) schema.Ref {
	if n.Kind != schema.NodeMap {
		r, _ := p.ref(n, false)
		return r
	}
	var r schema.Ref
	for _, pair := range n.Pairs {
		switch pair.Key {
		case "kind":
			r.Kind = p.text(pair.Value, "a kind")
		case "name":
			r.Name = p.text(pair.Value, "a name")
		default:
			p.unknown(pair, " in the end of an edge", "kind", "name")
		}
	}
	for _, key := range []string{"kind", "name"} {
		if v := n.Get(key); v == nil || v.Kind == schema.NodeString && v.Text == "" {
			p.errorf(n.Pos, "the end of an edge needs a kind and a name, %s is missing", key)
		}
	}
	if r.Kind == "" || r.Name == "" {
		return schema.Ref{}
	}
	return r
}
