package kept_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/kept"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWorld: over a store that is there, it is a World like any other.
func TestWorld(t *testing.T) {
	worldtest.Run(t, func(t *testing.T) worldtest.Backend {
		clock := enginetest.NewClock()
		inner := memory.New(memory.WithClock(clock), memory.WithHistory(600))
		w := kept.New(inner, kept.Options{Path: filepath.Join(t.TempDir(), "f")})
		t.Cleanup(func() { _ = w.Close() })
		return worldtest.Backend{
			World: &closing{w, inner}, Advance: clock.Advance, Bookmarks: true,
			Lose: func(*testing.T) world.World {
				other := inner.Join()
				inner.Abandon()
				return other
			},
			Compact: func(t *testing.T) {
				for range 1200 {
					if _, _, err := inner.Txn(t.Context(), nil, []world.Op{{Key: "filler"}}); err != nil {
						t.Fatal(err)
					}
				}
			},
		}
	})
}

// closing closes both, as the program does.
type closing struct {
	*kept.World
	store world.World
}

func (c *closing) Close() error { return errors.Join(c.World.Close(), c.store.Close()) }

// lossy is a store that can be out of reach.
type lossy struct {
	world.World
	lost  atomic.Bool
	asked atomic.Int32 // calls of Get
	why   error        // set before lost; nil is ErrUnavailable
}

func (l *lossy) err() error {
	if l.lost.Load() {
		return cmp.Or(l.why, world.ErrUnavailable)
	}
	return nil
}

func (l *lossy) Get(ctx context.Context, key string) (world.KV, error) {
	l.asked.Add(1)
	if err := l.err(); err != nil {
		return world.KV{}, err
	}
	return l.World.Get(ctx, key)
}

func (l *lossy) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if err := l.err(); err != nil {
		return world.Page{}, err
	}
	return l.World.List(ctx, prefix, o)
}

func (l *lossy) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	if err := l.err(); err != nil {
		return func(yield func(world.Batch, error) bool) { yield(world.Batch{}, err) }
	}
	return l.World.Watch(ctx, prefix, from)
}

// rig is a store with its file.
type rig struct {
	t     *testing.T
	store *lossy
	clock *enginetest.Clock
	path  string
	log   bytes.Buffer
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, store: &lossy{World: memory.New()}, clock: enginetest.NewClock(), path: filepath.Join(t.TempDir(), "objects")}
	t.Cleanup(func() { _ = r.store.Close() })
	return r
}

// start is a start of the host, whose end is that of the test or an earlier Close.
func (r *rig) start() *kept.World {
	w := kept.New(r.store, kept.Options{
		Path: r.path, Prefix: "m/", Away: r.store.lost.Load(), Clock: r.clock, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
	})
	r.t.Cleanup(func() { _ = w.Close() })
	return w
}

func (r *rig) do(ops ...world.Op) {
	r.t.Helper()
	if _, _, err := r.store.World.Txn(r.t.Context(), nil, ops); err != nil {
		r.t.Fatal(err)
	}
}

// list returns the keys with their values, read in pages of two.
func list(t *testing.T, w world.World, prefix string) (text string, rev int64) {
	t.Helper()
	for after := ""; ; {
		page, err := w.List(t.Context(), prefix, world.ListOptions{At: rev, Limit: 2, After: after})
		if err != nil {
			t.Fatal(err)
		}
		rev = page.Revision
		for _, kv := range page.KVs {
			text += fmt.Sprintf("%s=%s ", kv.Key, kv.Value)
			after = kv.Key
		}
		if !page.More {
			return text, rev
		}
	}
}

func wantList(t *testing.T, w world.World, prefix, want string) int64 {
	t.Helper()
	got, rev := list(t, w, prefix)
	if got != want {
		t.Errorf("%s has %q, want %q", prefix, got, want)
	}
	return rev
}

// next reads one batch behind a revision.
func next(t *testing.T, w world.World, from int64) (b world.Batch, err error) {
	t.Helper()
	for b, err = range w.Watch(t.Context(), "m/", from) {
		if err != nil || len(b.Updates) > 0 {
			break
		}
	}
	return b, err
}

// TestStartWithoutStore: a host that starts while the store is away has what it has read last: lists and changes. It meets
// the store, lists again, and from then on the file answers nothing.
func TestStartWithoutStore(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.do(world.Op{Key: fmt.Sprint("m/a/", i), Value: []byte("old")})
	}
	r.do(world.Op{Key: "m/b/x", Value: []byte("1")}, world.Op{Key: "other", Value: []byte("1")})
	w := r.start()
	wantList(t, w, "m/b/", "m/b/x=1 ")
	_, rev := list(t, w, "m/a/")
	r.do(world.Op{Key: "m/a/0", Value: []byte("new")}, world.Op{Key: "m/a/1", Delete: true})
	if _, err := next(t, w, rev); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()

	r.store.lost.Store(true)
	w = r.start()
	if _, err := w.List(t.Context(), "other", world.ListOptions{}); !errors.Is(err, world.ErrUnavailable) {
		t.Error("another prefix:", err)
	}
	if _, err := w.Get(t.Context(), "m/b/x"); !errors.Is(err, world.ErrUnavailable) {
		t.Error("Get:", err)
	}
	rev = wantList(t, w, "m/a/", "m/a/0=new m/a/2=old m/a/3=old m/a/4=old ")
	wantList(t, w, "m/b/", "m/b/x=1 ")
	r.do(world.Op{Key: "m/a/9", Value: []byte("late")})
	ended := make(chan error)
	go func() { _, err := next(t, w, rev); ended <- err }()
	r.store.lost.Store(false)
	for met := false; !met; {
		select {
		case err := <-ended:
			if met = true; !errors.Is(err, world.ErrCompacted) {
				t.Error("the Watch has met the store:", err)
			}
		default:
			r.clock.Advance(1e9)
		}
	}
	wantList(t, w, "m/a/", "m/a/0=new m/a/2=old m/a/3=old m/a/4=old m/a/9=late ")
	r.store.lost.Store(true)
	if _, err := w.List(t.Context(), "m/a/", world.ListOptions{}); !errors.Is(err, world.ErrUnavailable) {
		t.Error("the store was lost later:", err)
	}
}

