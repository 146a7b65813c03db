package main

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// screen writes lines, and on a terminal keeps one more below them that is
// rewritten in place. It is safe for concurrent use.
type screen struct {
	w     io.Writer
	width func() int // of the terminal in columns; nil when it is none

	mu   sync.Mutex
	live string
}

const eraseLine = "\r\x1b[K"

// print writes whole lines above the live one.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == "" {
		_, _ = io.WriteString(s.w, text)
		return
	}
	_, _ = io.WriteString(s.w, eraseLine+text+s.live)
}

// show replaces the live line; an empty text takes it away. Off a terminal it
// does nothing.
func (s *screen) show(text string) {
	if s.width == nil {
		return
	}
	text = cut(text, s.width()-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.live {
		return
	}
	s.live = text
	_, _ = io.WriteString(s.w, eraseLine+text)
}

// cut shortens a text without escapes to a number of columns.
func cut(text string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns])
}

// visible returns a text on lines that a terminal shows as they are: control
// characters are written as Go writes them, new lines are indented.
func visible(text string) string {
	text = strings.TrimRight(text, "\n")
	if !strings.ContainsFunc(text, isControl) && utf8.ValidString(text) {
		return strings.ReplaceAll(text, "\n", "\n    ")
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n    ")
		case isControl(r):
			q := quote(string(r))
			b.WriteString(q[1 : len(q)-1])
		case r == utf8.RuneError:
			b.WriteString(invalid(text[i:]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isControl reports whether a character may do something to a terminal, or is
// not to be seen.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

func invalid(text string) string {
	if _, n := utf8.DecodeRuneInString(text); n == 3 {
		return string(utf8.RuneError)
	}
	q := quote(text[:1])
	return q[1 : len(q)-1]
}
