package show

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// testLog returns a logger of lines, and a function that ends it and returns
// what it wrote.
func testLog(st render.Style, level slog.Level) (*slog.Logger, func() string) {
	var buf bytes.Buffer
	s := NewScreen(&buf, nil)
	return slog.New(LineLog(s, st, level)), func() string {
		s.Close()
		return buf.String()
	}
}

// withoutTime takes the times off lines.
func withoutTime(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(line, " ")
		b.WriteString(rest)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	log, end := testLog(render.Style{}, slog.LevelInfo)
	log.Debug("not shown")
	log.Info("hello", "count", 3, "took", time.Second, "text", "two words", "empty", "")
	log.Warn("forged\n2026-01-01T00:00:00.000Z ERROR x", "key", "a\nb", "esc", "\x1b[2J")
	log.With("resource", "file[/x]").WithGroup("g").Error("bad", "error", errors.New("no such thing"), slog.Group("in", "x", 1))
	want := `INFO hello count=3 took=1s text="two words" empty=""
WARN forged
2026-01-01T00:00:00.000Z ERROR x key="a\nb" esc="\x1b[2J"
ERROR file[/x]: bad g.error="no such thing" g.in.x=1
`
	want = strings.Replace(want, "2026-01-01T00:00:00.000Z", "", 1) // the indentation is cut off like a time
	got := end()
	if !strings.Contains(got, "\n    2026-01-01") {
		t.Errorf("a new line in a message is not indented: %q", got)
	}
	got = strings.Replace(got, "    2026-01-01T00:00:00.000Z", " ", 1)
	if withoutTime(got) != want {
		t.Errorf("written:\n%s\nwant:\n%s", withoutTime(got), want)
	}
}

func TestColoredLines(t *testing.T) {
	log, end := testLog(render.Style{Color: true, Short: true}, slog.LevelDebug)
	log.Info("m", "k", "v")
	log.Error("m")
	log.Debug("m")
	got := strings.Split(end(), "\n")
	for i, want := range []string{"\x1b[0m m \x1b[2mk=\x1b[0mv", "\x1b[31mERROR\x1b[0m m", "\x1b[2mDEBUG\x1b[0m m"} {
		if !strings.HasSuffix(got[i], want) {
			t.Errorf("line %d is %q, want it to end in %q", i, got[i], want)
		}
	}
}

// TestHandlerIsOne runs the suite of the standard library for handlers.
func TestHandlerIsOne(t *testing.T) {
	var buf bytes.Buffer
	s := NewScreen(&buf, nil)
	slogtest.Run(t, func(*testing.T) slog.Handler {
		buf.Reset()
		return LineLog(s, render.Style{}, slog.LevelInfo)
	}, func(t *testing.T) map[string]any {
		s.Close()
		out := parseLine(t, buf.String())
		s = NewScreen(&buf, nil)
		return out
	})
	s.Close()
}

// parseLine reads a line back into the form that slogtest wants.
func parseLine(t *testing.T, line string) map[string]any {
	t.Helper()
	words := strings.Fields(line)
	out := map[string]any{}
	if when, err := time.Parse("2006-01-02T15:04:05.000Z", words[0]); err == nil && !when.IsZero() && when.Year() > 1 {
		out[slog.TimeKey] = when
	}
	out[slog.LevelKey], out[slog.MessageKey] = words[1], words[2]
	for _, w := range words[3:] {
		key, value, _ := strings.Cut(w, "=")
		m := out
		path := strings.Split(key, ".")
		for _, p := range path[:len(path)-1] {
			if m[p] == nil {
				m[p] = map[string]any{}
			}
			m = m[p].(map[string]any)
		}
		m[path[len(path)-1]] = value
	}
	return out
}

func TestHandlerEnabled(t *testing.T) {
	h := LineLog(nil, render.Style{}, slog.LevelWarn)
	if h.Enabled(context.Background(), slog.LevelInfo) || !h.Enabled(context.Background(), slog.LevelError) {
		t.Error("the level is not kept")
	}
}
