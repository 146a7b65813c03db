package hosting

import (
	"context"
	"os"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
)

// Notifier is a Host that can tell of wake-ups by a call.
type Notifier interface {
	engine.Host
	// Notify is Host.Watch for a caller without a waiting goroutine. It returns before the
	// subscription is armed, and does not wait for file systems. The subscription has no channel,
	// and ends when it is closed, or with the host.
	Notify(paths []string, o events.Options, n Notice) (events.Subscription, error)
}

// Writers is a Host that knows who is in the middle of writing.
type Writers interface {
	engine.Host
	// Writing reports whether a process is about to write, to replace or to remove what is at a path, or something
	// below it, and is not done. The subscribers of the path are woken when it is, and after two seconds at the latest.
	// So a run leaves such a thing alone: what it would find is no state that anybody wants. Paths without a
	// subscriber are not known. It takes all that has happened before the call into account.
	Writing(ctx context.Context, path string) bool
}

// Hearer is a Host that can make sure that its subscribers know all.
type Hearer interface {
	engine.Host
	// Hear returns when the subscribers are woken of all that has happened before the call, or when ctx ends. It waits until those are
	// done who are in the middle of writing then, which counts as done after two seconds at the latest.
	Hear(ctx context.Context)
}

// Notice is told of a subscription, on any goroutine. Its methods must not block, nor call
// the host or the subscription.
type Notice interface {
	// Armed says, once, that a change from now on is seen; with an error, that none will be.
	// Where the subscription is closed before that, it may not be called.
	Armed(err error)
	// Woken says that there is a wake-up, after Armed and until Close. Until Cause has taken what
	// led to it, Own is not asked again.
	Woken()
}

// Starter is a Host that can start a program that goes on running.
type Starter interface {
	engine.Host
	// Start starts a program, and returns when it runs. It ends with the Host at the latest, with all its descendants, and
	// the kernel ends it where this process is killed. Of the command, Stdin, Cost and Alone do not count: its standard input
	// stays open and empty, and at its end all that it has started is killed. Stdout and Stderr are called on
	// goroutines of the process. The files become its descriptors from 3 on; they stay the caller's.
	Start(ctx context.Context, c engine.Command, files []*os.File) (Process, error)
}

// Process is a program that Start has started. Its methods may be called by many goroutines.
type Process interface {
	Pid() int
	Done() <-chan struct{} // closed when it has ended, and its output was read
	// Result says how it has ended, after Done; it has no output.
	Result() *engine.Result
	// Limit bounds the memory that it may have for itself, in bytes.
	Limit(memory uint64) error
	// Stop ends it, and waits for its end: first its standard input ends; after Command.Grace the signal of
	// the command comes, and after the same time again SIGKILL. When ctx ends, it is killed at once.
	Stop(ctx context.Context)
}

// Sharer is a Host that also has the state that the resources of another kind have in
// common. That of a running engine is one.
type Sharer interface {
	// SharedOf returns it by its key, as the kind's Shared says it; nil where no resource
	// of the graph has it. It does not block.
	SharedOf(key string) engine.Shared
}

// Waiter is a Host that is told when a run waits for something other than a call of the Host, such as for time to pass.
type Waiter interface {
	engine.Host
	// Waits gives the place of a run among the parallel ones back until done is called.
	Waits(ctx context.Context) (done func())
}

// Waits tells a host that a CheckApply with this context waits, until done is called. A host that has no places for runs is told
// nothing.
func Waits(ctx context.Context, h engine.Host) (done func()) {
	if w, ok := h.(Waiter); ok {
		return w.Waits(ctx)
	}
	return func() {}
}

// Machiner is a Host that tells which programs its machine has. That of a running engine is one.
type Machiner interface {
	engine.Host
	// Machine returns the facts and the programs, as they are at the call.
	Machine() engine.Machine
}

// MachineOf returns the machine of a host. Where the host does not tell its programs, the machine has none.
func MachineOf(h engine.Host) engine.Machine {
	if m, ok := h.(Machiner); ok {
		return m.Machine()
	}
	return engine.Machine{Facts: h.Facts().Map()}
}
