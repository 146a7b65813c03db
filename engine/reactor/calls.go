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
// names them where one does not return.
type calls struct {
	mu   sync.Mutex
	list map[*vertex]call
}

type call struct {
	method string
	since  int64 // by the reactor's clock
}

// call calls a method of v, and counts it as running meanwhile.
func (r *Reactor) call(v *vertex, method string, f func() error) error {
	r.calls.set(v, call{method, r.now()})
	defer r.calls.done(v)
	return f()
}

func (c *calls) set(v *vertex, now call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[*vertex]call{}
	}
	c.list[v] = now
}

func (c *calls) done(v *vertex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, v)
}

// byResource returns the running calls by the id of their vertex. If two vertices have one id, one of them is there.
func (c *calls) byResource() map[string]call {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[string]call{}
	for v, now := range c.list {
		list[v.ID] = now
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
