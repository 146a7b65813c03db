package lsp

import (
	"slices"
	"strings"
)

// item is the element of a path that stands for an entry of a list.
const item = "-"

// cursor says what stands at a place of a text that need not be YAML.
type cursor struct {
	path   []string // keys and items from the top down to the map or the value
	key    bool     // a key is being written; else the value of the last element of path
	prefix string   // the letters of the key or of the scalar before the cursor, without an opening quote
	from   int      // the offset where prefix begins
	quote  byte     // the open quote of the scalar; 0 for none
	flow   bool     // in [...] or {...} on this line

	expression bool   // in ${{ }}: prefix is the part of its source before the cursor
	source     string // the whole expression up to the cursor

	lines  *text
	number int // the line of the cursor
	column int // of the map that the key belongs to
}

// line is a line of YAML, taken apart by its indentation alone.
type line struct {
	dashes []int // the columns of the dashes that begin it
	column int   // of the text behind the dashes
	rest   string
	key    string // empty where rest has none
	value  string // behind the colon
	at     int    // the column of value
}

// cut takes a line apart. Several dashes may begin a line: each one is a list in a list.
func cut(s string) line {
	var l line
	for {
		l.column += len(s[l.column:]) - len(strings.TrimLeft(s[l.column:], " \t"))
		rest := s[l.column:]
		if rest != item && !strings.HasPrefix(rest, "- ") {
			break
		}
		l.dashes = append(l.dashes, l.column)
		l.column++
	}
	l.rest = s[l.column:]
	if at := colon(l.rest); at >= 0 {
		l.key = strings.Trim(strings.TrimSpace(l.rest[:at]), `"'`)
		l.value = l.rest[at+1:]
		l.at = l.column + at + 1
	}
	return l
}

// colon returns the offset of the colon behind a key in block style, or -1.
func colon(s string) int {
	if s == "" || s[0] == '{' || s[0] == '[' || s[0] == '#' {
		return -1
	}
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && i == 0:
			quote = c
		case c == ':' && (i+1 == len(s) || s[i+1] == ' '):
			return i
		}
	}
	return -1
}

// empty reports whether a line has nothing but a comment.
func (l line) empty() bool {
	return l.rest == "" && len(l.dashes) == 0 || strings.HasPrefix(l.rest, "#")
}

