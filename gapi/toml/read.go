package toml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// maxLevels are those of tables and lists. The parser makes a node of each part of a key, so maxDots bounds those.
const maxLevels, maxDots = 100, 4 << 20

// reader turns one text into a tree, once.
type reader struct {
	file   string
	src    []byte
	parser unstable.Parser
	at     int // the offset of the place that was told last
	line   int
	col    int
	found  schema.Findings
	deep   schema.Diagnostics // says that no other code has to bear the tree
}

// newReader makes a reader. The end of a line is \n alone, so that a text of several lines is the same on every system.
func newReader(file string, src []byte) *reader {
	if src = bytes.TrimPrefix(src, []byte("\ufeff")); !bytes.Contains(src, []byte("\r\r")) { // else the parser finds the stray one
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	}
	r := &reader{file: file, src: src, line: 1, col: 1}
	r.parser.Reset(r.src)
	return r
}

// Document reads a text. The name is that of the file, for places. The node is nil for a text without a value, and where the findings leave nothing
// to look at.
func Document(file string, src []byte) (*schema.Node, schema.Diagnostics) {
	r := newReader(file, src)
	if bytes.Count(src, []byte(".")) > maxDots {
		return nil, schema.Diagnostics{{Pos: schema.Pos{File: file}, Message: fmt.Sprintf("the file has more than %d dots", maxDots)}}
	}
	root := r.table(schema.NodeMap, r.pos(0), opened, 1)
	for t := root; r.parser.NextExpression(); {
		if n := r.parser.Expression(); n.Kind == unstable.KeyValue {
			r.set(t, n)
		} else {
			t = r.header(root, n)
		}
	}
	if err, ok := errors.AsType[*unstable.ParserError](r.parser.Error()); ok {
		pos := newReader(file, src).pos(int(r.parser.Range(err.Highlight).Offset))
		return nil, schema.Diagnostics{{Pos: pos, Message: character.ReplaceAllString(err.Message, "this character")}}
	}
	if len(root.given) == 0 || r.deep != nil {
		return nil, r.deep
	}
	return root.node, r.found.All()
}

// character is a character in a message of the parser, which a finding leaves out: the file may be private.
var character = lazyregexp.New(`U\+[0-9A-F]{4,}(?: '.')?`)

// pos returns the place of an offset that is not before the last one.
func (r *reader) pos(at int) schema.Pos {
	text := r.src[r.at:at]
	if n := bytes.Count(text, []byte("\n")); n > 0 {
		r.line, r.col, text = r.line+n, 1, text[bytes.LastIndexByte(text, '\n')+1:]
	}
	r.at, r.col = at, r.col+utf8.RuneCount(text)
	return schema.Pos{File: r.file, Line: int32(r.line), Col: int32(r.col)}
}

// origin says what has made a table, and so what may add to it.
type origin uint8

const (
	implied origin = iota // a longer header; its own header may follow
	opened                // its header, or braces
	dotted                // a key with dots; others may follow
	listed                // a header in two brackets; the table stands for the list
)

// table is a map, or a list of tables, that is read.
type table struct {
	node  *schema.Node
	from  origin
	level int
	given map[string]schema.Pos // by key
	below map[string]*table     // the tables in it that may be added to
	last  *table                // of a list
}

func (r *reader) table(kind schema.NodeKind, pos schema.Pos, from origin, level int) *table {
	if level > maxLevels && r.deep == nil {
		r.deep.Errorf(pos, "nested deeper than %d levels", maxLevels)
	}
	return &table{node: &schema.Node{Kind: kind, Pos: pos}, from: from, level: level, given: map[string]schema.Pos{}, below: map[string]*table{}}
}

// add adds a key. One that is there already is a finding, and the first value stays.
func (r *reader) add(t *table, key string, pos schema.Pos, v *schema.Node) (added bool) {
	if first, ok := t.given[key]; ok {
		related := []schema.Related{{Pos: first, Message: "first given here"}}
		r.found.Add(schema.Diagnostic{Pos: pos, Message: fmt.Sprintf("the key %q is given twice", schema.Shorten(key)), Related: related})
		return false
	}
	t.given[key] = pos
	t.node.Pairs = append(t.node.Pairs, schema.Pair{Key: key, Pos: pos, Value: v})
	return true
}

