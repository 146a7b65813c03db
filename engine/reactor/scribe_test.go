package reactor

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
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
	bad  string // a key that it does not take
	recs map[string]string
	took []int // how many writes each Commit had
}

func (*slowStore) Records(context.Context, string) iter.Seq2[engine.Record, error] {
	return func(func(engine.Record, error) bool) {}
}

func (s *slowStore) Commit(_ context.Context, ws []engine.Write) error {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail || slices.ContainsFunc(ws, func(w engine.Write) bool { return w.Key == s.bad }) {
		return errors.New("no room")
	}
	s.took = append(s.took, len(ws))
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

// TestScribeTakesNotesAlong: a commit writes what was noted before it, at once and
// together with its own.
func TestScribeTakesNotesAlong(t *testing.T) {
	scribing(t, func(t *testing.T, s *scribe, store *slowStore) {
		s.noteAll(append(write("a", "note"), write("b", "note")...)...)
		if err := s.commit(t.Context(), write("a", "commit")); err != nil {
			t.Error(err)
		}
		if a, b := store.get("a"), store.get("b"); a != "commit" || b != "note" || !slices.Equal(store.took, []int{2}) {
			t.Errorf("a is %q, b is %q, in commits of %v", a, b, store.took)
		}
		time.Sleep(time.Minute)
		if len(store.took) != 1 {
			t.Errorf("commits of %v", store.took)
		}
	})
}

// TestScribeWaitsForWhatIsOnItsWay: what is committed or noted of a key while a
// commit of somebody else takes a note of it along comes after that.
func TestScribeWaitsForWhatIsOnItsWay(t *testing.T) {
	scribing(t, func(t *testing.T, s *scribe, store *slowStore) {
		var all sync.WaitGroup
		commit := func(key, value string) {
			all.Go(func() {
				if err := s.commit(t.Context(), write(key, value)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		s.note("t", "a", []byte("1"))
		commit("x", "1") // with a
		commit("a", "2")
		s.note("t", "b", []byte("1"))
		commit("y", "1") // with b
		s.note("t", "b", []byte("2"))
		commit("z", "1") // after y, with b, unless the goroutine is there first with b
		all.Wait()
		time.Sleep(time.Minute) // until the goroutine is done, too
		if a, b := store.get("a"), store.get("b"); a != "2" || b != "2" {
			t.Errorf("a is %q, b is %q", a, b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.note("t", "a", []byte("3"))
		commit("x", "2")
		cancel()
		if err := s.commit(ctx, write("a", "4")); err == nil {
			t.Error("a commit waits although its context has ended")
		}
		all.Wait()
	})
}

// TestScribeOfBadNotes: a note that the store does not take is no reason to refuse a
// commit, and the notes beside it and under it are not lost.
func TestScribeOfBadNotes(t *testing.T) {
	scribing(t, func(t *testing.T, s *scribe, store *slowStore) {
		store.bad = "bad"
		s.note("t", "bad", []byte("1"))
		s.note("t", "good", []byte("1"))
		s.note("t", "under", []byte("1"))
		if err := s.commit(t.Context(), write("x", "1")); err != nil || store.get("x") != "1" {
			t.Error(err)
		}
		store.set(true)
		if err := s.commit(t.Context(), write("under", "2")); err == nil {
			t.Error("what is refused has no error")
		}
		store.set(false)
		store.mu.Lock()
		store.bad = ""
		store.mu.Unlock()
		time.Sleep(10 * time.Second)
		if a, b, c := store.get("bad"), store.get("good"), store.get("under"); a != "1" || b != "1" || c != "1" {
			t.Errorf("bad is %q, good %q, under %q", a, b, c)
		}
	})
}
