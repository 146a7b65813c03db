package cmd

import (
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/internal/flatlog"
)

// lineLog returns a handler that writes log records as lines for people:
//
//	2026-01-02T15:04:05.000Z INFO file[/etc/x]: message key=value
//
// and in short and in colour on a terminal. A logged text may hold anything; a
// record can neither forge another one nor move the cursor.
func lineLog(s *screen, st style, level slog.Leveler) slog.Handler {
	return flatlog.New(level, func(rec slog.Record, attrs []slog.Attr) {
		// print never blocks: a terminal that is stopped with Ctrl-S does not stop the engine.
		s.print(st.line(rec.Time, rec.Level, st.text(rec.Message, attrs)))
	})
}

// style says how a line looks.
type style struct {
	color bool
	short bool // only the time of day, and no level where it is INFO
}

// text is a message with its attributes, the resource in front.
func (s style) text(msg string, attrs []slog.Attr) string {
	var b strings.Builder
	who := ""
	for _, a := range attrs {
		// A second attribute of that name is shown like any other, so that a record can hide none.
		if a.Key == "resource" && who == "" {
			who = a.Value.String()
			continue
		}
		b.WriteString(" " + s.dim(bare(a.Key)+"=") + bare(a.Value.String()))
	}
	text := visible(msg)
	if who != "" {
		text = s.name(visible(who)) + ": " + text
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

// line returns a whole line of the log.
func (s style) line(at time.Time, level slog.Level, text string) string {
	if !s.short {
		// In UTC, the lines of machines in several zones sort. The form is RFC 3339 with milliseconds.
		return at.UTC().Format("2006-01-02T15:04:05.000Z ") + levelWord(level) + " " + text + "\n"
	}
	word := ""
	if level != slog.LevelInfo {
		word = s.paint(levelColor(level), levelWord(level)) + " "
	}
	return s.dim(at.Format(time.TimeOnly)) + " " + word + text + "\n"
}

// The colours, as a terminal numbers them.
const (
	// These are parameters of SGR (ECMA-48, select graphic rendition).
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
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
		return red
	case l >= slog.LevelWarn:
		return yellow
	default:
		return dim
	}
}

// paint colors a text where the output is a terminal.
func (s style) paint(color, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Names are bold and details are dim, so that the eye finds the resource first.
func (s style) dim(text string) string  { return s.paint(dim, text) }
func (s style) name(text string) string { return s.paint(bold, text) }
