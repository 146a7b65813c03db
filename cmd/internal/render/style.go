package render

import (
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Moment writes a time: for people in their zone, for programs always in the same
// zone.
// On a terminal it is the local time to the second. Elsewhere it is UTC with
// milliseconds, so that lines of two machines sort.
func (s Style) Moment(at time.Time) string {
	if s.Short {
		return at.Local().Format("Jan _2 15:04:05")
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Style says how a line looks.
type Style struct {
	Color bool
	Short bool // only the time of day, and no level where it is INFO
}

// Text is a message with its attributes, the resource in front.
func (s Style) Text(msg string, attrs []slog.Attr) string {
	var b strings.Builder
	who := ""
	for _, a := range attrs {
		// A second attribute of that name is shown like any other, so that a record can hide none.
		if a.Key == "resource" && who == "" {
			who = a.Value.String()
			continue
		}
		b.WriteString(" " + s.Dim(bare(a.Key)+"=") + bare(a.Value.String()))
	}
	text := Visible(msg)
	if who != "" {
		text = s.Name(Visible(who)) + ": " + text
	}
	return text + b.String()
}

// bare returns a text as it is where it is one plain word, else quoted.
// Quotes, blanks, = and control characters need the quotes: a value then cannot look like another
// attribute.
func bare(s string) string {
	plain := func(r rune) bool { return r > ' ' && r != '"' && r != '=' && strconv.IsPrint(r) }
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return quote(s)
}

// quote writes a text so that it stays on one line of the log.
func quote(s string) string { return strconv.Quote(s) }

// Line returns a whole line of the log.
func (s Style) Line(at time.Time, level slog.Level, text string) string {
	if !s.Short {
		// In UTC, the lines of machines in several zones sort. The form is RFC 3339 with milliseconds.
		return at.UTC().Format("2006-01-02T15:04:05.000Z ") + levelWord(level) + " " + text + "\n"
	}
	word := ""
	if level != slog.LevelInfo {
		word = s.Paint(levelColor(level), levelWord(level)) + " "
	}
	return s.Dim(at.Format(time.TimeOnly)) + " " + word + text + "\n"
}

// The colours, as a terminal numbers them.
const (
	// These are parameters of SGR (ECMA-48, select graphic rendition).
	bold   = "1"
	dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	blue   = "34"

	Reverse = "7" // what is selected
)

// levelWord returns a level as text. The level between information and warning is a
// provider's notice.
func levelWord(l slog.Level) string {
	if l > slog.LevelInfo && l < slog.LevelWarn {
		return "NOTICE"
	}
	return l.String()
}

// levelColor is the color of a level in the log.
func levelColor(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return Red
	case l >= slog.LevelWarn:
		return Yellow
	default:
		return dim
	}
}

// Paint colors a text where the output is a terminal.
func (s Style) Paint(color, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Names are bold and details are dim, so that the eye finds the resource first.
func (s Style) Dim(text string) string { return s.Paint(dim, text) }

func (s Style) Name(text string) string { return s.Paint(bold, text) }

// WellColor is green where every resource is as wanted.
func WellColor(c reactor.Counts) string {
	if c.Well() {
		return Green
	}
	return Yellow
}
