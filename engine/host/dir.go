package host

import (
	"errors"
	"slices"
)

// A dir is one directory of the file system that is watched or polled. Device and inode identify
// it, not its name: two nodes that lead to the same directory share it, because the kernel would give
// one watch to both.
type dir struct {
	id    fileID
	path  string // by which it was given to the watcher; free of symbolic links
	nodes []*node
	armed bool           // the watcher has it
	sigs  map[string]sig // while it is polled: the last state that was seen there

	passing map[string]*transit // names on their way; nil before the first
	late    map[string]string   // by name that was on its way for too long, and that nothing but writes has altered since: the handle of its file
}

// eventsAtOnce is how many events the hub serves before it looks at anything else.
const eventsAtOnce = 256

// enter makes n the directory with that id, found at path. If anew, nothing that
// is known of the directory is trusted.
func (h *hub) enter(n *node, id fileID, path string, anew bool) {
	if d := n.dir; d != nil && d.id == id && d.path == path && !anew {
		return
	}
	h.leave(n)
	d := h.byID[id]
	if d == nil {
		d = &dir{id: id, path: path}
		h.byID[id] = d
		if !h.arm(d) {
			delete(h.byID, id)
			return
		}
	} else if anew || d.path != path && identify(d.path) != id {
		if !h.rearm(d, path) {
			return
		}
	}
	h.enrol(n, d)
}

func (h *hub) enrol(n *node, d *dir) {
	n.dir = d
	d.nodes = append(d.nodes, n)
	h.baseline(n, "")
}

// rearmsAtOnce is how often a directory is watched again, until all that is due is done. After
// that, the directories below it are only looked at, and their names are not taken as altered.
// Without that, links that lead to a folder above them would have the directories between watched
// again for ever, one for the other.
const rearmsAtOnce = 8

// rearm watches a directory that others use too by another name, or again, and
// has the others looked at, since events may have been lost in between.
func (h *hub) rearm(d *dir, path string) bool {
	h.disarm(d)
	d.path = path
	if h.arm(d) {
		below := markStale
		if h.rearms[d.id]++; h.rearms[d.id] > rearmsAtOnce {
			below = markDirty
		}
		for _, o := range d.nodes {
			h.push(o, markDirty|markLoud)
			h.spreadAs(o, below, markLoud)
			h.announce(o, markLoud, true)
		}
		return true
	}
	for _, o := range slices.Clone(d.nodes) {
		h.leave(o)
		h.push(o, markStale|markLoud)
	}
	return false
}

// leave makes n no directory.
func (h *hub) leave(n *node) {
	d := n.dir
	if d == nil {
		return
	}
	n.dir = nil
	i := slices.Index(d.nodes, n)
	d.nodes[i] = d.nodes[len(d.nodes)-1]
	d.nodes = d.nodes[:len(d.nodes)-1]
	if len(d.nodes) == 0 {
		for _, t := range d.passing {
			h.cancel(t) // n is entered anew, and then all of its names are told of
		}
		h.disarm(d)
		delete(h.byID, d.id)
	} else if identify(d.path) != d.id { // the others knew it by our name
		for _, o := range d.nodes {
			h.push(o, markStale|markLoud)
		}
	}
}

// wants reports whether somebody asks for a name in d.
func (d *dir) wants(name string) bool {
	return slices.ContainsFunc(d.nodes, func(n *node) bool { return n.names[name] != nil || n.any != nil || n.recursive() })
}

// arm has d watched, or else polled. It reports false if d is not there any
// more; as the directory above is watched already, an event will tell more.
func (h *hub) arm(d *dir) bool {
	if o := h.byPath[d.path]; o != nil && o != d {
		h.disarm(o)
		for _, n := range o.nodes {
			h.push(n, markStale|markLoud)
		}
	}
	err := h.add(d)
	if isGone(err) {
		return false
	}
	h.byPath[d.path] = d
	if err != nil {
		h.poll(d)
	}
	return true
}

// add gives d to the watcher.
func (h *hub) add(d *dir) error {
	if err := h.opened(); err != nil {
		return h.complain(d, err)
	}
	if err := h.w.Add(d.path); err != nil {
		return h.complain(d, err)
	}
	d.armed = true
	h.stats.watches.Add(1)
	return nil
}

// disarm takes d from the watcher and from polling.
func (h *hub) disarm(d *dir) {
	if h.byPath[d.path] == d {
		delete(h.byPath, d.path)
	}
	if d.armed {
		d.armed = false
		h.stats.watches.Add(-1)
		if err := h.w.Remove(d.path); err != nil && !errors.Is(err, errNotWatched) {
			h.log.Debug("watch was gone", "path", d.path, "error", err)
		}
	}
	h.unpoll(d)
}
