package sched

// insert notes that v is unsettled from now on.
func (m *Machine) insert(v Vertex) {
	x := &m.vs[v]
	m.seq++
	x.since = m.seq
	m.pushBack(inSet, &m.ring, v)
	m.levels.add(x.level)
}

// takeOut notes that v has settled.
func (m *Machine) takeOut(v Vertex) {
	x := &m.vs[v]
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
	m.renew(v)
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
		y := &m.vs[p]
		switch {
		case y.phase != phaseClean:
			return p, scanFound
		case y.level <= low: // and so p has no unsettled ancestor: it is no virgin
		case y.by != none && m.unsettled(y.by):
			return y.by, scanFound
		case m.renew(p) > 0:
			return p, scanDeeper
		}
		if x.pos++; int(x.pos) == len(preds) {
			x.pos = 0
		}
	}
	return none, scanClean
}

// renew makes the certificate of u one of this moment, whatever it then covers,
// and returns how many of pred it does not cover. The cursor stays: what comes
// after it was looked at longest ago.
func (m *Machine) renew(u Vertex) int32 {
	x := &m.vs[u]
	if !m.holds(x) {
		x.left = m.off[u+1] - m.off[u]
	}
	x.cert = m.seq
	return x.left
}

// maxWalk bounds how far holds looks back.
const maxWalk = 24

// holds reports whether the certificate of x still proves what it did: nothing
// became unsettled since then on a lower level. It may be too cautious.
func (m *Machine) holds(x *vertex) bool {
	if x.cert == 0 {
		return false
	}
	if m.ring == none {
		return true
	}
	u := m.ring
	for range maxWalk {
		u = m.vs[u].links[inSet].prev
		y := &m.vs[u]
		if y.since <= x.cert {
			return true
		}
		if y.level < x.level {
			return false
		}
		if u == m.ring {
			return true
		}
	}
	return false
}
