package cmd

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// lineHandler writes log records as lines for people:
//
//	2026-01-02T15:04:05.000Z INFO file[/etc/x]: message key=value
//
// and in short and in colour on a terminal. What is logged may hold anything; a
// record can neither forge another one nor move the cursor.
type lineHandler struct {
	screen *screen
	style  style
	level  slog.Leveler
	prefix string      // of the keys
	attrs  []slog.Attr // with their prefixes
}

// style says how a line looks.
type style struct {
	color bool
	short bool // only the time of day, and no level where it is INFO
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, rec slog.Record) error {
	h.screen.print(h.style.line(rec.Time, rec.Level, h.text(rec.Message, h.all(rec))))
	return nil
}

// all returns the attributes of a record, those of the handler first.
func (h *lineHandler) all(rec slog.Record) []slog.Attr {
	attrs := h.attrs[:len(h.attrs):len(h.attrs)]
	rec.Attrs(func(a slog.Attr) bool {
		attrs = appendFlat(attrs, h.prefix, a)
		return true
	})
	return attrs
}

// text is a message with its attributes, the resource in front.
func (h *lineHandler) text(msg string, attrs []slog.Attr) string {
	var b strings.Builder
	who := ""
	for _, a := range attrs {
		if a.Key == "resource" && who == "" {
			who = a.Value.String()
			continue
		}
		b.WriteString(" " + h.style.dim(bare(a.Key)+"=") + bare(a.Value.String()))
	}
	text := visible(msg)
	if who != "" {
		text = h.style.name(visible(who)) + ": " + text
	}
	return text + b.String()
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.with(attrs) }

func (h *lineHandler) with(attrs []slog.Attr) *lineHandler {
	next := *h
	next.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		next.attrs = appendFlat(next.attrs, h.prefix, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler { return h.within(name) }

func (h *lineHandler) within(name string) *lineHandler {
	if name == "" {
		return h
	}
	next := *h
	next.prefix += name + "."
	return &next
}

// appendFlat appends an attribute, those of a group one by one.
func appendFlat(list []slog.Attr, prefix string, a slog.Attr) []slog.Attr {
	a.Value = a.Value.Resolve()
	if a.Value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return list
		}
		a.Key = prefix + a.Key
		return append(list, a)
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, inner := range a.Value.Group() {
		list = appendFlat(list, prefix, inner)
	}
	return list
}

// bare returns a text as it is where it is one plain word, else quoted.
func bare(s string) string {
	plain := func(r rune) bool { return r > ' ' && r != '"' && r != '=' && strconv.IsPrint(r) }
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return quote(s)
}

func quote(s string) string { return strconv.Quote(s) }

// line returns a whole line of the log.
func (s style) line(at time.Time, level slog.Level, text string) string {
	if !s.short {
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
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

// levelWord returns a level as text. What is between information and warning is what a
// provider calls a notice.
func levelWord(l slog.Level) string {
	if l > slog.LevelInfo && l < slog.LevelWarn {
		return "NOTICE"
	}
	return l.String()
}

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

func (s style) paint(color, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (s style) dim(text string) string  { return s.paint(dim, text) }
func (s style) name(text string) string { return s.paint(bold, text) }
