package host

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
)

// canned is a watcher whose events a test writes.
type canned struct {
	evs  chan event
	errs chan error
}

func (c *canned) Add(string) error     { return nil }
func (c *canned) Remove(string) error  { return nil }
func (c *canned) Close() error         { close(c.errs); return nil }
func (c *canned) events() <-chan event { return c.evs }
func (c *canned) errors() <-chan error { return c.errs }
func (c *canned) modified(func(event)) {}
func (c *canned) listen()              {}
func (c *canned) now(func(event)) bool { return false }
func (c *canned) catchUp(func(event))  {}
func (c *canned) kind(string) string   { return "canned" }
func (c *canned) current(event) bool   { return true }

// TestNoEventOfABurstIsLost: events that stand in the channel before the hub reads
// are all served, however many of them it takes at a time.
func TestNoEventOfABurstIsLost(t *testing.T) {
	const n = 3*eventsAtOnce + 7
	w := &canned{evs: make(chan event, n), errs: make(chan error)}
	h := newHost(t, Options{open: func(clock.Clock) (eventSource, error) { return w, nil }})
	dir := t.TempDir()
	subs := make([]events.Subscription, n)
	for i := range subs {
		var err error
		if subs[i], err = h.Watch(t.Context(), []string{filepath.Join(dir, fmt.Sprint(i))}, events.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	gate := make(chan struct{})
	h.hub.calls <- func() { <-gate }
	for i := range subs {
		w.evs <- event{dir: dir, name: fmt.Sprint(i), op: opClosed}
	}
	close(gate)
	for i, s := range subs {
		select {
		case <-s.C():
		case <-time.After(patience):
			t.Fatalf("event %d of %d is lost", i, n)
		}
	}
}
