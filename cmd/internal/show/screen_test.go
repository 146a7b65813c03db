package show

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// gate is a writer that waits until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	buf  bytes.Buffer
	n    int
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	return g.buf.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func columns(n int) func() (int, int) { return func() (int, int) { return n, 24 } }

// terminal is what a terminal shows that puts long lines on several rows, and does that anew when it gets another width.
type terminal struct {
	columns int
	lines   []string // without the breaks of rows
	line    int      // the cursor,
	at      int      // from 0 to the length of the line
	full    bool     // it is behind the last character of its row, where that is full
}

// row returns the row of the cursor among all, and the rows of all lines.
func (t *terminal) row() (row int, rows [][2]int) {
	for i, line := range t.lines {
		for at := 0; at == 0 || at < len(line); at += t.columns {
			if i == t.line && (at < t.at || at == t.at && !t.full) {
				row = len(rows)
			}
			rows = append(rows, [2]int{i, at})
		}
	}
	return row, rows
}

// write shows an output, of characters with one byte.
func (t *terminal) write(out string) *terminal {
	if t.lines == nil {
		t.lines = []string{""}
	}
	for out != "" {
		var n int
		switch {
		case strings.HasPrefix(out, eraseBelow):
			t.lines[t.line], t.lines = t.lines[t.line][:t.at], t.lines[:t.line+1]
			out = out[len(eraseBelow):]
		case strings.HasPrefix(out, wrapOff), strings.HasPrefix(out, wrapOn):
			out = out[len(wrapOn):]
		case out[0] == '\r':
			row, rows := t.row()
			t.at, t.full, out = rows[row][1], false, out[1:]
		case out[0] == '\n':
			t.lines, t.line, t.at, out = append(t.lines, ""), t.line+1, 0, out[1:]
			t.full = false
		default:
			if _, err := fmt.Sscanf(out, "\x1b[%dA", &n); err == nil {
				row, rows := t.row()
				up := rows[max(0, row-n)]
				t.line, t.at, t.full = up[0], up[1], false
				out = out[strings.Index(out, "A")+1:]
				continue
			}
			t.lines[t.line], t.at, out = t.lines[t.line][:t.at]+out[:1], t.at+1, out[1:]
			t.full = t.at%t.columns == 0
		}
	}
	return t
}

// display is what a terminal of 80 columns shows after some output, without colours.
func display(out string) string {
	return strings.Join((&terminal{columns: 80}).write(out).lines, "\n")
}

// TestScreenKeepsTheLiveAreaBelow: in whatever order lines and live areas come,
// the terminal shows all lines, and below them the last live area only.
func TestScreenKeepsTheLiveAreaBelow(t *testing.T) {
	g := newGate()
	close(g.open)
	s := NewScreen(g, columns(40))
	for i := range 50 {
		s.show(slices.Repeat([]string{"live"}, i%7)...)
		if i%3 == 0 {
			s.print("line\n")
		}
	}
	s.show("the last one", "of two")
	s.print("a\nb\n")
	for !strings.HasSuffix(display(g.String()), "b\nthe last one\nof two") {
		s.notice()
	}
	s.Close()
	if want := strings.Repeat("line\n", 17) + "a\nb\n"; display(g.String()) != want {
		t.Errorf("the terminal shows %q, want %q", display(g.String()), want)
	}
}

// TestFindingQ15Resize: on a terminal that becomes narrower, the live area is on more rows than it was written on. It is erased
// all the same, and nothing above it.
func TestFindingQ15Resize(t *testing.T) {
	for _, to := range []int{200, 80, 61, 60, 59, 30, 20, 7} {
		tty := &terminal{columns: 160}
		s := &Screen{size: func() (int, int) { return tty.columns, 24 }, wake: make(chan struct{}, 1)}
		long := "  12s  exec[" + strings.Repeat("x", 47) + "]" // 60 columns
		s.print("above\n")
		s.show("3 running", long, "   2s  exec[short]")
		tty.write(string(s.take()))
		tty.columns = to
		s.print("new\n")
		s.show("2 running", long)
		tty.write(string(s.take()))
		want := []string{"above", "new", render.Cut("2 running", to-1), render.Cut(long, to-1)}
		if !slices.Equal(tty.lines, want) {
			t.Errorf("%d columns show\n%s\nwant\n%s", to, strings.Join(tty.lines, "\n"), strings.Join(want, "\n"))
		}
		s.show()
		tty.write(string(s.take()))
		if !slices.Equal(tty.lines, []string{"above", "new", ""}) {
			t.Errorf("%d columns show at the end\n%s", to, strings.Join(tty.lines, "\n"))
		}
	}
}

