package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// maxMarks bounds the counted marks before parsing: line ends, commas and colons.
// There is no value without one of them.
// The parser makes about one node for each.
const maxMarks = 4 << 20

// marksOf returns how many marks a graph may have that may have so many resources.
// A resource of a usual size has fewer than 16 marks.
func marksOf(resources int) int { return max(maxMarks, 16*resources) }

const emptyGraph = `the file is empty, a graph needs at least "resources:"`

// parse reads the one document of a source. The node is nil if there are
// findings that leave nothing to look at.
func parse(file string, src []byte) (*schema.Node, schema.Diagnostics) {
	if ds := prescan(file, src, maxMarks); ds != nil {
		return nil, ds
	}
	return documentOf(file).parse(file, src, func() taker { return nil })
}

// parseGraph is parse of a graph that may have so many marks. Each call of edges makes a taker
// that takes its edges from the start.
func parseGraph(file string, src []byte, marks int, edges func() taker) (*schema.Node, schema.Diagnostics) {
	if ds := prescan(file, src, marks); ds != nil {
		return nil, ds
	}
	return GraphNotation(file, src).parse(file, src, edges)
}

// parseYAML parses a document with long lists in pieces first.
func parseYAML(file string, src []byte, edges func() taker) (*schema.Node, schema.Diagnostics) {
	if root, ds, ok := parsePieces(file, src, pieceSize, edges()); ok {
		return root, ds
	}
	return parseWhole(file, src, edges())
}

// parseWhole is parseYAML of a source that the parser gets in one piece, and that it bears.
// The bound on depth is the parser's for the text, and the converter's with aliases resolved.
func parseWhole(file string, src []byte, edges taker) (*schema.Node, schema.Diagnostics) {
	root, ds := compose(file, src, maxDepth)
	if ds != nil {
		return nil, ds
	}
	c := converter{file: file, taker: edges}
	t := c.convert(root, 0)
	return t.node, c.diags.All()
}

// compose runs the parser of the library on a source with so many levels at most. It also reads
// on behind the document, since a second one is an error with a place of its own.
func compose(file string, src []byte, levels int) (root *yaml.Node, ds schema.Diagnostics) {
	l, err := newLoader(src, levels)
	if err != nil {
		return nil, one(schema.Pos{File: file}, "%v", err)
	}
	var doc, next yaml.Node
	switch err := l.Load(&doc); {
	case errors.Is(err, io.EOF), err == nil && isNothing(&doc):
		return nil, one(schema.Pos{File: file}, emptyGraph)
	case err != nil:
		return nil, schema.Diagnostics{syntaxError(file, src, err)}
	}
	switch err := l.Load(&next); {
	case err == nil:
		pos := schema.Pos{File: file, Line: int32(next.Line), Col: int32(next.Column)}
		return nil, one(pos, "a second document begins here; a file holds one: put the other into a file of its own")
	case !errors.Is(err, io.EOF):
		return nil, schema.Diagnostics{syntaxError(file, src, err)}
	}
	return doc.Content[0], nil
}

// newLoader makes a loader with a bound on depth. Aliases are counted by the converter,
// since a bound on their number would refuse useful files.
func newLoader(src []byte, levels int) (*yaml.Loader, error) {
	limits := loaderlimits.New(loaderlimits.DepthValue(levels), loaderlimits.AliasNone())
	return yaml.NewLoader(bytes.NewReader(src), yaml.WithPlugin(limits))
}

// isNothing reports whether a document is an empty one, such as "---".
func isNothing(doc *yaml.Node) bool {
	return len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" && doc.Content[0].Value == ""
}

// one returns a single error.
func one(pos schema.Pos, format string, args ...any) schema.Diagnostics {
	var ds schema.Diagnostics
	ds.Errorf(pos, format, args...)
	return ds
}

// prescan refuses texts that the parser would not bear or not place.
// It is linear, and allocates nothing for a good text. The order matters: UTF-16 is full of
// control characters, and the better message comes first.
func prescan(file string, src []byte, most int) schema.Diagnostics {
	for _, bom := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(src, []byte(bom)) {
			return one(schema.Pos{File: file, Line: 1, Col: 1}, "the file is in UTF-16, save it as UTF-8")
		}
	}
	if at := markBeyond(src, most); at >= 0 {
		return one(posAt(file, src, at), "the file has too many lines and values: more than %d before this place", most)
	}
	if at, what := firstBad(src); at >= 0 {
		return one(posAt(file, src, at), "%s", what)
	}
	return nil
}

// markBeyond returns the offset of the first mark that is beyond a number, or -1.
// The place is looked for only where the number is exceeded.
func markBeyond(src []byte, most int) int {
	marks := 0
	for _, sep := range []string{"\n", ",", ":"} {
		marks += bytes.Count(src, []byte(sep))
	}
	if marks <= most {
		return -1
	}
	marks = 0
	return bytes.IndexFunc(src, func(r rune) bool {
		if r == '\n' || r == ',' || r == ':' {
			marks++
		}
		return marks > most
	})
}

// firstBad returns the offset of the first character that YAML does not allow, and
// its name; -1 if there is none.
// Characters beyond ASCII are only checked where the text as a whole is not UTF-8.
func firstBad(src []byte) (int, string) {
	valid := utf8.Valid(src)
	for at := 0; at < len(src); at++ {
		b := src[at]
		switch {
		case b >= ' ' && b < 0x7f, b == '\n', b == '\r', b == '\t':
		case b < utf8.RuneSelf:
			return at, fmt.Sprintf("the control character 0x%02x is not allowed; in double quotes, write \\x%02x", b, b)
		case !valid:
			r, size := utf8.DecodeRune(src[at:])
			if r == utf8.RuneError && size <= 1 {
				return at, fmt.Sprintf("the byte 0x%02x is not UTF-8; save the file as UTF-8; for raw bytes YAML has !!binary", b)
			}
			at += size - 1
		}
	}
	return -1, ""
}

// posAt returns the position of an offset.
// It costs a pass over the text before, so it is called for findings only.
func posAt(file string, src []byte, at int) schema.Pos {
	before := src[:at]
	line := bytes.Count(before, []byte("\n"))
	start := bytes.LastIndexByte(before, '\n') + 1
	return schema.Pos{File: file, Line: int32(line + 1), Col: int32(utf8.RuneCount(before[start:]) + 1)}
}
