package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
	"github.com/reactivegraph/mgmt/internal/await"
)

func open(t testing.TB, path string, o bolt.Options) *bolt.World {
	t.Helper()
	w, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "world.db") }

func put(t testing.TB, w world.World, key, value string) int64 {
	t.Helper()
	rev, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return rev
}

func list(t testing.TB, w world.World) string {
	t.Helper()
	p, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, kv := range p.KVs {
		all = append(all, kv.Key+"="+string(kv.Value))
	}
	return strings.Join(all, " ")
}

// copyFile is what a power loss or a kill leaves of a file that is open.
func copyFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := file(t)
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestWorld(t *testing.T) {
	worldtest.Run(t, func(t *testing.T) worldtest.Backend {
		const history = 2000
		path, clock := file(t), enginetest.NewClock()
		w := open(t, path, bolt.Options{Clock: clock, History: history})
		return worldtest.Backend{
			World:   w,
			Lose:    func(t *testing.T) world.World { return open(t, copyFile(t, path), bolt.Options{Clock: clock}) },
			Advance: func(time.Duration) {},
			Compact: func(t *testing.T) {
				var ops []world.Op
				for i := range w.Limits().Ops {
					ops = append(ops, world.Op{Key: fmt.Sprint("filler", i)})
				}
				for range 2*history/len(ops) + 1 {
					if _, _, err := w.Txn(t.Context(), nil, ops); err != nil {
						t.Fatal(err)
					}
				}
			},
			Bookmarks: true,
		}
	})
}

// TestSameAsMemory: random operations come to the same in a file and in memory.
func TestSameAsMemory(t *testing.T) {
	worldtest.Same(t, func(t *testing.T) world.World { return open(t, file(t), bolt.Options{}) })
}

// TestWatchAfterRestart: a watch goes on where it was, and revisions go on rising.
func TestWatchAfterRestart(t *testing.T) {
	path := file(t)
	w := open(t, path, bolt.Options{})
	from := put(t, w, "a", "1")
	put(t, w, "a", "2")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open(t, path, bolt.Options{})
	last := put(t, w, "b", "3")
	var got []string
	for b, err := range w.Watch(t.Context(), "", from) {
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range b.Updates {
			got = append(got, u.Key+"="+string(u.Value))
		}
		if b.Revision == last {
			break
		}
	}
	if s := strings.Join(got, " "); s != "a=2 b=3" {
		t.Errorf("after a restart Watch showed %s", s)
	}
}

// TestHistoryKeptByTime: an hour of changes stays, and older ones go.
func TestHistoryKeptByTime(t *testing.T) {
	clock := enginetest.NewClock()
	w := open(t, file(t), bolt.Options{Clock: clock})
	first := put(t, w, "a", "0")
	for i := range 200 {
		put(t, w, "a", fmt.Sprint(i))
	}
	clock.Advance(59 * time.Minute)
	put(t, w, "a", "later")
	if _, err := w.List(t.Context(), "", world.ListOptions{At: first}); err != nil {
		t.Errorf("after 59 minutes: %v", err)
	}
	clock.Advance(2 * time.Minute)
	put(t, w, "a", "after an hour")
	if _, err := w.List(t.Context(), "", world.ListOptions{At: first}); !errors.Is(err, world.ErrCompacted) {
		t.Errorf("after 61 minutes: %v", err)
	}
}

