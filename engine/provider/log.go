package provider

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Logger is how a provider says what happens: to people in words, to programs as
// Events, and to the engine as the Status of each resource of a Set.
//
//	err := rt.Log.Updating(c.Title, func() error {
//		if missing {
//			rt.Log.Warning("Original key not found")
//		}
//		if err := aptKey.Run(ctx, "adv", "--recv-keys", id); err != nil {
//			return err
//		}
//		rt.Log.AttributeChanged("content", nil, hash, Message("Replaced with content hash "+hash))
//		return nil
//	})
//
// # Titles
//
// The thing of a context or an action is its first parameter, the title of the
// Change; Also adds more. Where the title follows from the context, in plain messages
// and AttributeChanged, Of names others.
//
// # Rules
//
// A call that breaks one does nothing, and the Set fails with it; contexts also
// return the error, before they call anything.
//
//   - In a Set only titles of its changes may be named; elsewhere there are no
//     changes, so that only plain messages are possible.
//   - A title has one definite status. A context gives its own to those of its titles
//     that no action within it has given one, and Failed if it ends with an error.
//     Failed counts even after another one.
//   - AttributeChanged comes before the status of the title.
//   - A context is opened before anything else is logged about its titles.
//
// # Contexts
//
// They nest: after the inner one ended the outer one goes on. A context belongs to
// the goroutine that opened it. A second goroutine takes a Fork, of the Logger or
// of the Runtime, so that its contexts are its own. A Logger without that is safe
// too, but plain messages of one goroutine may then name the titles of another's
// context.
//
// # Secrets
//
// Values of sensitive attributes, Sensitive values and Secrets are in no Event; and
// once a Logger or a Command has seen them, they are removed from all texts.
type Logger struct {
	book *logBook
	top  *scope // the innermost context; book.mu guards it
}

// LogOptions make a Logger. All may be left out.
type LogOptions struct {
	Type string
	// Titles are those of the changes of a Set; nil outside of one.
	Titles []string
	Noop   bool
	// Secret reports whether the values of an attribute must not be shown.
	Secret func(attribute string) bool
	// Redact returns a text without the secrets that it knows.
	Redact func(string) string
	// Sink is given the events, one at a time. It must not use the Logger.
	Sink func(Event)
	// Now is the clock for durations; that of the machine if nil.
	Now func() time.Time
}

// logBook is what a Logger and its forks share.
type logBook struct {
	opt LogOptions

	mu      sync.Mutex
	entries map[string]*logEntry // by title; nil outside of a Set
	broken  []error              // the rules that calls broke
	secrets secrets.Texts
}

// logEntry is what is known of one title.
type logEntry struct {
	status  Status
	message string
	cause   error  // that ended its context, or of FailedBy
	logged  bool   // something was said of it
	scope   *scope // its context, from its start to its end
}

// NewLogger returns a Logger. The engine makes those of a Runtime; tests of
// providers make their own.
func NewLogger(o LogOptions) *Logger {
	if o.Secret == nil {
		o.Secret = func(string) bool { return false }
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Sink == nil {
		o.Sink = func(Event) {}
	}
	if o.Now == nil {
		o.Now = clock.System{}.Now
	}
	b := &logBook{opt: o}
	if o.Titles != nil {
		b.entries = make(map[string]*logEntry, len(o.Titles))
		for _, t := range o.Titles {
			b.entries[t] = &logEntry{}
		}
	}
	return &Logger{book: b}
}

// Fork returns a Logger for another goroutine. The contexts that are opened on it
// are its own, within the context that is open on l now; all else is shared.
func (l *Logger) Fork() *Logger {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	return &Logger{book: l.book, top: l.current()}
}

// Fork returns a Runtime for another goroutine: one whose Log is a Fork.
func (rt *Runtime) Fork() *Runtime {
	c := *rt
	c.Log = rt.Log.Fork()
	return &c
}

// Status returns the outcome of a title, and its words: the words of Failed,
// of the error that ended a context, or of Message. It is Unmarked for a title
// without a definite outcome, and for foreign titles.
func (l *Logger) Status(title string) (Status, string) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	e := l.book.entries[title]
	if e == nil {
		return Unmarked, ""
	}
	return e.status, e.message
}

// failure returns why a title has failed: the error that ended its context or that
// FailedBy was given, so that errors.As finds what it wraps, or the words of Failed.
func (l *Logger) failure(title string) error {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	e := l.book.entries[title]
	switch {
	case e == nil || e.status != Failed:
		return nil
	case e.cause != nil:
		return e.cause
	}
	return errors.New(e.message)
}

// Broken returns the rules that were broken, as *LogErrors joined; nil for none.
func (l *Logger) Broken() error {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	return errors.Join(l.book.broken...)
}

