package ledger

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/records"
)

// gather is how long notes are gathered before they are committed together.
const gather = time.Second

// Recorder is the reactor's way to its store. Commit writes at once the records that a run waits
// for. Records that are good to have after a restart and that nothing waits for are noted, and
// committed with the next commit or a little later: a later note of a key replaces an earlier one,
// so there are at most as many as there are keys. One goroutine writes notes that no commit takes
// along; it is there only while there are some.
//
// Notes of one time are written at one time. A commit takes along the notes before it, but for two
// sorts of notes of other keys. Notes that are being written at that moment, and notes that the
// store has refused, may be durable after the commit, or never. No reader of the store depends on
// that order. A begin (an intent) is committed before the run goes on, and the end of a pending
// refresh has the key of that refresh. So such a note, lost in a crash, costs one repetition: its
// work is done once more.
//
// A refused write is tried again, and given up at the end.
//
// A key has one writer at a time: a commit takes the place of the notes of its keys, and waits
// while a note of one of them, or a note to take along, is being written.
type Recorder struct {
	store records.Store
	log   *slog.Logger
	timer Timer

	mu      sync.Mutex
	notes   map[noteKey][]byte
	writing map[noteKey]*flight // the notes that are being written at this moment
	active  bool                // the goroutine is there
	ended   bool
	refused bool // the last try, and that was said

	hurry chan struct{} // closed at the end: do not wait any more
	ctx   context.Context
	cut   context.CancelFunc
	wg    sync.WaitGroup
}

type noteKey struct{ table, key string }

// flight is notes on their way into the store, in one call of Commit.
type flight struct {
	notes map[noteKey][]byte // those that are written
	old   map[noteKey][]byte // those in whose place the commit itself stands
	done  chan struct{}      // closed when they have arrived, or have not
}

// A Timer sends once on a channel after a time, unless stop is called before.
type Timer func(time.Duration) (c <-chan time.Time, stop func() bool)

// NewRecorder returns a recorder, which starts nothing yet. End and Cut end it.
func NewRecorder(store records.Store, log *slog.Logger, timer Timer) *Recorder {
	r := &Recorder{store: store, log: log, timer: timer, hurry: make(chan struct{}), writing: map[noteKey]*flight{}}
	r.ctx, r.cut = context.WithCancel(context.Background())
	return r
}

// Commit writes at once, and waits for the write. It takes all notes along; a commit that is
// refused with them is tried without them. Callable from any goroutine.
func (r *Recorder) Commit(ctx context.Context, writes []records.Write) error {
	f, err := r.takeOff(ctx, writes)
	if err != nil {
		return err
	}
	if f == nil {
		return r.store.Commit(ctx, writes)
	}
	err = r.store.Commit(ctx, f.with(writes))
	if err != nil && ctx.Err() == nil && len(f.notes) > 0 {
		r.land(f, err)
		if f, err = r.alone(ctx, writes); err == nil {
			err = r.store.Commit(ctx, writes)
		}
	}
	if f != nil {
		r.land(f, err)
	}
	return err
}

// with returns the writes of a commit and the notes that go with them.
func (f *flight) with(writes []records.Write) []records.Write {
	all := make([]records.Write, 0, len(writes)+len(f.notes))
	all = append(all, writes...)
	for k, v := range f.notes {
		all = append(all, records.Write{Table: k.table, Key: k.key, Value: v})
	}
	return all
}

// takeOff takes all notes, those of the keys of the given writes apart. It waits
// while one of them, or of these keys, is being written. It returns nil where there
// are none.
func (r *Recorder) takeOff(ctx context.Context, writes []records.Write) (*flight, error) {
	return r.await(ctx, func() (*flight, *flight) {
		if f := r.underway(writes); f != nil || len(r.notes) == 0 {
			return nil, f
		}
		for k := range r.notes {
			if f := r.writing[k]; f != nil {
				return nil, f
			}
		}
		f := r.replace(writes)
		f.notes, r.notes = r.notes, nil
		for k := range f.notes {
			r.writing[k] = f
		}
		return f, nil
	})
}

