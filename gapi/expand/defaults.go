package expand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// everyKind is the key of defaults for the metaparameters of all kinds.
const everyKind = "*"

// declareDefaults reads the key defaults of a document.
func (g *Graph) declareDefaults(n *schema.Node) {
	for _, p := range g.pairs(n, "defaults must be a map from kinds to parameters") {
		kind := strings.ToLower(p.Key)
		if kind != everyKind && g.opts.NoKind != nil {
			if unknown := g.opts.NoKind(kind); unknown != nil {
				g.add(schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("unknown resource kind %q in defaults", p.Key), Suggestion: unknown.Near})
				continue
			}
		}
		if p.Value.Kind != schema.NodeMap {
			g.errorf(p.Value.Pos, "the defaults of %s must be a map of parameters", p.Key)
			continue
		}
		if first := g.defaults[kind]; first != nil {
			g.add(schema.Diagnostic{
				Pos: p.Pos, Message: "the defaults of " + p.Key + " are given twice", Related: []schema.Related{{Pos: first.Pos, Message: "first given here"}},
			})
			continue
		}
		for _, q := range p.Value.Pairs {
			switch {
			case kind == everyKind && q.Key != "meta":
				g.errorf(q.Pos, "the defaults of all kinds may have meta alone: write %s below each kind that has it", q.Key)
			case slices.Contains([]string{"name", "recv", "before", "depend", "notify", "listen", whenKey, forEachKey}, q.Key):
				g.errorf(q.Pos, "%s can't have a default", q.Key)
			}
		}
		g.defaults[kind] = p.Value
	}
}

// withDefaults returns a resource with the defaults of its kind, where it says nothing else. It is the item itself where there are none.
func (g *Graph) withDefaults(kind string, item *schema.Node) *schema.Node {
	for _, def := range []*schema.Node{g.defaults[kind], g.defaults[everyKind]} {
		if def != nil {
			item = merged(item, def)
		}
	}
	return item
}

// merged adds the pairs that a resource lacks. Of the metaparameters, each one counts by itself.
func merged(item, def *schema.Node) *schema.Node {
	out := *item
	out.Pairs = slices.Clone(item.Pairs)
	for _, p := range def.Pairs {
		i := slices.IndexFunc(out.Pairs, func(q schema.Pair) bool { return q.Key == p.Key })
		// A received value takes the place of a default.
		switch {
		case i >= 0 && p.Key == "meta" && out.Pairs[i].Value.Kind == schema.NodeMap && p.Value.Kind == schema.NodeMap:
			out.Pairs[i].Value = merged(out.Pairs[i].Value, p.Value)
		case i < 0 && item.Get("recv").Get(p.Key) == nil:
			out.Pairs = append(out.Pairs, p)
		}
	}
	return &out
}
