package yaml

import (
	"bytes"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// pieceSize is how many bytes of a long list the parser of the library gets at once. Its nodes take thirty times the text. The nodes
// of a piece are garbage when the next piece comes, so that they stay few, and the collector has little to look at.
const pieceSize = 64 << 10

// cut is a long list that the parser gets in pieces. Its items are whole in each piece, at their own columns.
// Columns count from 1, as those of the library do.
type cut struct {
	col    int
	count  int // of the items
	pieces [][]byte
	lines  []int // before each piece
	used   bool
}

// cuts are the long lists of a source, by the line of the first item.
type cuts map[int]*cut

// allUsed reports whether each list was found where the cut had taken it for one. Else the text was only alike, such as in quotes.
func (c cuts) allUsed() bool {
	for _, one := range c {
		if !one.used {
			return false
		}
	}
	return true
}

// cutLists takes the long lists out of a source: those of the edges, and those of the kinds of
// resources, if they are written in block style. It returns the source with one null in each of
// them, and with its lines where they were. Of YAML it knows the end of such a list, and no
// more. The reader of the pieces has to take the whole source instead where one of them has a
// fault, or refers to another. The cost is one pass. A source up to size bytes is left alone.
func cutLists(src []byte, size int) (rest []byte, found cuts) {
	if len(src) <= size || oddLines(src) {
		return src, nil
	}
	c := cutter{src: src, size: size, head: -1}
	for c.at < len(src) {
		c.next()
	}
	return append(c.rest, src[c.kept:]...), c.found
}

// oddLines reports whether something else than a newline may end a line.
// YAML 1.1 knew those as ends of lines, and a parser may still count them.
func oddLines(src []byte) bool {
	for _, end := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(src, []byte(end)) {
			return true
		}
	}
	return false
}

// cutter goes through the lines of a source.
type cutter struct {
	src   []byte
	size  int
	at    int  // of the line to come
	line  int  // before that
	below bool // the line is below the key resources
	head  int  // the column of a key, when a list may begin below it; -1 for none
	kept  int  // from where on the source is not in rest yet
	rest  []byte
	found cuts
}

// look returns the line to come, without its indentation.
func (c *cutter) look() (text []byte, col, length int) {
	line := c.src[c.at:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n+1]
	}
	text = bytes.TrimLeft(line, " ")
	return text, len(line) - len(text), len(line)
}

// next takes one line, or a list.
// A list is cut only below a key that alone stands on its line; anything else may be a part of
// a text.
func (c *cutter) next() {
	text, col, length := c.look()
	item, empty := isItem(text), isEmpty(text)
	if item && c.head >= 0 && col >= c.head {
		c.list(col)
		return
	}
	c.at, c.line = c.at+length, c.line+1
	key := bytes.TrimRight(text, " \n")
	switch {
	case empty:
	case col == 0:
		c.below, c.head = string(key) == "resources:", -1
		if string(key) == "edges:" {
			c.head = 0
		}
	case c.below && bytes.HasSuffix(key, []byte(":")):
		c.head = col
	default:
		c.head = -1
	}
}

// isItem reports whether a line begins an item of a list.
func isItem(text []byte) bool { return bytes.HasPrefix(text, []byte("- ")) }

// isEmpty reports whether a line has no value: it is blank, or a comment.
func isEmpty(text []byte) bool { return len(text) == 0 || text[0] == '\n' || text[0] == '#' }

// list takes a list whose items begin in a column. It ends before the next line that is neither an item nor farther right.
// A piece ends before the first item that begins beyond the size, so an item is never split.
func (c *cutter) list(col int) {
	begin, first := c.at, c.line
	one := &cut{col: col + 1}
	piece := begin
	for c.at < len(c.src) {
		text, at, length := c.look()
		item := isItem(text) && at == col
		if !item && at <= col && !isEmpty(text) {
			break
		}
		if item {
			one.count++
		}
		if item && (c.at == begin || c.at-piece >= c.size) {
			if c.at > begin {
				one.pieces = append(one.pieces, c.src[piece:c.at])
			}
			one.lines = append(one.lines, c.line)
			piece = c.at
		}
		c.at, c.line = c.at+length, c.line+1
	}
	c.head = -1
	if c.at-begin <= c.size {
		return
	}
	one.pieces = append(one.pieces, c.src[piece:c.at])
	c.rest = append(c.rest, c.src[c.kept:begin]...)
	c.rest = append(append(c.rest, bytes.Repeat([]byte(" "), col)...), "- ~"...)
	// As many lines as the list had keep all positions behind it right.
	c.rest = append(c.rest, bytes.Repeat([]byte("\n"), c.line-first)...)
	c.kept = c.at
	if c.found == nil {
		c.found = cuts{}
	}
	c.found[first+1] = one
}

// parsePieces is parseGraph with the long lists in pieces. It reports false where that is not
// possible. The source then has to be parsed as a whole, which also finds the words for its
// faults. The taker may have got edges before it fails; parseGraph begins with another one
// then.
func parsePieces(file string, src []byte, size int, edges taker) (*schema.Node, schema.Diagnostics, bool) {
	rest, found := cutLists(src, size)
	if len(found) == 0 {
		return nil, nil, false
	}
	root, ds := compose(file, rest, maxDepth)
	if ds != nil {
		return nil, nil, false
	}
	c := converter{file: file, taker: edges, cuts: found}
	t := c.convert(root, 0)
	ok := !c.broken && found.allUsed()
	if ok && edges != nil && len(c.shared) == 0 {
		edges.pieced(rest, found)
	}
	return t.node, c.diags.All(), ok
}

// cutAt returns the cut at a list, nil where it is written there as a whole.
// Inside of a piece the lines are those of the piece, so no cut is looked for there.
func (c *converter) cutAt(n *yaml.Node) *cut {
	one := c.cuts[n.Line]
	if one == nil || c.lines > 0 || one.col != n.Column {
		return nil
	}
	return one
}

// count returns how many items a list has.
func (c *converter) count(n *yaml.Node) int {
	if one := c.cutAt(n); one != nil {
		return one.count
	}
	return len(n.Content)
}

// items calls do with each item of a list that has so many levels above it, in pieces where it was cut.
// A node of a piece is garbage once do has returned, unless do keeps it.
func (c *converter) items(n *yaml.Node, depth int, do func(*yaml.Node)) {
	one := c.cutAt(n)
	if one == nil {
		for _, item := range n.Content {
			do(item)
		}
		return
	}
	c.broken = c.broken || one.used || len(n.Content) != 1 // something else goes on with the list
	one.used = true
	for i, piece := range one.pieces {
		root, ds := compose(c.file, piece, maxDepth-depth)
		if c.broken = c.broken || ds != nil || root.Kind != yaml.SequenceNode; c.broken {
			return
		}
		c.lines = one.lines[i]
		for _, item := range root.Content {
			do(item)
		}
		c.lines = 0
	}
}
