package reactor

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
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