// TestFindingQ15LowTerminal: a terminal of few rows shows the first lines of the area.
func TestFindingQ15LowTerminal(t *testing.T) {
	s := &Screen{size: func() (int, int) { return 80, 3 }, wake: make(chan struct{}, 1)}
	s.show("a", "b", "c", "d")
	if got := display(string(s.take())); got != "a\nb" {
		t.Errorf("three rows show %q", got)
	}
}

// TestFindingQ15Wrapped: what is long is broken between words, and an escape takes no column.
func TestFindingQ15Wrapped(t *testing.T) {
	const red = "\x1b[31m"
	for in, want := range map[string]string{
		"one two three\n":                     "one two three\n",
		"one two three four\n":                "one two three\n    four\n",
		"one two three  four\nfive\n":         "one two three\n    four\nfive\n",
		red + "one\x1b[0m two three\n":        red + "one\x1b[0m two three\n",
		red + "one\x1b[0m two threes\n":       red + "one\x1b[0m two\n    threes\n",
		"    deep one two three\n":            "    deep one\n    two three\n",
		"https://example.org/long a\n":        "https://example.org/long\n    a\n",
		"a https://example.org/long b\n":      "a https://example.org/long\n    b\n",
		"ab cde https://example.org/long b\n": "ab cde\n    https://example.org/long\n    b\n",
	} {
		if got := render.Wrapped(in, 13); got != want {
			t.Errorf("wrapped(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestScreenOffATerminal(t *testing.T) {
	var buf bytes.Buffer
	s := NewScreen(&buf, nil)
	s.show("live")
	s.print("line\n")
	s.Close()
	if buf.String() != "line\n" {
		t.Errorf("written: %q", buf.String())
	}
}

// TestScreenDoesNotWait: who writes is not held up by a terminal that takes
// nothing; what was too much is counted.
func TestScreenDoesNotWait(t *testing.T) {
	g := newGate()
	s := NewScreen(g, nil)
	line := strings.Repeat("x", 1<<16-1) + "\n"
	const n = 1000
	for range n {
		s.print(line)
	}
	close(g.open)
	s.Close()
	whole := strings.Count(g.String(), line)
	if whole < maxPending/len(line) || whole > 2*maxPending/len(line)+1 {
		t.Errorf("%d lines were written", whole)
	}
	if want := "lines were dropped"; !strings.Contains(g.String(), want) {
		t.Errorf("it is not said that %s", want)
	}
}

func TestScreenBatches(t *testing.T) {
	g := newGate()
	s := NewScreen(g, nil)
	for range 1000 {
		s.print("line\n")
	}
	close(g.open)
	s.Close()
	if strings.Count(g.String(), "line\n") != 1000 || g.n > 3 {
		t.Errorf("%d lines in %d writes", strings.Count(g.String(), "line\n"), g.n)
	}
}

func TestLiveLineIsCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"12345678", 7, "1234..."}, {"1234", 3, "123"}, {"äöüß", 4, "äöüß"}, {"äöüßxy", 5, "äö..."}, {"abc", 0, "abc"}, {"", 5, ""},
	} {
		if got := render.Cut(c.text, c.columns); got != c.want {
			t.Errorf("cut(%q, %d) is %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// TestVisible: nothing that is shown moves the cursor, changes the colour or
// pretends to be another line.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"a\nb\n":             "a\n    b",
		"red \x1b[31m":       `red \x1b[31m`,
		"over\rwritten":      `over\rwritten`,
		"bad \xff utf":       `bad \xff utf`,
		"real \ufffd":        "real \ufffd",
		"tab\there":          "tab\there",
		"\u202eturned":       `\u202eturned`,
		"c1 \u009b31m":       `c1 \u009b31m`,
		"two\nlines\x00\n\n": "two\n    lines\\x00",
	} {
		if got := render.Visible(in); got != want {
			t.Errorf("visible(%q) is %q, want %q", in, got, want)
		}
	}
}
