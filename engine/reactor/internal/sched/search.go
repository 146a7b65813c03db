package sched

import "slices"

// insert notes that v is unsettled from now on.
func (m *Machine) insert(v Vertex) {
	x := &m.vs[v]
	m.open.add(v)
	m.seq++
	x.since = m.seq
	m.vs.pushBack(inSet, &m.ring, v)
	m.levels.add(x.level)
}

// takeOut notes that v has settled.
func (m *Machine) takeOut(v Vertex) {
	x := &m.vs[v]
	m.open.remove(v)
	if x.is(virgin) {
		m.vs.unlink(inSet, &m.virgin, v)
	} else {
		m.vs.unlink(inSet, &m.ring, v)
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
	if m.knows(v) {
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

// knows reports whether by of v is an ancestor, found since the last Patch, and unsettled.
func (m *Machine) knows(v Vertex) bool {
	x := &m.vs[v]
	return x.by != none && x.cert >= m.floor && m.unsettled(x.by)
}

type scanned uint8

const (
	scanClean  scanned = iota // no ancestor is unsettled; the certificate is complete
	scanFound                 // the vertex returned is an unsettled ancestor
	scanDeeper                // the vertex returned is settled; its ancestors are to be scanned first
)

// scan looks at the edges that the certificate of u does not cover yet, one step up, until it knows
// more. Nothing unsettled is below level low, virgins apart.
func (m *Machine) scan(u Vertex, low int32) (Vertex, scanned) {
	x := &m.vs[u]
	preds := m.pred.of(u)
	for ; x.left > 0; x.left-- {
		p := preds[x.pos]
		m.looked++
		switch {
		case m.unsettled(p):
			return p, scanFound
		case m.ring == none || m.vs[p].level <= low: // p settled once, so nothing above is virgin
		case m.knows(p):
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

// renew makes the certificate of u one of this moment, whatever it then covers. It returns how many
// of pred it does not cover, or an unsettled one of pred if it came upon one. The cursor stays: the
// edges after it were looked at longest ago.
func (m *Machine) renew(u Vertex) (left int32, by Vertex) {
	x := &m.vs[u]
	holds, by := m.holds(u)
	if x.cert < m.floor && x.phase != phaseParked { // there x.by is the list that it is in
		x.by = none
	}
	if !holds {
		x.left = m.pred.len(u)
	}
	x.cert = m.seq
	return x.left, by
}

// The limits of holds and of Patch, if a test sets no others.
const (
	defaultWalk  = 24
	defaultWide  = 64
	defaultSlack = 1024
)

// holds reports whether the certificate of u is still a proof: nothing became unsettled since then
// on a lower level. It may be too cautious. If such a vertex is one step above u, it returns that
// vertex. So a vertex below very many need not look at all of them to find the few that are never
// quiet.
func (m *Machine) holds(u Vertex) (ok bool, by Vertex) {
	x := &m.vs[u]
	if x.cert < m.floor {
		return false, none
	}
	if m.ring == none {
		return true, none
	}
	preds := m.pred.of(u)
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