// LogError is a call of a Logger that breaks a rule.
type LogError struct {
	Type, Call string
	Title      string // may be empty
	Problem    string
}

// Error returns the type, the call and the problem.
func (e *LogError) Error() string {
	call := e.Call
	if e.Title != "" {
		call = fmt.Sprintf("%s of %q", e.Call, e.Title)
	}
	return fmt.Sprintf("%s: the provider logs against the rules: %s: %s", e.Type, call, e.Problem)
}

// LogOption adds to a call of a Logger.
type LogOption func(*logCall)

// logCall is one call with its options.
type logCall struct {
	name    string // of the method
	titles  []string
	named   bool
	message string
	cause   error // of FailedBy
}

// Message replaces the words of a call. In a context it is what is being done, in
// place of "Updating".
func Message(text string) LogOption { return func(c *logCall) { c.message = text } }

// Also adds titles to the first one, for an action on all of them at once.
func Also(titles ...string) LogOption {
	return func(c *logCall) { c.titles = append(c.titles, titles...) }
}

// Of names the titles of a plain message or a changed attribute; none for the type as
// a whole.
func Of(titles ...string) LogOption {
	return func(c *logCall) { c.titles, c.named = append(c.titles, titles...), true }
}

// about returns a call that is about a title and those of Also.
func about(name, title string, opts []LogOption) *logCall {
	return newCall(name, append([]LogOption{Of(title)}, opts...))
}

func newCall(name string, opts []LogOption) *logCall {
	c := &logCall{name: name}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Debug says what helps to understand everything that happens.
func (l *Logger) Debug(message string, opts ...LogOption) {
	l.say("Debug", slog.LevelDebug, message, opts)
}

// Info says how it goes on, above all before steps that take long or may fail.
func (l *Logger) Info(message string, opts ...LogOption) {
	l.say("Info", slog.LevelInfo, message, opts)
}

// Notice says what has changed, and other things of note.
func (l *Logger) Notice(message string, opts ...LogOption) {
	l.say("Notice", LevelNotice, message, opts)
}

// Warning says what is wrong and does not, or not yet, keep the provider from going on.
func (l *Logger) Warning(message string, opts ...LogOption) {
	l.say("Warning", slog.LevelWarn, message, opts)
}

// Err says what has made an operation fail. It does not make a resource fail: that
// is what Failed, Fail and returned errors do.
func (l *Logger) Err(message string, opts ...LogOption) {
	l.say("Err", slog.LevelError, message, opts)
}

func (l *Logger) say(name string, level slog.Level, message string, opts []LogOption) {
	c := newCall(name, opts)
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if l.admit(c, anytime) != nil {
		return
	}
	l.emit(c, Event{Level: level, Phase: PhaseMessage, Message: message})
}

// A rule says when a call may come in the log of a title.
type rule uint8

const (
	anytime rule = iota // outside of a Set too
	undecided
	untouched
)

// admit returns the rule that the call breaks, and notes it. The titles of calls
// that break no rule were logged about.
func (l *Logger) admit(c *logCall, r rule) error {
	if r == anytime && l.book.entries == nil {
		return nil
	}
	for _, t := range c.titles {
		if problem := l.book.problem(t, r); problem != "" {
			return l.refuse(c, t, problem)
		}
	}
	for _, t := range c.titles {
		l.book.entries[t].logged = true
	}
	return nil
}

func (b *logBook) problem(title string, r rule) string {
	e := b.entries[title]
	switch {
	case b.entries == nil:
		return "there are no changes here: this is possible in Set only"
	case e == nil:
		return "it is not among the changes of this Set"
	case r >= undecided && e.status != Unmarked:
		return "it was called " + e.status.String() + " already"
	case r >= untouched && e.logged:
		return "a context must be opened before anything else is logged about its titles"
	}
	return ""
}

// maxBroken bounds how many broken rules are kept.
const maxBroken = 20

func (l *Logger) refuse(c *logCall, title, problem string) error {
	err := &LogError{l.book.opt.Type, c.name, l.book.cleanText(title), problem}
	if len(l.book.broken) < maxBroken {
		l.book.broken = append(l.book.broken, err)
	}
	return err
}

// emit completes an event with the names of the call, and gives it to the sink.
func (l *Logger) emit(c *logCall, e Event) {
	b := l.book
	e.Type = b.opt.Type
	if e.Phase != PhaseExecute && e.Phase != PhaseExecuted { // some commands run under noop too
		e.Noop = b.opt.Noop
	}
	e.Titles, e.Named = c.titles, c.named
	if e.Context == nil {
		e.Context = l.contextOf(c)
	}
	if !c.named && e.Context != nil {
		e.Titles = e.Context.Titles
	}
	e.Titles = slices.Clone(e.Titles)
	b.opt.Sink(b.clean(e))
}
