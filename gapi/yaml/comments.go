package yaml

import (
	"iter"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// comments yields the comments of a source, without spaces around them, in their
// order. They are looked for in the text, with its scalars out of the way: the
// parser forgets some.
// It serves the check that a formatted document has lost none. The cost is one pass over the
// lines.
func comments(src []byte, doc *yaml.Node) iter.Seq[string] {
	text := lines(src)
	hide(text, doc)
	return func(yield func(string) bool) {
		for _, line := range text {
			if at := commentAt(line); at >= 0 && !yield(strings.TrimSpace(line[at:])) {
				return
			}
		}
	}
}

// commentAt returns where the comment of a line begins, or -1.
// By YAML 1.2 a comment begins at the start of a line or behind white space.
func commentAt(line string) int {
	for at := range len(line) {
		if line[at] == '#' && (at == 0 || line[at-1] == ' ' || line[at-1] == '\t') {
			return at
		}
	}
	return -1
}

// hide takes the texts in quotes and in blocks out of the lines. The rest of a line
// is enough to find its comment.
// The recursion is as deep as the document, which newLoader bounds. Positions are those of the
// library: lines from 1, columns in characters.
func hide(text []string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Line > 0 && n.Line <= len(text) {
		switch {
		case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			hideQuoted(text, n)
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			hideBlock(text, n)
		}
	}
	for _, c := range n.Content {
		hide(text, c)
	}
}

// properties are the tag and the anchor before a scalar.
var properties = lazyregexp.New(`^(?:[!&]\S*\s+)*`)

// hideQuoted replaces the text between quotes.
// The text in quotes may go over several lines, and each of them is replaced by as many bytes.
func hideQuoted(text []string, n *yaml.Node) {
	i := n.Line - 1
	at := offset(text[i], n.Column-1)
	at += len(properties.FindString(text[i][at:]))
	if at >= len(text[i]) {
		return
	}
	quote := text[i][at]
	for at++; i < len(text); i, at = i+1, 0 {
		rest := text[i][at:]
		end := closing(rest, quote)
		if end >= 0 {
			text[i] = text[i][:at] + strings.Repeat("x", end) + rest[end:]
			return
		}
		text[i] = text[i][:at] + strings.Repeat("x", len(rest))
	}
}

// closing returns where the closing quote is, or -1.
// In double quotes a backslash takes the next byte with it. In single quotes two quotes stand
// for one.
func closing(s string, quote byte) int {
	for at := 0; at < len(s); at++ {
		switch {
		case quote == '"' && s[at] == '\\':
			at++
		case s[at] != quote:
		case quote == '\'' && at+1 < len(s) && s[at+1] == quote:
			at++
		default:
			return at
		}
	}
	return -1
}

// hideBlock empties the lines of a block below its first one, which may have a
// comment.
// The first line with a text decides how far in the block is; the block ends before a line that
// is less far in.
func hideBlock(text []string, n *yaml.Node) {
	body := strings.Trim(n.Value, "\n")
	deep := -1
	for i := n.Line; i < len(text) && body != ""; i++ {
		switch in := indent(text[i]); {
		case isBlank(text[i]):
			continue
		case deep < 0:
			deep = in
		case in < deep:
			return
		}
		text[i] = ""
	}
}

// offset returns where the character of that number begins.
// A line that is too short gives its end.
func offset(line string, char int) int {
	at := 0
	for ; char > 0 && at < len(line); char-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}
