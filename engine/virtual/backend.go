package virtual

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Backend is one way to do what a module does.
type Backend struct {
	Name   string
	Module string
	Doc    string

	// When says on which machines the backend can be chosen: empty for all.
	When Match
	// Unless says on which it cannot, whatever When says.
	Unless Match
	// Needs are the programs that must be there; "dnf|yum" is one of two.
	Needs []string
	// Priority decides between backends that can both be chosen: the highest.
	Priority int
	// Watch says how a change made behind our back is seen.
	Watch WatchMode

	// Functions are the functions of the backend. A method whose name begins with an
	// underscore is its own business.
	Functions []Function
	// Open makes it ready to be called on a machine. It must not change the machine.
	Open func(ctx context.Context, env Env) (Caller, error)

	err error // what is wrong with the Go types of a native one
}

// Env is what a backend has of the machine. It is given to Open.
type Env struct {
	Host  engine.Host // commands, watches, buses
	Facts Facts
	Log   *slog.Logger
	// Root is where the files of the machine are that a backend reads and writes by itself; empty for /. Commands
	// are run by Host, wherever that is.
	Root string
	// Told is what Log was told of deprecated functions; nil to have it told at each call.
	Told *Told
}

// Told remembers the deprecated functions that a log has named, so that it names each once.
// The owner of the log owns it: a Kind has one for all modules that it opens. The zero
// value was told nothing. It is safe for concurrent use.
type Told struct {
	mu   sync.Mutex
	what map[string]bool
}

// first reports whether it was not told so before, and remembers it. Nil remembers nothing.
func (t *Told) first(what string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.what[what] {
		return false
	}
	if t.what == nil {
		t.what = map[string]bool{}
	}
	t.what[what] = true
	return true
}

// Caller calls the functions of a backend. If it is an io.Closer, it is closed with
// its Module. If it is a Watcher, it names the things to watch itself.
type Caller interface {
	// Call calls a function with arguments by name: those of VarArgs as one list
	// under the name of that parameter, those of KwArgs besides the others. It may
	// keep args. It returns a plain value, as schema.EncodeAll gives it. It may be
	// called concurrently.
	Call(ctx context.Context, function string, args map[string]any) (any, error)
}

// Watcher is a backend that tells of changes made behind our back.
type Watcher interface {
	// Watch subscribes to events that may change the given things, or to everything
	// if there are none. It is armed when it returns.
	Watch(ctx context.Context, names []string) (events.Subscription, error)
}

// WatchMode says how changes made behind our back are seen.
type WatchMode uint8

// The ways of seeing changes.
const (
	WatchPoll   WatchMode = iota // not at all: a caller that wants to know asks now and then
	WatchFiles                   // by the files of its database
	WatchSignal                  // a daemon tells
)

var watchModes = []string{"poll", "files", "signal"}

// String returns the word for the mode.
func (w WatchMode) String() string { return wordOf(watchModes, int(w)) }

// MarshalText implements encoding.TextMarshaler.
func (w WatchMode) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *WatchMode) UnmarshalText(text []byte) error {
	return readWord(watchModes, string(text), "way to watch", w)
}

var backendRule = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Validate returns all faults of the backend itself: its author has to correct them. A
// difference from the interface does not count as such a fault.
func (b *Backend) Validate() error {
	return faultsText(fmt.Sprintf("backend %s of %s", b.Name, b.Module), b.faults())
}

func (b *Backend) faults() (all []fault) {
	bad := func(path, format string, args ...any) {
		all = append(all, fault{path, fmt.Errorf(format, args...)})
	}
	if b.err != nil {
		bad("", "%w", b.err)
	}
	if b.Name == "" || b.Module == "" {
		bad("", "it needs a name and a module")
	} else if !backendRule.MatchString(b.Name) {
		bad("name", "its name has to be one word of letters, digits, _, . and -")
	}
	if slices.Contains(b.Needs, "") {
		bad("needs", "a program that it needs has no name")
	}
	if b.Open == nil {
		bad("", "it has no Open")
	}
	for i, f := range b.Functions {
		at := fmt.Sprintf("functions[%d]", i)
		if find(b.Functions[:i], f.Name) != nil {
			bad(at+".name", "function %s is there twice", f.Name)
		}
		if !IsIdentifier(f.Name) {
			bad(at+".name", "function %q: a function is a word of letters, digits and _", f.Name)
		}
		for _, wrong := range f.faults() {
			all = append(all, wrong.in(at))
		}
	}
	return all
}
