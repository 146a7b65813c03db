package gapi

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// DefaultMaxResources bounds the resources of a graph where a frontend is given no other number.
const DefaultMaxResources = 250_000

// TooMany is the finding about a graph with more resources than it may have, at the first one beyond.
func TooMany(pos schema.Pos, most int) schema.Diagnostic {
	return schema.Diagnostic{Pos: pos, Message: fmt.Sprintf(
		"the graph has more than %d resources, and this one is beyond; the setting max_resources allows more", most)}
}

// TooBig is the finding about a graph with more bytes than it may have, at the first one beyond.
func TooBig(pos schema.Pos, what string, most int64) schema.Diagnostic {
	return schema.Diagnostic{Pos: pos, Message: fmt.Sprintf(
		"too big: %s may have %d bytes; the setting max_graph_size allows more", what, most)}
}

// Tally counts the resources of a text before a parser reads it. So a graph with far too many of them costs no more than
// its text. A tally sees the items of lists in brackets, in JSON and in the flow style of YAML. It may miss resources, such as
// those behind an alias, so the frontend counts again after the parser.
type Tally struct {
	Left int // how many more there may be; a frontend lowers it for resources that it finds itself

	open  []byte // the brackets that are open
	base  int    // how many were open where the value of the key resources began
	in    bool   // it has begun
	word  []byte // the scalar that is read, or was read last
	ended bool   // the next byte of a scalar begins a new one
	quote byte
	skip  bool // the next byte is escaped
}

// Count looks at the value that begins with the bracket at src[from], up to its end or the first resource beyond. It returns the
// offset behind the value, and that of the resource, or -1. With inside, the value is the one of the key resources, or of
// a kind below it.
func (t *Tally) Count(src []byte, from int, inside bool) (end, beyond int) {
	t.open, t.in, t.base, t.quote = t.open[:0], inside, 0, 0
	for at := from; at < len(src); at++ {
		c := src[at]
		switch {
		case t.quote != 0:
			t.quoted(c)
		case c == '{' || c == '[':
			if c == '{' && t.isResource() {
				if t.Left--; t.Left < 0 {
					return at, at
				}
			}
			t.begin(c)
		case c == '}' || c == ']':
			if t.end(); len(t.open) == 0 {
				return at + 1, -1
			}
		default:
			t.plain(c)
		}
	}
	return len(src), -1
}

// isResource reports whether a map that begins here is a resource. A catalog has its resources in a list below the key
// resources; a graph has one such list for each kind.
func (t *Tally) isResource() bool {
	n := len(t.open)
	return t.in && n > 0 && t.open[n-1] == '[' && n-t.base <= 2
}

func (t *Tally) begin(c byte) {
	if !t.in && string(t.word) == "resources" {
		t.in, t.base = true, len(t.open)
	}
	t.open, t.word = append(t.open, c), t.word[:0]
}

func (t *Tally) end() {
	t.open, t.word = t.open[:len(t.open)-1], t.word[:0]
	t.in = t.in && len(t.open) > t.base
}

func (t *Tally) quoted(c byte) {
	switch {
	case t.skip:
		t.skip = false
	case c == '\\' && t.quote == '"':
		t.skip = true
	case c == t.quote:
		t.quote, t.ended = 0, true
	default:
		t.add(c)
	}
}

// plain takes a byte outside of quotes. A quote begins a text only where no other text has begun.
func (t *Tally) plain(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n', ':':
		t.ended = true
	case ',':
		t.word, t.ended = t.word[:0], false
	case '"', '\'':
		if len(t.word) == 0 || t.ended {
			t.word, t.ended, t.quote = t.word[:0], false, c
			return
		}
		t.add(c)
	default:
		if t.ended {
			t.word, t.ended = t.word[:0], false
		}
		t.add(c)
	}
}

// add keeps a byte of a scalar, as many as a key of interest has.
func (t *Tally) add(c byte) {
	if len(t.word) <= len("resources") {
		t.word = append(t.word, c)
	}
}
