package provider

import (
	"context"
	"log/slog"
	"time"
)

// LevelNotice is the level of changes, between information and warning.
const LevelNotice = slog.LevelInfo + 2

// Status is the outcome of a resource in a Set, or the action of a context on it.
type Status uint8

// The statuses. All but Unmarked are definite: a title has one at most.
const (
	Unmarked Status = iota
	Created
	Updated
	Deleted
	Unchanged
	Processed
	Failed
)

// statusWords says each status as an action in progress and as a finished one.
var statusWords = [...]struct{ doing, done string }{
	Created:   {"Creating", "Created"},
	Updated:   {"Updating", "Updated"},
	Deleted:   {"Deleting", "Deleted"},
	Unchanged: {"", "Unchanged"},
	Processed: {"Processing", "Processed"},
	Failed:    {"Failing", "Failed"},
}

// String returns the status as a word: created; nothing for Unmarked.
func (s Status) String() string {
	return []string{"", "created", "updated", "deleted", "unchanged", "processed", "failed"}[s]
}

// Phase says which part of the work an Event tells of.
type Phase string

// The phases.
const (
	PhaseMessage   Phase = "message"   // words of the provider, or a line of a command
	PhaseStart     Phase = "start"     // a context was opened
	PhaseEnd       Phase = "end"       // it ended well
	PhaseAbort     Phase = "abort"     // it ended with Err
	PhaseStatus    Phase = "status"    // an action gave the titles a status
	PhaseAttribute Phase = "attribute" // an attribute of the titles was changed
	PhaseExecute   Phase = "execute"   // the command Message is about to run, or would be
	PhaseExecuted  Phase = "executed"  // it has ended, with Err if that is not nil
)

// Event is one thing that a provider has said. It holds no secrets, and belongs to
// its receiver.
type Event struct {
	Level slog.Level // LevelNotice among them
	Phase Phase
	Type  string // of the resources

	// Titles says what it is about: those named in the call, else those of the
	// context; none for the type as a whole.
	Titles  []string
	Named   bool     // the call named the titles
	Context *Context // where it was said; nil outside of all contexts. Not to be altered

	Status    Status        // done, or being done; Unmarked where the phase is not about that
	Attribute string        // in PhaseAttribute
	From, To  any           // values of the attribute; a Record of all for Processed
	Duration  time.Duration // in PhaseEnd, PhaseAbort and PhaseExecuted
	Noop      bool          // nothing was altered
	Message   string
	Err       error
}

// Context is what a provider is busy with.
type Context struct {
	Status Status // the state of the titles when it ends well
	Titles []string
	Label  string // Updating, or what Message said
}

// logMessages are the messages of the structured log, which are constant.
var logMessages = map[Phase]string{
	PhaseMessage:   "provider says",
	PhaseStart:     "change started",
	PhaseEnd:       "change done",
	PhaseAbort:     "change failed",
	PhaseStatus:    "resource handled",
	PhaseAttribute: "attribute changed",
	PhaseExecute:   "command started",
	PhaseExecuted:  "command ended",
}

// SlogSink returns a sink that logs events with constant messages, and their fields
// as attributes: type, title or titles, action, attribute, is, should, noop, took,
// err, text.
func SlogSink(log *slog.Logger) func(Event) {
	return func(e Event) {
		ctx := context.Background()
		if log.Enabled(ctx, e.Level) {
			log.LogAttrs(ctx, e.Level, logMessages[e.Phase], e.attrs()...)
		}
	}
}

// quiet lowers the engine's own messages on changes and success, so that each stands in
// the log once.
func quiet(e Event) Event {
	switch e.Phase {
	case PhaseStatus, PhaseAttribute, PhaseEnd:
		if e.Status != Failed && e.Err == nil && e.Message == "" && e.Level < slog.LevelWarn {
			e.Level = slog.LevelDebug
		}
	}
	return e
}

// attrs returns the event for a structured log.
func (e Event) attrs() []slog.Attr {
	out := append(make([]slog.Attr, 0, 10), slog.String("type", e.Type))
	add := func(there bool, a slog.Attr) {
		if there {
			out = append(out, a)
		}
	}
	if len(e.Titles) == 1 {
		add(true, slog.String("title", e.Titles[0]))
	} else {
		add(len(e.Titles) > 1, slog.Any("titles", e.Titles))
	}
	status := e.Status
	if status == Unmarked && e.Context != nil {
		status = e.Context.Status
	}
	values := e.Phase == PhaseAttribute || e.From != nil || e.To != nil
	add(status != Unmarked, slog.String("action", status.String()))
	add(e.Attribute != "", slog.String("attribute", e.Attribute))
	add(values, slog.Any("is", e.From))
	add(values, slog.Any("should", e.To))
	add(e.Noop, slog.Bool("noop", true))
	add(e.Duration > 0, slog.Duration("took", e.Duration))
	add(e.Err != nil, slog.Any("err", e.Err))
	add(e.Message != "", slog.String("text", e.Message))
	return out
}
