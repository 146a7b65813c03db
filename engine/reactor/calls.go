package reactor

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// calls are the Inits and Cleanups that run at this moment. They run outside of the loop, and the loop
// names them where one does not return. A call has a place in a list, and no key in a map: a graph begins with one for each vertex.
type calls struct {
	mu   sync.Mutex
	list []call // with as many places as calls ran at once
	free []int  // places of the list
}

// call is one of them. A free place has no vertex.
type call struct {
	v      *vertex
	method string
	since  int64 // by the reactor's clock
}

// cleanup calls Cleanup and gives up what v shares.
func (c *core) cleanup(v *vertex) error {
	defer c.calls.done(c.calls.begin(call{v, "Cleanup", c.now()}))
	return v.Cleanup()
}

// cleanUp attends to the Cleanup of v. Errors are only logged: no caller is left to
// act on them.
func (c *core) cleanUp(v *vertex) {
	c.attended.Store(v)
	defer c.attended.Store(nil)
	c.cleaned(v, apart.Call("Cleanup", func() error { return c.cleanup(v) }))
}

// cleaned logs the error of a Cleanup.
func (c *core) cleaned(v *vertex, err error) {
	if err != nil {
		c.log.Warn("cleanup failed", slog.String("resource", v.ID), slog.String("error", v.Text(err.Error())))
	}
}

// begin notes a call that begins, and returns its place for done.
func (c *calls) begin(now call) (place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.free) - 1
	if last < 0 {
		c.list = append(c.list, now)
		return len(c.list) - 1
	}
	place, c.free = c.free[last], c.free[:last]
	c.list[place] = now
	return place
}

// mostPlaces is how many places are kept while no call runs.
const mostPlaces = 64

// done forgets a call that has returned.
func (c *calls) done(place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[place] = call{}
	if c.free = append(c.free, place); len(c.free) > mostPlaces && len(c.free) == len(c.list) {
		c.list, c.free = nil, nil
	}
}

// byResource returns the running calls by the id of their vertex. If two vertices have one id, one of them is there.
func (c *calls) byResource() map[string]call {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[string]call{}
	for _, now := range c.list {
		if now.v != nil {
			list[now.v.ID] = now
		}
	}
	return list
}

// methods returns the methods that run, by resource; nil for none.
func (c *calls) methods() map[string]string {
	var list map[string]string
	for id, now := range c.byResource() {
		if list == nil {
			list = map[string]string{}
		}
		list[id] = now.method
	}
	return list
}

// dump writes a line for each call, sorted.
func (c *calls) dump(w io.Writer, now int64) {
	list := c.byResource()
	for _, id := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(w, "%s: its %s runs since %s\n", id, list[id].method, time.Duration(now-list[id].since))
	}
}

// readTime is how long the loop waits for the text of an error that a method has
// returned on the loop.
const readTime = 100 * time.Millisecond

// read takes the text of an error where the loop itself has called a method: code that
// is not ours is asked on a goroutine of its own, and not waited for longer than readTime.
// Methods that other goroutines call are asked for the texts of their errors there.
func (c *core) read(method string, err error) error {
	if err == nil {
		return nil
	}
	if engine.Legible(err) {
		return engine.Freeze(method, err)
	}
	text := make(chan error, 1)
	c.enders.Go(func() { text <- engine.Freeze(method, err) })
	late := engine.NewTimer(c.opt.Clock, readTime)
	defer late.Stop()
	select {
	case err := <-text:
		return err
	case <-late.C:
		return &engine.UnreadableError{Method: method, Type: fmt.Sprintf("%T", err), Reason: "a method of it does not return"}
	}
}
