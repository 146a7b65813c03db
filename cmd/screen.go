package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// screen writes lines, and on a terminal keeps a live area below them that is
// rewritten in place. It is safe for concurrent use, and no caller waits for the
// terminal. A goroutine writes to it, from start to close, and surplus lines are
// dropped and counted.
// The owner calls close once. After it, print and show are allowed and have no effect.
type screen struct {
	w    io.Writer
	size func() (columns, rows int) // of the terminal; nil when it is none

	// wake has capacity one: a token says that there may be something to write.
	wake chan struct{}
	stop chan struct{}
	done chan struct{} // closed when all is written

	// mu guards the fields below it. It is never held while the output is written.
	mu      sync.Mutex
	pending []byte
	dropped int      // lines
	live    []string // the lines of the live area
	shown   []string // those that were written last
}

// maxPending is in bytes.
const (
	maxPending = 4 << 20
	lastWait   = time.Second // how long close waits for a writer that hangs
)

// newScreen starts a screen.
// A nil size says that w is not a terminal: then there is no live area and no escape.
func newScreen(w io.Writer, size func() (columns, rows int)) *screen {
	s := &screen{w: w, size: size, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go s.write()
	return s
}

// print writes whole lines above the live area. On a terminal they are broken between words.
// It never blocks. Text that would pass 4 MiB of waiting lines is dropped, and counted
// for a later line.
// The bound keeps a terminal that hangs from taking all memory; nothing but the log is lost by
// it.
func (s *screen) print(text string) {
	if text == "" {
		return
	}
	if s.size != nil {
		columns, _ := s.size()
		text = wrapped(text, columns-1)
	}
	s.mu.Lock()
	if len(s.pending)+len(text) > maxPending {
		s.dropped += lines(text)
	} else {
		s.pending = append(s.pending, text...)
	}
	s.mu.Unlock()
	s.notice()
}

// Write implements io.Writer, for lines.
func (s *screen) Write(line []byte) (int, error) {
	s.print(string(line))
	return len(line), nil
}

// show replaces the live area; without lines it goes away. Off a terminal it
// does nothing.
// Each line is cut to the width. The last column stays free, since some terminals begin a new line there.
// A line of a high area that the terminal has no room for is left out.
func (s *screen) show(lines ...string) {
	if s.size == nil {
		return
	}
	columns, rows := s.size()
	live := make([]string, min(len(lines), max(1, rows-1)))
	for i := range live {
		live[i] = cut(lines[i], columns-1)
	}
	s.mu.Lock()
	s.live = live
	s.mu.Unlock()
	s.notice()
}

// notice wakes the writer; one waiting token is enough.
func (s *screen) notice() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close takes the live area away and waits until all is written, but not for
// ever.
// A terminal that was stopped with Ctrl-S must not keep the program from ending, so it
// waits one second at most.
func (s *screen) close() {
	s.show()
	close(s.stop)
	select {
	case <-s.done:
	case <-time.After(lastWait):
	}
}

// write writes pending lines until the end. One goroutine owns the output, so lines never
// mix.
func (s *screen) write() {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
			_, _ = s.w.Write(s.take())
		// Only close sends this. The text that came before it is still written.
		case <-s.stop:
			_, _ = s.w.Write(s.take())
			return
		}
	}
}

// Escapes of a terminal. Without wrapping, a line whose characters take two columns each stays on one row.
const (
	eraseBelow = "\x1b[J"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
)

// take returns the text that has to be written now.
// The live area is erased before other text and written again behind it.
func (s *screen) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.pending
	s.pending = nil
	if s.dropped > 0 {
		out = fmt.Appendf(out, "%d lines were dropped: they came faster than they could be written\n", s.dropped)
		s.dropped = 0
	}
	if len(out) == 0 && slices.Equal(s.live, s.shown) {
		return nil
	}
	if len(s.shown) > 0 {
		out = slices.Concat(s.erase(), out)
	}
	s.shown = s.live
	if len(s.live) == 0 {
		return out
	}
	return append(append(append(out, wrapOff...), strings.Join(s.live, "\n")...), wrapOn...)
}

// erase returns what goes to the first row of the live area, and erases from there on. A terminal that has become narrower
// since the area was written has put its lines on more rows.
func (s *screen) erase() []byte {
	columns, _ := s.size()
	up := -1
	for _, line := range s.shown {
		up += max(1, (utf8.RuneCountInString(line)+columns-1)/columns)
	}
	if up > 0 {
		return fmt.Appendf(nil, "\r\x1b[%dA%s", up, eraseBelow)
	}
	return []byte("\r" + eraseBelow)
}

// wrapped breaks lines that are too long for a terminal, between words, and indents the rest. A word that is too long itself
// stays whole.
func wrapped(text string, columns int) string {
	const indent = "    "
	var b strings.Builder
	for line := range strings.Lines(text) {
		if columnsOf(line) <= columns+1 { // with its end
			b.WriteString(line)
			continue
		}
		rest := strings.TrimLeft(line, " ")
		at := len(line) - len(rest)
		b.WriteString(line[:at])
		for i, word := range strings.Fields(rest) {
			n := columnsOf(word)
			switch {
			case i == 0:
			case at > len(indent) && at+1+n > columns:
				b.WriteString("\n" + indent)
				at = len(indent)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// columnsOf counts the characters of a text without its colours.
func columnsOf(text string) int {
	n := utf8.RuneCountInString(text)
	for {
		_, rest, ok := strings.Cut(text, "\x1b[")
		if !ok {
			return n
		}
		color, rest, _ := strings.Cut(rest, "m")
		n -= len("\x1b[m") + len(color)
		text = rest
	}
}

// cut shortens a text without escapes to a number of columns, and marks that.
// It counts characters and not the columns of wide ones: a line that is too long by a few
// is cut by the terminal.
func cut(text string, columns int) string {
	const mark = "..."
	switch {
	case columns < 1 || utf8.RuneCountInString(text) <= columns:
		return text
	case columns <= len(mark):
		return string([]rune(text)[:columns])
	default:
		return string([]rune(text)[:columns-len(mark)]) + mark
	}
}

// visible returns a text on lines that a terminal shows as they are: control
// characters are written as Go writes them, new lines are indented.
// It is for every text that comes from outside: names, errors, outputs of programs. Without it
// such a text could move the cursor, or look like another line.
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

// onTerminal returns a text of several lines for an output: made visible for a terminal, and as it is for a file or a pipe.
func onTerminal(w io.Writer, text string) string {
	if terminalSize(w) == nil {
		return text
	}
	return visibleLines(text)
}

// isControl reports whether a character may do something to a terminal, or is
// not to be seen.
// The marks of direction count, too: by them a text may read as another one.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// invalid shows a byte that belongs to no character.
func invalid(text string) string {
	if _, n := utf8.DecodeRuneInString(text); n == 3 {
		return string(utf8.RuneError)
	}
	q := quote(text[:1])
	return q[1 : len(q)-1]
}
