package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
)

// Logf implements Init.Logf: it logs a line with the id of the resource, and without secrets.
func (l *Life) Logf(format string, args ...any) {
	l.env.opt.Logger.Info(l.Text(fmt.Sprintf(format, args...)), slog.String("resource", l.ID))
}

// logHandler is the handler of Init.Log. It adds the id of the resource, and removes secrets.
type logHandler Life

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, rec slog.Record) error {
	return h.to().Handle(ctx, (*Life)(h).record(rec))
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &innerHandler{(*Life)(h), h.to().WithAttrs((*Life)(h).attrs(attrs))}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &innerHandler{(*Life)(h), h.to().WithGroup(name)}
}

func (h *logHandler) to() slog.Handler { return h.env.opt.Logger.Handler() }

// innerHandler is a logHandler with attributes or a group.
type innerHandler struct {
	l *Life
	slog.Handler
}

// Handle implements slog.Handler.
func (h *innerHandler) Handle(ctx context.Context, rec slog.Record) error {
	return h.Handler.Handle(ctx, h.l.record(rec))
}

// WithAttrs implements slog.Handler.
func (h *innerHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &innerHandler{h.l, h.Handler.WithAttrs(h.l.attrs(attrs))}
}

// WithGroup implements slog.Handler.
func (h *innerHandler) WithGroup(name string) slog.Handler {
	return &innerHandler{h.l, h.Handler.WithGroup(name)}
}

func (l *Life) record(rec slog.Record) slog.Record {
	out := slog.NewRecord(rec.Time, rec.Level, l.Text(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(l.attr(a))
		return true
	})
	out.AddAttrs(slog.String("resource", l.ID))
	return out
}

func (l *Life) attrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i := range attrs {
		out[i] = l.attr(attrs[i])
	}
	return out
}

func (l *Life) attr(a slog.Attr) slog.Attr {
	if l.Clear() {
		return a
	}
	val := a.Value.Resolve()
	switch val.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(l.attrs(val.Group())...)}
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, l.Text(val.String()))
	default:
		return a
	}
}
