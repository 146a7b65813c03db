package yaml

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// collectList reads the key collect.
func (p *part) collectList(n *schema.Node) {
	for _, item := range p.listOf(n, "collect must be a list, each item with a kind, such as {kind: host, name: \"web*\"}") {
		p.collect(item)
	}
}

var collectKeys = []string{"kind", "name", "pattern", "from", "set", "fields", "comment"}

// collect reads one item.
// Each finding is told at its key, and the other keys are read. Without a kind the item is left
// out. A name or a host is a pattern in which * stands for any characters.
func (p *part) collect(n *schema.Node) {
	if n.Kind != schema.NodeMap {
		p.errorf(n.Pos, "an item of collect is a map with a kind, not %s", n.Describe())
		return
	}
	c := gapi.CollectDecl{Pos: n.Pos}
	for _, pair := range n.Pairs {
		switch pair.Key {
		case "kind":
			// Kinds are lower case in the engine.
			c.Kind = strings.ToLower(p.text(pair.Value, "a kind"))
		case "name":
			c.Name = p.text(pair.Value, "a pattern of names")
		case "pattern":
			// Both words are in the format; one of them is enough.
			if n.Get("name") != nil {
				p.errorf(pair.Pos, "pattern is another word for name: write one of them")
				continue
			}
			c.Name = p.text(pair.Value, "a pattern of names")
		case "from":
			c.From = p.text(pair.Value, "a pattern of hosts")
		case "set":
			if p.mapOf(pair.Value, "set must be a map of parameters") != nil {
				c.Set = pair.Value
			}
		case "fields":
			for _, item := range p.listOf(pair.Value, "fields must be a list of parameters, such as [owner, group]") {
				c.Fields = append(c.Fields, p.text(item, "a parameter"))
			}
		case "comment":
			p.remark(pair.Value)
		default:
			p.unknown(pair, " in an item of collect", collectKeys...)
		}
	}
	if c.Kind == "" {
		if n.Get("kind") == nil {
			p.errorf(n.Pos, "this item of collect has no kind")
		}
		return
	}
	// Build reports an unknown kind at this place.
	p.kinds = append(p.kinds, gapi.KindDecl{Kind: c.Kind, Pos: n.Get("kind").Pos})
	p.collects = append(p.collects, c)
}