// opens reports whether the value of a line's key goes on in the lines below: it is missing, or just an anchor or a tag.
func (l line) opens() bool {
	v := strings.TrimSpace(l.value)
	if i := strings.Index(v, " #"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v == "" || v[0] == '#' || v[0] == '&' || v[0] == '!'
}

// block reports whether the value of a line's key is a text in the lines below.
func (l line) block() bool {
	v := strings.TrimSpace(l.value)
	return v != "" && (v[0] == '|' || v[0] == '>')
}

// cursorAt finds the path and the letters at an offset. It looks at indentation alone, so it bears any text, and its time is linear in the
// number of lines above. Tabs count as spaces, since YAML refuses them and a person is about to replace them.
func cursorAt(t *text, offset int) cursor {
	offset = max(0, min(offset, len(t.src)))
	p := t.position(offset)
	begin := t.lines[p.Line]
	before := t.src[begin:offset]
	l := cut(before)
	c := cursor{lines: t, number: p.Line, column: l.column}
	if t.above(p.Line, l, &c) {
		c.scalar(before, begin)
		return c
	}
	switch {
	case l.key != "":
		c.path = append(c.path, l.key)
		c.value(l.value, begin+l.at)
	case strings.HasPrefix(l.rest, "{"), strings.HasPrefix(l.rest, "["), len(l.dashes) > 0 && strings.HasPrefix(l.rest, `"`), len(l.dashes) > 0 && strings.HasPrefix(l.rest, "'"):
		c.value(l.rest, begin+l.column)
	case inExpression(l.rest):
		c.value(l.rest, begin+l.column)
	default:
		c.key, c.prefix, c.from = true, strings.TrimLeft(l.rest, `"'`), begin+l.column+len(l.rest)-len(strings.TrimLeft(l.rest, `"'`))
	}
	return c
}

// above walks up from a line, and fills the path from the top of the document down to the map or list of that line. A line above counts only
// if it is further out than everything between: this is the one rule by which YAML nests blocks. It reports whether the line is part of a
// text in block style, where a colon makes no key.
func (t *text) above(n int, l line, c *cursor) (inText bool) {
	var up []string // from the inside to the outside
	limit, dashed := l.column, false
	enter := func(dashes []int) {
		for _, d := range slices.Backward(dashes) {
			up = append(up, item)
			limit, dashed = d, true
		}
	}
	enter(l.dashes)
	// limit is the column of the element that was entered last. A list may stand at the column of its key, so an entry looks at keys of its own
	// column, too.
	for n--; n >= 0 && (limit > 0 || dashed); n-- {
		m := cut(t.line(n))
		if m.empty() {
			continue
		}
		switch {
		case m.block() && m.column < limit:
			up, inText = []string{m.key}, true
			limit, dashed = m.column, false
			enter(m.dashes)
		case !dashed && m.column == limit && len(m.dashes) > 0: // the first key of this entry
			enter(m.dashes)
		case m.key != "" && m.opens() && (m.column < limit || dashed && m.column == limit && len(m.dashes) == 0):
			up = append(up, m.key)
			limit, dashed = m.column, false
			enter(m.dashes)
		case m.key == "" && len(m.dashes) > 0 && m.column <= limit && !dashed && m.rest == "":
			enter(m.dashes) // a dash alone on its line
		}
	}
	slices.Reverse(up)
	c.path = up
	return inText
}

// value takes the part of a value before the cursor, which begins at an offset. A value in flow style may be deep in brackets on one line.
func (c *cursor) value(s string, at int) {
	trimmed := strings.TrimLeft(s, " ")
	at += len(s) - len(trimmed)
	s = trimmed
	if s == "" || s[0] != '[' && s[0] != '{' {
		c.scalar(s, at)
		return
	}
	c.flow = true
	f := flow{c: c, s: s}
	for f.at < len(s) {
		f.step()
	}
	rest := strings.TrimLeft(s[min(f.begin, len(s)):], " ")
	at += len(s) - len(rest)
	if top := f.top(); top != nil && top.open == '{' && !top.key {
		c.key, c.prefix, c.from = true, rest, at
		return
	}
	c.scalar(rest, at)
}

// flow is one walk through a value in flow style, up to the cursor.
type flow struct {
	c     *cursor
	s     string
	at    int
	begin int  // where the present key or value begins
	quote byte // the open quote; 0 for none
	stack []level
}

// level is an open [ or {.
type level struct {
	open byte
	key  bool // a key has been read, and its value is next
}

// top returns the innermost open bracket, nil outside of all. The pointer holds until the next step.
func (f *flow) top() *level {
	if len(f.stack) == 0 {
		return nil
	}
	return &f.stack[len(f.stack)-1]
}

// step takes one character, or a whole expression.
func (f *flow) step() {
	ch := f.s[f.at]
	f.at++
	top := f.top()
	switch {
	case f.quote != 0:
		if ch == '\\' && f.quote == '"' {
			f.at++
		} else if ch == f.quote {
			f.quote = 0
		}
	case strings.HasPrefix(f.s[f.at-1:], "${{"):
		end := strings.Index(f.s[f.at:], "}}")
		if end < 0 {
			f.at = len(f.s)
			return
		}
		f.at += end + len("}}")
	case ch == '"' || ch == '\'':
		f.quote = ch
	case ch == '[' || ch == '{':
		f.stack = append(f.stack, level{open: ch})
		if ch == '[' {
			f.enter(item)
		}
		f.begin = f.at
	case top == nil:
	case ch == ']' || ch == '}':
		if top.open == '[' || top.key {
			f.leave()
		}
		f.stack = f.stack[:len(f.stack)-1]
		f.begin = f.at
	case ch == ',':
		if top.key {
			top.key = false
			f.leave()
		}
		f.begin = f.at
	case ch == ':' && top.open == '{' && !top.key:
		top.key = true
		f.enter(strings.Trim(strings.TrimSpace(f.s[f.begin:f.at-1]), `"'`))
		f.begin = f.at
	}
}

// enter and leave keep the path of the cursor in step with the brackets and keys that were read. A value without a closing bracket stays
// open, because the cursor is in it.
func (f *flow) enter(element string) { f.c.path = append(f.c.path, element) }
func (f *flow) leave()               { f.c.path = f.c.path[:len(f.c.path)-1] }

// scalar takes the part of one scalar before the cursor. An expression that is still open is the thing to complete, and not the scalar.
func (c *cursor) scalar(s string, at int) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		c.quote = s[0]
		s, at = s[1:], at+1
	}
	if inExpression(s) {
		// The text before the mark is not looked at: it stays as it is.
		open := strings.LastIndex(s, "${{") + len("${{")
		c.expression, c.source = true, s[open:]
		s, at = s[open:], at+open
	}
	c.prefix, c.from = s, at
}

// siblings returns the keys of the map that the cursor is in, as far as they stand on lines of their own. It walks both ways until a line is
// further out, or another entry of the list begins.
func (c *cursor) siblings() map[string]bool {
	keys := map[string]bool{}
	for _, step := range []int{-1, 1} {
		for n := c.number; n >= 0 && n < len(c.lines.lines); n += step {
			l := cut(c.lines.line(n))
			switch {
			case l.empty() || l.column > c.column:
				continue
			case l.column < c.column, step > 0 && len(l.dashes) > 0 && n != c.number:
				n = -2 // the map ends here
			case n != c.number:
				keys[l.key] = true
				if len(l.dashes) > 0 {
					n = -2
				}
			}
			if n < 0 {
				break
			}
		}
	}
	return keys
}

// sibling returns the value of a key of the same map as it is written, empty for none. It is for values of one line, such as a folder.
func (c *cursor) sibling(key string) string {
	for _, step := range []int{-1, 1} {
		for n := c.number; n >= 0 && n < len(c.lines.lines); n += step {
			l := cut(c.lines.line(n))
			if l.empty() || l.column > c.column {
				continue
			}
			if l.column < c.column {
				break
			}
			if l.key == key && n != c.number {
				return strings.Trim(strings.TrimSpace(l.value), `"'`)
			}
			if len(l.dashes) > 0 && (step < 0 || n != c.number) {
				break
			}
		}
	}
	return ""
}
