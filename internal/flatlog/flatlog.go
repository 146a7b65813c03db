// Package flatlog hands over records of slog with their attributes in one flat list. The handlers
// of the log's lines and of systemd's journal stand on it.
package flatlog

import (
	"context"
	"log/slog"
)

// Handler is a slog.Handler. The key of an attribute in a group has the names of the groups
// before it, each followed by a dot.
type Handler struct {
	level  slog.Leveler
	write  func(slog.Record, []slog.Attr)
	prefix string      // of the keys
	attrs  []slog.Attr // with their prefixes
}

// New returns a Handler of records from that level on. Each goes to write with all its attributes,
// the logger's own first. Write is called on the goroutine that logs, also on several at once.
func New(level slog.Leveler, write func(slog.Record, []slog.Attr)) *Handler {
	return &Handler{level: level, write: write}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler.
func (h *Handler) Handle(_ context.Context, rec slog.Record) error {
	attrs := h.attrs[:len(h.attrs):len(h.attrs)]
	rec.Attrs(func(a slog.Attr) bool {
		attrs = appendFlat(attrs, h.prefix, a)
		return true
	})
	h.write(rec, attrs)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		next.attrs = appendFlat(next.attrs, h.prefix, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.prefix += name + "."
	return &next
}

// Flat returns attributes in one flat list, with the names of their groups in their keys.
func Flat(attrs []slog.Attr) []slog.Attr {
	return appendFlat(nil, "", slog.Attr{Value: slog.GroupValue(attrs...)})
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