// alone takes only the notes in whose place the given writes stand.
func (r *Recorder) alone(ctx context.Context, writes []records.Write) (*flight, error) {
	return r.await(ctx, func() (*flight, *flight) {
		if f := r.underway(writes); f != nil {
			return nil, f
		}
		return r.replace(writes), nil
	})
}

// await calls try, with the lock held, until it returns no flight to wait for.
func (r *Recorder) await(ctx context.Context, try func() (taken, wait *flight)) (*flight, error) {
	for {
		r.mu.Lock()
		taken, wait := try()
		r.mu.Unlock()
		if wait == nil {
			return taken, nil
		}
		select {
		case <-wait.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// underway returns the flight that has a note of a key of the writes.
func (r *Recorder) underway(writes []records.Write) *flight {
	if len(r.writing) == 0 {
		return nil
	}
	for i := range writes {
		if f := r.writing[noteKey{writes[i].Table, writes[i].Key}]; f != nil {
			return f
		}
	}
	return nil
}

// replace begins a flight with the notes in whose place the writes stand.
func (r *Recorder) replace(writes []records.Write) *flight {
	f := &flight{done: make(chan struct{})}
	for i := range writes {
		k := noteKey{writes[i].Table, writes[i].Key}
		if v, noted := r.notes[k]; noted {
			if f.old == nil {
				f.old = map[noteKey][]byte{}
			}
			f.old[k] = v
			delete(r.notes, k)
		}
	}
	return f
}

// land ends a flight. A record that did not arrive is noted again, unless there is a later note of
// its key.
func (r *Recorder) land(f *flight, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range f.notes {
		delete(r.writing, k)
	}
	close(f.done)
	if err == nil {
		return
	}
	for _, list := range []map[noteKey][]byte{f.notes, f.old} {
		for k, v := range list {
			if _, later := r.notes[k]; !later {
				r.add(k, v)
			}
		}
	}
}

// Note has a record written, or deleted where value is nil. It never blocks.
// Callable from any goroutine.
func (r *Recorder) Note(table, key string, value []byte) {
	r.NoteAll(records.Write{Table: table, Key: key, Value: value})
}

// NoteAll is Note for several that belong together.
func (r *Recorder) NoteAll(writes ...records.Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range writes {
		r.add(noteKey{writes[i].Table, writes[i].Key}, writes[i].Value)
	}
}

// add notes something, with the lock held.
func (r *Recorder) add(k noteKey, value []byte) {
	if r.notes == nil {
		r.notes = map[noteKey][]byte{}
	}
	r.notes[k] = value
	if !r.active && !r.ended {
		r.active = true
		r.wg.Go(r.run)
	}
}

// run is the goroutine. It ends when there is nothing left to write.
func (r *Recorder) run() {
	for {
		due, stop := r.timer(gather)
		select {
		case <-due:
		case <-r.hurry:
		}
		stop() // also after its end: the clock may count who has yet to act on it
		if !r.write() {
			return
		}
	}
}

// write commits the notes. It returns false if the goroutine has to end: no note is left, or the
// store takes none any more.
func (r *Recorder) write() bool {
	f, err := r.takeOff(r.ctx, nil)
	if f != nil {
		err = r.store.Commit(r.ctx, f.with(nil))
		r.land(f, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.refused {
		r.log.Warn("what should survive a restart cannot be written down; it is tried again", slog.Int("records", len(r.notes)), slog.Any("error", err))
	}
	r.refused = err != nil
	if len(r.notes) == 0 || err != nil && r.ended {
		r.active = false
		return false
	}
	return true
}

// End has the remaining notes written at once. The channel is closed when they are; Cut ends that earlier.
func (r *Recorder) End() (written <-chan struct{}) {
	r.mu.Lock()
	r.ended = true
	close(r.hurry) // where there are notes, the goroutine is there
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.wg.Wait()
	}()
	return done
}

// Cut ends the context of the writes that End waits for.
func (r *Recorder) Cut() { r.cut() }
