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

func (m *Machine) linked(in int, v Vertex) bool { return m.vs[v].links[in].next != none }

// pushBack makes v the last one of the list at head.
func (m *Machine) pushBack(in int, head *Vertex, v Vertex) {
	h := *head
	if h == none {
		m.vs[v].links[in] = link{v, v}
		*head = v
		return
	}
	last := m.vs[h].links[in].prev
	m.vs[v].links[in] = link{next: h, prev: last}
	m.vs[last].links[in].next = v
	m.vs[h].links[in].prev = v
}

// pushFront makes v the first one of the list at head.
func (m *Machine) pushFront(in int, head *Vertex, v Vertex) {
	m.pushBack(in, head, v)
	*head = v
}

// unlink takes v out of the list at head.
func (m *Machine) unlink(in int, head *Vertex, v Vertex) {
	l := m.vs[v].links[in]
	m.vs[v].links[in] = unlinked
	if l.next == v {
		*head = none
		return
	}
	m.vs[l.prev].links[in].next = l.next
	m.vs[l.next].links[in].prev = l.prev
	if *head == v {
		*head = l.next
	}
}

// each calls do for every vertex of the list at head until do returns false. It
// reports whether it came to the end.
func (m *Machine) each(in int, head Vertex, do func(Vertex) bool) bool {
	for v := head; v != none; {
		next := m.vs[v].links[in].next
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
