package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// Screen writes lines, and on a terminal keeps a live area below them that is
// rewritten in place. It is safe for concurrent use, and no caller waits for the
// terminal. A goroutine writes to it, from start to close, and surplus lines are
// dropped and counted.
// The owner calls Close once. After it, Print and Show are allowed and have no effect.
type Screen struct {
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

// NewScreen starts a screen.
// A nil size says that w is not a terminal: then there is no live area and no escape.
func NewScreen(w io.Writer, size func() (columns, rows int)) *Screen {
	s := &Screen{w: w, size: size, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go s.write()
	return s
}

// print writes whole lines above the live area. On a terminal they are broken between words.
// It never blocks. Text that would pass 4 MiB of waiting lines is dropped, and counted
// for a later line.
// The bound keeps a terminal that hangs from taking all memory; nothing but the log is lost by
// it.
func (s *Screen) print(text string) {
	if text == "" {
		return
	}
	if s.size != nil {
		columns, _ := s.size()
		text = render.Wrapped(text, columns-1)
	}
	s.mu.Lock()
	if len(s.pending)+len(text) > maxPending {
		s.dropped += render.Lines(text)
	} else {
		s.pending = append(s.pending, text...)
	}
	s.mu.Unlock()
	s.notice()
}

// Write implements io.Writer, for lines.
func (s *Screen) Write(line []byte) (int, error) {
	s.print(string(line))
	return len(line), nil
}

// show replaces the live area; without lines it goes away. Off a terminal it
// does nothing.
// Each line is cut to the width. The last column stays free, since some terminals begin a new line there.
// A line of a high area that the terminal has no room for is left out.
func (s *Screen) show(lines ...string) {
	if s.size == nil {
		return
	}
	columns, rows := s.size()
	live := make([]string, min(len(lines), max(1, rows-1)))
	for i := range live {
		live[i] = render.Cut(lines[i], columns-1)
	}
	s.mu.Lock()
	s.live = live
	s.mu.Unlock()
	s.notice()
}

// notice wakes the writer; one waiting token is enough.
func (s *Screen) notice() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close takes the live area away and waits until all is written, but not for
// ever.
// A terminal that was stopped with Ctrl-S must not keep the program from ending, so it
// waits one second at most.
func (s *Screen) Close() {
	s.show()
	close(s.stop)
	select {
	case <-s.done:
	case <-time.After(lastWait):
	}
}

// write writes pending lines until the end. One goroutine owns the output, so lines never
// mix.
func (s *Screen) write() {
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
func (s *Screen) take() []byte {
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
func (s *Screen) erase() []byte {
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
