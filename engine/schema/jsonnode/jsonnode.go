package jsonnode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// The bounds that hold where Options gives none.
const (
	MaxLevels = 100
	MaxValues = 1 << 20
)

// Options say how a text is read. The zero Options read a whole text, leniently.
type Options struct {
	File    string // what positions name; may be empty
	Start   int    // the byte at which the value begins; what stands before it is not looked at
	What    string // what messages begin with, such as "this is no catalog"; empty for nothing
	Rest    string // what is said of text behind the value; empty for "something follows the value"
	Levels  int    // how deep lists and objects may be; 0 for MaxLevels
	Values  int    // how many values there may be; 0 for MaxValues
	Bytes   int    // how long the text may be; 0 for any length
	Strict  bool   // half of a surrogate pair is an error
	Nowhere bool   // the tree has no positions, since the text is in no file
	Quiet   bool   // messages repeat nothing of the text, which may hold a secret
}

// Parse returns the tree of a text. Where there is none, the tree is nil and the finding says
// why. Findings next to a tree are keys that are there twice, which are errors too.
func Parse(src []byte, o Options) (*schema.Node, schema.Diagnostics) {
	p := &parser{Options: o, src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	n, at, err := p.parse()
	if err != nil {
		message := p.plain(err)
		if o.What != "" {
			message = o.What + ": " + message
		}
		return nil, schema.Diagnostics{{Pos: p.pos(at), Message: message}}
	}
	return n, p.twice
}

// parser turns JSON into a tree with positions.
type parser struct {
	Options
	src    []byte
	lines  []int // where each line begins
	last   mark  // the place that was told last
	dec    *json.Decoder
	values int
	twice  schema.Diagnostics
}

// parse returns the tree, or what is wrong and where.
func (p *parser) parse() (n *schema.Node, at int, err error) {
	if at, err = p.check(); err != nil {
		return nil, at, err
	}
	p.dec = json.NewDecoder(bytes.NewReader(p.src[p.Start:]))
	p.dec.UseNumber()
	n, err = p.value(0)
	if err == nil && len(bytes.TrimSpace(p.src[p.offset():])) > 0 {
		err = fault(cmp.Or(p.Rest, "something follows the value"))
	}
	if err != nil {
		return nil, p.here(), err
	}
	return n, 0, nil
}

// check looks at the bytes, before anything is read of them.
func (p *parser) check() (at int, err error) {
	if p.Bytes > 0 && len(p.src) > p.Bytes {
		return 0, fault(fmt.Sprintf("it has %d bytes, and may have %d", len(p.src), p.Bytes))
	}
	for i := p.Start; i < len(p.src); {
		r, size := utf8.DecodeRune(p.src[i:])
		if r == utf8.RuneError && size == 1 {
			return i, fault("JSON is UTF-8, and these bytes are not")
		}
		i += size
	}
	if at := halfPair(p.src[p.Start:]); p.Strict && at >= 0 {
		return p.Start + at, fault(`it has half of a surrogate pair (\ud800 to \udfff), which is no character`)
	}
	return 0, nil
}

// halfPair returns where half of a surrogate pair is escaped, or -1.
func halfPair(text []byte) int {
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		switch unit := surrogate(text[i:]); {
		case unit == 0:
			i += 2 // an escaped backslash begins nothing
		case unit < 0xdc00 && surrogate(text[i+6:]) >= 0xdc00:
			i += 12
		default:
			return i
		}
		if i >= len(text) {
			return -1
		}
	}
}

// surrogate returns the half of a pair that text begins with, or 0.
func surrogate(text []byte) int {
	if len(text) < 6 || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil || unit < 0xd800 || unit > 0xdfff {
		return 0
	}
	return int(unit)
}

func (p *parser) offset() int { return p.Start + int(p.dec.InputOffset()) }

// here returns where the next token begins.
func (p *parser) here() int {
	at := min(p.offset(), len(p.src))
	for at < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[at]) >= 0 {
		at++
	}
	return at
}

// fault is an error of our own words, which repeat nothing of the text.
type fault string

