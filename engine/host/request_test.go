package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// TestOwnChanges: a subscriber that says so is not woken by its own changes. A link that takes
// the place of the file is followed all the same, and a change by others wakes.
func TestOwnChanges(t *testing.T) {
	dir := t.TempDir()
	file, target := filepath.Join(dir, "f"), filepath.Join(dir, "target")
	var own atomic.Bool
	h := newHost(t, Options{})
	mine := watch(t, h, events.Options{Own: events.OwnerFunc(own.Load)}, file)
	another := watch(t, h, plain, file)
	own.Store(true)
	write(t, file, "ours")
	woken(t, another)
	silent(t, h, mine)
	own.Store(false)
	write(t, file, "another's")
	woken(t, mine)
	remove(t, file)
	settle(t, h, mine)
	symlink(t, "target", file)
	woken(t, mine)
	settle(t, h, mine)
	write(t, target, "behind the link")
	woken(t, mine)
}

// TestFindingQ6OverwrittenAtOnce: where a stranger alters what a subscriber has just written, before its event is told, the subscriber is
// not told that it was himself.
func TestFindingQ6OverwrittenAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	var asked atomic.Int32
	mine := watch(t, h, events.Options{Resource: "file[f]", Own: events.OwnerFunc(func() bool { return asked.Add(1) == 1 })}, file)
	another := watch(t, h, events.Options{Contents: true}, filepath.Dir(file))
	write(t, file+".new", "ours, and a stranger's right after")
	settle(t, h, another)
	asked.Store(0)
	rename(t, file+".new", file)
	if c := woken(t, mine); c.From != "" || c.Path != file {
		t.Errorf("told of %+v", c)
	}
}

// TestLeftIsOwn: what is exactly as its subscriber has left it wakes others, and him only while he is at it. To ask makes no goroutine,
// which would be one for each file that is written.
func TestLeftIsOwn(t *testing.T) {
	if chosen() == "fsnotify" {
		return // it does not tell of the end of a write
	}
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "ours")
	st, err := lstat(file)
	must(t, err)
	left := &safepath.Left{Path: file, State: new(atomic.Pointer[safepath.State])}
	state := safepath.StateOf(&st)
	left.State.Store(&state)
	h := newHost(t, Options{})
	mine := watch(t, h, events.Options{Own: left}, file)
	another := watch(t, h, plain, file)
	touch := func() {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		must(t, err)
		must(t, f.Close())
	}
	touch()
	woken(t, another)
	silent(t, h, mine)
	if n := testing.AllocsPerRun(100, func() { mine.(*sub).isOwn() }); n > 2 {
		t.Errorf("it makes %v objects to ask", n)
	}
	left.State.Store(nil)
	touch()
	woken(t, mine)
}

// TestOwnPanics: a subscriber that panics when it is asked is woken, and so are the others.
func TestOwnPanics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	bad := watch(t, h, events.Options{Own: events.OwnerFunc(func() bool { panic("own") })}, file)
	another := watch(t, h, plain, file)
	write(t, file, "text")
	woken(t, bad)
	woken(t, another)
}

// TestFindingM2GoexitOfOwn: a subscriber that ends the goroutine when it is asked is woken, and so are the others, now and later.
func TestFindingM2GoexitOfOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	bad := watch(t, h, events.Options{Own: events.OwnerFunc(func() bool { runtime.Goexit(); return true })}, file)
	another := watch(t, h, plain, file)
	for _, text := range []string{"one", "two"} {
		write(t, file, text)
		woken(t, bad)
		woken(t, another)
	}
}

// TestCanceledWhileItSubscribes: nothing is left of a subscription whose context ends at any
// moment of it, and those beside it are armed.
func TestCanceledWhileItSubscribes(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				go cancel()
			} else {
				defer cancel()
			}
			path := filepath.Join(dir, strconv.Itoa(i%10))
			sub, err := h.Watch(ctx, []string{path}, plain)
			if err != nil && i%2 != 0 {
				t.Errorf("nobody has canceled it: %v", err)
			}
			if err == nil {
				sub.Close()
			}
		})
	}
	all.Wait()
	settleUntil(t, func() bool { return h.hub.stats.subs.Load() == 0 })
}
