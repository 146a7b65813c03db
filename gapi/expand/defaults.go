package expand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// everyKind is the key of defaults for the metaparameters of all kinds.
const everyKind = "*"

// defaults are the parameters that the resources of a kind have, where they say nothing else, by kind. Those of a kind count more than those
// of all kinds.
type defaults map[string]*schema.Node

// declare reads the key defaults of a document. noKind is Options.NoKind.
func (ds defaults) declare(n *schema.Node, noKind func(string) *engine.UnknownKindError, found *findings) {
	for _, p := range found.pairs(n, "defaults must be a map from kinds to parameters") {
		kind := strings.ToLower(p.Key)
		if kind != everyKind && noKind != nil {
			if unknown := noKind(kind); unknown != nil {
				found.once(schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("unknown resource kind %q in defaults", p.Key), Suggestion: unknown.Near})
				continue
			}
		}
		if p.Value.Kind != schema.NodeMap {
			found.errorf(p.Value.Pos, "the defaults of %s must be a map of parameters", p.Key)
			continue
		}
		if first := ds[kind]; first != nil {
			found.once(schema.Diagnostic{
				Pos: p.Pos, Message: "the defaults of " + p.Key + " are given twice", Related: []schema.Related{{Pos: first.Pos, Message: "first given here"}},
			})
			continue
		}
		for _, q := range p.Value.Pairs {
			switch {
			case kind == everyKind && q.Key != "meta":
				found.errorf(q.Pos, "the defaults of all kinds may have meta alone: write %s below each kind that has it", q.Key)
			case slices.Contains([]string{"name", "recv", "before", "depend", "notify", "listen", whenKey, forEachKey}, q.Key):
				found.errorf(q.Pos, "%s can't have a default", q.Key)
			}
		}
		ds[kind] = p.Value
	}
}

// of returns a resource with the defaults of its kind, where it says nothing else. It is the item itself where there are none.
func (ds defaults) of(kind string, item *schema.Node) *schema.Node {
	for _, def := range []*schema.Node{ds[kind], ds[everyKind]} {
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
