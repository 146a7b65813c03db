package yaml

import (
	"bytes"

	"github.com/reactivegraph/mgmt/gapi"
)

// overfull returns the offset of the first resource of a source that is beyond a number, or -1. It looks at the lines alone, before
// the parser makes a tree, which costs a hundred times the text. What it does not see is counted when the graph is read.
// It allocates nothing for block style.
func overfull(src []byte, most int) int {
	l := lineTally{src: src, tally: gapi.Tally{Left: most}, items: -1}
	if at := len(src) - len(bytes.TrimLeft(src, " \t\r\n")); at < len(src) && src[at] == '{' {
		_, beyond := l.tally.Count(src, at, false)
		return beyond
	}
	for l.at < len(src) {
		if beyond := l.line(); beyond >= 0 {
			return beyond
		}
	}
	return -1
}

// lineTally goes through the lines of a source in block style.
// It knows two levels: the key resources, and the lists of its kinds. The first item of a kind
// shows how far in they all are.
type lineTally struct {
	src    []byte
	at     int
	tally  gapi.Tally
	inside bool // below the key resources
	items  int  // how far the items of the present kind are indented, -1 before the first
}

// line looks at one line, or at all lines of a value in brackets.
// A list may be as far in as its key, so the dash decides, and not the column alone.
func (l *lineTally) line() (beyond int) {
	begin, line := l.at, l.src[l.at:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	l.at += len(line) + 1
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	item := len(text) > 0 && text[0] == '-' && (len(text) == 1 || text[1] == ' ')
	switch {
	case len(text) == 0 || text[0] == '#':
	case indent == 0 && !item:
		l.inside, l.items = bytes.HasPrefix(text, []byte("resources:")), -1
		return l.value(begin, line)
	case !l.inside:
	case item && (l.items < 0 || l.items == indent):
		l.items = indent
		if l.tally.Left--; l.tally.Left < 0 {
			rest := bytes.TrimLeft(text[1:], " ")
			return begin + len(line) - max(len(rest), 1)
		}
	case !item && indent <= l.items, !item && l.items < 0: // the next kind
		l.items = -1
		return l.value(begin, line)
	}
	return -1
}

// value counts the value of a key, where it begins with a bracket.
func (l *lineTally) value(begin int, line []byte) (beyond int) {
	colon := bytes.Index(line, []byte(": "))
	if !l.inside || colon < 0 {
		return -1
	}
	rest := bytes.TrimLeft(line[colon+1:], " ")
	if len(rest) == 0 || rest[0] != '{' && rest[0] != '[' {
		return -1
	}
	l.at, beyond = l.tally.Count(l.src, begin+len(line)-len(rest), true)
	return beyond
}
