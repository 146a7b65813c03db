package ledger

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
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
	store engine.Store
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

// NewRecorder returns a recorder, which starts nothing yet. End ends it.
func NewRecorder(store engine.Store, log *slog.Logger, timer Timer) *Recorder {
	s := &Recorder{store: store, log: log, timer: timer, hurry: make(chan struct{}), writing: map[noteKey]*flight{}}
	s.ctx, s.cut = context.WithCancel(context.Background())
	return s
}

// Commit writes at once, and waits for the write. It takes all notes along; a commit that is
// refused with them is tried without them. Callable from any goroutine.
func (s *Recorder) Commit(ctx context.Context, writes []engine.Write) error {
	f, err := s.takeOff(ctx, writes)
	if err != nil {
		return err
	}
	if f == nil {
		return s.store.Commit(ctx, writes)
	}
	err = s.store.Commit(ctx, f.with(writes))
	if err != nil && ctx.Err() == nil && len(f.notes) > 0 {
		s.land(f, err)
		if f, err = s.alone(ctx, writes); err == nil {
			err = s.store.Commit(ctx, writes)
		}
	}
	if f != nil {
		s.land(f, err)
	}
	return err
}

// with returns the writes of a commit and the notes that go with them.
func (f *flight) with(writes []engine.Write) []engine.Write {
	all := make([]engine.Write, 0, len(writes)+len(f.notes))
	all = append(all, writes...)
	for k, v := range f.notes {
		all = append(all, engine.Write{Table: k.table, Key: k.key, Value: v})
	}
	return all
}

// takeOff takes all notes, those of the keys of the given writes apart. It waits
// while one of them, or of these keys, is being written. It returns nil where there
// are none.
func (s *Recorder) takeOff(ctx context.Context, writes []engine.Write) (*flight, error) {
	return s.await(ctx, func() (*flight, *flight) {
		if f := s.underway(writes); f != nil || len(s.notes) == 0 {
			return nil, f
		}
		for k := range s.notes {
			if f := s.writing[k]; f != nil {
				return nil, f
			}
		}
		f := s.replace(writes)
		f.notes, s.notes = s.notes, nil
		for k := range f.notes {
			s.writing[k] = f
		}
		return f, nil
	})
}

// alone takes only the notes in whose place the given writes stand.
func (s *Recorder) alone(ctx context.Context, writes []engine.Write) (*flight, error) {
	return s.await(ctx, func() (*flight, *flight) {
		if f := s.underway(writes); f != nil {
			return nil, f
		}
		return s.replace(writes), nil
	})
}

// await calls try, with the lock held, until it returns no flight to wait for.
func (s *Recorder) await(ctx context.Context, try func() (taken, wait *flight)) (*flight, error) {
	for {
		s.mu.Lock()
		taken, wait := try()
		s.mu.Unlock()
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
func (s *Recorder) underway(writes []engine.Write) *flight {
	if len(s.writing) == 0 {
		return nil
	}
	for i := range writes {
		if f := s.writing[noteKey{writes[i].Table, writes[i].Key}]; f != nil {
			return f
		}
	}
	return nil
}

// replace begins a flight with the notes in whose place the writes stand.
func (s *Recorder) replace(writes []engine.Write) *flight {
	f := &flight{done: make(chan struct{})}
	for i := range writes {
		k := noteKey{writes[i].Table, writes[i].Key}
		if v, noted := s.notes[k]; noted {
			if f.old == nil {
				f.old = map[noteKey][]byte{}
			}
			f.old[k] = v
			delete(s.notes, k)
		}
	}
	return f
}

// land ends a flight. A record that did not arrive is noted again, unless there is a later note of
// its key.
func (s *Recorder) land(f *flight, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range f.notes {
		delete(s.writing, k)
	}
	close(f.done)
	if err == nil {
		return
	}
	for _, list := range []map[noteKey][]byte{f.notes, f.old} {
		for k, v := range list {
			if _, later := s.notes[k]; !later {
				s.add(k, v)
			}
		}
	}
}

// Note has a record written, or deleted where value is nil. It never blocks.
// Callable from any goroutine.
func (s *Recorder) Note(table, key string, value []byte) {
	s.NoteAll(engine.Write{Table: table, Key: key, Value: value})
}

// NoteAll is Note for several that belong together.
func (s *Recorder) NoteAll(writes ...engine.Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range writes {
		s.add(noteKey{writes[i].Table, writes[i].Key}, writes[i].Value)
	}
}

// add notes something, with the lock held.
func (s *Recorder) add(k noteKey, value []byte) {
	if s.notes == nil {
		s.notes = map[noteKey][]byte{}
	}
	s.notes[k] = value
	if !s.active && !s.ended {
		s.active = true
		s.wg.Go(s.run)
	}
}

// run is the goroutine. It ends when there is nothing left to write.
func (s *Recorder) run() {
	for {
		due, stop := s.timer(gather)
		select {
		case <-due:
		case <-s.hurry:
			stop()
		}
		if !s.write() {
			return
		}
	}
}

// write commits the notes. It returns false if the goroutine has to end: no note is left, or the
// store takes none any more.
func (s *Recorder) write() bool {
	f, err := s.takeOff(s.ctx, nil)
	if f != nil {
		err = s.store.Commit(s.ctx, f.with(nil))
		s.land(f, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.refused {
		s.log.Warn("what should survive a restart cannot be written down; it is tried again", slog.Int("records", len(s.notes)), slog.Any("error", err))
	}
	s.refused = err != nil
	if len(s.notes) == 0 || err != nil && s.ended {
		s.active = false
		return false
	}
	return true
}

// End writes the remaining notes. It calls wait for the end of that, and cuts it when wait returns.
func (s *Recorder) End(wait func(<-chan struct{}) bool) {
	s.mu.Lock()
	s.ended = true
	close(s.hurry)
	if !s.active && len(s.notes) > 0 {
		s.active = true
		s.wg.Go(s.run)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	wait(done)
	s.cut()
}
