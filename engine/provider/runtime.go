package provider

import (
	"errors"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
)

// Runtime is what a provider is given with each call. It is valid during the call, in
// Watch until that returns.
type Runtime struct {
	Type *Kind       // whose things these are
	Noop bool        // nothing may be altered
	Log  *Logger     // what happens, for people and programs
	Host engine.Host // the machine; waits there give the place among the parallel runs back

	// Target is the name of the target whose things these are, empty for this machine. Transport is the connection to it;
	// it is valid during the call. Host.Command then runs on the target where the transport is a Commander, and all else of
	// Host is an error.
	Target    string
	Transport Transport

	slog   *slog.Logger
	at     *opened  // Transport, with the purpose for which it was opened
	secret []string // see IsSecret
}

// logger makes the Logger of a call. titles are those of a Set, nil for other calls.
func (k *Kind) logger(sink func(Event), titles []string, noop bool) *Logger {
	return NewLogger(LogOptions{
		Type: k.def.Name, Titles: titles, Noop: noop, Sink: sink,
		Secret: k.hides,
	})
}

// hides reports whether the values of an attribute must not be shown.
func (k *Kind) hides(attribute string) bool {
	a := k.byName[attribute]
	return a != nil && a.secret
}

// learnAll keeps the sensitive values of changes out of all that is said.
func (l *Logger) learnAll(changes []Change) {
	for _, c := range changes {
		l.learn(c.Should)
		l.learn(c.Is.Record)
	}
}

// cleanError returns an error without the secrets that the Logger knows.
func (l *Logger) cleanError(err error) error {
	if err == nil {
		return nil
	}
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	if text := err.Error(); l.book.cleanText(text) != text {
		return errors.New(l.book.cleanText(text))
	}
	return err
}
