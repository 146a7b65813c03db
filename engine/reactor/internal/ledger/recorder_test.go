package ledger

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/records"
)

// slowStore takes a second for each Commit, and fails as long as it is told to.
type slowStore struct {
	mu   sync.Mutex
	fail bool
	bad  string // a key that it does not take
	recs map[string]string
	took []int // how many writes each Commit had
}

func (*slowStore) Records(context.Context, string) iter.Seq2[records.Record, error] {
	return func(func(records.Record, error) bool) {}
}

func (s *slowStore) Commit(_ context.Context, ws []records.Write) error {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail || slices.ContainsFunc(ws, func(w records.Write) bool { return w.Key == s.bad }) {
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

func newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

func recording(t *testing.T, play func(t *testing.T, s *Recorder, store *slowStore)) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{recs: map[string]string{}}
		s := NewRecorder(store, slog.New(slog.DiscardHandler), newTimer)
		play(t, s, store)
		<-s.End()
		s.Cut()
	})
}

func write(key, value string) []records.Write {
	return []records.Write{{Table: "t", Key: key, Value: []byte(value)}}
}

// TestRecorderTriesAgain: what the store refuses is written when it takes it, with what
// has come since.
func TestRecorderTriesAgain(t *testing.T) {
	recording(t, func(t *testing.T, s *Recorder, store *slowStore) {
		store.set(true)
		s.Note("t", "a", []byte("1"))
		s.Note("t", "b", []byte("1"))
		time.Sleep(10 * time.Second)
		s.Note("t", "b", []byte("2"))
		store.set(false)
		time.Sleep(10 * time.Second)
		if a, b := store.get("a"), store.get("b"); a != "1" || b != "2" {
			t.Errorf("a is %q, b is %q", a, b)
		}
	})
}

// TestRecorderCommitIsTheLastWord: a note that is being written, and is refused, does
// not come back over what was committed after it.
func TestRecorderCommitIsTheLastWord(t *testing.T) {
	for _, fail := range []bool{false, true} {
		recording(t, func(t *testing.T, s *Recorder, store *slowStore) {
			store.set(fail)
			s.Note("t", "a", []byte("note"))
			time.Sleep(gather + time.Second/2) // the note is being written
			done := make(chan error)
			go func() { done <- s.Commit(t.Context(), write("a", "commit")) }()
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

// TestRecorderAtTheEnd: what is noted last is written, without the wait, and what comes later is not.
func TestRecorderAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{recs: map[string]string{}}
		s := NewRecorder(store, slog.New(slog.DiscardHandler), newTimer)
		s.Note("t", "a", []byte("1"))
		began := time.Now()
		<-s.End()
		if a, took := store.get("a"), time.Since(began); a != "1" || took != time.Second {
			t.Errorf("a is %q, after %s; the store takes a second", a, took)
		}
		s.Note("t", "late", []byte("1"))
		time.Sleep(time.Minute)
		if late := store.get("late"); late != "" {
			t.Errorf("a note after the end is written: %q", late)
		}
		s.Cut()
	})
}

// TestRecorderGivesUpAtTheEnd: a store that takes nothing is tried once more at the end, and one that hangs is cut.
func TestRecorderGivesUpAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{recs: map[string]string{}, fail: true}
		s := NewRecorder(store, slog.New(slog.DiscardHandler), newTimer)
		s.Note("t", "a", []byte("1"))
		<-s.End()
		s.Cut()
	})
	synctest.Test(t, func(t *testing.T) {
		s := NewRecorder(hangingStore{}, slog.New(slog.DiscardHandler), newTimer)
		s.Note("t", "a", []byte("1"))
		done := s.End()
		time.Sleep(time.Minute)
		select {
		case <-done:
			t.Error("a store that hangs has ended")
		default:
		}
		s.Cut()
		<-done
	})
}

// hangingStore answers at the end of the context.
type hangingStore struct{}

func (hangingStore) Records(context.Context, string) iter.Seq2[records.Record, error] {
	return func(func(records.Record, error) bool) {}
}

func (hangingStore) Commit(ctx context.Context, _ []records.Write) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestRecorderWarnsOnce: the log says once that a store refuses notes, and once more after it took some.
func TestRecorderWarnsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &slowStore{recs: map[string]string{}}
		s := NewRecorder(store, slog.New(slog.NewTextHandler(&log, nil)), newTimer)
		for _, fail := range []bool{true, false, true, false} {
			store.set(fail)
			s.Note("t", "a", []byte("1"))
			time.Sleep(time.Minute)
		}
		<-s.End()
		s.Cut()
		if n := strings.Count(log.String(), "level=WARN"); n != 2 {
			t.Errorf("%d warnings:\n%s", n, &log)
		}
	})
}

// TestRecorderTakesNotesAlong: a commit writes what was noted before it, at once and
// together with its own.
func TestRecorderTakesNotesAlong(t *testing.T) {
	recording(t, func(t *testing.T, s *Recorder, store *slowStore) {
		s.NoteAll(append(write("a", "note"), write("b", "note")...)...)
		if err := s.Commit(t.Context(), write("a", "commit")); err != nil {
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

// TestRecorderWaitsForWhatIsOnItsWay: what is committed or noted of a key while a
// commit of somebody else takes a note of it along comes after that.
func TestRecorderWaitsForWhatIsOnItsWay(t *testing.T) {
	recording(t, func(t *testing.T, s *Recorder, store *slowStore) {
		var all sync.WaitGroup
		commit := func(key, value string) {
			all.Go(func() {
				if err := s.Commit(t.Context(), write(key, value)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		s.Note("t", "a", []byte("1"))
		commit("x", "1") // with a
		commit("a", "2")
		s.Note("t", "b", []byte("1"))
		commit("y", "1") // with b
		s.Note("t", "b", []byte("2"))
		commit("z", "1") // after y, with b, unless the goroutine is there first with b
		all.Wait()
		time.Sleep(time.Minute) // until the goroutine is done, too
		if a, b := store.get("a"), store.get("b"); a != "2" || b != "2" {
			t.Errorf("a is %q, b is %q", a, b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.Note("t", "a", []byte("3"))
		commit("x", "2")
		cancel()
		if err := s.Commit(ctx, write("a", "4")); err == nil {
			t.Error("a commit waits although its context has ended")
		}
		all.Wait()
	})
}

// TestRecorderOfBadNotes: a note that the store does not take is no reason to refuse a
// commit, and the notes beside it and under it are not lost.
func TestRecorderOfBadNotes(t *testing.T) {
	recording(t, func(t *testing.T, s *Recorder, store *slowStore) {
		store.bad = "bad"
		s.Note("t", "bad", []byte("1"))
		s.Note("t", "good", []byte("1"))
		s.Note("t", "under", []byte("1"))
		if err := s.Commit(t.Context(), write("x", "1")); err != nil || store.get("x") != "1" {
			t.Error(err)
		}
		store.set(true)
		if err := s.Commit(t.Context(), write("under", "2")); err == nil {
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
