package puppet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	maxDepth  = 100
	maxValues = 1 << 20
)

// catalogStart finds the brace that a line begins with: what Puppet prints before
// the catalog are lines of a log.
var catalogStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*\{`)
})

// parser turns JSON into a tree with positions.
type parser struct {
	file   string
	src    []byte
	lines  []int // where each line begins
	base   int   // where the JSON begins
	dec    *json.Decoder
	values int
	found  *schema.Findings
}

// parseJSON returns the tree of a source, nil where there is none; found says why.
// What stands before the first line that begins with a brace is skipped.
func parseJSON(file string, src []byte, found *schema.Findings) *schema.Node {
	p := &parser{file: file, src: src, lines: []int{0}, found: found}
	for i, c := range src {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	start, err := p.start()
	if err != nil {
		found.Errorf(p.pos(start), "%v", err)
		return nil
	}
	p.base = start
	p.dec = json.NewDecoder(bytes.NewReader(src[start:]))
	p.dec.UseNumber()
	n, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		found.Errorf(p.pos(p.here()), "this is no catalog: %s", plainJSON(err))
		return nil
	}
	return n
}

// start returns where the JSON begins.
func (p *parser) start() (int, error) {
	if len(bytes.TrimSpace(p.src)) == 0 {
		return 0, errors.New("there is no catalog, nothing at all was read")
	}
	at := bytes.IndexByte(p.src, '{')
	if loc := catalogStart().FindIndex(p.src); loc != nil {
		at = loc[1] - 1
	}
	if at < 0 {
		return 0, errors.New("there is no catalog: a catalog is the JSON that `puppet catalog compile` prints and begins with {")
	}
	for i := at; i < len(p.src); {
		r, size := utf8.DecodeRune(p.src[i:])
		if r == utf8.RuneError && size == 1 {
			return i, errors.New("this is no catalog: JSON is UTF-8, and these bytes are not")
		}
		i += size
	}
	return at, nil
}

// end refuses what follows the catalog, but for space.
func (p *parser) end() error {
	at := p.offset()
	if len(bytes.TrimSpace(p.src[at:])) > 0 {
		return errors.New("something follows the end of the catalog")
	}
	return nil
}

func (p *parser) offset() int { return p.base + int(p.dec.InputOffset()) }

// here returns where the next token begins.
func (p *parser) here() int {
	at := min(p.offset(), len(p.src))
	for at < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[at]) >= 0 {
		at++
	}
	return at
}

// plainJSON says what is wrong without words of the library.
func plainJSON(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func (p *parser) pos(at int) schema.Pos {
	line, exact := slices.BinarySearch(p.lines, at)
	if exact {
		line++
	}
	return schema.Pos{File: p.file, Line: int32(line), Col: int32(at-p.lines[line-1]) + 1}
}

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
	if p.values++; p.values > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	switch tok := tok.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("it has more than %d levels", maxDepth)
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
		return boolNode(pos, tok), nil
	default:
		return &schema.Node{Pos: pos}, nil
	}
}

func numberKind(text string) schema.NodeKind {
	if strings.ContainsAny(text, ".eE") {
		return schema.NodeFloat
	}
	return schema.NodeInt
}

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
			p.found.Add(schema.Diagnostic{
				Pos: at, Message: fmt.Sprintf("the key %s is given twice", quote(key)),
				Related: []schema.Related{{Pos: first, Message: "first given here"}},
			})
			continue
		}
		keys[key] = at
		n.Pairs = append(n.Pairs, schema.Pair{Key: key, Pos: at, Value: v})
	}
	_, _, err := p.next()
	return n, err
}
