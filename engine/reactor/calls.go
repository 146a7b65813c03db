package reactor

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

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

// call calls a method of v, and counts it as running meanwhile.
func (c *core) call(v *vertex, method string, f func() error) error {
	place := c.calls.begin(call{v, method, c.now()})
	defer c.calls.done(place)
	return f()
}

// attendTo calls a method of v in a place where only one vertex at a time is
// attended to: in Swap, and at the end. It is named if Run is told to leave it.
func (c *core) attendTo(v *vertex, call func()) {
	c.attended.Store(v)
	defer c.attended.Store(nil)
	call()
}

// cleanup calls Cleanup and gives up what v shares. Errors are only logged: no caller is left to
// act on them.
func (c *core) cleanup(v *vertex) {
	c.cleaned(v, apart.Call("Cleanup", func() error { return c.call(v, "Cleanup", v.Cleanup) }))
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
