package yaml

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// margin is a comment at the end of a line of the output, or a comment that goes on
// below such a comment.
// Columns are in characters, from 0.
type margin struct {
	line     int // of the source, from 0
	end, col int // there: where what stands before it ends, and where it begins
	code     string
	comment  string
}

// alignComments puts the comments at the ends of the lines of out where they were
// in the source: as far from the text before them. Comments of neighbouring lines
// in one column are in one column again. The trees have the same shape. A comment
// that is not found in both texts is left alone.
// It alters the lines of out, and only white space in them.
func alignComments(in []string, from *yaml.Node, out []string, to *yaml.Node) {
	margins := map[int]margin{} // by line of out
	pairs(from, to, func(a, b *yaml.Node) {
		if a.LineComment != "" && a.LineComment == b.LineComment {
			i := endsWith(in, a.Line-1, a.Line-1+farthest, a.LineComment)
			j := endsWith(out, b.Line-1, lastLine(b), a.LineComment)
			if i >= 0 && j >= 0 {
				addMargins(margins, in, i, out, j, a.LineComment)
			}
		}
	})
	// A run is a row of lines that followed each other in the source too, with comments in one
	// column.
	for j := 0; j < len(out); j++ {
		run := []margin{}
		for k := j; ; k++ {
			m, ok := margins[k]
			if !ok || k > j && (m.line != run[0].line+k-j || m.col != run[0].col) {
				break
			}
			run = append(run, m)
		}
		if len(run) > 0 {
			align(run, out[j:])
			j += len(run) - 1
		}
	}
}

// farthest is how many lines below the beginning of a value its comment is looked
// for in the source.
// A value may have many lines, and a search to the end would make the cost quadratic.
const farthest = 100

// pairs visits the nodes of two trees together.
// It ends where one of them has fewer children.
func pairs(a, b *yaml.Node, visit func(a, b *yaml.Node)) {
	visit(a, b)
	for i := range min(len(a.Content), len(b.Content)) {
		pairs(a.Content[i], b.Content[i], visit)
	}
}

// lastLine returns the number of the last line on which a part of a node begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// endsWith returns the first of some lines that has something and then the
// comment, or -1.
// A line with nothing but the comment does not count.
func endsWith(lines []string, first, last int, comment string) int {
	for i := max(first, 0); i < min(last, len(lines)); i++ {
		before, ok := strings.CutSuffix(strings.TrimRight(lines[i], " \t"), comment)
		if code := strings.TrimRight(before, " \t"); ok && code != "" && code != before {
			return i
		}
	}
	return -1
}

// addMargins adds the comment that ends line i of in and line j of out, and those
// below it in the same column with which it goes on.
func addMargins(margins map[int]margin, in []string, i int, out []string, j int, comment string) {
	m := newMargin(in, i, out[j], comment)
	margins[j] = m
	for i, j = i+1, j+1; i < len(in) && j < len(out); i, j = i+1, j+1 {
		text := strings.TrimSpace(in[i])
		next := newMargin(in, i, out[j], text)
		if !strings.HasPrefix(text, "#") || text != strings.TrimSpace(out[j]) || next.col != m.col {
			return
		}
		margins[j] = next
	}
}

func newMargin(in []string, i int, out, comment string) margin {
	before := strings.TrimSuffix(strings.TrimRight(in[i], " \t"), comment)
	code := strings.TrimRight(before, " \t")
	return margin{
		line: i, end: utf8.RuneCountInString(code), col: utf8.RuneCountInString(before),
		code: strings.TrimRight(strings.TrimSuffix(strings.TrimRight(out, " \t"), comment), " \t"), comment: comment,
	}
}

// align puts the comments of a run into one column.
// The gap is the smallest one of the run in the source, so the longest line keeps its distance.
func align(run []margin, out []string) {
	gap, end := run[0].col-run[0].end, 0
	for _, m := range run {
		if m.code != "" {
			gap = min(gap, m.col-m.end)
		}
		end = max(end, utf8.RuneCountInString(m.code))
	}
	for k, m := range run {
		out[k] = m.code + strings.Repeat(" ", end+gap-utf8.RuneCountInString(m.code)) + m.comment
	}
}
