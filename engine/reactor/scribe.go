package reactor

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// scribeEvery is how long notes are gathered before they are committed together.
const scribeEvery = time.Second

// scribe is the reactor's way to its store. What a run waits for is committed at
// once by commit; what is good to have after a restart and nothing waits for is
// noted, and committed a little later: a later note of a key replaces an earlier
// one, so there are at most as many as there are keys. One goroutine writes notes;
// it is there only while there are some.
//
// What the store refuses is tried again, and given up at the end.
//
// A key has one writer at a time: a commit takes the place of the notes of its
// keys, and waits for those that are being written.
type scribe struct {
	store engine.Store
	log   *slog.Logger

	mu      sync.Mutex
	notes   map[noteKey][]byte
	writing map[noteKey][]byte // by the goroutine, at this moment
	wrote   chan struct{}      // closed when it has; nil if it is not writing
	active  bool               // the goroutine is there
	ended   bool
	refused bool // the last try, and that was said

	hurry chan struct{} // closed at the end: do not wait any more
	ctx   context.Context
	cut   context.CancelFunc
	wg    sync.WaitGroup
}

type noteKey struct{ table, key string }

func newScribe(o *Options) *scribe {
	s := &scribe{store: o.Store, log: o.Logger, hurry: make(chan struct{})}
	s.ctx, s.cut = context.WithCancel(context.Background())
	return s
}

// commit writes at once, and waits for it.
func (s *scribe) commit(ctx context.Context, writes []engine.Write) error {
	if wrote := s.supersede(writes); wrote != nil {
		select {
		case <-wrote:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return s.store.Commit(ctx, writes)
}

// supersede drops the notes of the keys that are about to be written. It returns
// what to wait for where one of them is being written.
func (s *scribe) supersede(writes []engine.Write) (wrote <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) == 0 && s.wrote == nil {
		return nil
	}
	for i := range writes {
		k := noteKey{writes[i].Table, writes[i].Key}
		delete(s.notes, k)
		if _, under := s.writing[k]; under {
			delete(s.writing, k) // it is not tried again
			wrote = s.wrote
		}
	}
	return wrote
}

// note has a record written, or deleted where value is nil. It never blocks.
func (s *scribe) note(table, key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes == nil {
		s.notes = map[noteKey][]byte{}
	}
	s.notes[noteKey{table, key}] = value
	if !s.active && !s.ended {
		s.active = true
		s.wg.Go(s.run)
	}
}

// run is the goroutine. It ends when there is nothing left to write.
func (s *scribe) run() {
	for {
		t := time.NewTimer(scribeEvery)
		select {
		case <-t.C:
		case <-s.hurry:
			t.Stop()
		}
		if !s.write() {
			return
		}
	}
}

// write commits what has been noted. It returns false if there was nothing.
func (s *scribe) write() bool {
	s.mu.Lock()
	if len(s.notes) == 0 {
		s.active = false
		s.mu.Unlock()
		return false
	}
	notes, wrote := s.notes, make(chan struct{})
	writes := make([]engine.Write, 0, len(notes))
	for k, v := range notes {
		writes = append(writes, engine.Write{Table: k.table, Key: k.key, Value: v})
	}
	s.notes, s.writing, s.wrote = nil, notes, wrote
	s.mu.Unlock()
	err := s.store.Commit(s.ctx, writes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.wrote = nil, nil
	close(wrote)
	if err != nil && !s.refused {
		s.log.Warn("what should survive a restart cannot be written down; it is tried again", slog.Int("records", len(writes)), slog.Any("error", err))
	}
	s.refused = err != nil
	if err == nil || s.ended {
		return true
	}
	s.keep(notes)
	return true
}

// keep takes back notes that could not be written, but for those that have been
// superseded.
func (s *scribe) keep(notes map[noteKey][]byte) {
	later := s.notes
	s.notes = notes
	maps.Copy(s.notes, later)
}

// end writes what is left, and waits for it, after quit only a little.
func (s *scribe) end(wait func(<-chan struct{}) bool) {
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
