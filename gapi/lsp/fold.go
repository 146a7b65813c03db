package lsp

import "strings"

// foldingRange is a part of a document that an editor can fold. The first line stays visible.
type foldingRange struct {
	Start int    `json:"startLine"`
	End   int    `json:"endLine"`
	Kind  string `json:"kind,omitempty"` // comment, or empty
}

// maxFolds bounds an answer. A longer list would cost more than a person can use.
const maxFolds = 10_000

// folds answers a request for the parts of a document that can be folded: each key and each entry with the deeper lines below it, and comments of
// several lines. A document that is being typed need not be YAML, so the indentation alone counts. It takes one walk over the lines.
func (s *server) folds(p struct {
	Document document `json:"textDocument"`
}) (any, error) {
	d := s.docs[keyOf(p.Document.URI)]
	if d == nil {
		return []foldingRange{}, nil
	}
	f := folder{ranges: []foldingRange{}, comment: -1}
	for n := range d.text.lines {
		f.line(n, d.text.line(n))
	}
	f.endComment(len(d.text.lines) - 1)
	f.close(0)
	return f.ranges, nil
}

// folder finds the parts of one document.
type folder struct {
	ranges  []foldingRange
	open    []head // the lines around, outermost first
	last    int    // the last line with a key, an entry or a text
	comment int    // where a comment of whole lines began; -1 for none
}

// head is a line that may have deeper ones below it.
type head struct{ line, level int }

// line takes the next line.
func (f *folder) line(n int, s string) {
	text := strings.TrimLeft(s, " \t")
	switch {
	case strings.HasPrefix(text, "#"):
		if f.comment < 0 {
			f.comment = n
		}
		return
	case strings.TrimSpace(text) == "":
		f.endComment(n - 1)
		return
	}
	f.endComment(n - 1)
	// An entry of a list may stand in the column of the key of that list, and is deeper than it.
	level := 2 * (len(s) - len(text))
	if len(cut(s).dashes) > 0 {
		level++
	}
	f.close(level)
	f.open, f.last = append(f.open, head{n, level}), n
}

// close ends the lines of a level, and those that are deeper.
func (f *folder) close(level int) {
	for len(f.open) > 0 && f.open[len(f.open)-1].level >= level {
		h := f.open[len(f.open)-1]
		f.open = f.open[:len(f.open)-1]
		f.add(foldingRange{Start: h.line, End: f.last})
	}
}

// endComment ends a comment of whole lines. The comment above a key does not belong to the lines before it.
func (f *folder) endComment(last int) {
	if f.comment >= 0 {
		f.add(foldingRange{Start: f.comment, End: last, Kind: "comment"})
	}
	f.comment = -1
}

// add notes a part of several lines.
func (f *folder) add(r foldingRange) {
	if r.End > r.Start && len(f.ranges) < maxFolds {
		f.ranges = append(f.ranges, r)
	}
}
