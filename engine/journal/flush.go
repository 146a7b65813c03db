package journal

import (
	"errors"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// run writes appended entries: at once after a pause, and at most every
// FlushEvery unless the buffer fills up.
func (h *History) run() {
	defer close(h.done)
	prune := clock.NewTimer(h.opt.Clock, prunePause)
	defer prune.Stop()
	for {
		select {
		case <-h.wake:
		case <-prune.C:
			prune.Reset(prunePause)
		case <-h.stop:
			return
		}
		if h.flush(false) != nil {
			nudge(h.wake) // what could not be written is tried again
		}
		pause := clock.NewTimer(h.opt.Clock, h.opt.FlushEvery)
		select {
		case <-pause.C:
		case <-h.hurry:
		case <-h.stop:
		}
		pause.Stop()
	}
}

// flush writes new entries and removes those which are too old or too many. The
// last one leaves no gap in the ids.
func (h *History) flush(last bool) error {
	for {
		if h.stale.CompareAndSwap(true, false) {
			h.reload()
		}
		h.mu.Lock()
		s := h.plan(last)
		h.mu.Unlock()
		if len(s.put) == 0 && len(s.remove) == 0 && s.ceiling == 0 {
			return nil
		}
		if err := h.keep.save(s); err != nil {
			h.warn(err)
			return err
		}
		h.failed = false
		h.mu.Lock()
		h.did(s)
		h.mu.Unlock()
		if len(s.remove) < pruneMost {
			return nil
		}
	}
}

func (h *History) warn(err error) {
	if !h.failed && !errors.Is(err, ErrClosed) {
		h.log.Warn("the history cannot be written, so it is kept in memory as far as there is room", "error", err)
	}
	h.failed = true
}

// saving is one transaction of a history.
type saving struct {
	put     []piece
	remove  []uint64 // the first ids of chunks, oldest first
	ceiling uint64   // 0: it stays
}

// piece is a chunk as it was when the transaction was made.
type piece struct {
	of    *chunk
	n     uint32
	first uint64
	bytes []byte
}

// plan says what is to be written. mu is held.
func (h *History) plan(last bool) saving {
	var s saving
	if last {
		h.noteDropped(h.opt.Now())
	}
	total := int64(0)
	for _, c := range h.live {
		total += int64(len(c.buf))
		if c.saved < c.n {
			s.put = append(s.put, piece{c, c.n, c.first, c.encode()})
		}
	}
	for _, x := range h.index {
		total += int64(x.size)
	}
	s.remove = h.surplus(total)
	switch {
	case last && h.ceiling != h.next:
		s.ceiling = h.next
	case !last && h.ceiling < h.next+maxWaiting:
		s.ceiling = h.next + idBlock
	}
	return s
}

// surplus returns the oldest chunks: the expired ones, and as many as exceed the
// size.
func (h *History) surplus(total int64) (remove []uint64) {
	oldest := h.opt.Now().Add(-h.opt.MaxAge).UnixNano()
	for _, x := range h.index {
		aged := h.opt.MaxAge > 0 && x.late < oldest
		if !aged && total <= h.opt.MaxBytes || len(remove) == pruneMost {
			break
		}
		remove = append(remove, x.first)
		total -= int64(x.size)
	}
	return remove
}

// did notes what has been written. mu is held.
func (h *History) did(s saving) {
	for _, p := range s.put {
		p.of.saved = p.n
	}
	h.index = h.index[len(s.remove):]
	if s.ceiling > 0 {
		h.ceiling = s.ceiling
	}
	for len(h.live) > 0 && h.live[0].complete() && h.live[0].saved == h.live[0].n {
		h.index = append(h.index, h.live[0].span)
		h.live[0] = nil
		h.live = h.live[1:]
	}
	h.waiting, h.count = 0, 0
	for _, c := range h.live {
		if c.saved < c.n {
			h.waiting += len(c.buf)
			h.count += int(c.n - c.saved)
		}
	}
	h.noteDropped(h.opt.Now())
}

// reload takes over the content of the store. The entries in memory are written
// again.
func (h *History) reload() {
	index, ceiling, err := h.keep.list()
	if err != nil {
		h.warn(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.live); n > 0 {
		for len(index) > 0 && index[len(index)-1].first >= h.live[0].first {
			index = index[:len(index)-1]
		}
	}
	h.index, h.ceiling = index, ceiling
	for _, c := range h.live {
		c.saved = 0
	}
}