// into returns the table at a key of another one, made or extended by something of an origin. After a fault it is a table without a place.
func (r *reader) into(t *table, k *unstable.Node, how origin) *table {
	key, pos := string(k.Data), r.pos(int(k.Raw.Offset))
	switch sub := t.below[key]; {
	case sub == nil:
	case how == implied && sub.from == listed:
		return sub.last
	case how == implied, how != opened && sub.from == how:
		return sub
	case how == opened && sub.from == implied:
		sub.from = opened
		return sub
	}
	kind := schema.NodeMap
	if how == listed {
		kind = schema.NodeList
	}
	sub := r.table(kind, pos, how, t.level+1)
	if r.add(t, key, pos, sub.node) {
		t.below[key] = sub
	}
	return sub
}

// header returns the table that a header opens.
func (r *reader) header(t *table, n *unstable.Node) *table {
	keys := keysOf(n)
	pos := r.pos(r.bracket(keys[0]))
	for _, k := range keys[:len(keys)-1] {
		t = r.into(t, k, implied)
	}
	last := keys[len(keys)-1]
	if n.Kind == unstable.Table {
		t = r.into(t, last, opened)
		t.node.Pos = pos
		return t
	}
	list := r.into(t, last, listed)
	list.last = r.table(schema.NodeMap, pos, opened, list.level+1)
	list.node.Items = append(list.node.Items, list.last.node)
	return list.last
}

// bracket returns where the header with a first key begins.
func (r *reader) bracket(first *unstable.Node) int {
	return r.skip(len(bytes.TrimRight(r.src[:first.Raw.Offset], " \t[")))
}

func keysOf(n *unstable.Node) (keys []*unstable.Node) {
	for it := n.Key(); it.Next(); {
		keys = append(keys, it.Node())
	}
	return keys
}

func end(n *unstable.Node) int { return int(n.Raw.Offset + n.Raw.Length) }

// set reads a key with its value.
func (r *reader) set(t *table, n *unstable.Node) {
	keys := keysOf(n)
	for _, k := range keys[:len(keys)-1] {
		t = r.into(t, k, dotted)
	}
	last := keys[len(keys)-1]
	pos := r.pos(int(last.Raw.Offset))
	v, _ := r.value(n.Value(), r.skip(r.skip(end(last))+1), t.level)
	r.add(t, string(last.Data), pos, v)
}

// skip returns the offset of what comes next: behind space, comments and commas.
func (r *reader) skip(at int) int {
	for at < len(r.src) && strings.IndexByte(" \t\n,#", r.src[at]) >= 0 {
		if r.src[at] == '#' {
			at += bytes.IndexByte(r.src[at:], '\n')
		}
		at++
	}
	return at
}

// value returns the node of a value that begins at an offset, below a level, and the offset behind it. The parser gives no place for a list, so the
// way goes from one value to the next. The parser bounds the recursion.
func (r *reader) value(n *unstable.Node, at, level int) (*schema.Node, int) {
	pos := r.pos(at)
	switch n.Kind {
	case unstable.Array:
		out := r.table(schema.NodeList, pos, opened, level+1).node
		at = r.skip(at + 1)
		for it := n.Children(); it.Next(); at = r.skip(at) {
			var item *schema.Node
			item, at = r.value(it.Node(), at, level+1)
			out.Items = append(out.Items, item)
		}
		return out, at + 1
	case unstable.InlineTable:
		t := r.table(schema.NodeMap, pos, opened, level+1)
		at++
		for it := n.Children(); it.Next(); at = end(it.Node()) {
			r.set(t, it.Node())
		}
		return t.node, r.skip(at) + 1
	}
	out := &schema.Node{Kind: cmp.Or(shapes[n.Kind], schema.NodeString), Pos: pos, Text: string(n.Data), Quoted: n.Kind == unstable.String}
	if !out.Quoted { // the parser knows only where a number or a date ends
		if err := toml.Unmarshal([]byte("v="+out.Text), new(any)); err != nil {
			r.found.Errorf(pos, "%s", strings.TrimPrefix(err.Error(), "toml: "))
			out = &schema.Node{Pos: pos}
		}
	}
	return out, at + int(n.Raw.Length)
}

// shapes are those of values other than text. A date is text.
var shapes = map[unstable.Kind]schema.NodeKind{unstable.Bool: schema.NodeBool, unstable.Integer: schema.NodeInt, unstable.Float: schema.NodeFloat}
