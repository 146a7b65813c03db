package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
)

// tries is what the Watch of a container knows of its CheckApply. A try that fails makes
// events too: a container that ends as soon as it is started tells of its start and of its end. If those
// led to the next try, it would be started as often as the machine can.
type tries struct {
	mu      sync.Mutex
	running bool
	left    string        // how the last try left the container, if that has failed; else empty
	altered []string      // the IDs of the containers that it has found, or made
	undone  string        // the ID of the container that it had made and has removed again
	over    chan struct{} // of capacity 1: a try has ended
}

// newTries makes the record of one try to alter a container.
func newTries() *tries { return &tries{over: make(chan struct{}, 1)} }

// begin forgets the last try.
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

// end ends a try; left is empty if it has succeeded.
func (t *tries) end(left string) {
	t.mu.Lock()
	t.running, t.left = false, left
	t.mu.Unlock()
	select {
	case t.over <- struct{}{}:
	default:
	}
}

// undo notes that the try removes what it has made.
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

// state says whether a try runs, and which parts of the last one are left over.
func (t *tries) state() (running bool, left string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running, t.left
}

// tell returns the function that Watch calls for each event, and with nil at the end of each try.
// Events during a try wait for its end. Then an event is dropped if the container is as a failed
// try has left it.
func (r *ContainerRes) tell(ctx context.Context) func(*events.Message) {
	late, sure := false, false // an event waits, and it is not only about what a try alters
	about := map[string]bool{} // the containers that those which wait, and are not sure, are about
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

// print is the container's description, without the fields that change at each start.
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
		slices.Sorted(maps.Keys(c.NetworkSettings.Networks)))
}
