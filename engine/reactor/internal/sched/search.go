package sched

import "slices"

// insert notes that v is unsettled from now on.
func (m *Machine) insert(v Vertex) {
	x := &m.vs[v]
	m.open.add(v)
	m.seq++
	x.since = m.seq
	m.pushBack(inSet, &m.ring, v)
	m.levels.add(x.level)
}

// takeOut notes that v has settled.
func (m *Machine) takeOut(v Vertex) {
	x := &m.vs[v]
	m.open.remove(v)
	if x.is(virgin) {
		m.unlink(inSet, &m.virgin, v)
	} else {
		m.unlink(inSet, &m.ring, v)
		m.levels.remove(x.level)
	}
	x.clear(fresh | virgin)
}

// obstacle returns an unsettled ancestor of v, none if there is none.
func (m *Machine) obstacle(v Vertex) Vertex {
	x := &m.vs[v]
	low := m.levels.min()
	if !x.is(virgin) && x.level <= low {
		return none
	}
	if x.by != none && m.unsettled(x.by) {
		return x.by
	}
	if _, by := m.renew(v); by != none {
		return by
	}
	m.stack = append(m.stack[:0], v)
	for len(m.stack) > 0 {
		u := m.stack[len(m.stack)-1]
		p, what := m.scan(u, low)
		switch what {
		case scanFound:
			for _, u := range m.stack[1:] {
				m.vs[u].by = p
			}
			return p
		case scanDeeper:
			m.stack = append(m.stack, p)
		case scanClean:
			m.stack = m.stack[:len(m.stack)-1]
		}
	}
	return none
}

type scanned uint8

const (
	scanClean  scanned = iota // no ancestor is unsettled; the certificate is complete
	scanFound                 // the vertex returned is an unsettled ancestor
	scanDeeper                // the vertex returned is settled; its ancestors are to be scanned first
)

// scan looks at what the certificate of u does not cover yet, one step up, until
// it knows more. Nothing unsettled is below level low, virgins apart.
func (m *Machine) scan(u Vertex, low int32) (Vertex, scanned) {
	x := &m.vs[u]
	preds := m.pred[m.off[u]:m.off[u+1]]
	for ; x.left > 0; x.left-- {
		p := preds[x.pos]
		m.looked++
		switch {
		case m.unsettled(p):
			return p, scanFound
		case m.ring == none || m.vs[p].level <= low: // p settled once, so nothing above is virgin
		case m.vs[p].by != none && m.unsettled(m.vs[p].by):
			return m.vs[p].by, scanFound
		default:
			if left, by := m.renew(p); by != none {
				m.vs[p].by = by
				return by, scanFound
			} else if left > 0 {
				return p, scanDeeper
			}
		}
		if x.pos++; int(x.pos) == len(preds) {
			x.pos = 0
		}
	}
	return none, scanClean
}

// renew makes the certificate of u one of this moment, whatever it then covers.
// It returns how many of pred it does not cover, or an unsettled one of pred if
// it came upon one. The cursor stays: what comes after it was looked at longest
// ago.
func (m *Machine) renew(u Vertex) (left int32, by Vertex) {
	x := &m.vs[u]
	holds, by := m.holds(u)
	if !holds {
		x.left = m.off[u+1] - m.off[u]
	}
	x.cert = m.seq
	return x.left, by
}

// The limits of holds, if a test sets no others.
const (
	defaultWalk = 24
	defaultWide = 64
)

// holds reports whether the certificate of u still proves what it did: nothing
// became unsettled since then on a lower level. It may be too cautious. If what
// did is one step above u, it returns that one: so a vertex below very many, of
// which a few are never quiet, need not look at all of them to find one.
func (m *Machine) holds(u Vertex) (ok bool, by Vertex) {
	x := &m.vs[u]
	if x.cert == 0 {
		return false, none
	}
	if m.ring == none {
		return true, none
	}
	preds := m.pred[m.off[u]:m.off[u+1]]
	ok = true
	w := m.ring
	for range m.walk {
		w = m.vs[w].links[inSet].prev
		y := &m.vs[w]
		if y.since <= x.cert {
			return ok, none
		}
		if y.level < x.level {
			ok = false
			if len(preds) < m.wide {
				return false, none
			}
			m.looked++
			if _, above := slices.BinarySearch(preds, w); above {
				return false, w
			}
		}
		if w == m.ring {
			return ok, none
		}
	}
	return false, none
}
