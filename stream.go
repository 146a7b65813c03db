package mgmt

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// stream takes events to their readers. The engine tells it of an event without waiting for
// a reader. Each reader has a queue of its own. The queue of a reader of Engine.Events is
// bounded, and the oldest events leave it. The Observer's loses nothing within maxUntold
// events: the loop of the reactor goes no further while behind returns a channel.
type stream struct {
	wanted atomic.Uint32 // the kinds that any reader wants

	mu      sync.Mutex
	readers []*reader
	ended   bool
}

// kinds is a set of kinds of events.
type kinds uint32

const allEvents = ^kinds(0)

func setOf(list ...EventKind) (s kinds) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s kinds) has(k EventKind) bool { return s>>k&1 != 0 }

// reader is one reader of a stream. Its fields, but for wake, stand under the stream's lock.
type reader struct {
	s     *stream
	wants kinds
	most  int           // events that wait at most
	wake  chan struct{} // capacity 1: there is an event, or the end

	queue   []Event // a ring, once it is full
	head    int     // the oldest in it
	spare   []Event // what take has returned before
	missed  int     // events that left the queue, since the last take
	ended   bool    // no event will come
	pushed  uint64  // counts the events that were queued or missed,
	handled uint64  // and those of them that the reader is done with
	news    chan struct{}
	room    chan struct{} // open while more than maxBehind events wait; nil else
	lags    bool          // the engine need not wait for it
}

// join adds a reader of the events from now on. With lags, the engine goes on when it is behind.
func (s *stream) join(wants kinds, most int, lags bool) *reader {
	r := &reader{s: s, wants: wants, most: most, wake: make(chan struct{}, 1), news: make(chan struct{}), lags: lags}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended = s.ended; !s.ended {
		s.readers = append(s.readers, r)
		s.count()
	}
	return r
}

// leave takes a reader away. Its queue is lost.
func (s *stream) leave(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = slices.DeleteFunc(s.readers, func(o *reader) bool { return o == r })
	s.count()
	r.end()
	r.queue, r.spare, r.head = nil, nil, 0
}

// count sums up the wanted kinds, with the lock held.
func (s *stream) count() {
	var all kinds
	for _, r := range s.readers {
		all |= r.wants
	}
	s.wanted.Store(uint32(all))
}

// end says that nothing will happen any more. The readers get the queued events, and end.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, r := range s.readers {
		r.end()
	}
}

// want reports whether a reader wants events of a kind.
func (s *stream) want(k EventKind) bool { return kinds(s.wanted.Load()).has(k) }

// tell queues an event for those who want it. It never waits for them.
func (s *stream) tell(e Event) {
	if !s.want(e.Kind) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.readers {
		if r.wants.has(e.Kind) {
			r.push(e)
		}
	}
}

// push queues an event, with the lock held. A full queue loses its oldest one.
func (r *reader) push(e Event) {
	r.pushed++
	if len(r.queue) < r.most {
		r.queue = append(r.queue, e)
	} else {
		r.queue[r.head] = e
		r.head = (r.head + 1) % len(r.queue)
		r.missed++
	}
	if !r.lags && r.room == nil && len(r.queue) > maxBehind {
		r.room = make(chan struct{})
	}
	r.signal()
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reader) end() {
	r.ended = true
	r.signal()
}

// take waits for events and returns all that wait, after how many were missed. They are
// valid until the next call, which says that the reader is done with them. More says whether
// others may come. It returns nothing when ctx ends.
func (r *reader) take(ctx context.Context) (batch []Event, missed int, more bool) {
	for ctx.Err() == nil {
		if batch, missed, more = r.grab(); missed+len(batch) > 0 || !more {
			return batch, missed, more
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
	return nil, 0, false
}

// grab returns the waiting events at once.
func (r *reader) grab() (batch []Event, missed int, more bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	clear(r.spare)
	if r.head > 0 {
		r.queue = slices.Concat(r.queue[r.head:], r.queue[:r.head])
		r.head = 0
	}
	batch, missed = r.queue, r.missed
	r.handled = r.pushed - uint64(len(batch)+missed)
	r.queue, r.spare, r.missed = r.spare[:0], batch, 0
	if cap(batch) > 4*maxBehind {
		r.spare = nil // one burst must not keep its memory
	}
	if r.room != nil {
		close(r.room)
		r.room = nil
	}
	close(r.news)
	r.news = make(chan struct{})
	return batch, missed, !r.ended
}

// behind returns a channel that is open until the reader has taken its events, if
// too many wait; nil else.
func (r *reader) behind() <-chan struct{} {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.room
}

// await waits until the reader is done with all events from before the call.
func (r *reader) await(ctx context.Context) error {
	r.s.mu.Lock()
	upTo := r.pushed
	r.s.mu.Unlock()
	for {
		r.s.mu.Lock()
		done, news := r.handled >= upTo, r.news
		r.s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
