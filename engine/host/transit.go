package host

import (
	"cmp"
	queue "container/heap"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/provenance"
)

// A transit is the passage of a name in a watched folder whose subscribers wait for it.
type transit struct {
	dir  *dir
	name string
	passage
	c    change
	by   *actor    // whose end is awaited; nil for nobody's
	file string    // the handle of the one that was modified last; empty where it is not known
	same bool      // nothing has altered the name since file was seen to have it
	late bool      // it was on its way before, for too long: nobody waits again while the same file is written on
	when time.Time // it is looked at
	at   int       // in the heap

	over chan struct{} // closed when it ends; nil while nobody waits for that
}

// transits are the names that are on their way. The hub's goroutine owns them.
type transits struct {
	order byTime
	timer *clock.Timer
	next  time.Time // when the timer runs out; the zero value for never
}

func newTransits(c clock.Clock) transits {
	t := transits{timer: clock.NewTimer(c, time.Hour)}
	t.timer.Stop()
	return t
}

// pass takes an event of a name that somebody asks for. They are told when the name is complete.
func (h *hub) pass(d *dir, ev event, c change) {
	s, now := step{op: ev.op}, h.clock.Now()
	t := d.passing[ev.name]
	if ev.by != nil {
		if c.from != "" {
			c.by = nil // he has left it as a run of ours did
		}
		s.pid, s.ended = ev.by.pid, ev.by.ended
		s.holds = func(pid int) bool { return holdsOpen(pid, join(d.path, ev.name)) }
	}
	whole := s.pid == h.self && ev.op != opModified // a file of ours has no name before it is complete
	file, late := d.late[ev.name]
	late = late && ev.op == opModified && file == ev.file
	switch {
	case t == nil:
		var p passage
		if p.take(s, now) || whole {
			h.tell(d, ev.name, c)
			return
		}
		t = &transit{dir: d, name: ev.name, passage: p, c: c, late: late, when: p.due()}
		if d.passing == nil {
			d.passing = make(map[string]*transit)
		}
		d.passing[ev.name] = t
		queue.Push(&h.transits.order, t)
	case whole && t.pid != 0 && t.pid != h.self, ev.op&opClosed == 0 && (whole || ev.op&opMovedIn != 0) && h.isWritten(t):
		t.c.merge(c) // a stranger goes on
		return
	default:
		t.c.merge(c)
		t.late = t.late && late
		s.written = ev.op&(opCreated|opClosed) == opCreated && h.isWritten(t)
		if t.take(s, now) || whole && len(t.open) == 0 {
			h.arrive(t, c.foreign)
			return
		}
		if due := t.due(); due.Before(t.when) {
			t.when = due
			queue.Fix(&h.transits.order, t.at)
		}
	}
	switch {
	case ev.op == opModified:
		t.file, t.same = ev.file, true
	case ev.op&opAltered != 0:
		t.same = false
	}
	h.await(t, ev.by)
	h.wind()
}

// has reports whether a file is known to have the name: the source need not be asked.
func (t *transit) has(file string) bool { return t != nil && t.same && t.file == file }

// goesOn reports whether an event tells nothing that the one before did not: the same process modifies the same file.
func (t *transit) goesOn(ev event) bool {
	return ev.op == opModified && ev.by != nil && ev.file != "" && t.has(ev.file) && slices.Contains(t.open, ev.by.pid) &&
		t.c.by != nil && !t.c.by.Gone && t.c.by.PID == ev.by.pid
}

// culprit returns what is known of the process of an event. That of the modification before is not read again, and may
// have ended: who writes on or closes what his number has modified is the same process, since he has had it open.
func (h *hub) culprit(t *transit, ev event) *provenance.Culprit {
	if t != nil && t.c.by != nil && !t.c.by.Gone && t.c.by.PID == ev.by.pid &&
		(t.c.by == ev.by.read || (ev.op == opClosed || ev.op == opModified) && slices.Contains(t.open, ev.by.pid)) {
		return t.c.by
	}
	return h.culprits.of(ev.by)
}

// isWritten reports whether the file that has the name now is the one that somebody has open and
// has modified. The event by which it got the name may be served after the modification.
func (h *hub) isWritten(t *transit) bool {
	return t.file != "" && len(t.open) > 0 && h.w.current(event{dir: t.dir.path, name: t.name, op: opModified, file: t.file})
}

// cancel ends a passage without telling anybody.
func (h *hub) cancel(t *transit) {
	delete(t.dir.passing, t.name)
	queue.Remove(&h.transits.order, t.at)
	h.unawait(t)
	if t.over != nil {
		close(t.over)
	}
}

// arrive tells those who ask for a name that it is complete. foreign says that another process has made it so.
func (h *hub) arrive(t *transit, foreign bool) {
	h.cancel(t)
	t.c.from, t.c.foreign = "", true
	for _, n := range t.dir.nodes {
		if !foreign {
			_, none, from := isOwn(n.names[t.name])
			t.c.foreign = t.c.foreign && none
			t.c.from = cmp.Or(t.c.from, from)
		}
	}
	if t.c.from != "" {
		t.c.by = nil // that is us
	}
	h.tell(t.dir, t.name, t.c)
}

