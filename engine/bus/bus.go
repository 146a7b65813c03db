package bus

import (
	"context"

	"github.com/reactivegraph/mgmt/engine/events"
)

// Kind is one of the message buses of the machine.
type Kind string

// The buses.
const (
	System  Kind = "system"
	Session Kind = "session"
)

// Bus is a shared connection to a message bus.
type Bus interface {
	// Call calls a method (interface.Member) and returns the body of the reply.
	// Another answer of the other side is a *Error.
	Call(ctx context.Context, dest, path, method string, args ...any) ([]any, error)
	// Signals wakes up when a signal arrives that fits any of the matches, and after
	// a reconnect.
	Signals(ctx context.Context, m ...Match) (events.Subscription, error)
}

// Match selects signals; empty fields match everything.
type Match struct {
	Sender, Path, Interface, Member string
	Arg0                            string // the first argument, if that is text
	Resync                          bool   // what fits says that other signals may have been lost
}

// Error is what the other side of a message bus has answered instead of a reply.
type Error struct {
	Name    string // org.freedesktop.DBus.Error.ServiceUnknown ...
	Message string // for people
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Name
	}
	return e.Message
}
