package command

import (
	"bytes"
	"slices"
	"strings"
)

// DefaultPath is the only variable of a command's environment that is there
// without being asked for.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// MinHidden is the length from which the value of a variable is kept out of an error.
const MinHidden = 4

// What an error tells of the output of a command.
const (
	tailLines = 5
	tailLine  = 200 // bytes of each line

	tailPiece = 64 << 10 // from this length on it is a piece of a line
)

// Tail keeps the last lines of an output, shortened. Where something is left out there is
// an ellipsis, by which the engine knows what is left of a secret.
type Tail struct {
	lines []string
	piece bool // the last line was cut
}

func (t *Tail) Add(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	s := string(line[:min(len(line), tailLine)])
	if t.piece {
		s = "..." + s
	}
	t.piece = len(line) >= tailPiece
	if len(line) > tailLine {
		s += "..."
	}
	if len(t.lines) == tailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, strings.ToValidUTF8(s, "\uFFFD"))
}

func (t *Tail) AddAll(out []byte) {
	for line := range bytes.Lines(out) {
		t.Add(line)
	}
}

func (t *Tail) Empty() bool { return len(t.lines) == 0 }

// String returns the lines on one line.
func (t *Tail) String() string { return strings.Join(t.lines, "; ") }
