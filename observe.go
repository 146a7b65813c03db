package mgmt

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/stream"
)

// Event is one thing that happened, as data. Kind says which of the fields count. The things that an event points to must not be altered.
type Event struct {
	Kind EventKind

	Swap      reactor.Swap           // EventSwapped
	Run       reactor.Run            // EventRan
	Counts    reactor.Counts         // EventConverged, EventStirred: vertices by state
	Pause     reactor.Pause          // EventPaused, EventResumed
	Resource  string                 // EventHeld, EventReleased: kind[name]
	Held      *reactor.Held          // EventHeld: by which safety limit, and why
	Resources []string               // EventStopping: kind[name] of each, sorted
	Graph     func() *resgraph.Graph // EventLoaded: see Observer.Loaded
	Err       error                  // EventRefused: schema.Diagnostics where the graph is wrong, *reactor.RemovalsError where it is held
	Warnings  schema.Diagnostics     // EventWarned
	Missed    int                    // EventMissed: how many events were left out

	line func() // eventLine: writes it
}

// MarshalJSON writes the fields, with Err as its text; it is left out where it is nil, and so is Graph.
func (ev Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	return json.Marshal(struct {
		fields
		Err   string `json:",omitempty"`
		Graph int    `json:",omitempty"` // hides the function, which is no data
	}{fields: fields(ev), Err: textOf(ev.Err)})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// EventKind says what has happened.
type EventKind uint8

// The kinds of events.
const (
	EventSwapped   EventKind = iota + 1 // another graph is in effect
	EventLoaded                         // a graph or a part is in effect, told after EventSwapped
	EventRefused                        // a graph could not be used, and the last good one stays in effect
	EventWarned                         // a graph is used, and there are warnings
	EventRan                            // a CheckApply has ended, or a vertex has failed without one
	EventConverged                      // the graph has come to rest
	EventStirred                        // something happens again in a graph that had come to rest
	EventPaused                         // an operator's pause has begun
	EventResumed                        // an operator's pause has ended
	EventHeld                           // a safety limit holds a resource
	EventReleased                       // a safety limit no longer holds a resource
	EventStopping                       // Run has been told to end for a second, and waits for methods of Resources
	EventMissed                         // the reader was too slow: the events that are missing here were left out

	eventLine // a line of the log, for the Observer's goroutine alone
)

var eventWords = [...]string{
	"", "swapped", "loaded", "refused", "warned", "ran", "converged", "stirred",
	"paused", "resumed", "held", "released", "stopping", "missed",
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
// of Run, the events before it still come. With a nil frontend, call it before the first Apply to miss nothing.
//
// The loop over it may call any method of the Engine, and may take its time: the engine never
// waits for it. At most 4096 events wait for one reader. Then the oldest are left out, and an
// EventMissed stands in their place. So the newest events always come, and a reader that has
// missed some asks for a Snapshot. Each call makes another reader, for one loop by one goroutine.
func (e *Engine) Events(ctx context.Context) iter.Seq[Event] {
	r := e.stream.Join(stream.All&^stream.Of(eventLine), maxUnread, 0)
	stop := context.AfterFunc(ctx, r.Leave)
	return func(yield func(Event) bool) {
		defer stop()
		defer r.Leave()
		for {
			batch, missed, more := r.Take(ctx)
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

// tell takes an event to its readers. It never waits for them.
func (e *Engine) tell(what Event) { e.stream.Tell(uint8(what.Kind), what) }

// Observer gets the same events as Engine.Events: one function for each kind of event,
// nil for unwanted kinds. All are called on one goroutine, one at a time, in the
// order of the events. They may call any method of the Engine but Told and Wait, which wait for the Observer itself. No event is left out
// for an Observer: while more than 1024 events wait, the engine starts nothing new, unless a graph that is to take effect waits for
// resources to end. Run returns after the Observer has been told of everything.
type Observer struct {
	// Swapped: another graph is in effect.
	Swapped func(reactor.Swap)
	// Ran: a CheckApply has ended, or a vertex has failed without one.
	Ran func(reactor.Run)
	// Converged: the graph has come to rest (true), or something happens in it again (false).
	Converged func(bool, reactor.Counts)
	// Stopping: Run was told to end a second ago, and waits for methods of these resources.
	Stopping func(resources []string)
	// Paused: an operator's pause has begun (true) or ended (false).
	Paused func(reactor.Pause, bool)
	// Held: a safety limit holds a resource; with nil, it no longer does.
	Held func(resource string, h *reactor.Held)
	// Loaded: a graph, or a part of one, has taken effect. The function returns the graph that is in effect then, at the cost of the
	// whole after a part; by the time of the call, it may be that of a later part. The graph must not be altered. Its resources are
	// the running ones. For kept vertices (Swap.Kept counts them) they may be equal
	// ones that were never initialised. So only what never changes may be asked of
	// them: kind, name, metaparameters. How things stand is in Engine.Snapshot.
	Loaded func(graph func() *resgraph.Graph)
	// Refused: a graph could not be used, and the last good one stays in effect.
	// schema.Diagnostics where the input is bad.
	Refused func(error)
	// Warned: a graph is used, but there is something to say of it.
	Warned func(schema.Diagnostics)
	// Missed: so many events were left out. That comes only where the Observer hangs while other
	// callers of the Engine cause a quarter of a million events.
	Missed func(int)
}

// Bounds of the events that wait for an Observer.
const (
	maxBehind = 1024    // events; the loop waits from there on, but for its turn
	maxUntold = 1 << 18 // events; the oldest are left out from there on
)

// wants returns the kinds of events that o has a function for.
func (o *Observer) wants() (s stream.Kinds) {
	for _, f := range []struct {
		has   bool
		kinds stream.Kinds
	}{
		{o.Swapped != nil, stream.Of(EventSwapped)},
		{o.Ran != nil, stream.Of(EventRan, eventLine)},
		{o.Converged != nil, stream.Of(EventConverged, EventStirred)},
		{o.Stopping != nil, stream.Of(EventStopping)},
		{o.Paused != nil, stream.Of(EventPaused, EventResumed)},
		{o.Held != nil, stream.Of(EventHeld, EventReleased)},
		{o.Loaded != nil, stream.Of(EventLoaded)},
		{o.Refused != nil, stream.Of(EventRefused)},
		{o.Warned != nil, stream.Of(EventWarned)},
	} {
		if f.has {
			s |= f.kinds
		}
	}
	return s
}

// tell calls the function for an event, which o wants.
func (o *Observer) tell(e *Event) {
	switch e.Kind {
	case EventSwapped:
		o.Swapped(e.Swap)
	case EventRan:
		o.Ran(e.Run)
	case eventLine:
		e.line()
	case EventConverged, EventStirred:
		o.Converged(e.Kind == EventConverged, e.Counts)
	case EventStopping:
		o.Stopping(e.Resources)
	case EventPaused, EventResumed:
		o.Paused(e.Pause, e.Kind == EventPaused)
	case EventHeld, EventReleased:
		o.Held(e.Resource, e.Held)
	case EventLoaded:
		o.Loaded(e.Graph)
	case EventRefused:
		o.Refused(e.Err)
	case EventWarned:
		o.Warned(e.Warnings)
	}
}

// observe has the Observer of the Options told until the stream ends. The returned
// function waits for that.
func (s *session) observe() (wait func()) {
	r, o := s.e.observer, &s.opt.Observer
	if r.Wants() == 0 {
		return func() {}
	}
	s.lines.set(true)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer r.Done()
		defer r.Leave() // also where a function ends the goroutine: nobody waits for it any more
		defer s.lines.set(false)
		for more := true; more; {
			var batch []Event
			var missed int
			batch, missed, more = r.Take(context.Background())
			if missed > 0 && o.Missed != nil {
				o.Missed(missed)
			}
			for i := range batch {
				o.tell(&batch[i])
			}
		}
	})
	return wg.Wait
}

// Told waits until Options.Observer has been told of everything that happened before the
// call. A function of the Observer must not call it: it would wait for itself.
func (e *Engine) Told(ctx context.Context) error {
	return e.observer.Await(ctx)
}

// With returns an Observer that tells both: o first, then next. A function that is nil in
// both stays nil, so that no event is kept for it.
func (o Observer) With(next Observer) Observer {
	return Observer{
		Swapped:   both(o.Swapped, next.Swapped),
		Ran:       both(o.Ran, next.Ran),
		Converged: both2(o.Converged, next.Converged),
		Stopping:  both(o.Stopping, next.Stopping),
		Paused:    both2(o.Paused, next.Paused),
		Held:      both2(o.Held, next.Held),
		Loaded:    both(o.Loaded, next.Loaded),
		Refused:   both(o.Refused, next.Refused),
		Warned:    both(o.Warned, next.Warned),
		Missed:    both(o.Missed, next.Missed),
	}
}

// both returns a function that calls first and then next.
func both[T any](first, next func(T)) func(T) {
	switch {
	case first == nil:
		return next
	case next == nil:
		return first
	}
	return func(v T) {
		first(v)
		next(v)
	}
}

// both2 is both for functions of two values.
func both2[T, U any](first, next func(T, U)) func(T, U) {
	switch {
	case first == nil:
		return next
	case next == nil:
		return first
	}
	return func(v T, w U) {
		first(v, w)
		next(v, w)
	}
}

// maxLines is how many lines wait for an Observer. The next ones are written at once, by who logs: no flood of lines pushes out an event.
const maxLines = maxUntold / 4

// lines takes the lines that the reactor and the resources log to the Observer's goroutine, which writes them. So each stands after the
// lines of an Observer about what had happened before it. The Observer is told of a run after the next one may have begun.
type lines struct {
	mu   sync.RWMutex
	open bool // the goroutine takes them; else they are written at once
	to   *Engine

	told, done atomic.Uint64 // numbers of lines: the last one, and the last one that was written
}

// logger returns a logger whose lines go that way. Where no Observer is told of runs, there is nothing to stand in order with.
func (l *lines) logger(o *Observer, to *slog.Logger) *slog.Logger {
	if o.Ran == nil {
		return to
	}
	return slog.New(&lineHandler{to.Handler(), l})
}

// set says whether the goroutine of the Observer takes lines.
func (l *lines) set(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
}

// put hands a line on, and reports whether it will be written.
func (l *lines) put(write func()) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.open || l.told.Load()-l.done.Load() >= maxLines {
		return false
	}
	n := l.told.Add(1)
	l.to.tell(Event{Kind: eventLine, line: func() {
		l.done.Store(n)
		write()
	}})
	return true
}

type lineHandler struct {
	slog.Handler
	to *lines
}

// Handle implements slog.Handler. The time of the record is that of the call.
func (h *lineHandler) Handle(ctx context.Context, rec slog.Record) error {
	if h.to.put(func() { _ = h.Handler.Handle(context.WithoutCancel(ctx), rec) }) {
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{h.Handler.WithAttrs(attrs), h.to}
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	return &lineHandler{h.Handler.WithGroup(name), h.to}
}
