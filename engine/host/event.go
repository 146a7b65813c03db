package host

import "github.com/fsnotify/fsnotify"

// A change is what a wake-up will tell.
type change struct {
	source, path string
	lost         bool
}

const altered = fsnotify.Create | fsnotify.Remove | fsnotify.Rename

// event tells the subscriptions of an event, and puts the nodes that it makes uncertain into the
// queue. It makes no system call, but for those of a subscriber who is asked whether the change is
// its own. An event of a watched directory itself comes under its path, as an event of its parent
// would.
func (h *hub) event(ev fsnotify.Event) {
	at, name := split(ev.Name)
	if d := h.byPath[at]; d != nil {
		h.inside(d, name, ev.Op, change{source: "inotify", path: ev.Name})
	}
}

// inside handles a change of a name in d.
func (h *hub) inside(d *dir, name string, op fsnotify.Op, c change) {
	for _, n := range d.nodes {
		e := n.names[name]
		own := fire(e, c)
		fire(n.any, c)
		h.fireTree(n, c)
		if k := n.kids[name]; k != nil {
			h.touch(k, c)
			h.doubt(k, op)
		}
		if op.Has(fsnotify.Create) && (!own || n.recursive()) {
			h.later(n, name)
		}
	}
}

// doubt has k looked at again after an event on its name.
func (h *hub) doubt(k *node, op fsnotify.Op) {
	switch {
	case op&altered != 0:
		h.push(k, markStale|markLoud)
	case op.Has(fsnotify.Chmod):
		h.push(k, markDirty|markLoud)
	}
}

// later has the name inspected.
func (h *hub) later(n *node, name string) {
	if len(n.todo) < maxTodo {
		n.todo, n.sifted = append(n.todo, name), false
		h.push(n, 0)
	} else {
		h.push(n, markLost)
	}
}

// touch tells those who ask for a symbolic link of a change of its target n.
func (h *hub) touch(n *node, c change) {
	for b := range n.back {
		fire(b.parent.names[b.name], c)
		h.touch(b, c)
	}
}

// announce tells the subscriptions that reach n by a symbolic link, and all subscriptions in n if n
// has changed, that n is another one.
func (h *hub) announce(n *node, m mark, changed bool) {
	c := change{source: h.source(n), path: n.path(), lost: m&markLost != 0}
	if changed {
		for _, e := range n.names {
			fire(e, c)
		}
		fire(n.any, c)
		h.fireTree(n, c)
	}
	if n.to != nil {
		fire(n.parent.names[n.name], c)
	}
	h.touch(n, c)
}

func (h *hub) source(n *node) string {
	if n.dir != nil && !n.dir.armed {
		return "poll"
	}
	return "inotify"
}

// fireTree tells those who ask for everything below n or an ancestor of it.
func (h *hub) fireTree(n *node, c change) {
	for p := n; p != nil; p = p.parent {
		fire(p.deep, c)
		if p.to != nil {
			return
		}
	}
}

// fire tells a list of subscriptions. It reports whether all of them, if any, said that the
// change is their own.
func fire(e *entry, c change) (own bool) {
	own = true
	for ; e != nil; e = e.next {
		own = e.sub.wake(c) && own
	}
	return own
}
