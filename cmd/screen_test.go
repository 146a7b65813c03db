package cmd

import (
	"bytes"
	"strings"
	"sync"
	"testing"
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

func columns(n int) func() int { return func() int { return n } }

// display is what a terminal shows after some output, without colours.
func display(out string) string {
	var done []string
	line := ""
	for out != "" {
		switch {
		case strings.HasPrefix(out, eraseLine):
			line, out = "", out[len(eraseLine):]
		case out[0] == '\n':
			done, line, out = append(done, line), "", out[1:]
		default:
			line, out = line+out[:1], out[1:]
		}
	}
	return strings.Join(append(done, line), "\n")
}

// TestScreenKeepsTheLiveLineBelow: in whatever order lines and live lines come,
// the terminal shows all lines, and below them the last live line only.
func TestScreenKeepsTheLiveLineBelow(t *testing.T) {
	g := newGate()
	close(g.open)
	s := newScreen(g, columns(40))
	for i := range 50 {
		s.show(strings.Repeat("live ", i%7))
		if i%3 == 0 {
			s.print("line\n")
		}
	}
	s.show("the last one")
	s.print("a\nb\n")
	for !strings.HasSuffix(display(g.String()), "b\nthe last one") {
		s.notice()
	}
	s.close()
	if want := strings.Repeat("line\n", 17) + "a\nb\n"; display(g.String()) != want {
		t.Errorf("the terminal shows %q, want %q", display(g.String()), want)
	}
}

func TestScreenOffATerminal(t *testing.T) {
	var buf bytes.Buffer
	s := newScreen(&buf, nil)
	s.show("live")
	s.print("line\n")
	s.close()
	if buf.String() != "line\n" {
		t.Errorf("written: %q", buf.String())
	}
}

// TestScreenDoesNotWait: who writes is not held up by a terminal that takes
// nothing; what was too much is counted.
func TestScreenDoesNotWait(t *testing.T) {
	g := newGate()
	s := newScreen(g, nil)
	line := strings.Repeat("x", 1<<16-1) + "\n"
	const n = 1000
	for range n {
		s.print(line)
	}
	close(g.open)
	s.close()
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
	s := newScreen(g, nil)
	for range 1000 {
		s.print("line\n")
	}
	close(g.open)
	s.close()
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
		{"1234567", 4, "1234"}, {"äöüß", 4, "äöüß"}, {"äöüßx", 4, "äöüß"}, {"abc", 0, "abc"}, {"", 5, ""},
	} {
		if got := cut(c.text, c.columns); got != c.want {
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
		if got := visible(in); got != want {
			t.Errorf("visible(%q) is %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2J\r\n\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		for line := range strings.SplitSeq(visible(in), "\n") {
			if i := strings.IndexFunc(line, isControl); i >= 0 {
				t.Errorf("%q shows %q", in, line[i:])
			}
		}
	})
}