// TestLostAfterStart: a store that goes away between the start and the first Watch is as one that was away. A file that has
// no answer of the store is none.
func TestLostAfterStart(t *testing.T) {
	r := newRig(t)
	if kept.Met(r.path) {
		t.Error("there is no file, and it counts")
	}
	w := r.start()
	if kept.Met(r.path) {
		t.Error("a file without an answer counts")
	}
	r.store.lost.Store(true)
	if _, err := w.List(t.Context(), "m/", world.ListOptions{}); !errors.Is(err, world.ErrUnavailable) {
		t.Error("without a last state:", err)
	}
	r.store.lost.Store(false)
	r.do(world.Op{Key: "m/a/1", Value: []byte("old")})
	wantList(t, w, "m/", "m/a/1=old ")
	_ = w.Close()
	if !kept.Met(r.path) {
		t.Error("a file with an answer does not count")
	}

	w = r.start()
	r.store.lost.Store(true)
	rev := wantList(t, w, "m/a/", "m/a/1=old ")
	r.store.lost.Store(false)
	r.do(world.Op{Key: "m/a/2", Value: []byte("new")})
	if _, err := next(t, w, rev); !errors.Is(err, world.ErrCompacted) {
		t.Error("the reader was not told to list again:", err)
	}
	wantList(t, w, "m/a/", "m/a/1=old m/a/2=new ")
}

// TestRefused: a store that refuses this host is not met until it takes the host again.
func TestRefused(t *testing.T) {
	r := newRig(t)
	r.do(world.Op{Key: "m/1", Value: []byte("a")})
	w := r.start()
	wantList(t, w, "m/", "m/1=a ")
	_ = w.Close()
	r.store.lost.Store(true)
	r.store.why = world.ErrRefused
	w = r.start()
	rev := wantList(t, w, "m/", "m/1=a ")
	ended := make(chan error)
	go func() { _, err := next(t, w, rev); ended <- err }()
	for r.store.asked.Load() < 3 {
		r.clock.Advance(1e9)
		select {
		case err := <-ended:
			t.Fatal("a store that refuses counts as met: ", err)
		default:
		}
	}
	wantList(t, w, "m/", "m/1=a ")
	r.store.lost.Store(false)
	for {
		select {
		case err := <-ended:
			if !errors.Is(err, world.ErrCompacted) {
				t.Error("the Watch has met the store:", err)
			}
			return
		default:
			r.clock.Advance(1e9)
		}
	}
}

// TestFirstStart: a host that has never met the store has an empty one. The end of a context ends its Watch.
func TestFirstStart(t *testing.T) {
	r := newRig(t)
	r.store.lost.Store(true)
	w := r.start()
	wantList(t, w, "m/a/", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for b, err := range w.Watch(ctx, "m/", 0) {
		t.Error(b, err)
	}
}

// TestTornFile: what a process could not write to its end does not count, at whatever byte it has died.
func TestTornFile(t *testing.T) {
	r := newRig(t)
	r.do(world.Op{Key: "m/1", Value: []byte("a")})
	w := r.start()
	rev := wantList(t, w, "m/", "m/1=a ")
	r.do(world.Op{Key: "m/1", Value: []byte("b")}, world.Op{Key: "m/2", Value: []byte("b")})
	before, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next(t, w, rev); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	whole, err := os.ReadFile(r.path)
	if err != nil || len(whole) <= len(before) {
		t.Fatal(len(whole), err)
	}
	r.store.lost.Store(true)
	for cut := len(before); cut <= len(whole); cut++ {
		if err := os.WriteFile(r.path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := "m/1=a "
		if cut >= len(whole)-1 { // without the line end, the last line is whole
			want = "m/1=b m/2=b "
		}
		w := r.start()
		wantList(t, w, "m/", want)
		_ = w.Close()
	}
}

// TestFileStaysSmall: however often a key changes, the file is bounded, and has the last value.
func TestFileStaysSmall(t *testing.T) {
	r := newRig(t)
	w := r.start()
	_, rev := list(t, w, "m/")
	big := strings.Repeat("x", 100<<10)
	for i := range 40 {
		r.do(world.Op{Key: "m/1", Value: fmt.Append(nil, big, i)})
		b, err := next(t, w, rev)
		if err != nil {
			t.Fatal(err)
		}
		rev = b.Revision
		if st, err := os.Stat(r.path); err != nil || st.Size() > 1<<20+300<<10 || st.Mode().Perm() != 0o600 {
			t.Fatal(st.Size(), st.Mode(), err)
		}
	}
	_ = w.Close()
	r.store.lost.Store(true)
	wantList(t, r.start(), "m/", "m/1="+big+"39 ")
}

// TestNoFile: a file that cannot be made is one warning, and the store answers.
func TestNoFile(t *testing.T) {
	r := newRig(t)
	r.path = filepath.Join(r.path, "none", "f")
	r.do(world.Op{Key: "m/1", Value: []byte("a")})
	w := r.start()
	wantList(t, w, "m/", "m/1=a ")
	if n := strings.Count(r.log.String(), "can't be kept"); n != 1 {
		t.Error(r.log.String())
	}
}
