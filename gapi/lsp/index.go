package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// mention is a place that names a resource: its declaration, or a reference to it.
type mention struct {
	id          string // kind[name]
	name        string
	pos         schema.Pos // of the name, or of the scalar with the reference
	declaration bool
}

// mentions returns all places of a graph that name a resource, each place once: a module that is used twice is read twice.
func mentions(d *gapi.Declared) (all []mention) {
	seen := map[mention]bool{}
	add := func(m mention) {
		if !m.pos.IsZero() && !seen[m] {
			seen[m] = true
			all = append(all, m)
		}
	}
	ref := func(r schema.Ref, pos schema.Pos) { add(mention{id: r.ID(), name: r.Name, pos: pos}) }
	for i := range d.Resources {
		x := &d.Resources[i]
		add(mention{id: x.ID(), name: x.Name, pos: x.NamePos, declaration: true})
		for _, list := range [][]gapi.RefDecl{x.Before, x.Depend, x.Notify, x.Listen} {
			for _, r := range list {
				ref(r.Ref, r.Pos)
			}
		}
		for _, r := range x.Recv {
			ref(schema.Ref{Kind: r.From.Kind, Name: r.From.Name}, r.Pos)
		}
	}
	for _, e := range d.Edges {
		for _, end := range [...]gapi.EdgeEnd{e.From, e.To} {
			if end.At.Line > 0 {
				ref(end.Ref(), e.PosOf(end))
			}
		}
	}
	return all
}

// searchLines is how many lines a scalar with a reference may have: a long text is not searched further.
const searchLines = 20

// span finds the characters of a mention in a text: the name of a declaration, or the name between the brackets of a reference. ok is false
// where they do not stand there as they are, as a name that an expression makes.
func (m mention) span(t *text) (from, to int, ok bool) {
	if m.pos.Line == 0 {
		return 0, 0, false
	}
	at := t.offsetOf(m.pos)
	if m.declaration {
		if at < len(t.src) && (t.src[at] == '"' || t.src[at] == '\'') {
			at++
		}
		return at, at + len(m.name), strings.HasPrefix(t.src[at:], m.name) && m.name != ""
	}
	// The scalar of an expression may begin lines above the reference in it.
	last := min(int(m.pos.Line)-1+searchLines, len(t.lines)-1)
	end := t.lines[last] + len(t.line(last))
	rest := t.src[min(at, end):end]
	if i := strings.Index(rest, m.id); i >= 0 {
		from = at + i + len(m.id) - len(m.name) - 1
		return from, from + len(m.name), true
	}
	// An edge may name its ends by kind and name.
	rest, _, _ = strings.Cut(rest, "\n")
	if i := strings.Index(rest, "name:"); i >= 0 {
		value := strings.TrimLeft(rest[i+len("name:"):], ` "'`)
		from = at + len(rest) - len(value)
		if i = strings.Index(rest[i:], m.name); i >= 0 && strings.HasPrefix(value, m.name) {
			return from, from + len(m.name), true
		}
	}
	return 0, 0, false
}

// locations returns the places of some mentions. A name that an expression makes does not stand in the file. Its place is the
// scalar with that expression.
func (c *checked) locations(list []mention) (all []location) {
	texts := map[string]*text{}
	for _, m := range list {
		path := filepath.Clean(m.pos.File)
		if _, known := texts[path]; !known {
			texts[path] = c.text(path)
		}
		l := c.location(m.pos)
		if t := texts[path]; t != nil {
			if from, to, ok := m.span(t); ok {
				l.Range = t.span(from, to)
			}
		}
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// reference finds the reference kind[name] around an offset of a line. The name runs to the last bracket before a quote, as schema.ParseRef
// reads it.
func reference(t *text, offset int) (r schema.Ref, from, to int, ok bool) {
	p := t.position(offset)
	begin := t.lines[p.Line]
	line := t.line(p.Line)
	at := min(offset-begin, len(line))
	// A line may have several references, and brackets of lists that are none.
	for open := 0; open < len(line); open++ {
		i := strings.IndexByte(line[open:], '[')
		if i < 0 {
			break
		}
		open += i
		kind := line[:open]
		kind = kind[len(strings.TrimRightFunc(kind, isKindRune)):]
		if kind == "" {
			continue
		}
		start := open - len(kind)
		end := strings.IndexAny(line[open:], `"'`)
		if end < 0 {
			end = len(line) - open
		}
		last := strings.LastIndexByte(line[open:open+end], ']')
		if last < 0 || at < start || at > open+last {
			continue
		}
		r := schema.Ref{Kind: kind, Name: line[open+1 : open+last]}
		if r.Name == "" {
			return r, 0, 0, false
		}
		return r, begin + start, begin + open + last + 1, true
	}
	return schema.Ref{}, 0, 0, false
}

// isKindRune reports whether a character may stand in the name of a kind.
func isKindRune(r rune) bool { return isNameRune(r) || r == ':' || r == '-' }

// named returns the resource at an offset: that of a reference, or of the name of a declaration. The offsets are those of its name. A reference
// may name an unknown resource. A declaration was read by the last check.
func (c *checked) named(path string, t *text, offset int) (id string, from, to int, ok bool) {
	if r, _, end, ok := reference(t, offset); ok {
		return r.ID(), end - 1 - len(r.Name), end - 1, true
	}
	// Names of declarations have no marks of their own, so the places of the last check tell them.
	line := int32(t.position(offset).Line + 1)
	for _, m := range mentions(c.declared) {
		if !m.declaration || m.pos.Line != line || filepath.Clean(m.pos.File) != path {
			continue
		}
		if from, to, ok := m.span(t); ok && offset >= from-1 && offset <= to+1 {
			return m.id, from, to, true
		}
	}
	return "", 0, 0, false
}
