package engine

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/internal/filename"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Init is what the engine gives to one resource. It is valid from Init to
// Cleanup. Its functions are safe for concurrent use, but each says from which
// method it may be called.
type Init struct {
	Program, Version string // of the program that runs the engine
	Hostname         string // of this machine; fixed for a generation of the graph

	// Noop says that nothing is ever applied: CheckApply is called with apply false
	// only, for as long as the handle is valid. Where it is false CheckApply may
	// still be called with apply false first.
	Noop bool

	// Running is called in Watch, once, when the watches are armed: from here on
	// no change goes unseen. Further calls do nothing. It never blocks.
	Running func()

	// Event is called in Watch, after Running, when the thing may have changed.
	// It never blocks, queues nothing and carries nothing.
	Event func()

	// Busy keeps the graph from being called converged until the returned
	// function is called. Callable anywhere; the returned function once.
	Busy func() (done func())

	// Refresh says, in CheckApply, whether a notification is pending. It stays
	// true until a CheckApply(ctx, true) succeeds. Always false for a kind that
	// is not RefreshableRes.
	Refresh func() bool

	// Send publishes the values that this resource sends, in CheckApply: a
	// struct of the type that SendableRes.Sends returns, a pointer to it, or a
	// schema.Typed of that type. The value is copied. It must be called also when everything was right.
	Send func(any) error

	// Receives reports, in CheckApply, whether another resource of the graph receives a value of this one. A kind
	// asks it where values may be incomplete: a loss then is a failure. It never blocks.
	Receives func() bool

	// Recv returns, in CheckApply, the received values, by the key of the
	// field. The map must not be altered.
	Recv func() map[string]*Send

	// Change reports, in CheckApply, one difference, before altering anything,
	// whether apply is true or not.
	Change func(Change)

	World  world.World   // the shared store; never nil
	Lease  time.Duration // how long a lease of this host lasts, for world.World.Lease
	Host   Host          // this resource's handle on the machine; never nil
	Shared Shared        // see SharedRes; else nil

	// VarDir returns the folder kept for this kind and name below the state
	// folder, joined with the given relative path, and makes it where the engine
	// may alter the machine. It is removed when the name leaves the graph that
	// runs; a name that the first graph after a start does not have keeps it.
	VarDir func(string) (string, error)

	Debug bool                          // whether to log more
	Logf  func(format string, v ...any) // logs one line with the resource's name
	Log   *slog.Logger                  // the same, structured

	sent *captured // of a Child; else nil
}

// Send is one received value's origin.
type Send struct {
	Res     fmt.Stringer // id of the sender, kind[name]; never a pointer into a graph
	Key     string       // of the sender's value
	Changed bool         // it changed since the last CheckApply that succeeded
	Secret  bool         // it must not be shown, whatever the type of the field
}

// Child returns a handle for a resource that this one holds and drives itself: a
// composite resource, or the owner of a group. traits.Children takes the necessary
// steps with it. It differs from the parent's in this:
//
//   - Running and Event go nowhere: a child's Watch is not called.
//   - Change is the parent's, with the child's id before the field:
//     file[/etc/x].content.
//   - Refresh is false and Recv empty, and Shared nil. The parent may replace
//     these fields before it gives the handle to the child.
//   - Send is captured for Sent.
//   - VarDir is a folder of its own below the parent's; lines of the log name the
//     child.
//
// All else, Busy and the waits of Host among it, counts for the parent, and so
// does a panic. The handle is valid as long as the parent's.
func (i *Init) Child(r Res) *Init {
	c := *i
	c.sent = &captured{}
	c.Running, c.Event = func() {}, func() {}
	c.Change = func(ch Change) {
		ch.Field = childField(r.String(), ch.Field)
		i.Change(ch)
	}
	c.Send = func(v any) error {
		if _, ok := As[SendableRes](r); !ok {
			return fmt.Errorf("%s sends nothing: it has no Sends", r)
		}
		c.sent.put(v)
		return nil
	}
	c.Refresh = func() bool { return false }
	c.Recv = func() map[string]*Send { return nil }
	c.Shared = nil
	c.VarDir = func(p string) (string, error) {
		return i.VarDir(filepath.Join("child", filename.Of(r.Kind()), filename.Of(r.Name()), filepath.Join("/", p)))
	}
	c.Logf = func(format string, v ...any) { i.Logf("%s: "+format, append([]any{r}, v...)...) }
	if i.Log != nil {
		c.Log = i.Log.With(slog.String("child", r.String()))
	}
	return &c
}

func childField(id, field string) string {
	if field == "" {
		return id
	}
	return id + "." + field
}

// Sent returns the last sent value of the resource of a Child handle, nil if nothing: a struct,
// and not a pointer to one, or a schema.Data. It is a copy; its lists and maps are shared with
// the child.
func (i *Init) Sent() any {
	if i.sent == nil {
		return nil
	}
	i.sent.mu.Lock()
	defer i.sent.mu.Unlock()
	return i.sent.v
}

// captured is what a child has sent.
type captured struct {
	mu sync.Mutex
	v  any
}

func (c *captured) put(v any) {
	v = schema.Snapshot(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.v = v
}
