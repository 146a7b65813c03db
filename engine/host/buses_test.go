package host

import (
	"errors"
	"testing"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
)

// TestNoBuses: a program that does not import msgbus, such as this one, is told so where it asks for a bus.
func TestNoBuses(t *testing.T) {
	h := newHost(t, Options{})
	for _, kind := range []bus.Kind{bus.System, bus.Session, "other"} {
		if b, err := h.Bus(t.Context(), kind); b != nil || !errors.Is(err, errNoBuses) {
			t.Errorf("%s: %v, %v", kind, b, err)
		}
	}
}

// TestWakeups: a subscription of a bus keeps the first cause, counts those that it merges, and closes with its context.
func TestWakeups(t *testing.T) {
	closed := 0
	w := NewWakeups(func(*Wakeups) { closed++ })
	w.Wake("dbus", "/a", false)
	w.Wake("dbus", "/b", true)
	if c := drain(w); c != (events.Cause{Source: "dbus", Path: "/a", Merged: 2, Resync: true}) {
		t.Errorf("%+v", c)
	}
	w.Close()
	w.Close()
	w.Wake("dbus", "/c", false)
	if c := drain(w); c.Merged != 0 || closed != 1 {
		t.Errorf("after Close: %+v, released %d times", c, closed)
	}
}
