package show

import (
	"log/slog"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/internal/flatlog"
)

// LineLog returns a handler that writes log records as lines for people:
//
//	2026-01-02T15:04:05.000Z INFO file[/etc/x]: message key=value
//
// and in short and in colour on a terminal. A logged text may hold anything; a
// record can neither forge another one nor move the cursor.
func LineLog(s *Screen, st render.Style, level slog.Leveler) slog.Handler {
	return flatlog.New(level, func(rec slog.Record, attrs []slog.Attr) {
		// print never blocks: a terminal that is stopped with Ctrl-S does not stop the engine.
		s.print(st.Line(rec.Time, rec.Level, st.Text(rec.Message, attrs)))
	})
}
