package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Larger texts are not compared line by line, only told.
const (
	// In bytes, for each of the two texts. The comparison of large texts takes time and memory.
	maxDiffBytes = 1 << 20
	maxDiffLines = 2000 // of the output
)

// incomparable reports why two texts are not compared line by line, or "".
func incomparable(from, to string) string {
	switch {
	case len(from) > maxDiffBytes || len(to) > maxDiffBytes:
		return "too large to show"
	case isBinary(from) || isBinary(to):
		return "not text"
	default:
		return ""
	}
}

// isBinary reports whether a text can't be shown line by line.
// A NUL byte is the mark that git and grep go by, too.
func isBinary(s string) bool { return strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) }

// unified returns the difference of two texts as lines of a unified diff, without
// the file names. Texts that are not compared give one line, which says why.
func unified(from, to string) []string {
	if why := incomparable(from, to); why != "" {
		return []string{fmt.Sprintf("(%d bytes -> %d bytes, %s)", len(from), len(to), why)}
	}
	text := udiff.Unified("", "", from, to)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 2 {
		lines = lines[2:] // --- and +++
	}
	if n := len(lines) - maxDiffLines; n > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("(%d more lines)", n))
	}
	return lines
}

// LineCounts says how many lines come and go between two texts.
func LineCounts(from, to string) string {
	if why := incomparable(from, to); why != "" {
		return fmt.Sprintf("%d bytes -> %d bytes", len(from), len(to))
	}
	added, removed := 0, 0
	for _, e := range udiff.Lines(from, to) {
		added += Lines(e.New)
		removed += Lines(from[e.Start:e.End])
	}
	return fmt.Sprintf("+%d -%d lines", added, removed)
}

// Lines counts the lines of a text, where the last one may have no end.
func Lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// WriteDiff writes a unified diff; control characters are made visible in it.
// Each line is indented below its change. Colours mark lines that come and lines that go.
func WriteDiff(w *strings.Builder, s Style, from, to string) {
	for _, line := range unified(from, to) {
		text := strings.ReplaceAll(Visible(line), "\n", "")
		switch {
		case strings.HasPrefix(line, "+"):
			text = s.Paint(Green, text)
		case strings.HasPrefix(line, "-"):
			text = s.Paint(Red, text)
		case strings.HasPrefix(line, "@@"):
			text = s.Dim(text)
		}
		w.WriteString("    " + text + "\n")
	}
}
