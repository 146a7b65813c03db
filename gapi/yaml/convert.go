package yaml

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	// The bounds of the converter. They stand for the promise that no document takes much more
	// memory than its text: an alias is one node however often it is used.
	maxDepth   = 100     // levels of lists and maps, with aliases resolved
	maxAliased = 1 << 20 // values reached through aliases and merge keys, counted each time
	// Nodes that are allocated at once. A larger slab would keep more memory alive for one
	// node.
	slabSize = 128
)

// converter turns the nodes of the YAML library into ours.
// It is for one source and one goroutine, and is thrown away after that. All faults of the
// source are in diags, and the tree has a null in the place of each faulty value.
type converter struct {
	// The name in positions; empty for a text without a file.
	file  string
	diags schema.Findings
	// The trees of the nodes with an anchor. The node is nil while it is converted: an alias
	// that meets such a tree contains itself.
	shared map[*yaml.Node]tree
	// How many values were reached by way of aliases; see maxAliased.
	aliased int
	// The rest of the slabs that new and newPairs take from.
	slab  []schema.Node
	pairs []schema.Pair
	// The taker of the items of the key edges; nil for none.
	taker taker

	cuts   cuts // the lists that stand in pieces
	lines  int  // before the piece that is converted; 0 outside of pieces
	broken bool // a piece can't be parsed by itself
}

// taker takes the edges of a graph one after the other, since a large graph has more edges than anything else. A node is valid
// until edge returns.
// With it, the nodes of all edges never exist at the same time.
type taker interface {
	// expect tells how many will come, so that the taker makes room once.
	expect(edges int)
	edge(*schema.Node)
	// pieced tells that the text was parsed in pieces, each by itself, and without anchors.
	pieced(rest []byte, found cuts)
}

// tree is a converted node with its size once aliases are resolved. The count bounds the values
// that aliases multiply, and the height bounds their levels. A scalar has the height 0.
type tree struct {
	node   *schema.Node
	count  int
	height int
}

// pos is the place of a node in its file.
// Both numbers count from 1. A column counts characters.
func (c *converter) pos(n *yaml.Node) schema.Pos {
	return schema.Pos{File: c.file, Line: int32(c.lines + n.Line), Col: int32(n.Column)}
}

func (c *converter) errorf(n *yaml.Node, format string, args ...any) {
	c.diags.Errorf(c.pos(n), format, args...)
}

// new takes a node from a slab: a graph has many nodes, which live and die together.
// One allocation serves slabSize nodes. The price is that a single kept node keeps its slab.
func (c *converter) new(n *yaml.Node, kind schema.NodeKind) *schema.Node {
	if len(c.slab) == 0 {
		c.slab = make([]schema.Node, slabSize)
	}
	s := &c.slab[0]
	c.slab = c.slab[1:]
	s.Kind, s.Pos = kind, c.pos(n)
	return s
}

// newPairs makes room for some pairs.
// A long list of pairs gets memory of its own. The capacity is n, so that an append of another
// map can't write into the room of the next one.
func (c *converter) newPairs(n int) []schema.Pair {
	if n > slabSize/4 {
		return make([]schema.Pair, 0, n)
	}
	if len(c.pairs) < n {
		c.pairs = make([]schema.Pair, slabSize)
	}
	p := c.pairs[:0:n]
	c.pairs = c.pairs[n:]
	return p
}

// convert returns the node, a null where it is not acceptable. depth is the
// number of levels above it.
// The mark of an anchor is set before its content, so that an alias inside finds it open.
func (c *converter) convert(n *yaml.Node, depth int) tree {
	if n.Kind == yaml.AliasNode {
		return c.alias(n, depth)
	}
	if n.Anchor == "" {
		return c.plain(n, depth)
	}
	if c.shared == nil {
		c.shared = map[*yaml.Node]tree{}
	}
	c.shared[n] = tree{}
	t := c.plain(n, depth)
	c.shared[n] = t
	return t
}

