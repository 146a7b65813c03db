package sched

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

// keys are the batch keys of the vertices, and the queue of the keys that have something to start.
type keys struct {
	key         []int32 // of each vertex; nil if no vertex has one
	ran         []int32 // the key under which a running vertex was started; as long as key
	list        []batch // by key
	first, last int32   // of the queue, oldest first
}

func newKeys() keys { return keys{first: none, last: none} }

// of returns the batch key of v, none if it has no key.
func (ks *keys) of(v Vertex) int32 {
	if ks.key == nil {
		return none
	}
	return ks.key[v]
}

// offer puts key k into the queue if it has something to start.
func (ks *keys) offer(k int32) {
	b := &ks.list[k]
	if b.queued || b.shut() || b.due == none {
		return
	}
	b.queued, b.next = true, none
	if ks.first == none {
		ks.first = k
	} else {
		ks.list[ks.last].next = k
	}
	ks.last = k
}

// take returns the oldest key of the queue, none if there is none.
func (ks *keys) take() int32 {
	k := ks.first
	if k != none {
		ks.first = ks.list[k].next
		ks.list[k].queued = false
	}
	return k
}

// awaitStart counts v among those of its key that are starting, or, with -1, no
// more.
func (ks *keys) awaitStart(v Vertex, by int32) {
	k := ks.of(v)
	if k == none {
		return
	}
	if ks.list[k].starting += by; ks.list[k].starting == 0 {
		ks.offer(k)
	}
}

// start notes under which key v runs.
func (ks *keys) start(v Vertex, k int32) {
	if ks.key != nil {
		ks.ran[v] = k
	}
}

// end takes the end of the run of v. It reports whether that frees a slot: no other member of its batch runs.
func (ks *keys) end(v Vertex) (free bool) {
	k := none
	if ks.ran != nil {
		k, ks.ran[v] = ks.ran[v], none
	}
	if k == none {
		return true
	}
	if ks.list[k].busy--; ks.list[k].busy > 0 {
		return false
	}
	ks.offer(k)
	return true
}

// set takes over the keys of all vertices, of which none is queued; a running vertex stays counted under the
// key it was started with.
func (ks *keys) set(key []int32, vs vertices) {
	ks.key = nil
	n := len(ks.list)
	for _, k := range key {
		n = max(n, int(k)+1)
	}
	if n == 0 {
		return
	}
	list := make([]batch, n)
	copy(list, ks.list)
	for k := range list {
		list[k] = batch{due: none, next: none, busy: list[k].busy}
	}
	*ks = keys{key: filled(len(vs), key), ran: filled(len(vs), ks.ran), list: list, first: none, last: none}
	for v, k := range ks.key {
		if k != none && vs[v].phase == phaseStarting {
			ks.list[k].starting++
		}
	}
}

// add takes over the keys of added vertices, nil for none, where there are n slots.
func (ks *keys) add(added []Vertex, key []int32, n int) {
	for _, k := range key {
		for int(k) >= len(ks.list) {
			ks.list = append(ks.list, batch{due: none, next: none})
		}
		if k != none && ks.key == nil {
			ks.key, ks.ran = filled(n, nil), filled(n, ks.ran)
		}
	}
	if ks.key == nil {
		return
	}
	for i, v := range added {
		ks.key[v] = none
		if key != nil {
			ks.key[v] = key[i]
		}
	}
}

// forget forgets the key of v, which leaves. A run of it stays counted.
func (ks *keys) forget(v Vertex) {
	if ks.key != nil {
		ks.key[v] = none
	}
}

// grow makes room for n slots.
func (ks *keys) grow(n int) {
	for ks.key != nil && len(ks.key) < n {
		ks.key, ks.ran = append(ks.key, none), append(ks.ran, none)
	}
}

// filled returns a copy of from, n long; a missing or negative number is none.
func filled(n int, from []int32) []int32 {
	to := make([]int32, n)
	copy(to, from)
	for i := range to {
		if i >= len(from) || to[i] < 0 {
			to[i] = none
		}
	}
	return to
}
