package yaml

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// outline is what is kept of a long graph in one file, so that the next text of the file is read only where it differs. It has the
// sums of the entries and of the text around them, and no node. It is kept for a text that was parsed in pieces without a finding: so each entry is
// known to be one by itself. An anchor could tie one entry to another, and edges that are declared by themselves are no part of a Part: a graph with
// either has no outline.
type outline struct {
	file  string
	head  gapi.Declared     // without resources
	rest  [sha256.Size]byte // of the text without its long lists, with their lines
	lists []outlined
}

// outlined is a long list of resources.
type outlined struct {
	kind  schema.Pair
	line  int // of the first entry
	col   int
	items []outlinedItem
}

type outlinedItem struct {
	sum   [16]byte
	lines int32
	name  string
}

// entry is one entry of a long list in a text: its bytes, and its lines.
type entry struct {
	text  []byte
	lines int
}

// entries yields the entries of a list that was cut.
func (c *cut) entries() (list []entry) {
	list = make([]entry, 0, c.count)
	for _, piece := range c.pieces {
		begin, lines := 0, 0
		for at := 0; at < len(piece); {
			end := len(piece)
			if n := bytes.IndexByte(piece[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			text := bytes.TrimLeft(piece[at:end], " ")
			if at > begin && isItem(text) && end-at-len(text) == c.col-1 {
				list = append(list, entry{piece[begin:at], lines})
				begin, lines = at, 0
			}
			at, lines = end, lines+1
		}
		list = append(list, entry{piece[begin:], lines})
	}
	return list
}

func sumOf(text []byte) (sum [16]byte) {
	all := sha256.Sum256(text)
	return [16]byte(all[:])
}

// outlineOf returns the outline of a part that was read in pieces, nil for none.
func outlineOf(p *part, d *gapi.Declared) *outline {
	if p.pieces == nil || p.doc != nil || len(p.problems)+len(p.edges)+len(p.includes)+len(p.collects)+len(d.Edges)+len(d.Problems) > 0 || d.Partial {
		return nil
	}
	o := &outline{file: p.file, head: *d, rest: sha256.Sum256(p.rest)}
	o.head.Resources = nil
	for line, c := range p.pieces {
		l := outlined{line: line, col: c.col}
		// The resources of a list follow each other, from the line of its first entry.
		first := slices.IndexFunc(d.Resources, func(r gapi.Declaration) bool { return int(r.Pos.Line) == line })
		list := c.entries()
		if first < 0 || len(list) != c.count || first+len(list) > len(d.Resources) {
			return nil
		}
		l.kind = schema.Pair{Key: d.Resources[first].Kind, Pos: d.Resources[first].KindPos}
		for i, e := range list {
			r := &d.Resources[first+i]
			if int(r.Pos.Line) != line || r.KindPos != l.kind.Pos {
				return nil
			}
			l.items = append(l.items, outlinedItem{sumOf(e.text), int32(e.lines), r.Name})
			line += e.lines
		}
		o.lists = append(o.lists, l)
	}
	return o
}

// changed returns the resources of a text that differ from those of the outline, which it brings up to date. ok is false where the text has to be read as a whole.
func (o *outline) changed(file string, src []byte, most int) (list []gapi.Declaration, ok bool) {
	if file != o.file || mayCompute(src) || bytes.Contains(src, []byte("when")) || bytes.Contains(src, []byte("for_each")) || prescan(file, src, marksOf(most)) != nil {
		return nil, false
	}
	rest, found := cutLists(src, pieceSize)
	if len(found) != len(o.lists) || sha256.Sum256(rest) != o.rest {
		return nil, false
	}
	type now struct {
		item *outlinedItem
		sum  [16]byte
	}
	var all []now
	for i := range o.lists {
		l := &o.lists[i]
		c := found[l.line]
		if c == nil || c.col != l.col || c.count != len(l.items) {
			return nil, false
		}
		line := l.line
		for j, e := range c.entries() {
			item := &l.items[j]
			if int(item.lines) != e.lines {
				return nil, false
			}
			if sum := sumOf(e.text); sum != item.sum {
				d := readEntry(file, l.kind, e.text, line)
				if d == nil || d.Name != item.name || len(all) > c.count/mostChanged {
					return nil, false
				}
				all, list = append(all, now{item, sum}), append(list, *d)
			}
			line += e.lines
		}
	}
	for _, n := range all {
		n.item.sum = n.sum
	}
	return list, true
}

// readEntry reads one entry of a list of resources that begins in a line. It is nil for anything that only the whole text explains, such as a fault.
func readEntry(file string, kind schema.Pair, text []byte, line int) *gapi.Declaration {
	root, ds := compose(file, text, maxDepth-2)
	if ds != nil || root.Kind != yaml.SequenceNode || len(root.Content) != 1 {
		return nil
	}
	c := converter{file: file, lines: line - 1}
	n := c.convert(root.Content[0], 3).node
	p := part{file: file}
	p.resource(kind, n)
	if len(c.shared) > 0 || len(c.diags.All()) > 0 || len(p.found.All()) > 0 || len(p.resources) != 1 {
		return nil
	}
	return &p.resources[0]
}

// allOf returns a graph as one whose parts will come.
func allOf(d *gapi.Declared) *gapi.Declared {
	out := &gapi.Declared{Name: d.Name, Comment: d.Comment, Pos: d.Pos, Noop: d.Noop, Authored: d.Authored, Origin: d.Origin}
	out.Part = &gapi.Part{All: true, Whole: func() *gapi.Declared { return d }}
	return out
}

// difference returns what has changed since the outline.
func (g *loading) difference() *gapi.Declared {
	out := g.outline.head
	out.Kinds, out.Origin = nil, g.origin()
	src, file, most, head := g.whole, g.root, g.most, g.outline.head
	out.Part = &gapi.Part{Resources: g.differs, Whole: func() *gapi.Declared {
		p := readPart(file, src, most, false)
		d := head
		d.Resources, d.Kinds, d.Problems, d.Partial = p.resources, p.kinds, p.problems, p.unreadable
		return &d
	}}
	return &out
}