// plain converts a node that is not an alias, within the bound of depth.
func (c *converter) plain(n *yaml.Node, depth int) tree {
	switch n.Kind {
	case yaml.SequenceNode:
		return c.list(n, depth)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	default:
		return tree{c.scalar(n), 1, 0}
	}
}

// alias returns the tree of an anchor, shared and not copied. The sizes are counted as if
// it were copied, so that nested aliases can't grow without bound.
func (c *converter) alias(n *yaml.Node, depth int) tree {
	t, ok := c.shared[n.Alias]
	if !ok || t.node == nil {
		c.errorf(n, "*%s contains itself", n.Value)
		return tree{c.new(n, schema.NodeNull), 1, 0}
	}
	if depth+t.height > maxDepth {
		c.errorf(n, "nested deeper than %d levels by way of the alias *%s", maxDepth, n.Value)
		return tree{c.new(n, schema.NodeNull), 1, 0}
	}
	// A null is in the place of the value, and the finding is told once for the document.
	if !c.spend(n, t.count) {
		return tree{c.new(n, schema.NodeNull), 1, 0}
	}
	return t
}

// spend counts values that are there by way of an alias. When there are too many,
// it says so once and refuses all further ones.
func (c *converter) spend(n *yaml.Node, count int) bool {
	if c.aliased > maxAliased {
		return false
	}
	if c.aliased += count; c.aliased > maxAliased {
		c.errorf(n, "aliases multiply the document to more than %d values", maxAliased)
		return false
	}
	return true
}

// list converts a sequence.
// An item of a list that was cut comes from its piece: see items.
func (c *converter) list(n *yaml.Node, depth int) tree {
	c.tag(n, "!!seq")
	s := c.new(n, schema.NodeList)
	t := tree{s, 1, 0}
	s.Items = make([]*schema.Node, 0, c.count(n))
	c.items(n, depth, func(item *yaml.Node) { s.Items = append(s.Items, t.add(c.convert(item, depth+1))) })
	return t
}

// add counts a part and returns its node.
func (t *tree) add(part tree) *schema.Node {
	t.count += part.count
	t.height = max(t.height, part.height+1)
	return part.node
}

// mapping converts a map. A key that is given twice is an error, since one of the values
// would be lost.
// Merge keys come last, wherever they stand: by YAML's merge key, the keys of the map itself
// win.
func (c *converter) mapping(n *yaml.Node, depth int) tree {
	c.tag(n, "!!map")
	s := c.new(n, schema.NodeMap)
	t := tree{s, 1, 0}
	s.Pairs = c.newPairs(len(n.Content) / 2)
	keys := keySet{node: s}
	var merges []int
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			merges = append(merges, i)
			continue
		}
		// Only the key edges of the graph itself is the list of edges. A parameter may have
		// that name.
		if depth == 0 && c.areEdges(&keys, n.Content[i], n.Content[i+1]) {
			c.pair(&keys, n.Content[i], c.edges(n.Content[i+1]))
			continue
		}
		v := t.add(c.convert(n.Content[i+1], depth+1))
		c.pair(&keys, n.Content[i], v)
	}
	// A cut list has only one null for its items, so it can't be merged.
	for _, i := range merges {
		c.broken = c.broken || c.cutAt(n.Content[i+1]) != nil
		v := t.add(c.convert(n.Content[i+1], depth+1))
		c.merge(n.Content[i+1], v, &keys)
	}
	return t
}

// areEdges reports whether a pair of the document is the list of edges, which the taker takes. If the key was there before, it is not.
// An anchor keeps the list whole, since an alias may come back to it.
func (c *converter) areEdges(keys *keySet, k, v *yaml.Node) bool {
	return c.taker != nil && k.Kind == yaml.ScalarNode && k.Value == "edges" && v.Kind == yaml.SequenceNode && v.Anchor == "" && keys.find("edges") == nil
}

