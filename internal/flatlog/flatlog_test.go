package flatlog_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/reactivegraph/mgmt/internal/flatlog"
)

// TestHandler runs the suite of the standard library for handlers.
func TestHandler(t *testing.T) {
	var got map[string]any
	slogtest.Run(t, func(*testing.T) slog.Handler {
		return flatlog.New(slog.LevelInfo, func(rec slog.Record, attrs []slog.Attr) { got = tree(rec, attrs) })
	}, func(*testing.T) map[string]any { return got })
}

// tree returns a record in the form that the suite wants.
func tree(rec slog.Record, attrs []slog.Attr) map[string]any {
	out := map[string]any{slog.LevelKey: rec.Level, slog.MessageKey: rec.Message}
	if !rec.Time.IsZero() {
		out[slog.TimeKey] = rec.Time
	}
	for _, a := range attrs {
		m, path := out, strings.Split(a.Key, ".")
		for _, p := range path[:len(path)-1] {
			if m[p] == nil {
				m[p] = map[string]any{}
			}
			m = m[p].(map[string]any)
		}
		m[path[len(path)-1]] = a.Value.Any()
	}
	return out
}

// TestLoggersShareNothing: what one logger adds is not seen in its siblings.
func TestLoggersShareNothing(t *testing.T) {
	var keys []string
	base := slog.New(flatlog.New(slog.LevelWarn, func(_ slog.Record, attrs []slog.Attr) {
		var line []string
		for _, a := range attrs {
			line = append(line, a.Key)
		}
		keys = append(keys, strings.Join(line, " "))
	})).With("a", 1).WithGroup("g")
	one, two := base.With("b", 1, "c", 1), base.With("d", 1)
	one.Warn("x", "e", 1)
	two.Warn("x", slog.Group("h", "f", 1))
	base.Info("below the level")
	base.Warn("x")
	if got, want := strings.Join(keys, ", "), "a g.b g.c g.e, a g.d g.h.f, a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
