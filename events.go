package mgmt

import (
	"context"
	"iter"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Event is one thing that happened, as data. Kind says which of the fields count. What an event
// points to must not be altered.
type Event struct {
	Kind EventKind

	Swap      Swap                 // EventSwapped
	Run       Run                  // EventRan
	Counts    Counts               // EventConverged, EventStirred: vertices by state
	Pause     Pause                // EventPaused, EventResumed
	Resource  string               // EventHeld, EventReleased: kind[name]
	Held      *Held                // EventHeld: by which safety limit, and why
	Resources []string             // EventLingers: kind[name] of each, sorted
	Graph     func() *engine.Graph // EventLoaded: see Observer.Loaded
	Err       error                // EventRefused: schema.Diagnostics where the graph is wrong, *reactor.RemovalsError where it is held
	Warnings  schema.Diagnostics   // EventWarned
	Missed    int                  // EventMissed: how many events were left out
}

// EventKind says what has happened.
type EventKind uint8

// The kinds of events.
const (
	EventSwapped   EventKind = iota + 1 // another graph is in effect
	EventLoaded                         // a graph or a part is in effect, told after EventSwapped
	EventRefused                        // a graph could not be used, and the last good one goes on
	EventWarned                         // a graph is used, and there are warnings
	EventRan                            // a CheckApply has ended, or a vertex has failed without one
	EventConverged                      // the graph has come to rest
	EventStirred                        // something happens again in a graph that had come to rest
	EventPaused                         // an operator's pause has begun
	EventResumed                        // an operator's pause has ended
	EventHeld                           // a safety limit holds a resource
	EventReleased                       // a safety limit no longer holds a resource
	EventLingers                        // Run has been told to end for a second, and waits for methods of Resources
	EventMissed                         // the reader was too slow: the events that are missing here were left out
)

var eventWords = [...]string{
	"", "swapped", "loaded", "refused", "warned", "ran", "converged", "stirred",
	"paused", "resumed", "held", "released", "lingers", "missed",
}

// String returns the kind in one word, such as "swapped".
func (k EventKind) String() string {
	if int(k) < len(eventWords) && k > 0 {
		return eventWords[k]
	}
	return "EventKind(" + strconv.Itoa(int(k)) + ")"
}

// MarshalText writes that word.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// maxUnread is how many events wait for one reader of Events.
const maxUnread = 4096

// Events yields the events from this call on, in order, until ctx or Run ends. With the end
// of Run, the events before it still come. Call it before Run or Start to miss nothing.
//
// The loop over it may call any method of the Engine, and may take its time: the engine never
// waits for it. At most 4096 events wait for one reader. Then the oldest are left out, and an
// EventMissed stands in their place. So the newest events always come, and a reader that has
// missed some asks Statuses. Each call makes another reader, for one loop by one goroutine.
func (e *Engine) Events(ctx context.Context) iter.Seq[Event] {
	r := e.stream.join(allEvents, maxUnread, true)
	stop := context.AfterFunc(ctx, func() { e.stream.leave(r) })
	return func(yield func(Event) bool) {
		defer stop()
		defer e.stream.leave(r)
		for {
			batch, missed, more := r.take(ctx)
			if missed > 0 && !yield(Event{Kind: EventMissed, Missed: missed}) {
				return
			}
			for i := range batch {
				if ctx.Err() != nil || !yield(batch[i]) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}