// ripen tells of the names that have been on their way for long enough. Who has begun to write
// meanwhile is known only after a look at the modifications. A name that is due later than it was
// is put back.
func (h *hub) ripen() {
	h.transits.next = time.Time{}
	h.transits.timer.Stop()
	h.modifications()
	now := h.clock.Now()
	for len(h.transits.order) > 0 && !h.transits.order[0].when.After(now) {
		t := h.transits.order[0]
		if t.by != nil && h.isHeldUp(t.by, now) {
			t.until = now.Add(processTime)
		}
		if due := t.due(); due.After(now) {
			t.when = due
			queue.Fix(&h.transits.order, 0)
			continue
		}
		h.arrive(t, false)
		if !t.began.Add(longestPassage).After(now) {
			if t.dir.late == nil {
				t.dir.late = make(map[string]string)
			}
			t.dir.late[t.name] = t.file
		}
	}
	h.wind()
}

// isHeldUp asks each process once at a time.
func (h *hub) isHeldUp(by *actor, now time.Time) bool {
	if !by.looked.Equal(now) {
		by.looked, by.heldUp = now, by.isHeldUp()
	}
	return by.heldUp
}

// writing implements Host.Writing.
func (h *hub) writing(ctx context.Context, path string) (yes bool) {
	if h.lockServed() {
		defer h.mu.Unlock()
		return h.isPassing(path)
	}
	answer := make(chan bool, 1)
	h.caughtUp(ctx, func() { answer <- h.isPassing(path) })
	select {
	case yes = <-answer:
	default: // the hub or ctx has ended
	}
	return yes
}

// hear implements Host.Hear.
func (h *hub) hear(ctx context.Context) {
	if h.lockServed() {
		waits := len(h.transits.order) > 0
		h.mu.Unlock()
		if !waits {
			return
		}
	}
	var since time.Time
	for {
		next := make(chan (<-chan struct{}), 1)
		h.caughtUp(ctx, func() {
			for h.busy() {
				h.work(stepsPerEvent)
			}
			if since.IsZero() {
				since = h.clock.Now()
			}
			next <- h.transits.until(since)
		})
		var over <-chan struct{}
		select {
		case over = <-next:
		default: // the hub or ctx has ended
		}
		if over == nil {
			return
		}
		select {
		case <-over:
		case <-h.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// until returns what is closed when one of those that began by then has ended; nil where there is none.
func (x *transits) until(then time.Time) <-chan struct{} {
	for _, t := range x.order {
		if t.late || t.began.After(then) {
			continue
		}
		if t.over == nil {
			t.over = make(chan struct{})
		}
		return t.over
	}
	return nil
}

// lockServed locks mu on this goroutine, when all that has happened until then is served. It reports false, and mu is not locked, where
// that is the hub's to do: somebody serves, or there is more work. Most ask while a file after the other is written: then no other
// goroutine has to be woken for each answer.
func (h *hub) lockServed() (served bool) {
	if !h.mu.TryLock() {
		return false
	}
	defer func() {
		if !served {
			h.mu.Unlock()
		}
	}()
	if h.over || h.busy() || h.w != nil && !h.w.now(h.gives) {
		return false
	}
	if !h.listen() {
		h.modifications()
	}
	if h.busy() {
		h.wakeUp()
		return false
	}
	return true
}

// caughtUp has f called by the hub's goroutine, when all that has happened until then is served. It waits for that, but not beyond ctx.
func (h *hub) caughtUp(ctx context.Context, f func()) {
	done := make(chan struct{})
	select {
	case h.calls <- func() { defer close(done); h.catchUp(); f() }:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-h.done:
	case <-ctx.Done():
	}
}

// isPassing reports whether the name, or something below it, is on its way.
func (h *hub) isPassing(path string) bool {
	for _, t := range h.transits.order {
		if t.late {
			continue
		}
		if at := join(t.dir.path, t.name); at == path || strings.HasPrefix(at, path+"/") {
			return true
		}
	}
	return false
}

// catchUp serves all that has happened until it is called.
func (h *hub) catchUp() {
	if h.w == nil {
		return
	}
	h.w.catchUp(h.gives)
	h.modifications()
}

// wind sets the timer to the first of the times.
func (h *hub) wind() {
	x := &h.transits
	switch {
	case len(x.order) == 0:
		return // if it runs out, there is nothing to do
	case !x.next.IsZero() && !x.order[0].when.Before(x.next):
		return
	}
	x.next = x.order[0].when
	x.timer.Reset(max(0, x.next.Sub(h.clock.Now())))
}

// byTime is a heap of transits, the first one first.
type byTime []*transit

func (o byTime) Len() int           { return len(o) }
func (o byTime) Less(i, j int) bool { return o[i].when.Before(o[j].when) }

func (o byTime) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

// Push implements heap.Interface.
func (o *byTime) Push(x any) {
	t := x.(*transit)
	t.at = len(*o)
	*o = append(*o, t)
}

// Pop implements heap.Interface.
func (o *byTime) Pop() any {
	last := len(*o) - 1
	t := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return t
}
