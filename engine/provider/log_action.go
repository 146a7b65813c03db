package provider

import (
	"errors"
	"log/slog"
)

// Created says that the title was created. It replaces a context, or is one title's
// part of the context of several.
func (l *Logger) Created(title string, opts ...LogOption) {
	l.act(about("Created", title, opts), Event{Level: LevelNotice, Status: Created})
}

// Updated says that the title was updated; see Created.
func (l *Logger) Updated(title string, opts ...LogOption) {
	l.act(about("Updated", title, opts), Event{Level: LevelNotice, Status: Updated})
}

// Deleted says that the title was deleted; see Created.
func (l *Logger) Deleted(title string, opts ...LogOption) {
	l.act(about("Deleted", title, opts), Event{Level: LevelNotice, Status: Deleted})
}

// Unchanged says that the title needed no change. There is no Event for it.
func (l *Logger) Unchanged(title string, opts ...LogOption) {
	l.act(about("Unchanged", title, opts), Event{Status: Unchanged})
}

// Processed says that the title was brought from is to should, and with that
// which attributes were changed. is is nil for an absent value.
func (l *Logger) Processed(title string, is, should Record, opts ...LogOption) {
	l.act(about("Processed", title, opts), Event{Level: LevelNotice, Status: Processed, From: is, To: should})
}

// Failed says why the title could not be brought about. It really fails, whatever
// else is said of it.
func (l *Logger) Failed(title, message string, opts ...LogOption) {
	opts = append([]LogOption{Message(message)}, opts...)
	l.act(about("Failed", title, opts), Event{Level: slog.LevelError, Status: Failed})
}

// FailedBy is Failed with the words of an error, which errors.Is and errors.As find in
// the error of the resource.
func (l *Logger) FailedBy(title string, err error, opts ...LogOption) {
	c := about("FailedBy", title, append([]LogOption{Message(err.Error())}, opts...))
	c.cause = err
	l.act(c, Event{Level: slog.LevelError, Status: Failed})
}

func (l *Logger) act(c *logCall, e Event) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if l.admit(c, undecided) != nil {
		if e.Status == Failed {
			l.book.failAnyway(c)
		}
		return
	}
	status := e.Status
	e.Phase, e.Message = PhaseStatus, c.message
	if s := l.book.scopeOf(c.titles); s != nil && !s.body {
		e = l.book.ending(c, s, e)
	}
	if status != Unchanged {
		l.emit(c, e)
	}
	l.book.mark(c.titles, status, c.message, c.cause)
}

// ending makes the action that ends a context without a body say what the end of one
// with a body says, where that is the same.
func (b *logBook) ending(c *logCall, s *scope, e Event) Event {
	now := s.Context
	now.Titles = c.titles
	e.Context, e.Duration = &now, b.opt.Now().Sub(s.began)
	switch {
	case e.Status == Failed:
		e.Phase, e.Status, e.Err, e.Message = PhaseAbort, s.Status, errors.New(c.message), ""
	case e.Status == s.Status && c.message == "":
		e.Phase = PhaseEnd
	}
	return e
}

// failAnyway heeds a Failed that breaks a rule.
func (b *logBook) failAnyway(c *logCall) {
	for _, t := range c.titles {
		if b.entries[t] != nil {
			b.mark([]string{t}, Failed, c.message, c.cause)
		}
	}
}

// AttributeChanged says that an attribute was changed, by default one of the titles
// of the context; Of names others. Message says how, in place of the values.
func (l *Logger) AttributeChanged(attribute string, is, should any, opts ...LogOption) {
	c := newCall("AttributeChanged", opts)
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if s := l.current(); len(c.titles) == 0 && s != nil {
		c.titles = s.Titles
	}
	if len(c.titles) == 0 {
		_ = l.refuse(c, "", "outside of a context it needs Of, with a title")
		return
	}
	if l.admit(c, undecided) == nil {
		l.emit(c, Event{Level: LevelNotice, Phase: PhaseAttribute, Attribute: attribute, From: is, To: should, Message: c.message})
	}
}
