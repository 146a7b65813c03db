package host

import (
	"errors"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// An eventSource tells what happens in folders. All its methods are called with the hub's mutex held; Add
// and Remove may block until the errors are read.
type eventSource interface {
	// Add has a folder watched from its return on. It fails with the kernel's error.
	Add(dir string) error
	// Remove ends that; it fails with errNotWatched where the kernel has ended it before.
	Remove(dir string) error
	Close() error // closes the channels, too
	events() <-chan event
	// errors has ErrEventOverflow of fsnotify where events were lost.
	errors() <-chan error
	// modified gives the modifications that were not told of yet, each as soon as it is read: its writer may end. An event with
	// opPending says that there are some; it comes four times a second at most, however much is written.
	modified(give func(event))
	// listen has the next modification told at once, however short ago the last one was.
	listen()
	// catchUp gives, in order, what events has and what has happened besides until now.
	catchUp(give func(event))
	// now is catchUp for another goroutine than the one that takes from events. It reports false, and has given nothing, where an event
	// that came before is not served yet.
	now(give func(event)) bool
	// kind names what serves a folder: fanotify, inotify or fsnotify.
	kind(dir string) string
	// current reports whether an event is about the file that has the name now, as far as the source
	// can tell: its writer may hold a file that was replaced.
	current(ev event) bool
}

// A directSource is a source whose goroutines serve what they have read themselves, where they can: so a change comes
// to those who ask for it without a wake-up of the hub's goroutine.
type directSource interface{ serveBy(serve) }

// serve serves events that follow all that was served before. It reports false, and has not begun, where something else
// is being done: then they go to events.
type serve func([]event) bool

// errNotWatched says that a folder is not watched, or not any more.
var errNotWatched = errors.New("the folder is not watched")

// An event is one or more changes of a name in a watched folder.
type event struct {
	dir  string // as it was given to Add
	name string // empty for the folder itself
	op   op
	by   *actor // nil where it is not known; the receiver releases it
	file string // the handle of the file, empty where it is not known

	open *atomic.Int64 // counts the events of the source that are not served yet; nil for no count
}

// served lets go of an event.
func (ev event) served() {
	ev.by.release()
	if ev.open != nil {
		ev.open.Add(-1)
	}
}

// path returns where it happened.
func (ev event) path() string {
	if ev.name == "" {
		return ev.dir
	}
	return join(ev.dir, ev.name)
}

// An op is a set of what happened, in no order.
type op uint16

const (
	opCreated    op = 1 << iota // made, or linked
	opModified                  // written or cut
	opClosed                    // closed by one who had opened it for writing
	opRemoved                   // unlinked
	opMovedOut                  // another name, here or elsewhere, has it now
	opMovedIn                   // it came from another name, whole, and took the place of what was here
	opAttributes                // owner, permissions, times, extended attributes
	opFolder                    // it is about a folder
	opUnsure                    // the source does not tell when a write has ended
	opPending                   // of no name: modified has something
)

const (
	opAltered = opCreated | opRemoved | opMovedOut | opMovedIn // the name may be another thing now
	opArrived = opCreated | opMovedIn
)

// openSource opens the best sources that this machine has.
func openSource(clock clock.Clock) (eventSource, error) {
	return openBest(clock)
}
