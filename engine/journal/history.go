package journal

import (
	"cmp"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// Entry is one thing that has happened.
type Entry struct {
	ID       uint64 // given by Append, rising for ever
	At       time.Time
	Resource string // whom it concerns, as kind[name]; may be empty
	Outcome  string // a word for it, which queries can ask for
	Data     []byte // JSON that the history does not look into
}

// OutcomeDropped is the outcome of an entry that stands for others that had no
// room. Its data is {"dropped":N}.
const OutcomeDropped = "dropped"

// HistoryOptions are how much is kept. The zero value is good.
type HistoryOptions struct {
	MaxAge     time.Duration    // older entries go; 30 days if 0, for ever if negative
	MaxBytes   int64            // the oldest go when there is more; 32 MiB if 0
	FlushEvery time.Duration    // how often at most it is written, and how much a kill may lose; 1s if 0
	Buffer     int              // bytes that may wait to be written; 4 MiB if 0
	Clock      clock.Clock      // of the pauses; that of the machine if nil
	Now        func() time.Time // the time of entries; that of Clock if nil
}

func (o HistoryOptions) withDefaults() HistoryOptions {
	o.MaxAge = cmp.Or(o.MaxAge, 30*24*time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.FlushEvery = cmp.Or(o.FlushEvery, time.Second)
	o.Buffer = cmp.Or(o.Buffer, 4<<20)
	o.Clock = clock.Or(o.Clock)
	if o.Now == nil {
		o.Now = o.Clock.Now
	}
	return o
}

// seed returns a first id that is above all that a lost history has given.
func (o HistoryOptions) seed() uint64 { return uint64(max(o.Now().UnixMicro(), 0)) }

const (
	maxWaiting = 1 << 16 // entries
	idBlock    = 1 << 17 // by how much the ceiling is raised
	prunePause = time.Hour
	pruneMost  = 256 // chunks in one transaction
)

// History keeps past events, for people. Any number of goroutines may use
// it. Its one goroutine writes; Append and queries never wait for that.
type History struct {
	opt  HistoryOptions
	keep keeper
	log  *slog.Logger

	mu        sync.Mutex
	next      uint64   // the next id
	ceiling   uint64   // no id that was given reaches it, also after a crash
	index     []span   // of the chunks that are only stored, oldest first
	live      []*chunk // the entries that are not stored, and the last chunk until it is complete
	waiting   int      // bytes that are not stored
	count     int      // entries that are not stored
	dropped   int
	followers []*Follower
	closed    bool

	stale  atomic.Bool   // the store was opened anew: index, ceiling and the stored part may be wrong
	wake   chan struct{} // capacity 1: there is something to write
	hurry  chan struct{} // capacity 1: the buffer fills up
	stop   chan struct{}
	done   chan struct{}
	failed bool // the last write; of the goroutine
}

// NewHistory returns a history that ends with the process and is bounded like a
// stored one. Close ends its goroutine.
func NewHistory(opt HistoryOptions) *History {
	h := newHistory(&kept{chunks: map[uint64][]byte{}}, opt.withDefaults(), slog.New(slog.DiscardHandler))
	h.start()
	return h
}

func newHistory(k keeper, opt HistoryOptions, log *slog.Logger) *History {
	return &History{
		opt: opt, keep: k, log: log, next: 1,
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

func (h *History) start() {
	h.reload()
	h.mu.Lock()
	h.next = max(h.next, h.ceiling)
	if n := len(h.index); n > 0 {
		h.next = max(h.next, h.index[n-1].last()+1)
	}
	h.mu.Unlock()
	h.flush(false) // raises the ceiling before the first id is given
	go h.run()
}

// Append adds an entry and returns its id. Its ID is ignored, a zero At is now.
// It copies its arguments and does not wait for the disk. Where there is no room it
// returns 0, and an entry will tell how many had none; after Close it does nothing.
func (h *History) Append(e Entry) uint64 {
	if e.At.IsZero() {
		e.At = h.opt.Now()
	}
	size := len(e.Resource) + len(e.Outcome) + len(e.Data) + 16
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0
	}
	if size > maxEntry || h.waiting+size > h.opt.Buffer || h.count >= maxWaiting {
		h.dropped++
		return 0
	}
	h.noteDropped(e.At)
	return h.add(&e)
}

// add gives an entry its id. mu is held.
func (h *History) add(e *Entry) uint64 {
	c := h.tail()
	before := len(c.buf)
	c.add(e.At.UnixNano(), e)
	h.waiting += len(c.buf) - before
	h.count++
	h.next++
	nudge(h.wake)
	if h.waiting > h.opt.Buffer/2 || h.count > maxWaiting/2 {
		nudge(h.hurry)
	}
	for _, f := range h.followers {
		nudge(f.c)
	}
	return h.next - 1
}

// tail returns the chunk to append to.
func (h *History) tail() *chunk {
	if n := len(h.live); n > 0 && !h.live[n-1].complete() {
		return h.live[n-1]
	}
	c := newChunk(h.next)
	h.live = append(h.live, c)
	return c
}

// noteDropped leaves an entry for the dropped ones. mu is held.
func (h *History) noteDropped(at time.Time) {
	if h.dropped == 0 {
		return
	}
	data := append(strconv.AppendInt([]byte(`{"dropped":`), int64(h.dropped), 10), '}')
	h.dropped = 0
	h.add(&Entry{At: at, Outcome: OutcomeDropped, Data: data})
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Bounds returns the id of the oldest kept entry, and the id of the next entry.
// They are equal if there is none.
func (h *History) Bounds() (oldest, next uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.index) > 0:
		return h.index[0].first, h.next
	case len(h.live) > 0:
		return h.live[0].first, h.next
	}
	return h.next, h.next
}

// Close writes waiting entries and ends the goroutine. The error is why it could
// not be written. Further calls do nothing.
func (h *History) Close() error {
	h.mu.Lock()
	was := h.closed
	h.closed = true
	h.mu.Unlock()
	if was {
		<-h.done
		return nil
	}
	close(h.stop)
	<-h.done
	return h.flush(true)
}

// Follower is woken when there are new entries. It queues nothing: the woken reader
// asks for entries after its last known id.
type Follower struct {
	h *History
	c chan struct{}
}

// Follow returns a follower, to be closed. Begin with a query: it is woken for
// later entries.
func (h *History) Follow() *Follower {
	f := &Follower{h: h, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers = append(h.followers, f)
	return f
}

// C has one token when there may be entries that have not been asked for.
func (f *Follower) C() <-chan struct{} { return f.c }

// Close ends the waking.
func (f *Follower) Close() {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	for i, g := range f.h.followers {
		if g == f {
			f.h.followers = append(f.h.followers[:i:i], f.h.followers[i+1:]...)
			return
		}
	}
}

// Now returns the time that an entry gets now.
func (h *History) Now() time.Time { return h.opt.Now() }
