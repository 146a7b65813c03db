package reactor

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// guardSent keeps what v itself sends and is secret out of all that it says. It
// is called after a run.
func (v *vertex) guardSent() {
	if len(v.run.sent) > 0 {
		v.guardList(slices.Collect(maps.Values(v.run.sent)))
	}
}

const (
	// maxGuarded bounds how many secrets are kept out of what one vertex says.
	maxGuarded = 256
	// maxShared bounds how many secrets are kept out of everything.
	maxShared = 1 << 15
	// minShared is the length from which a secret is kept out of what other
	// vertices say: shorter ones are found in too many texts that have nothing to
	// do with them.
	minShared = 6
)

// guardList keeps the secret ones of some values out of all that v says, and what
// is long enough also out of what others say: a command of another vertex may
// print what this one has written.
func (v *vertex) guardList(vals []values.Value) {
	for _, val := range vals {
		if val.Secret {
			values.EachText(val.V, func(s string, _ bool) { v.guard(s) })
		}
	}
}

// guardDeclared does that for the secrets that the graph itself declares.
func (v *vertex) guardDeclared() {
	if !v.abil.secret {
		return
	}
	x, err := schema.Encode(v.res)
	if err != nil {
		return // it is not what its type says; Init will tell
	}
	values.EachText(x, func(s string, secret bool) {
		if secret {
			v.guard(s)
		}
	})
}

// guard keeps a secret out of all that v says.
func (v *vertex) guard(secret string) {
	g := v.redact.Load()
	if g == nil {
		v.redact.CompareAndSwap(nil, &secrets.Texts{Most: maxGuarded})
		g = v.redact.Load()
	}
	g.Add(secret)
	v.r.secrets.Add(secret)
}

// guardLike keeps out of what v says what its predecessor has kept out.
func (v *vertex) guardLike(old *vertex) {
	g := old.redact.Load()
	if g == nil || v.redact.CompareAndSwap(nil, g) {
		return
	}
	if own := v.redact.Load(); own != g {
		own.AddAll(g)
	}
}

// cleanText returns a text without the secrets that v knows, and without those of
// the others.
func (v *vertex) cleanText(s string) string {
	if g := v.redact.Load(); g != nil {
		s = g.Clean(s)
	}
	return v.r.secrets.Clean(s)
}

// nothingToHide reports whether there is no secret that v could say.
func (v *vertex) nothingToHide() bool {
	return v.redact.Load() == nil && v.r.secrets.Len() == 0
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
	if len(cs) == 0 || v.nothingToHide() && !v.wired().HasSecret() {
		return cs
	}
	out := make([]engine.Change, len(cs))
	for i, c := range cs {
		if v.wired().IsSecret(c.Field) {
			c.From, c.To = hide(c.From), hide(c.To)
		}
		c.From, c.To = v.cleanValue(c.From), v.cleanValue(c.To)
		out[i] = c
	}
	return out
}

// shownOf returns the digest of confined text, and all else as it is.
func (r *Reactor) shownOf(x any) any {
	if c, ok := x.(schema.Confined); ok {
		return c.Digest(r.digests)
	}
	return x
}

// digestKey returns a random key: digests of short texts could be found by trying
// otherwise.
func digestKey() []byte {
	key := make([]byte, 32)
	_, _ = crand.Read(key) // never fails
	return key
}

func hide(x any) any {
	if x == nil || x == any(engine.Unknown) {
		return x
	}
	return schema.NewSecret(schema.Redacted)
}

func (v *vertex) cleanValue(x any) any {
	if g := v.redact.Load(); g != nil {
		x = g.Value(x)
	}
	return v.r.secrets.Value(x)
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
	if v.nothingToHide() {
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

// mayHoldSecret reports whether a value of a type may have a secret in it.
func mayHoldSecret(t *schema.Type) bool {
	return t.Some(func(t *schema.Type) bool { return t.Secret || t.Kind == schema.KindAny })
}
