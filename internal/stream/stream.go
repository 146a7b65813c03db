// Package stream takes events to their readers. The teller never waits for a reader, and each reader has a queue of its own.
//
// # Laws
//
//   - A reader gets the events of the kinds that it wants, from its Join on, in the order in which they were told.
//   - Tell costs nothing where no reader wants the kind, and never blocks.
//   - A queue is bounded. A full queue loses its oldest event, and the reader is told how many it has missed.
//   - After End, the readers get the queued events, and then end.
//   - The memory of a burst is given back.
package stream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Kinds is a set of kinds of events. A kind is a number below 32.
type Kinds uint32

// All has every kind.
const All = ^Kinds(0)

// Of returns the set of these kinds.
func Of[K ~uint8](list ...K) (s Kinds) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Stream takes events of one type to any number of readers. The zero value is ready. All methods are callable from any goroutine.
type Stream[E any] struct {
	wanted atomic.Uint32 // the kinds that any reader wants

	mu      sync.Mutex
	readers []*Reader[E]
	ended   bool
}

// Reader is one reader of a stream. Take and Done are for its one goroutine, all else is callable from any.
type Reader[E any] struct {
	s     *Stream[E]
	wants Kinds
	most  int           // events that wait at most
	slack int           // see Join
	wake  chan struct{} // capacity 1: there is an event, or the end

	// These fields stand under the stream's lock.
	queue   []E // a ring, once it is full
	head    int // the oldest in it
	spare   []E // what Take has returned before
	missed  int // events that left the queue, since the last Take
	ended   bool
	pushed  uint64        // counts the events that were queued or missed,
	handled uint64        // and those of them that the reader is done with
	news    chan struct{} // closed when handled moves
	room    chan struct{} // open while more than slack events wait; nil else
}

// Join adds a reader of the events from now on. At most so many events wait for it. Behind says that it is late while more than slack
// events wait; with a slack of 0, it is never said to be late. The caller ends it with Leave, unless the stream ends before.
func (s *Stream[E]) Join(wants Kinds, most, slack int) *Reader[E] {
	r := &Reader[E]{s: s, wants: wants, most: most, slack: slack, wake: make(chan struct{}, 1), news: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended = s.ended; !s.ended {
		s.readers = append(s.readers, r)
		s.count()
	}
	return r
}

// count sums up the wanted kinds, with the lock held.
func (s *Stream[E]) count() {
	var all Kinds
	for _, r := range s.readers {
		all |= r.wants
	}
	s.wanted.Store(uint32(all))
}

// End says that nothing will happen any more. The readers get the queued events, and end.
func (s *Stream[E]) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, r := range s.readers {
		r.end()
	}
}

// Tell queues an event of a kind for those who want it. It never waits for them.
func (s *Stream[E]) Tell(kind uint8, e E) {
	bit := Kinds(1) << kind
	if Kinds(s.wanted.Load())&bit == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.readers {
		if r.wants&bit != 0 {
			r.push(e)
		}
	}
}

// push queues an event, with the lock held. A full queue loses its oldest one.
func (r *Reader[E]) push(e E) {
	r.pushed++
	if len(r.queue) < r.most {
		r.queue = append(r.queue, e)
	} else {
		r.queue[r.head] = e
		r.head = (r.head + 1) % len(r.queue)
		r.missed++
	}
	if r.slack > 0 && r.room == nil && len(r.queue) > r.slack {
		r.room = make(chan struct{})
	}
	r.signal()
}

func (r *Reader[E]) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// end says that no event will come, with the lock held.
func (r *Reader[E]) end() {
	r.ended = true
	r.signal()
}

// Wants returns the kinds that the reader has joined for.
func (r *Reader[E]) Wants() Kinds { return r.wants }

// Leave takes the reader away. Its queue is lost, and Take returns nothing more.
func (r *Reader[E]) Leave() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = slices.DeleteFunc(s.readers, func(o *Reader[E]) bool { return o == r })
	s.count()
	r.end()
	r.queue, r.spare, r.head = nil, nil, 0
	r.makeRoom()
}

// Take waits for events and returns all that wait, after how many were missed. They are
// valid until the next call, which says that the reader is done with them. More says whether
// others may come. It returns nothing when ctx ends.
func (r *Reader[E]) Take(ctx context.Context) (batch []E, missed int, more bool) {
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

// Done says that the reader is done with the last events that Take has returned, and takes no more.
func (r *Reader[E]) Done() { r.grab() }

// keepAtMost is how many events a queue keeps room for after a burst: more of them would be memory for ever.
const keepAtMost = 4096

// grab returns the waiting events at once.
func (r *Reader[E]) grab() (batch []E, missed int, more bool) {
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
	if cap(batch) > keepAtMost {
		r.spare = nil
	}
	r.makeRoom()
	close(r.news)
	r.news = make(chan struct{})
	return batch, missed, !r.ended
}

// makeRoom says that the reader is not late, with the lock held.
func (r *Reader[E]) makeRoom() {
	if r.room != nil {
		close(r.room)
		r.room = nil
	}
}

// Behind returns a channel that is open until the reader has taken its events, if more than its slack wait; nil else.
func (r *Reader[E]) Behind() <-chan struct{} {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.room
}

// Await waits until the reader is done with all events from before the call. The error is the cause of the end of ctx.
func (r *Reader[E]) Await(ctx context.Context) error {
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
