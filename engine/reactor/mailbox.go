package reactor

import (
	"sync"
	"sync/atomic"
)

// The news that a vertex can have for the loop.
const (
	mailRunning  uint32 = 1 << iota // its Watch said Running
	mailEvent                       // its Watch said Event
	mailWatched                     // its Watch has ended; the error is in its context
	mailRan                         // its CheckApply has ended; the outcome is in out
	mailSlot                        // it began or ended a wait in Host
	mailFinished                    // it has left: Cleanup is done
	mailAlters                      // its CheckApply is about to change something
)

// mailbox carries news of vertices to the loop. A vertex stands in it at most
// once, so it holds at most as many as there are vertices.
type mailbox struct {
	mu       sync.Mutex
	list     []*vertex
	wake     chan struct{} // capacity 1
	expected atomic.Int32  // changes of the graph that wait for news; see doAndAwait
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post tells the loop news of v. It never blocks.
func (b *mailbox) post(v *vertex, news uint32) {
	if v.membership.mail.Or(news) != 0 {
		return // it stands in the list already
	}
	b.mu.Lock()
	first := len(b.list) == 0
	b.list = append(b.list, v)
	b.mu.Unlock()
	if !first {
		return // the first caller wakes the loop, which takes all
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// any reports whether somebody has news.
func (b *mailbox) any() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) > 0
}

// take returns the vertices that have news. It is called by the loop, which gives the list
// that it got before back, for its room.
func (b *mailbox) take(used []*vertex) []*vertex {
	clear(used)
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = used[:0]
	return list
}
