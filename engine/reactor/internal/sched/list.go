package sched

// link ties a vertex into a circular list. A list is known by its first vertex,
// none if it is empty; the last one is the one before the first.
type link struct{ next, prev Vertex }

// A vertex can be in two lists at once.
const (
	inQueue = iota // Machine.queue, the list of a batch key, or of a witness
	inSet          // Machine.ring or Machine.virgin: the unsettled
)

var unlinked = link{none, none}

// vertices are those of a machine, by slot. A vertex knows its neighbours in the lists that it is in.
type vertices []vertex

func (vs vertices) linked(in int, v Vertex) bool { return vs[v].links[in].next != none }

// pushBack makes v the last one of the list at head.
func (vs vertices) pushBack(in int, head *Vertex, v Vertex) {
	h := *head
	if h == none {
		vs[v].links[in] = link{v, v}
		*head = v
		return
	}
	last := vs[h].links[in].prev
	vs[v].links[in] = link{next: h, prev: last}
	vs[last].links[in].next = v
	vs[h].links[in].prev = v
}

// pushFront makes v the first one of the list at head.
func (vs vertices) pushFront(in int, head *Vertex, v Vertex) {
	vs.pushBack(in, head, v)
	*head = v
}

// unlink takes v out of the list at head.
func (vs vertices) unlink(in int, head *Vertex, v Vertex) {
	l := vs[v].links[in]
	vs[v].links[in] = unlinked
	if l.next == v {
		*head = none
		return
	}
	vs[l.prev].links[in].next = l.next
	vs[l.next].links[in].prev = l.prev
	if *head == v {
		*head = l.next
	}
}

// each calls do for every vertex of the list at head until do returns false. It
// reports whether it came to the end.
func (vs vertices) each(in int, head Vertex, do func(Vertex) bool) bool {
	for v := head; v != none; {
		next := vs[v].links[in].next
		if !do(v) {
			return false
		}
		if next == head {
			break
		}
		v = next
	}
	return true
}
