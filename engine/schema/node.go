package schema

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// Pos is a place in a source. The zero Pos is "nowhere". A column counts as the
// frontend counts it, most often in characters.
type Pos struct {
	File      string // as the user named it; empty when there is none
	Line, Col int32  // from 1; 0 when unknown
}

// String returns file:line:col, leaving out what is not known.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	var room [128]byte // for most files, so that nothing but the text itself takes memory
	text := room[:0]
	if p.File != "" {
		text = append(append(text, p.File...), ':')
	}
	text = strconv.AppendInt(text, int64(p.Line), 10)
	if p.Col != 0 {
		text = strconv.AppendInt(append(text, ':'), int64(p.Col), 10)
	}
	return string(text)
}

// IsZero reports whether p is nowhere.
func (p Pos) IsZero() bool { return p == Pos{} }

// NodeKind is the shape of a Node. The zero NodeKind is null, so that an empty Node is
// one.
type NodeKind uint8

// The shapes of a node. A scalar's shape is what its notation resolved to: 1 is
// an int, "1" is a string.
const (
	NodeNull NodeKind = iota
	NodeBool
	NodeInt
	NodeFloat
	NodeString
	NodeList
	NodeMap
)

// Node is a value as a frontend read it, with its position: the one tree that every
// frontend hands to the rest of the program. It is immutable once built. An alias in a
// source may make two parents share a Node. A reader builds it bottom up, and hands it
// over whole. Readers on many goroutines may share it then.
type Node struct {
	Kind   NodeKind
	Quoted bool // of a scalar, in the source: it is text, whatever it says
	// Computed says that a scalar is the value of an expression, and is not written where it stands.
	Computed bool
	typed    bool // made from a value, by NodeOf only: of is the kind that the value had
	of       Kind // see typed
	covert   bool // of a number or true, by Conceal only: no message shows it
	Pos      Pos
	Text     string  // of a scalar, as written, without quotes
	Items    []*Node // of a list
	Pairs    []Pair  // of a map, in the order of the source, keys unique
	hidden   *string // the text of a secret, by NodeOf only; Text is Redacted then
}

// nullNode stands for an absent node, so that the decoder meets no nil.
var nullNode = &Node{}

// text returns a scalar's text, which may be a secret's.
func (n *Node) text() string {
	if n.hidden != nil {
		return *n.hidden
	}
	return n.Text
}

// concealed reports whether no message may show a scalar.
func (n *Node) concealed() bool { return n.hidden != nil || n.covert }

// Pair is one entry of a map Node.
type Pair struct {
	Key   string
	Pos   Pos // of the key
	Value *Node
}

// Get returns the value under key, or nil. It may be called on a nil Node. It searches
// in order: maps of a graph are small, and most are read once.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Pairs {
		if n.Pairs[i].Key == key {
			return n.Pairs[i].Value
		}
	}
	return nil
}

// At returns the node at a path such as a.b[0], or the nearest one above it that is
// there. It is nil only for a nil node. A finding about an absent key points to the map
// that lacks it.
func (n *Node) At(path string) *Node {
	segs, err := parsePath(path)
	if err != nil {
		return n
	}
	for _, s := range segs {
		next := n.Get(s.key)
		if s.list {
			next = n.item(s.index)
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// item returns an item of a list, nil if there is none of that number.
func (n *Node) item(i int) *Node {
	if n == nil || n.Kind != NodeList || i >= len(n.Items) {
		return nil
	}
	return n.Items[i]
}

// Conceal returns n with all scalars at a path, and below it, hidden: they decode as they
// would, but no message shows them. Nodes that differ are copies; n is left as it is. A path
// that is not there changes nothing.
func (n *Node) Conceal(path string) *Node {
	segs, err := parsePath(path)
	if err != nil {
		return n
	}
	return n.conceal(segs)
}

// conceal copies the nodes along the path, and shares the others. Behind the end of the
// path it takes all.
func (n *Node) conceal(segs []seg) *Node {
	if n == nil {
		return nil
	}
	c := *n
	switch {
	case n.Kind == NodeMap:
		c.Pairs = slices.Clone(n.Pairs)
		for i := range c.Pairs {
			if len(segs) == 0 || !segs[0].list && segs[0].key == c.Pairs[i].Key {
				c.Pairs[i].Value = c.Pairs[i].Value.conceal(rest(segs))
			}
		}
	case n.Kind == NodeList:
		c.Items = slices.Clone(n.Items)
		for i := range c.Items {
			if len(segs) == 0 || segs[0].list && segs[0].index == i {
				c.Items[i] = c.Items[i].conceal(rest(segs))
			}
		}
	case n.Kind == NodeString && len(segs) == 0 && n.hidden == nil:
		c.hidden, c.Text = &n.Text, Redacted
	case len(segs) == 0:
		c.covert = true
	}
	return &c
}

// rest is the path without its first step; an empty one stays empty.
func rest(segs []seg) []seg { return segs[min(1, len(segs)):] }

// All yields n and all nodes below it in the order of the source, a node before its
// parts. A nil Node yields none.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.all(yield) }
}

// all reports whether the reader goes on. The depth of a Node is that of its source,
// which the frontend bounds.
func (n *Node) all(yield func(*Node) bool) bool {
	if n == nil {
		return true
	}
	if !yield(n) {
		return false
	}
	for _, item := range n.Items {
		if !item.all(yield) {
			return false
		}
	}
	for i := range n.Pairs {
		if !n.Pairs[i].Value.all(yield) {
			return false
		}
	}
	return true
}

// Describe names the value for a message: "nothing", "a list", "a map", or the scalar
// itself, cut to a bounded length. A hidden text is shown as Redacted.
func (n *Node) Describe() string {
	switch n.Kind {
	case NodeNull:
		return "nothing"
	case NodeList:
		return "a list"
	case NodeMap:
		return "a map"
	case NodeString:
		return fmt.Sprintf("the text %q", Shorten(n.Text))
	case NodeBool, NodeInt, NodeFloat:
		return Shorten(n.Text)
	}
	return "something unknown"
}

// Shorten cuts a text for a message, to 40 characters. It cuts between characters,
// never inside of one.
func Shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "..."
		}
	}
	return s
}

// Reveal returns the text of a scalar in clear, and whether no message may show it. It is for who keeps the node where nobody else reads it.
func (n *Node) Reveal() (text string, secret bool) { return n.text(), n.concealed() }
