package docker

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
)

// tries tells the Watch of a container about its CheckApply. A try that fails makes events too:
// a container that ends as soon as it is started tells of its start and of its end. If those
// led to the next try, it would be started as often as the machine can. So events that a failed
// try made itself are dropped, and the engine's retry alone decides when the next one comes.
//
// CheckApply writes it and Watch reads it, from two goroutines; mu guards all fields but over.
type tries struct {
	mu      sync.Mutex
	running bool
	// How the last try left the container, as print says it, if that has failed; else empty.
	left string
	// The IDs of the containers that the try has found, or made.
	altered []string
	// The ID of the container that the try had made and has removed again.
	undone string
	// A token for the end of a try. The capacity is 1: many ends are one reason to look.
	over chan struct{}
}

// newTries makes the record of the tries of one container.
func newTries() *tries { return &tries{over: make(chan struct{}, 1)} }

// begin forgets the last try, except for how it left the container. From now on events wait for
// the end of this one.
func (t *tries) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.altered, t.undone = true, nil, ""
}

// alters notes a container that the try has found, or made: its events may come of the try.
func (t *tries) alters(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.altered = append(t.altered, id)
}

// altersAll reports whether the try has altered, or may have, all of these.
func (t *tries) altersAll(ids map[string]bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ids {
		if !slices.Contains(t.altered, id) {
			return false
		}
	}
	return true
}

// end ends a try; left is empty if it has succeeded. It never blocks.
func (t *tries) end(left string) {
	t.mu.Lock()
	t.running, t.left = false, left
	t.mu.Unlock()
	select {
	case t.over <- struct{}{}:
	default:
	}
}

// undo notes that the try removes the container that it had made.
func (t *tries) undo(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undone = id
}

// made reports whether an event may come of a CheckApply that alters the container that it is
// about. Events of a removed or renamed container do not, unless the change was undone.
func (t *tries) made(m *events.Message) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch m.Type {
	case events.ContainerEventType:
		return m.Actor.ID == t.undone || m.Action != events.ActionDestroy && m.Action != events.ActionRename
	case events.NetworkEventType:
		return m.Action == events.ActionConnect || m.Action == events.ActionDisconnect
	}
	return false
}

// state says whether a try runs, and how the last one left the container.
func (t *tries) state() (running bool, left string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running, t.left
}

// tell returns the function that Watch calls for each event, and with nil at the end of each
// try. Events during a try wait for its end. Then an event is dropped if the container is as a
// failed try has left it. The function keeps state, so only the goroutine of Watch may call it.
// It asks the daemon at most once for all events that waited.
func (r *ContainerRes) tell(ctx context.Context) func(*events.Message) {
	// An event waits (late), and it is not only about things that a try alters (sure).
	late, sure := false, false
	// The containers of those waiting events that are not sure.
	about := map[string]bool{}
	return func(m *events.Message) {
		if m != nil {
			if !concerns(r.Name(), m) {
				return
			}
			if late, sure = true, sure || !r.tries.made(m); !sure && m.Type == events.ContainerEventType {
				about[m.Actor.ID] = true // the try may not know yet of a container that is made just now
			}
		}
		running, left := r.tries.state()
		if !late || running {
			return
		}
		if sure || left == "" || !r.tries.altersAll(about) || left != r.print(ctx) {
			r.init.Event()
		}
		late, sure = false, false
		clear(about)
	}
}

// print is the container's description, without the fields that change at each start. It is
// empty where the daemon does not answer: then no event is dropped.
func (r *ContainerRes) print(ctx context.Context) string {
	c, err := r.daemon.container(ctx, r.Name())
	if err != nil {
		return ""
	}
	return printOf(c)
}

// printOf is the print of a container; the print of a running one is never that of a failure.
func printOf(c *container.InspectResponse) string {
	if c == nil {
		return "none"
	}
	if c.State.Running && !c.State.Restarting {
		return ""
	}
	return fmt.Sprint(c.ID, c.State.Status, c.State.ExitCode, c.HostConfig.RestartPolicy, c.HostConfig.Memory,
		networksOf(c))
}