// TestLocked: a second process, here a second handle, does not get the file.
func TestLocked(t *testing.T) {
	path := file(t)
	open(t, path, bolt.Options{})
	if _, err := bolt.Open(path, bolt.Options{}); !errors.Is(err, bolt.ErrLocked) || !errors.Is(err, world.ErrUnavailable) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second Open: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

// TestDamageIsRefused: a damaged file stays as it is, and the error names it and says what to do.
func TestDamageIsRefused(t *testing.T) {
	sound := file(t)
	w := open(t, sound, bolt.Options{})
	for i := range 300 {
		put(t, w, fmt.Sprintf("key%d", i), strings.Repeat("value ", 20))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(whole, []byte("value value"))
	for name, spoil := range map[string]func([]byte) []byte{
		"a byte":            func(b []byte) []byte { b[at] ^= 1; return b },
		"cut":               func(b []byte) []byte { return b[:len(b)/2] },
		"emptied":           func([]byte) []byte { return nil },
		"another file":      func([]byte) []byte { return []byte(strings.Repeat("no store\n", 1000)) },
		"both first pages":  func(b []byte) []byte { clear(b[:8192]); return b },
		"zeros in the tail": func(b []byte) []byte { clear(b[8192:]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			path, bad := file(t), spoil(bytes.Clone(whole))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			var damage *bolt.DamageError
			_, err := bolt.Open(path, bolt.Options{})
			if !errors.As(err, &damage) || damage.Path != path || !strings.Contains(err.Error(), "mgmt api apply -f DUMP") {
				t.Fatalf("Open: %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
				t.Error("the damaged file was altered", err)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("beside the damaged file there is %v", entries)
			}
		})
	}
}

// TestRemoved: a file that is removed while it is in use is written again before the next change.
func TestRemoved(t *testing.T) {
	var log bytes.Buffer
	path := file(t)
	w := open(t, path, bolt.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	put(t, w, "a", "1")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, w, "b", "2")
	if !strings.Contains(log.String(), "was written again") {
		t.Errorf("the log says %q", log.String())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, path, bolt.Options{})); got != "a=1 b=2" {
		t.Errorf("the new file holds %s", got)
	}
}

// TestAnotherInItsPlace: a file that somebody has put in the place of the store is left alone. One warning says what will be lost, and the work goes on in
// the file without a name.
func TestAnotherInItsPlace(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"another file": func(path string) error { return os.WriteFile(path, []byte("of somebody"), 0o644) },
		"no folder":    func(path string) error { return os.Remove(filepath.Dir(path)) },
	} {
		t.Run(what, func(t *testing.T) {
			var log bytes.Buffer
			path := filepath.Join(t.TempDir(), "below", "world.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			w := open(t, path, bolt.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			put(t, w, "a", "1")
			if err := errors.Join(os.Remove(path), spoil(path)); err != nil {
				t.Fatal(err)
			}
			put(t, w, "b", "2")
			put(t, w, "c", "3")
			if got := list(t, w); got != "a=1 b=2 c=3" {
				t.Errorf("the store has %s", got)
			}
			if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "its objects are lost when the program ends") {
				t.Errorf("the log says %q", log.String())
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(path); err == nil && string(b) != "of somebody" {
				t.Errorf("the other file has become %q", b)
			}
		})
	}
}

// TestFindingQ10KeepWorld: a keeper has a store written again without any change of it, as soon as there is a folder.
func TestFindingQ10KeepWorld(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "below", "world.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	w := open(t, path, bolt.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	put(t, w, "a", "1")
	if err := errors.Join(w.Keep(), os.RemoveAll(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Keep(); err == nil || !strings.Contains(err.Error(), "mgmt api dump") {
			t.Errorf("without a folder it says %v", err)
		}
	}
	put(t, w, "b", "2")
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), w.Keep(), w.Keep()); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, copyFile(t, path), bolt.Options{})); got != "a=1 b=2" { // as after a kill
		t.Errorf("the new file holds %s", got)
	}
	put(t, w, "c", "3")
	if err := os.WriteFile(path+".other", []byte("of somebody"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".other", path); err != nil {
		t.Fatal(err)
	}
	if err := w.Keep(); err == nil || !strings.Contains(err.Error(), "another file is in its place") {
		t.Errorf("of another file it says %v", err)
	}
	if b, err := os.ReadFile(path); string(b) != "of somebody" {
		t.Errorf("the other file is %q, %v", b, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Keep(); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// TestLeftovers: what a process that was killed has begun to write is no store, and is removed.
func TestLeftovers(t *testing.T) {
	path := file(t)
	w := open(t, path, bolt.Options{})
	put(t, w, "a", "1")
	if err := errors.Join(w.Close(), os.WriteFile(path+".new", []byte("half of a store"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, path, bolt.Options{})); got != "a=1" {
		t.Errorf("the store has %s", got)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the leftover is still there:", err)
	}
}

// TestFull: without room a change fails as unavailable, and alone; reading goes on, and so does
// writing of what fits.
func TestFull(t *testing.T) {
	w := open(t, file(t), bolt.Options{MaxFile: 1 << 20})
	put(t, w, "a", "1")
	_, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "big", Value: make([]byte, 1<<20)}})
	if !errors.Is(err, world.ErrUnavailable) {
		t.Fatalf("a value of 1 MiB in a file of 1 MiB: %v", err)
	}
	put(t, w, "b", "2")
	if got := list(t, w); got != "a=1 b=2" {
		t.Errorf("the store holds %s", got)
	}
}

// TestTogether: many writers share commits, and each has its own answer.
func TestTogether(t *testing.T) {
	w := open(t, file(t), bolt.Options{})
	const writers, each = 16, 20
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			key, was := fmt.Sprint("k", i), int64(0)
			for n := range each {
				ops := []world.Op{{Key: key, Value: fmt.Append(nil, n)}}
				if _, ok, err := w.Txn(t.Context(), []world.Compare{{Key: key, Revision: was + 1<<40}}, ops); ok || err != nil {
					t.Error("a wrong comparison:", ok, err)
				}
				rev, ok, err := w.Txn(t.Context(), []world.Compare{{Key: key, Revision: was}}, ops)
				if !ok || err != nil || rev <= was {
					t.Error("a right comparison:", rev, was, ok, err)
				}
				was = rev
			}
		})
	}
	wg.Wait()
	p, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil || len(p.KVs) != writers || p.Revision != 1+writers*each {
		t.Errorf("%d keys at revision %d, %v", len(p.KVs), p.Revision, err)
	}
}

