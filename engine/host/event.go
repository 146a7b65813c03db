package host

import (
	"cmp"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provenance"
)

// A change is what a wake-up will tell.
type change struct {
	source, path string
	name         string // in the folder path; empty where path is all
	from         string // the resource whose run has made it; empty for a stranger
	foreign      bool   // those who ask for the name were asked: none has left it so
	by           *provenance.Culprit
	lost         bool
	merged       int // how many more changes it stands for
}

// where returns the path of the change.
func (c *change) where() string {
	if c.name == "" {
		return c.path
	}
	return join(c.path, c.name)
}

// merge adds a later change of the same name.
func (c *change) merge(o change) {
	c.merged += 1 + o.merged
	c.lost = c.lost || o.lost
	if o.by != nil {
		c.by = o.by // who made the last change
	}
}

// event tells the subscriptions of an event, and puts the nodes that it makes uncertain into the
// queue. Where nobody asks for the name, it makes no system call. An event of a watched folder
// itself is one of its name in the folder above.
func (h *hub) event(ev event) {
	defer ev.served()
	switch {
	case ev.op == opPending:
		h.modifications()
		return
	case ev.op&opPending != 0:
		h.lose(longestPassage)
		return
	case ev.name == "":
		ev.dir, ev.name = split(ev.dir)
		ev.file = "" // that is the folder's own
	}
	if d := h.byPath[ev.dir]; d != nil {
		h.inside(d, ev, change{source: h.w.kind(ev.dir), path: ev.dir, name: ev.name})
		if ev.op&opCreated != 0 {
			h.edited(d, ev)
		}
	}
}

// edited puts a name on its way where the file of an event says that an editor has read it: vim and nano make .NAME.swp, and for a name that
// begins with a dot NAME.swp. The editor refuses to write over another file than the one that it has read.
func (h *hub) edited(d *dir, ev event) {
	swap, ok := strings.CutSuffix(ev.name, ".swp")
	name, dotted := strings.CutPrefix(swap, ".")
	if !ok || !dotted || strings.Trim(name, ".") == "" {
		return
	}
	ev.op, ev.file = opModified|ev.op&opUnsure, ""
	for _, ev.name = range []string{swap, name} {
		h.inside(d, ev, change{source: h.w.kind(ev.dir), path: ev.dir, name: ev.name})
	}
}

// listen comes after events that were served. Where we have written a file, who alters it next is to be known before he has ended.
// It reports whether it has looked at the modifications.
func (h *hub) listen() bool {
	if !h.wrote {
		return false
	}
	h.wrote = false
	h.modifications()
	h.w.listen()
	return true
}

// modifications looks at what was modified since it was last called.
func (h *hub) modifications() {
	if h.w == nil {
		return
	}
	h.w.modified(h.each)
}

// inside handles an event of a name in d. What it makes uncertain is looked at again at once;
// those who ask for the name are told when it is complete.
func (h *hub) inside(d *dir, ev event, c change) {
	stranger := ev.by != nil && ev.by.pid != h.self && d.wants(ev.name)
	if stranger && ev.op != opModified {
		h.modifications() // those that came before this event
	}
	t := d.passing[ev.name]
	if t.goesOn(ev) {
		t.c.merged++
		return
	}
	if ev.op != opModified {
		delete(d.late, ev.name)
	}
	asked, known := false, false
	c.foreign = true
	if stranger {
		c.by = h.culprit(t, ev) // before all else: he may end at any moment
	}
	for _, n := range d.nodes {
		e := n.names[ev.name]
		known = known || e != nil
		own, none, from := e == nil, t == nil || stranger, ""
		if !own && none && !stranger { // what another process has made is nobody's own
			own, none, from = isOwn(e)
		}
		c.foreign = c.foreign && none
		c.from = cmp.Or(c.from, from)
		asked = asked || !own || n.any != nil || n.recursive()
		if k := n.kids[ev.name]; k != nil {
			asked = asked || len(k.back) > 0
			h.doubt(k, ev.op)
		}
		if ev.op&opArrived != 0 && (!own || n.recursive()) {
			h.later(n, ev.name)
		}
	}
	h.wrote = h.wrote || ev.by != nil && ev.by.pid == h.self && known && ev.op != opModified
	switch {
	case !asked || ev.file != "" && !t.has(ev.file) && !h.w.current(ev): // nobody waits for it
	case c.source == sourcePoll, c.source == sourceMount:
		h.tell(d, ev.name, c)
	case stranger, ev.op == opModified:
		h.pass(d, ev, c)
	default:
		h.modifications() // as above
		h.pass(d, ev, c)
	}
}

// The sources of changes that the kernel sends no event of.
const (
	sourcePoll  = "poll"
	sourceMount = "mount"
)

// tell tells all who ask for a name in d.
func (h *hub) tell(d *dir, name string, c change) {
	foreign := c.foreign
	for _, n := range d.nodes {
		c.foreign = foreign
		fire(n.names[name], c)
		c.foreign = false
		fire(n.any, c)
		h.fireTree(n, c)
		if k := n.kids[name]; k != nil {
			h.touch(k, c)
		}
	}
}

// doubt has k looked at again after an event on its name.
func (h *hub) doubt(k *node, o op) {
	switch {
	case o&opAltered != 0:
		h.push(k, markStale|markLoud)
	case o&opAttributes != 0:
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

// source names what tells of the things in n.
func (h *hub) source(n *node) string {
	switch {
	case n.dir != nil && !n.dir.armed || h.w == nil:
		return sourcePoll
	case n.dir == nil:
		return h.w.kind("")
	}
	return h.w.kind(n.dir.path)
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

// fire tells a list of subscriptions.
func fire(e *entry, c change) {
	for ; e != nil; e = e.next {
		e.sub.wake(c)
	}
}

// isOwn reports whether all of a list of subscriptions say that the change is their own, whether none does, and whose
// it is if one does.
func isOwn(e *entry) (all, none bool, from string) {
	all, none = true, true
	for ; e != nil; e = e.next {
		if e.sub.leaves() {
			none, from = false, e.sub.resource
		} else {
			all = false
		}
	}
	return all, none, from
}