func (f fault) Error() string { return string(f) }

// plain says what is wrong without words of the library.
func (p *parser) plain(err error) string {
	if _, ours := err.(fault); p.Quiet && !ours {
		return "it is no JSON"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func (p *parser) pos(at int) schema.Pos {
	if p.Nowhere {
		return schema.Pos{}
	}
	line, exact := slices.BinarySearch(p.lines, at)
	if exact {
		line++
	}
	// Places come in their order, and a text may be one long line. So characters are counted from the last place.
	if p.last.line != line || p.last.at > at {
		p.last = mark{line: line, at: p.lines[line-1]}
	}
	p.last.before += utf8.RuneCount(p.src[p.last.at:at])
	p.last.at = at
	return schema.Pos{File: p.File, Line: int32(line), Col: int32(p.last.before) + 1}
}

// mark is a place, with the characters before it in its line.
type mark struct{ line, at, before int }

// next returns the next token and where it begins.
func (p *parser) next() (json.Token, schema.Pos, error) {
	at := p.here()
	tok, err := p.dec.Token()
	return tok, p.pos(at), err
}

// value reads one value. depth is the number of levels above it.
func (p *parser) value(depth int) (*schema.Node, error) {
	tok, pos, err := p.next()
	if err != nil {
		return nil, err
	}
	if limit := cmp.Or(p.Values, MaxValues); p.values >= limit {
		return nil, fault(fmt.Sprintf("it has more than %d values", limit))
	}
	p.values++
	switch tok := tok.(type) {
	case json.Delim:
		if limit := cmp.Or(p.Levels, MaxLevels); depth >= limit {
			return nil, fault(fmt.Sprintf("it has more than %d levels", limit))
		}
		if tok == '[' {
			return p.list(pos, depth)
		}
		return p.object(pos, depth)
	case string:
		return &schema.Node{Kind: schema.NodeString, Pos: pos, Text: tok}, nil
	case json.Number:
		return &schema.Node{Kind: numberKind(tok.String()), Pos: pos, Text: tok.String()}, nil
	case bool:
		return &schema.Node{Kind: schema.NodeBool, Pos: pos, Text: fmt.Sprint(tok)}, nil
	default:
		return &schema.Node{Pos: pos}, nil
	}
}

// numberKind tells floats by their notation: 1.0 is not a whole number, though it has the
// value of one.
func numberKind(text string) schema.NodeKind {
	if strings.ContainsAny(text, ".eE") {
		return schema.NodeFloat
	}
	return schema.NodeInt
}

// list reads an array to its end.
func (p *parser) list(pos schema.Pos, depth int) (*schema.Node, error) {
	n := &schema.Node{Kind: schema.NodeList, Pos: pos}
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	_, _, err := p.next()
	return n, err
}

// object reads an object. A key that is given twice is an error with both places.
func (p *parser) object(pos schema.Pos, depth int) (*schema.Node, error) {
	n := &schema.Node{Kind: schema.NodeMap, Pos: pos}
	keys := map[string]schema.Pos{}
	for p.dec.More() {
		tok, at, err := p.next()
		if err != nil {
			return nil, err
		}
		key := tok.(string) // the library refuses any other one
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if first, again := keys[key]; again {
			p.again(key, at, first)
			continue
		}
		keys[key] = at
		n.Pairs = append(n.Pairs, schema.Pair{Key: key, Pos: at, Value: v})
	}
	_, _, err := p.next()
	return n, err
}

// maxKey bounds the part of a key that a message repeats.
const maxKey = 60

// again reports a key that is there a second time.
func (p *parser) again(key string, at, first schema.Pos) {
	if r := []rune(key); len(r) > maxKey {
		key = string(r[:maxKey]) + "..."
	}
	message := fmt.Sprintf("the key %q is given twice", key)
	if p.Quiet {
		message = "a key is there twice"
	}
	p.twice = append(p.twice, schema.Diagnostic{
		Pos: at, Message: message,
		Related: []schema.Related{{Pos: first, Message: "first given here"}},
	})
}