// TestAnyKey: keys of any bytes keep their order and their identity.
func TestAnyKey(t *testing.T) {
	w := open(t, file(t), bolt.Options{})
	keys := []string{"\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00\x01", "a\x00\xff", "a\x01", "a/b", "aa", "\xff", "\xff\xff"}
	for i := range keys {
		put(t, w, keys[len(keys)-1-i], "old")
		put(t, w, keys[len(keys)-1-i], "new")
	}
	p, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil || len(p.KVs) != len(keys) {
		t.Fatal(p, err)
	}
	for i, kv := range p.KVs {
		if kv.Key != keys[i] || string(kv.Value) != "new" {
			t.Errorf("key %d is %q=%s, want %q", i, kv.Key, kv.Value, keys[i])
		}
	}
	for prefix, want := range map[string]int{"a": 7, "a\x00": 3, "\x00": 4, "a\x00\xff": 1, "\xff": 2} {
		if p, err := w.List(t.Context(), prefix, world.ListOptions{}); err != nil || len(p.KVs) != want {
			t.Errorf("below %q: %d keys of %d, %v", prefix, len(p.KVs), want, err)
		}
	}
}

// TestDamagedWhileInUse: another program has emptied the file of a store that is open. Each call says what is wrong and how to go on, and Close returns though
// a lease has keys in the file.
func TestDamagedWhileInUse(t *testing.T) {
	path := file(t)
	w, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Lease(t.Context(), time.Hour)
	if err == nil {
		_, _, err = w.Txn(t.Context(), nil, []world.Op{{Key: "mine", Lease: l}})
	}
	if err == nil {
		err = os.Truncate(path, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _, write := w.Txn(t.Context(), nil, []world.Op{{Key: "k"}})
		_, read := w.Get(t.Context(), "mine")
		for _, err := range []error{write, read} {
			if damage := (*bolt.DamageError)(nil); !errors.As(err, &damage) || !damage.Lasting() || !errors.Is(err, world.ErrUnavailable) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore a dump") {
				t.Error(err)
			}
		}
	}
	done := make(chan error, 1)
	go func() { done <- w.Close() }()
	select {
	case <-done:
	case <-time.After(await.Left()):
		t.Fatal("Close does not end")
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Error("the file was replaced:", info, err)
	}
}

// TestFindingJ6CutWhileInUse: the error about a file that another program has cut while it is open says so, in words.
func TestFindingJ6CutWhileInUse(t *testing.T) {
	path := file(t)
	w := open(t, path, bolt.Options{})
	for n := range 100 {
		put(t, w, fmt.Sprintf("key%d", n), strings.Repeat("x", 1000))
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	_, listed := w.List(t.Context(), "", world.ListOptions{})
	_, _, written := w.Txn(t.Context(), nil, []world.Op{{Key: "a", Value: []byte("b")}})
	for _, err := range []error{listed, written} {
		if err == nil || strings.Contains(err.Error(), "runtime error") || strings.Contains(err.Error(), "nil pointer") ||
			!strings.Contains(err.Error(), "it has 4096 bytes") || !strings.Contains(err.Error(), "another program has") {
			t.Errorf("got %v", err)
		}
	}
}
