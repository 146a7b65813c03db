package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// guardSent keeps what v itself sends and is secret out of all that it says. It
// is called after a run.
func (v *vertex) guardSent() {
	if len(v.sent) > 0 {
		v.guardList(slices.Collect(maps.Values(v.sent)))
	}
}

// maxGuarded bounds how many secrets of the past are remembered for a vertex.
const maxGuarded = 32

// guardList keeps the secret ones of some values out of all that v says.
func (v *vertex) guardList(vals []value) {
	var texts []string
	for _, val := range vals {
		if val.secret {
			eachText(val.v, func(s string, _ bool) { texts = append(texts, guises(s)...) })
		}
	}
	v.guard(texts)
}

// minLine is the length from which a line of a secret of many lines is one.
const minLine = 4

// guises returns the forms in which a secret stands in messages: as it is, without
// the space around it, quoted, and each of its lines.
func guises(s string) []string {
	list := []string{s, strings.TrimSpace(s)}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			list = append(list, line)
		}
	}
	for _, t := range list {
		quoted := strconv.Quote(t)
		list = append(list, quoted[1:len(quoted)-1])
	}
	return list
}

// guard keeps some texts out of all that v says.
func (v *vertex) guard(texts []string) {
	known := len(v.guarded)
	for _, s := range texts {
		if s != "" && !slices.Contains(v.guarded, s) {
			v.guarded = append(v.guarded, s)
		}
	}
	if len(v.guarded) == known {
		return
	}
	v.guarded = v.guarded[max(0, len(v.guarded)-maxGuarded):]
	var pairs []string
	for _, s := range slices.SortedFunc(slices.Values(v.guarded), longestFirst) {
		pairs = append(pairs, s, schema.Redacted)
	}
	v.redact.Store(strings.NewReplacer(pairs...))
}

// longestFirst makes a secret that holds another one be replaced as a whole.
func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// cleanText returns a text without the secrets that v knows.
func (v *vertex) cleanText(s string) string {
	if rep := v.redact.Load(); rep != nil {
		return rep.Replace(s)
	}
	return s
}

// cleanError returns an error whose text has no secret. What it wraps is gone
// if there was one.
func (v *vertex) cleanError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := v.cleanText(text); clean != text {
		return errors.New(clean)
	}
	return err
}

// clean returns changes without secrets: neither those that a tainted field
// holds nor those that stand in another text.
func (v *vertex) clean(cs []engine.Change) []engine.Change {
	if len(cs) == 0 || v.redact.Load() == nil && !v.hasSecretField() {
		return cs
	}
	out := make([]engine.Change, len(cs))
	for i, c := range cs {
		if v.secretField(c.Field) {
			c.From, c.To = hide(c.From), hide(c.To)
		}
		c.From, c.To = v.cleanValue(c.From), v.cleanValue(c.To)
		out[i] = c
	}
	return out
}

func (v *vertex) hasSecretField() bool {
	return slices.ContainsFunc(v.recv, func(w wire) bool { return w.value.secret })
}

// secretField reports whether what was received in a field, in one above or in
// one below it is secret.
func (v *vertex) secretField(path string) bool {
	return slices.ContainsFunc(v.recv, func(w wire) bool {
		return w.value.secret && (within(path, w.Field) || within(w.Field, path))
	})
}

func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func hide(x any) any {
	if x == nil || x == any(engine.Unknown) {
		return x
	}
	return schema.NewSecret(schema.Redacted)
}

func (v *vertex) cleanValue(x any) any {
	switch x := x.(type) {
	case string:
		return v.cleanText(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = v.cleanValue(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = v.cleanValue(x[k])
		}
		return out
	default:
		return x
	}
}

// logf implements Init.Logf.
func (v *vertex) logf(format string, args ...any) {
	v.r.log.Info(v.cleanText(fmt.Sprintf(format, args...)), slog.String("resource", v.id))
}

// vertexLog is the handler of Init.Log: it adds the resource and removes the
// secrets that it knows.
type vertexLog vertex

// Enabled implements slog.Handler.
func (l *vertexLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.r.log.Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *vertexLog) Handle(ctx context.Context, rec slog.Record) error {
	return l.r.log.Handler().Handle(ctx, (*vertex)(l).cleanRecord(rec))
}

// WithAttrs implements slog.Handler.
func (l *vertexLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &innerLog{(*vertex)(l), l.r.log.Handler().WithAttrs((*vertex)(l).cleanAttrs(attrs))}
}

// WithGroup implements slog.Handler.
func (l *vertexLog) WithGroup(name string) slog.Handler {
	return &innerLog{(*vertex)(l), l.r.log.Handler().WithGroup(name)}
}

// innerLog is a vertexLog with attributes or a group.
type innerLog struct {
	v *vertex
	slog.Handler
}

// Handle implements slog.Handler.
func (l *innerLog) Handle(ctx context.Context, rec slog.Record) error {
	return l.Handler.Handle(ctx, l.v.cleanRecord(rec))
}

// WithAttrs implements slog.Handler.
func (l *innerLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &innerLog{l.v, l.Handler.WithAttrs(l.v.cleanAttrs(attrs))}
}

// WithGroup implements slog.Handler.
func (l *innerLog) WithGroup(name string) slog.Handler {
	return &innerLog{l.v, l.Handler.WithGroup(name)}
}

func (v *vertex) cleanRecord(rec slog.Record) slog.Record {
	out := slog.NewRecord(rec.Time, rec.Level, v.cleanText(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(v.cleanAttr(a))
		return true
	})
	out.AddAttrs(slog.String("resource", v.id))
	return out
}

func (v *vertex) cleanAttrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i := range attrs {
		out[i] = v.cleanAttr(attrs[i])
	}
	return out
}

func (v *vertex) cleanAttr(a slog.Attr) slog.Attr {
	if v.redact.Load() == nil {
		return a
	}
	val := a.Value.Resolve()
	switch val.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(v.cleanAttrs(val.Group())...)}
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, v.cleanText(val.String()))
	default:
		return a
	}
}
