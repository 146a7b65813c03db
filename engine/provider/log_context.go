package provider

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// scope is a Context while it is open.
type scope struct {
	Context
	body     bool // it lasts as long as a function; else until its titles have a status
	outer    *scope
	ended    bool
	began    time.Time
	from, to Record // of Processing
	failed   error  // of Fail
}

// Creating is the context in which the title is created. f may be nil for work that
// is spread over several functions: then it only says that it has started, and the
// title waits for its action.
//
// Every context logs and returns the error of f, which makes the titles Failed. A
// panic is logged and goes on.
func (l *Logger) Creating(title string, f func() error, opts ...LogOption) error {
	return l.within(about("Creating", title, opts), &scope{Context: Context{Status: Created}}, f)
}

// Updating is the context in which the title is updated; see Creating.
func (l *Logger) Updating(title string, f func() error, opts ...LogOption) error {
	return l.within(about("Updating", title, opts), &scope{Context: Context{Status: Updated}}, f)
}

// Deleting is the context in which the title is deleted; see Creating.
func (l *Logger) Deleting(title string, f func() error, opts ...LogOption) error {
	return l.within(about("Deleting", title, opts), &scope{Context: Context{Status: Deleted}}, f)
}

// Processing is the context in which the title is brought from is to should,
// whatever that takes; see Creating.
func (l *Logger) Processing(title string, is, should Record, f func() error, opts ...LogOption) error {
	return l.within(about("Processing", title, opts), &scope{Context: Context{Status: Processed}, from: is, to: should}, f)
}

// Failing is the context of the remaining work for a title that fails. It has
// Failed when f returns, whatever the result; see Creating.
func (l *Logger) Failing(title string, f func() error, opts ...LogOption) error {
	return l.within(about("Failing", title, opts), &scope{Context: Context{Status: Failed}}, f)
}

// Fail returns an error with this text for f to return. The context fails with it,
// even if f does not.
func (l *Logger) Fail(message string) error {
	err := errors.New(message)
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if s := l.current(); s != nil && s.failed == nil {
		s.failed = err
	}
	return err
}

// errNoEnd is what a context ends with when its goroutine does.
var errNoEnd = errors.New("its goroutine was ended (runtime.Goexit)")

func (l *Logger) within(c *logCall, s *scope, f func() error) (err error) {
	if err := l.open(c, s, f != nil); err != nil || f == nil {
		return err
	}
	err = errNoEnd
	defer func() {
		if p := recover(); p != nil {
			_ = l.end(s, fmt.Errorf("panic: %v", p))
			panic(p)
		}
		err = l.end(s, err)
	}()
	return f()
}

// open begins a context. Where it has a body, everything logged from now on is in it.
func (l *Logger) open(c *logCall, s *scope, body bool) error {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if err := l.admit(c, untouched); err != nil {
		return err
	}
	s.Titles, s.Label, s.began = c.titles, c.message, l.book.opt.Now()
	if s.Label == "" {
		s.Label = statusWords[s.Status].doing
	}
	for _, t := range s.Titles {
		l.book.entries[t].scope = s
	}
	l.emitScope(s, Event{Level: slog.LevelDebug, Phase: PhaseStart})
	if s.body = body; body {
		s.outer, l.top = l.current(), s
	}
	return nil
}

// end ends a context, and gives its titles their status.
func (l *Logger) end(s *scope, err error) error {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	s.ended = true
	if err == nil {
		err = s.failed
	}
	open := b.close(s)
	e := Event{Level: levelOfEnd(s.Status), Phase: PhaseEnd, Duration: b.opt.Now().Sub(s.began)}
	if err != nil {
		b.mark(open, Failed, err.Error(), err)
		e.Level, e.Phase, e.Err = slog.LevelError, PhaseAbort, err
	} else {
		b.mark(open, s.Status, "", nil)
		s.Titles = b.having(s.Status, s.Titles)
	}
	if len(s.Titles) > 0 {
		l.emitScope(s, e)
	}
	return err
}

func levelOfEnd(s Status) slog.Level {
	if s == Failed {
		return slog.LevelWarn
	}
	return LevelNotice
}

// close takes the titles out of the context, and returns the titles without a
// status.
func (b *logBook) close(s *scope) (open []string) {
	for _, t := range s.Titles {
		b.entries[t].scope = nil
	}
	return b.having(Unmarked, s.Titles)
}

// having returns those of the titles that have the status.
func (b *logBook) having(s Status, titles []string) (out []string) {
	for _, t := range titles {
		if b.entries[t].status == s {
			out = append(out, t)
		}
	}
	return out
}

// emitScope emits an event of the context itself.
func (l *Logger) emitScope(s *scope, e Event) {
	now := s.Context
	e.Context, e.Status = &now, s.Status
	if s.Status == Processed {
		e.From, e.To = s.from, s.to
	}
	l.emit(&logCall{titles: s.Titles}, e)
}

// mark gives titles a status, which ends a context without a body. A text is the words
// of a failure, or of an action; cause is the error that has them, if there is one.
func (b *logBook) mark(titles []string, s Status, text string, cause error) {
	if s == Failed && text == "" {
		text = "the provider called it failed, and did not say why"
	}
	for _, t := range titles {
		e := b.entries[t]
		e.status, e.message, e.cause = s, b.cleanText(text), cause
		if e.scope != nil && !e.scope.body {
			e.scope = nil
		}
	}
}

// current returns the innermost context that is open.
func (l *Logger) current() *scope {
	for l.top != nil && l.top.ended {
		l.top = l.top.outer
	}
	return l.top
}

// contextOf returns the context of the titles that the call names, if they have one
// in common, else the one in which it is said.
func (l *Logger) contextOf(c *logCall) *Context {
	s := l.current()
	if c.named && len(c.titles) > 0 {
		if own := l.book.scopeOf(c.titles); own != nil {
			s = own
		}
	}
	if s == nil {
		return nil
	}
	now := s.Context
	return &now
}

func (b *logBook) scopeOf(titles []string) *scope {
	first := b.entries[titles[0]]
	if first == nil || first.scope == nil || slices.ContainsFunc(titles, func(t string) bool { return b.entries[t].scope != first.scope }) {
		return nil
	}
	return first.scope
}