// edges gives the items of a list to the taker, and returns a list without them. The memory of an item serves the next one, unless
// an alias may come back to it.
func (c *converter) edges(n *yaml.Node) *schema.Node {
	c.tag(n, "!!seq")
	c.taker.expect(c.count(n))
	c.items(n, 1, func(item *yaml.Node) {
		nodes, pairs, anchors := c.slab, c.pairs, len(c.shared)
		c.taker.edge(c.convert(item, 2).node)
		if len(c.shared) == anchors {
			c.slab, c.pairs = again(nodes, c.slab), again(pairs, c.pairs)
		}
	})
	return c.new(n, schema.NodeList)
}

// again returns the room that there was before, emptied, or that of now if there is another slab by now.
func again[T any](before, now []T) []T {
	used := len(before) - len(now)
	if used < 0 || len(now) > 0 && &before[used] != &now[0] || len(now) == 0 {
		return now
	}
	clear(before[:used])
	return before
}

// pair adds a pair to a map, unless its key is there already.
// The first value stays. The finding names both places.
func (c *converter) pair(keys *keySet, k *yaml.Node, v *schema.Node) {
	key, ok := c.key(k)
	if !ok {
		return
	}
	p := schema.Pair{Key: key, Pos: c.pos(k), Value: v}
	first := keys.find(p.Key)
	if first == nil {
		keys.add(p)
		return
	}
	c.diags.Add(schema.Diagnostic{
		Pos: p.Pos, Message: fmt.Sprintf("the key %q is given twice", schema.Shorten(p.Key)),
		Related: []schema.Related{{Pos: first.Pos, Message: "first given here"}},
	})
}

// A quoted "<<" is text: it has another tag.
func isMerge(k *yaml.Node) bool { return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" }

// merge adds the pairs of a merged map, or of a list of them, whose keys are not
// there yet. at is where s was written.
// A list of maps is merged from its first one on, so that the earlier map wins.
func (c *converter) merge(at *yaml.Node, s *schema.Node, keys *keySet) {
	switch {
	case s.Kind == schema.NodeMap:
		if !c.spend(at, len(s.Pairs)) {
			return
		}
		for _, p := range s.Pairs {
			if keys.find(p.Key) == nil {
				keys.add(p)
			}
		}
	case s.Kind == schema.NodeList && c.broken: // at does not have the items
	case s.Kind == schema.NodeList && at.Kind == yaml.SequenceNode:
		for i, item := range s.Items {
			c.merge(at.Content[i], item, keys)
		}
	case s.Kind == schema.NodeNull && at.Kind == yaml.AliasNode:
		// The fault of the alias is reported.
	default:
		c.errorf(at, "<< merges a map or a list of maps, by their aliases")
	}
}

// keySet finds the pairs of a map node by key.
type keySet struct {
	node *schema.Node
	// By key; made only where there are many pairs, as a search through few is quicker.
	index map[string]int
}

// fewKeys is how many pairs are searched through without an index. With more, a linear search
// for each key would make the cost of a map quadratic.
const fewKeys = 12

// find returns the pair of a key, by an index where the map is large.
func (s *keySet) find(key string) *schema.Pair {
	pairs := s.node.Pairs
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return &pairs[i]
		}
		return nil
	}
	for i := range pairs {
		if pairs[i].Key == key {
			return &pairs[i]
		}
	}
	return nil
}

// The caller has looked for the key before.
func (s *keySet) add(p schema.Pair) {
	s.node.Pairs = append(s.node.Pairs, p)
	n := len(s.node.Pairs)
	switch {
	case s.index != nil:
		s.index[p.Key] = n - 1
	case n > fewKeys:
		s.index = make(map[string]int, cap(s.node.Pairs))
		for i, p := range s.node.Pairs {
			s.index[p.Key] = i
		}
	}
}

