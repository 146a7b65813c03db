package reactor

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// slowStore takes a second for each Commit, and fails as long as it is told to.
type slowStore struct {
	mu   sync.Mutex
	fail bool
	recs map[string]string
}

func (*slowStore) Records(context.Context, string) iter.Seq2[engine.Record, error] {
	return func(func(engine.Record, error) bool) {}
}

func (s *slowStore) Commit(_ context.Context, ws []engine.Write) error {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return errors.New("no room")
	}
	for _, w := range ws {
		if delete(s.recs, w.Key); w.Value != nil {
			s.recs[w.Key] = string(w.Value)
		}
	}
	return nil
}

func (s *slowStore) set(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *slowStore) get(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recs[key]
}

func scribing(t *testing.T, play func(t *testing.T, s *scribe, store *slowStore)) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{recs: map[string]string{}}
		s := newScribe(&Options{Store: store, Logger: slog.New(slog.DiscardHandler)})
		play(t, s, store)
		s.end(func(c <-chan struct{}) bool { <-c; return true })
	})
}

func write(key, value string) []engine.Write {
	return []engine.Write{{Table: "t", Key: key, Value: []byte(value)}}
}

// TestScribeTriesAgain: what the store refuses is written when it takes it, with what
// has come since.
func TestScribeTriesAgain(t *testing.T) {
	scribing(t, func(t *testing.T, s *scribe, store *slowStore) {
		store.set(true)
		s.note("t", "a", []byte("1"))
		s.note("t", "b", []byte("1"))
		time.Sleep(10 * time.Second)
		s.note("t", "b", []byte("2"))
		store.set(false)
		time.Sleep(10 * time.Second)
		if a, b := store.get("a"), store.get("b"); a != "1" || b != "2" {
			t.Errorf("a is %q, b is %q", a, b)
		}
	})
}

// TestScribeCommitIsTheLastWord: a note that is being written, and is refused, does
// not come back over what was committed after it.
func TestScribeCommitIsTheLastWord(t *testing.T) {
	for _, fail := range []bool{false, true} {
		scribing(t, func(t *testing.T, s *scribe, store *slowStore) {
			store.set(fail)
			s.note("t", "a", []byte("note"))
			time.Sleep(scribeEvery + time.Second/2) // the note is being written
			done := make(chan error)
			go func() { done <- s.commit(t.Context(), write("a", "commit")) }()
			time.Sleep(time.Second) // it has been refused, or not; the commit goes on
			store.set(false)
			if err := <-done; err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if a := store.get("a"); a != "commit" {
				t.Errorf("fail %t: a is %q", fail, a)
			}
		})
	}
}

// TestScribeAtTheEnd: what is noted last is written, without the wait.
func TestScribeAtTheEnd(t *testing.T) {
	var store *slowStore
	scribing(t, func(_ *testing.T, s *scribe, st *slowStore) {
		store = st
		s.note("t", "a", []byte("1"))
	})
	if a := store.get("a"); a != "1" {
		t.Errorf("a is %q", a)
	}
}
