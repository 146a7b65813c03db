package mgmt

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// maxLines is how many lines wait for an Observer. The next ones are written at once, by who logs: no flood of lines pushes out an event.
const maxLines = maxUntold / 4

// lines takes the lines that the reactor and the resources log to the Observer's goroutine, which writes them. So each stands after the
// lines of an Observer about what had happened before it. The Observer is told of a run after the next one may have begun.
type lines struct {
	mu   sync.RWMutex
	open bool // the goroutine takes them; else they are written at once
	to   *Engine

	told, done atomic.Uint64 // numbers of lines: the last one, and the last one that was written
}

// logger returns a logger whose lines go that way. Where no Observer is told of runs, there is nothing to stand in order with.
func (l *lines) logger(o *Observer, to *slog.Logger) *slog.Logger {
	if o.Ran == nil {
		return to
	}
	return slog.New(&lineHandler{to.Handler(), l})
}

// set says whether the goroutine of the Observer takes lines.
func (l *lines) set(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
}

// put hands a line on, and reports whether it will be written.
func (l *lines) put(write func()) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.open || l.told.Load()-l.done.Load() >= maxLines {
		return false
	}
	n := l.told.Add(1)
	l.to.tell(Event{Kind: eventLine, line: func() {
		l.done.Store(n)
		write()
	}})
	return true
}

type lineHandler struct {
	slog.Handler
	to *lines
}

// Handle implements slog.Handler. The time of the record is that of the call.
func (h *lineHandler) Handle(ctx context.Context, rec slog.Record) error {
	if h.to.put(func() { _ = h.Handler.Handle(context.WithoutCancel(ctx), rec) }) {
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{h.Handler.WithAttrs(attrs), h.to}
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	return &lineHandler{h.Handler.WithGroup(name), h.to}
}
