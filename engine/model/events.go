package model

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// Event is what a subscriber gets.
type Event struct {
	Name   string
	Object *Object // as it is now; with Deleted, as it was
	Was    *Object // with Updated, the snapshot before; else nil
}

// Events calls subscribers. The zero value is ready. Each model has its own subscribers: those of a base do not get
// the events of a model made from it. It is safe for concurrent use.
type Events struct {
	Log *slog.Logger // subscribers that fail; nil is silent

	mu   sync.Mutex
	subs map[*Model][]*subscriber
}

type subscriber struct {
	event string
	call  func(context.Context, Event) error
}

// On calls f for each event of that name on objects of m, until cancel is called. f is called by the goroutine that
// emits, in the order of On; its error, and its panic, is logged and stops no other subscriber.
func (e *Events) On(m *Model, event string, f func(context.Context, Event) error) (cancel func(), err error) {
	if err := m.event(event); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.subs == nil {
		e.subs = map[*Model][]*subscriber{}
	}
	s := &subscriber{event, f}
	e.subs[m] = append(slices.Clip(e.subs[m]), s)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.subs[m] = slices.DeleteFunc(slices.Clone(e.subs[m]), func(x *subscriber) bool { return x == s })
	}, nil
}

// event returns an UnknownEvent for a name that the model has not.
func (m *Model) event(name string) error {
	if _, ok := slices.BinarySearch(m.events, name); ok {
		return nil
	}
	return m.fault(UnknownEvent, "", "", "there is no event %q; the events are %v", name, m.events)
}

// Clear ends all subscriptions of a model. Events that are being emitted still come.
func (e *Events) Clear(m *Model) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.subs, m)
}

// Emit calls the subscribers of an event, and returns when all have returned.
func (e *Events) Emit(ctx context.Context, ev Event) error {
	m := ev.Object.model
	if err := m.event(ev.Name); err != nil {
		return err
	}
	e.mu.Lock()
	subs := e.subs[m]
	e.mu.Unlock()
	for _, s := range subs {
		if s.event != ev.Name {
			continue
		}
		if err := callsafe.Do("a subscriber of "+ev.Name, func() error { return s.call(ctx, ev) }); err != nil && e.Log != nil {
			e.Log.WarnContext(ctx, "A subscriber of an event has failed", "table", m.Label(), "id", ev.Object.id, "event", ev.Name, "error", err)
		}
	}
	return nil
}
