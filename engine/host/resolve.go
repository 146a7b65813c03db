package host

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// inspectAtOnce is how many names one step inspects, and listAtOnce how many
// entries are read at once.
const (
	inspectAtOnce = 64
	listAtOnce    = 256
	maxTodo       = 4096 // names to inspect; beyond that, all of them are
)

// node returns the node of a clean absolute path, which is made if need be, as is
// what leads to it. If inside, its directory is watched.
func (h *hub) node(path string, inside bool) *node {
	n := h.root
	for path != "/" && path != "" {
		h.enterable(n)
		name, _, _ := strings.Cut(path[1:], "/")
		path = path[1+len(name):]
		k, made := n.kid(name)
		if made {
			h.baseline(n, name)
			h.push(k, markFresh)
		}
		n = k
	}
	if inside {
		h.enterable(n)
	}
	return n
}

// enterable has what is in n watched.
func (h *hub) enterable(n *node) {
	if !n.inside {
		n.inside = true
		h.push(n, markFresh)
		if n.to != nil {
			h.enterable(n.to)
		}
	}
}

// step does a part of the work on n, and puts n back into the queue if there is more.
func (h *hub) step(n *node) {
	m := n.mark
	n.mark = 0
	if n.dead {
		return
	}
	if m&^markQueued != 0 {
		h.resolve(n, m)
	}
	loud := m & inherited // a first look need not be told
	if m&markFresh == 0 {
		loud |= markLoud
	}
	h.sift(n)
	names := n.todo[:min(len(n.todo), inspectAtOnce)]
	n.todo = n.todo[len(names):]
	for _, name := range names {
		h.inspect(n, name, loud)
	}
	if len(n.todo) == 0 {
		n.todo, n.sifted = nil, false
	} else if !n.dead {
		h.push(n, 0)
	}
	h.prune(n)
}

// resolve looks what n is now, and hands on what has changed.
func (h *hub) resolve(n *node, m mark) {
	before := n.dir
	h.locate(n, m)
	changed := n.dir != before || m&markStale != 0 && n.dir != nil || m&markLost != 0
	switch {
	case changed:
		h.spread(n, m)
		n.todo, n.sifted = slices.Collect(maps.Keys(n.names)), false
	case m&markDirty != 0: // perhaps it may be searched now
		h.retry(n, m)
	}
	if n.dir != nil && (changed || m&markList != 0) && n.recursive() {
		h.list(n, m)
	}
	if m&inherited != 0 {
		h.announce(n, m, changed)
	}
	if n.dir == nil || n.to != nil {
		n.auto = false
	}
}

// retry has what is missing below n looked for again.
func (h *hub) retry(n *node, m mark) {
	for _, k := range n.kids {
		if k.dir == nil && k.inside {
			h.push(k, markDirty|m&inherited)
		}
	}
}

// locate looks what n is now.
func (h *hub) locate(n *node, m mark) {
	delete(h.loops, n)
	path := n.real()
	st, err := lstat(path)
	switch {
	case path != "" && err == nil && isLink(&st):
		h.follow(n, path, m)
		return
	case path != "" && err == nil && isDir(&st) && n.inside:
		h.unfollow(n)
		h.enter(n, idOf(&st), path, m&markStale != 0)
	default:
		h.unfollow(n)
		h.leave(n)
	}
	n.leaf = false
}

// spread hands on the change of n to the nodes below it and to the links that lead to it.
func (h *hub) spread(n *node, m mark) { h.spreadAs(n, markStale, m) }

// spreadAs is spread with another mark for what is below it.
func (h *hub) spreadAs(n *node, below, m mark) {
	for _, k := range n.kids {
		h.push(k, below|m&inherited)
	}
	for b := range n.back {
		h.push(b, markDirty|m&inherited)
	}
}

// inspect looks whether a name that is asked for is a symbolic link, and then
// follows it; or a directory of a tree that is asked for, and then enters it.
func (h *hub) inspect(n *node, name string, m mark) {
	if n.dir == nil || name == "" {
		return
	}
	asked, below := n.names[name] != nil, n.recursive()
	if !asked && !below {
		return
	}
	st, err := lstat(join(n.dir.path, name))
	switch {
	case err != nil:
	case asked && isLink(&st):
		if k, made := n.kid(name); made || !k.leaf {
			k.leaf = true
			h.push(k, markDirty|m)
		}
	case below && isDir(&st):
		h.descend(n, name, m)
	}
}

// sift leaves, of many names to inspect, the names of links, folders and special files.
func (h *hub) sift(n *node) {
	if n.sifted || n.dir == nil {
		return
	}
	if l, ok := list(n.dir.path, len(n.todo)); ok {
		n.todo, n.sifted = slices.DeleteFunc(n.todo, func(name string) bool { _, special := l[name]; return !special }), true
	}
}

// inspectNew inspects the names of new subscriptions.
func (h *hub) inspectNew() {
	for len(h.fresh) > 0 {
		n, same := h.fresh[0].node, 1
		for same < len(h.fresh) && h.fresh[same].node == n {
			same++
		}
		var l listing
		listed := false
		if n.dir != nil {
			l, listed = list(n.dir.path, same)
		}
		for _, e := range h.fresh[:same] {
			if _, special := l[e.name]; special || !listed {
				h.inspect(n, e.name, 0)
			}
		}
		h.fresh = h.fresh[same:]
	}
	h.fresh = nil
}

// descend watches a directory of a tree that is asked for, with all below.
func (h *hub) descend(n *node, name string, m mark) {
	k, made := n.kid(name)
	k.auto = true
	h.enterable(k)
	if made {
		h.push(k, m&inherited)
	} else {
		h.push(k, markList|m&inherited)
	}
}

// list descends into every directory in n.
func (h *hub) list(n *node, m mark) {
	f, err := os.Open(n.dir.path)
	if err != nil {
		h.log.Debug("cannot list a watched directory", "path", n.dir.path, "error", err)
		return
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(listAtOnce)
		for _, e := range entries {
			if e.IsDir() {
				h.descend(n, e.Name(), m)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.log.Debug("cannot list a watched directory", "path", n.dir.path, "error", err)
			}
			return
		}
	}
}

// prune takes n out of the tree if nothing needs it, and so on upwards.
func (h *hub) prune(n *node) {
	for n != nil && !n.dead && !n.used() {
		h.leave(n)
		h.unfollow(n)
		up := n.parent
		if up == nil {
			n.inside, n.mark = false, n.mark&markQueued
			return
		}
		n.dead = true
		delete(h.loops, n)
		delete(up.kids, n.name)
		n = up
	}
}