// key returns the text of a key, or false after reporting that it is none.
// A number or a boolean is taken as the text that was written, as a name is. A list, a map and
// null are refused. A flow map as a key is mostly a template's {{ }} without quotes.
func (c *converter) key(k *yaml.Node) (string, bool) {
	n := k
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		c.errorf(k, "a key must be text, not a list")
		return "", false
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		c.errorf(k, "a key must be text, not a map; if the braces belong to a text, put it in quotes")
		return "", false
	case n.Kind != yaml.ScalarNode:
		c.errorf(k, "a key must be text, not a map")
		return "", false
	}
	if n.Tag == "!!str" && n.Style&yaml.TaggedStyle == 0 {
		return n.Value, true
	}
	s := c.scalar(n)
	if s.Kind == schema.NodeNull {
		c.errorf(k, "a key must be text; write \"\" or quotes around it")
		return "", false
	}
	return s.Text, true
}

// tag refuses explicit tags other than the plain one of the shape.
// Our shapes are decided by the notation, and a type by the kind of the resource.
func (c *converter) tag(n *yaml.Node, plain string) {
	if n.Tag != plain && n.Tag != "" && n.Tag != "!" {
		c.badTag(n)
	}
}

// badTag refuses a tag: nothing in a graph is made by a name of a type.
func (c *converter) badTag(n *yaml.Node) {
	c.errorf(n, "the tag %s is not supported", n.Tag)
}

// scalarKinds are the shapes of the tags that YAML 1.2 resolves, and of the tags that an author
// may write. A date is text, in the form in which the author wrote it.
var scalarKinds = map[string]schema.NodeKind{
	"!!str": schema.NodeString, "!": schema.NodeString, "!!timestamp": schema.NodeString, "!!merge": schema.NodeString,
	"!!int": schema.NodeInt, "!!float": schema.NodeFloat, "!!bool": schema.NodeBool, "!!null": schema.NodeNull,
	"!!binary": schema.NodeString,
}

// quotedStyle is how text is written that is nothing else.
const quotedStyle = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// A scalar keeps its text as it was written. The type of the parameter decides later: 0644 and
// 1.10 are texts where a text is wanted.
func (c *converter) scalar(n *yaml.Node) *schema.Node {
	kind, ok := schema.NodeString, true
	if n.Tag != "!!str" { // of most
		kind, ok = scalarKinds[n.Tag]
	}
	if !ok {
		c.badTag(n)
		kind = schema.NodeString
	}
	s := c.new(n, kind)
	s.Text = n.Value
	s.Quoted = n.Style&quotedStyle != 0
	if n.Style&yaml.TaggedStyle != 0 && ok {
		c.tagged(n, s)
	}
	return s
}

// binaryText returns the bytes that a scalar with the tag !!binary stands for.
// White space in base64 is left out, since the text may go over several lines. fits is false
// for other faults.
func binaryText(n *yaml.Node) (text string, fits bool) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	return string(raw), err == nil
}

// tagged checks the text of a scalar with an explicit tag.
// Without an explicit tag, the library has found a tag that fits. A faulty value becomes a
// null.
func (c *converter) tagged(n *yaml.Node, s *schema.Node) {
	fits := true
	switch n.Tag {
	case "!!binary":
		s.Text, fits = binaryText(n)
	case "!!int":
		fits = isInt(n.Value)
	case "!!float":
		// YAML writes .inf and .nan where Go has no dot.
		_, err := strconv.ParseFloat(strings.Replace(strings.ToLower(n.Value), ".", "", 1), 64)
		fits = err == nil || isInt(n.Value)
	case "!!bool":
		fits = slices.Contains([]string{"true", "false"}, strings.ToLower(n.Value))
	case "!!null":
		fits = slices.Contains([]string{"", "~", "null"}, strings.ToLower(n.Value))
	}
	if !fits {
		c.errorf(n, "%q does not fit its tag %s", schema.Shorten(n.Value), n.Tag)
		s.Kind = schema.NodeNull
	}
}

// isInt reports whether a whole number fits into 64 bits, in one of the notations of YAML.
// A sign, 0x, 0o, 0b and underscores are taken.
func isInt(text string) bool {
	text = strings.ReplaceAll(text, "_", "")
	_, err := strconv.ParseInt(text, 0, 64)
	_, errU := strconv.ParseUint(strings.TrimPrefix(text, "+"), 0, 64)
	return err == nil || errU == nil
}
