package sched

import "slices"

// batch is what the machine knows of a batch key.
type batch struct {
	due      Vertex // first of the Due vertices of the key
	next     int32  // the key after this one in the queue of keys
	busy     int32  // members that run
	starting int32  // members whose Watch is starting
	queued   bool
}

// shut reports whether the key starts nothing now: vertices that become due meanwhile gather for
// its next run.
func (b *batch) shut() bool { return b.busy > 0 || b.starting > 0 }

// keyQueue is the queue of keys with Due vertices, oldest first.
type keyQueue struct{ first, last int32 }

// keyOf returns the batch key of v, none if it has no key.
func (m *Machine) keyOf(v Vertex) int32 {
	if m.key == nil {
		return none
	}
	return m.key[v]
}

// enqueue puts v, which is Due, where Next finds it.
func (m *Machine) enqueue(v Vertex) {
	k := m.keyOf(v)
	if k == none {
		m.pushBack(inQueue, &m.queue, v)
		return
	}
	m.pushBack(inQueue, &m.keys[k].due, v)
	m.offer(k)
}

func (m *Machine) unqueue(v Vertex) {
	if k := m.keyOf(v); k != none {
		m.unlink(inQueue, &m.keys[k].due, v)
		return
	}
	m.unlink(inQueue, &m.queue, v)
}

// offer puts key k into the queue of keys if it has something to start.
func (m *Machine) offer(k int32) {
	b := &m.keys[k]
	if b.queued || b.shut() || b.due == none {
		return
	}
	b.queued, b.next = true, none
	if m.dueKs.first == none {
		m.dueKs.first = k
	} else {
		m.keys[m.dueKs.last].next = k
	}
	m.dueKs.last = k
}

// awaitStart counts v among those of its key that are starting, or, with -1, no
// more.
func (m *Machine) awaitStart(v Vertex, by int32) {
	k := m.keyOf(v)
	if k == none {
		return
	}
	if m.keys[k].starting += by; m.keys[k].starting == 0 {
		m.offer(k)
	}
}

// takeKey returns the oldest key of the queue of keys, none if there is none.
func (m *Machine) takeKey() int32 {
	k := m.dueKs.first
	if k != none {
		m.dueKs.first = m.keys[k].next
		m.keys[k].queued = false
	}
	return k
}

// Next returns the vertices to start now: one, or the members of one batch. They are running from
// now on, each until its Done. The slice is valid until the next call; the members of a batch come
// in ascending order. It returns false if nothing can start before another event: then either no
// slot is free, or every dirty vertex waits for another one, for Wake or for Release.
func (m *Machine) Next() (run []Vertex, ok bool) {
	if m.parallel > 0 && m.used >= m.parallel {
		return nil, false
	}
	m.run = m.run[:0]
	m.keyTurn = !m.keyTurn
	if m.keyTurn {
		ok = m.startBatch() || m.startOne()
	} else {
		ok = m.startOne() || m.startBatch()
	}
	if ok {
		m.used++
	}
	return m.run, ok
}

// startOne starts the oldest Due vertex without a key that may start, and parks
// the others on the way to it. From the list of a settled witness it takes one
// at a time: the others come after all that waits now.
func (m *Machine) startOne() bool {
	for m.queue != none {
		v := m.queue
		if x := &m.vs[v]; x.phase == phaseClean {
			m.queue = x.links[inQueue].next
			v = x.park
		}
		if m.tryStart(v, none) {
			return true
		}
	}
	return false
}

// startBatch starts all vertices of the oldest key that may start. A key that was
// shut since it was queued is offered again when it opens.
func (m *Machine) startBatch() bool {
	for k := m.takeKey(); k != none; k = m.takeKey() {
		b := &m.keys[k]
		for b.due != none && b.starting == 0 {
			if m.tryStart(b.due, k) {
				b.busy++
			}
		}
		if b.busy > 0 {
			slices.Sort(m.run)
			return true
		}
	}
	return false
}

// tryStart starts v, or parks it on an unsettled ancestor.
func (m *Machine) tryStart(v Vertex, k int32) bool {
	if by := m.obstacle(v); by != none {
		m.parkOn(v, by)
		return false
	}
	x := &m.vs[v]
	x.clear(dirty)
	x.set(running)
	if m.key != nil {
		m.ranAs[v] = k
	}
	m.update(v)
	m.run = append(m.run, v)
	return true
}

// free gives back what the run of v holds.
func (m *Machine) free(v Vertex) {
	k := none
	if m.ranAs != nil {
		k, m.ranAs[v] = m.ranAs[v], none
	}
	if k == none {
		m.used--
		return
	}
	if m.keys[k].busy--; m.keys[k].busy == 0 {
		m.used--
		m.offer(k)
	}
}

// parkOn puts v into the list of its witness. Members of batches come first:
// release looks for them there.
func (m *Machine) parkOn(v, by Vertex) {
	m.leave(v)
	x, w := &m.vs[v], &m.vs[by]
	x.phase, x.by = phaseParked, by
	m.enter(v)
	w.lot++
	if m.keyOf(v) != none {
		m.pushFront(inQueue, &w.park, v)
	} else {
		m.pushBack(inQueue, &w.park, v)
	}
	m.note(v)
}

func (m *Machine) unpark(v Vertex) {
	by := m.vs[v].by
	w := &m.vs[by]
	m.unlink(inQueue, &w.park, v)
	w.lot--
	if m.isReleased(by) {
		m.released--
		if w.park == none {
			m.unlink(inQueue, &m.queue, by)
		}
	}
}

// isReleased reports whether v is a settled witness in the queue.
func (m *Machine) isReleased(v Vertex) bool {
	return m.vs[v].phase == phaseClean && m.linked(inQueue, v)
}

// release lets those parked on v, which has settled, be looked at again: the
// members of batches at once, so that they meet in their key's list; of the
// others only the list as a whole, in one step however long it is.
func (m *Machine) release(v Vertex) {
	x := &m.vs[v]
	for x.park != none && m.keyOf(x.park) != none {
		m.move(x.park, phaseDue)
	}
	if x.park != none {
		m.pushBack(inQueue, &m.queue, v)
		m.released += int(x.lot)
	}
}

// recall undoes release for those not yet looked at: v is unsettled again.
func (m *Machine) recall(v Vertex) {
	if m.isReleased(v) {
		m.unlink(inQueue, &m.queue, v)
		m.released -= int(m.vs[v].lot)
	}
}
