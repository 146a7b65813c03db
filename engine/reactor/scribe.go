package reactor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// scribeEvery is how long notes are gathered before they are committed together.
const scribeEvery = time.Second

// scribe writes down what is good to have after a restart and nothing waits for:
// a later note of a key replaces an earlier one, so there are at most as many as
// there are keys. Its goroutine runs only while there are notes.
type scribe struct {
	store engine.Store
	log   *slog.Logger

	mu     sync.Mutex
	notes  map[noteKey][]byte
	hurry  chan struct{} // closed at the end: do not wait any more
	ended  bool
	active sync.WaitGroup
}

type noteKey struct{ table, key string }

func newScribe(o *Options) *scribe {
	return &scribe{store: o.Store, log: o.Logger, hurry: make(chan struct{})}
}

// note has a record written, or deleted where value is nil. It never blocks.
func (s *scribe) note(table, key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.notes == nil
	if first {
		s.notes = map[noteKey][]byte{}
	}
	s.notes[noteKey{table, key}] = value
	if first && !s.ended {
		s.active.Go(s.write)
	}
}

// write waits a little, and commits what has been noted.
func (s *scribe) write() {
	t := time.NewTimer(scribeEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.hurry:
	}
	s.commit()
}

func (s *scribe) commit() {
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	writes := make([]engine.Write, 0, len(notes))
	for k, v := range notes {
		writes = append(writes, engine.Write{Table: k.table, Key: k.key, Value: v})
	}
	if len(writes) == 0 {
		return
	}
	if err := s.store.Commit(context.Background(), writes); err != nil {
		s.log.Warn("what should survive a restart cannot be written down", slog.Int("records", len(writes)), slog.Any("error", err))
	}
}

// end writes what is left, and waits for it.
func (s *scribe) end() {
	s.mu.Lock()
	s.ended = true
	close(s.hurry)
	s.mu.Unlock()
	s.active.Wait()
	s.commit()
}
