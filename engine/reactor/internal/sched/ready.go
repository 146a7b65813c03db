package sched

import "slices"

// enqueue puts v, which is Due, where Next finds it.
func (m *Machine) enqueue(v Vertex) {
	k := m.keys.of(v)
	if k == none {
		m.vs.pushBack(inQueue, &m.queue, v)
		return
	}
	m.vs.pushBack(inQueue, &m.keys.list[k].due, v)
	m.keys.offer(k)
}

func (m *Machine) unqueue(v Vertex) {
	if k := m.keys.of(v); k != none {
		m.vs.unlink(inQueue, &m.keys.list[k].due, v)
		return
	}
	m.vs.unlink(inQueue, &m.queue, v)
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
	for k := m.keys.take(); k != none; k = m.keys.take() {
		b := &m.keys.list[k]
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
	m.keys.start(v, k)
	m.update(v)
	m.run = append(m.run, v)
	return true
}

// free gives back what the run of v holds.
func (m *Machine) free(v Vertex) {
	if m.keys.end(v) {
		m.used--
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
	if m.keys.of(v) != none {
		m.vs.pushFront(inQueue, &w.park, v)
	} else {
		m.vs.pushBack(inQueue, &w.park, v)
	}
	m.note(v)
}

func (m *Machine) unpark(v Vertex) {
	by := m.vs[v].by
	w := &m.vs[by]
	m.vs.unlink(inQueue, &w.park, v)
	w.lot--
	if m.isReleased(by) {
		m.released--
		if w.park == none {
			m.vs.unlink(inQueue, &m.queue, by)
		}
	}
}

// isReleased reports whether v is a settled witness in the queue.
func (m *Machine) isReleased(v Vertex) bool {
	return m.vs[v].phase == phaseClean && m.vs.linked(inQueue, v)
}

// release lets those parked on v, which has settled, be looked at again: the
// members of batches at once, so that they meet in their key's list; of the
// others only the list as a whole, in one step however long it is.
func (m *Machine) release(v Vertex) {
	x := &m.vs[v]
	for x.park != none && m.keys.of(x.park) != none {
		m.move(x.park, phaseDue)
	}
	if x.park != none {
		m.vs.pushBack(inQueue, &m.queue, v)
		m.released += int(x.lot)
	}
}

// recall undoes release for those not yet looked at: v is unsettled again.
func (m *Machine) recall(v Vertex) {
	if m.isReleased(v) {
		m.vs.unlink(inQueue, &m.queue, v)
		m.released -= int(m.vs[v].lot)
	}
}
