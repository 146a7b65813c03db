package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Format returns a document in its usual form: two spaces for each level, lists as
// far in as their key, one blank line where there were several, no trailing
// spaces. Comments at the ends of lines stay as far from the text before them, and in
// one column where they were in one. The order of keys, quotes, comments and the meaning of the document
// stay. A formatted text comes back the same. The error is schema.Diagnostics when src can't be parsed or
// has errors of YAML, or says that no form was found that keeps everything; src is then best left alone.
// It is called by the verb fmt.
// It needs up to four rounds, each of which parses the text two times, and a last look whether
// all values and comments are there.
func Format(src []byte) ([]byte, error) {
	// This tree is the measure of the meaning, so a faulty document is not formatted.
	before, ds := parse("", src)
	if len(ds) > 0 {
		return nil, ds
	}
	const most = 4 // rounds until nothing moves
	out := src
	for range most {
		next, err := formatOnce(out)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(next, out) {
			if err := lost(before, src, out); err != nil {
				return nil, err
			}
			return out, nil
		}
		out = next
	}
	return nil, errors.New("the document can't be formatted: its comments do not come to rest")
}

// formatOnce writes the document as the library does, with the blank lines of
// before.
func formatOnce(src []byte) ([]byte, error) {
	doc, err := document(src)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	d, err := yaml.NewDumper(&buf, yaml.WithIndent(2), yaml.WithCompactSeqIndent(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Dump(doc), d.Close()); err != nil {
		return nil, fmt.Errorf("the document can't be formatted: %w", err)
	}
	out := buf.Bytes()
	if !bytes.ContainsFunc(src, isMark) { // then each mark is from an escape, and stays one
		out = []byte(escapeMarks(string(out)))
	}
	// The new text is parsed for the new lines of its nodes.
	again, err := document(out)
	if err != nil {
		return nil, fmt.Errorf("the document can't be formatted: %w", err)
	}
	return arranged(src, doc, out, again), nil
}

// document parses a file with its comments, which the ordinary reading drops.
// It also takes an empty source, whose node has no content.
func document(src []byte) (*yaml.Node, error) {
	l, err := newLoader(src, maxDepth)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := l.Load(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, schema.Diagnostics{syntaxError("", src, err)}
	}
	spellNulls(&doc)
	return &doc, nil
}

// spellNulls spells values out that are absent in flow style, as in {a, b: }. The library would write them as empty texts.
func spellNulls(n *yaml.Node) {
	for i, c := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		if n.Style&yaml.FlowStyle != 0 && !key && c.Kind == yaml.ScalarNode && c.Tag == "!!null" && c.Value == "" {
			c.Value = "null"
		}
		spellNulls(c)
	}
}

// arranged puts a blank line into out before each line whose node had one in
// src, and its comments where they were. The trees have the same shape.
// Of several blank lines one stays. The library drops them all.
func arranged(src []byte, from *yaml.Node, out []byte, to *yaml.Node) []byte {
	in, lines := lines(src), lines(out)
	alignComments(in, from, lines, to)
	blank := make([]bool, len(lines)+1)
	pairs(from, to, func(a, b *yaml.Node) {
		if i, j := top(in, a), top(lines, b); i > 0 && j > 0 && j < len(lines) && isBlank(in[i-1]) {
			blank[j] = true
		}
	})
	var buf bytes.Buffer
	for i, line := range lines {
		if blank[i] && i > 0 && !isBlank(lines[i-1]) {
			buf.WriteByte('\n')
		}
		buf.WriteString(line)
		buf.WriteByte('\n')
	}
	return buf.Bytes()
}

// lines splits a source, without the empty end after the last line.
func lines(src []byte) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n"), "\n")
}

// top returns the index of the line where a node begins, or of the first of the
// comments right above it; 0 if the node does not begin its line.
func top(lines []string, n *yaml.Node) int {
	i := n.Line - 1
	if i <= 0 || i >= len(lines) || !beginsLine(lines[i], n.Column-1) {
		return 0
	}
	for i > 0 && strings.HasPrefix(strings.TrimLeft(lines[i-1], " \t"), "#") && indent(lines[i-1]) < n.Column {
		i-- // a comment that stands further in goes on from the end of a line
	}
	return i
}

// indent returns how far in a line begins.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// beginsLine reports whether before the column there are only spaces and dashes
// of lists.
// Dashes are there where a node is the first one of an item.
func beginsLine(line string, col int) bool {
	return col <= len(line) && strings.Trim(line[:max(col, 0)], " -") == ""
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// lost returns an error if the formatted document does not say the same, or lacks
// a comment.
// It keeps the promise of Format: no value and no comment is lost. Comments are counted,
// wherever they stand.
func lost(before *schema.Node, src, out []byte) error {
	after, ds := parse("", out)
	if len(ds) > 0 {
		return ds
	}
	if !equal(before, after) {
		return errors.New("the document can't be formatted without changing what it says")
	}
	a, err := document(src)
	if err != nil {
		return err
	}
	b, err := document(out)
	if err != nil {
		return err
	}
	kept := map[string]int{}
	for c := range comments(out, b) {
		kept[c]++
	}
	for c := range comments(src, a) {
		if kept[c]--; kept[c] < 0 {
			return fmt.Errorf("the document can't be formatted without losing the comment %q", c)
		}
	}
	return nil
}

// equal compares what two trees say.
// Positions and quotes do not count.
func equal(a, b *schema.Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text &&
		slices.EqualFunc(a.Items, b.Items, equal) &&
		slices.EqualFunc(a.Pairs, b.Pairs, func(p, q schema.Pair) bool { return p.Key == q.Key && equal(p.Value, q.Value) })
}
