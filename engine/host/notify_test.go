package host

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// told is a Notice that a test waits for.
type told struct{ armed, woken chan error }

func newTold() told { return told{make(chan error, 10), make(chan error, 1000)} }

func (n told) Armed(err error) { n.armed <- err }
func (n told) Woken()          { n.woken <- nil }

// hear waits until one of its methods is called.
func hear(t *testing.T, c chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		t.Fatal("nothing was told in ten seconds")
		return nil
	}
}

func notify(t *testing.T, h *Host, n hosting.Notice, o events.Options, paths ...string) events.Subscription {
	t.Helper()
	s, err := h.Notify(paths, o, n)
	must(t, err)
	return s
}

// TestNotify: it tells when it is armed, and then of each change until it is closed.
func TestNotify(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "f")
	h := newHost(t, Options{})
	n := newTold()
	s := notify(t, h, n, plain, file)
	must(t, hear(t, n.armed))
	mkdir(t, filepath.Dir(file))
	write(t, file, "1")
	_ = hear(t, n.woken)
	settle(t, h)
	if c := s.Cause(); c.Merged == 0 || s.Cause() != (events.Cause{}) {
		t.Errorf("the cause is %+v", c)
	}
	s.Close()
	s.Close()
	for len(n.woken) > 0 {
		<-n.woken
	}
	write(t, file, "2")
	settle(t, h)
	if len(n.woken)+len(n.armed) > 0 {
		t.Error("after Close it was told of a change")
	}
	empty(t, h)
}

// TestNotifyOwn: own changes are not told of; once a wake-up waits to be taken, nobody is asked.
func TestNotifyOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	var own atomic.Bool
	var asked atomic.Int32
	own.Store(true)
	n := newTold()
	s := notify(t, h, n, events.Options{Own: events.OwnerFunc(func() bool { asked.Add(1); return own.Load() })}, file)
	must(t, hear(t, n.armed))
	write(t, file, "ours")
	settle(t, h)
	if len(n.woken) > 0 || asked.Load() == 0 {
		t.Errorf("told %d times of our own change, and asked %d times", len(n.woken), asked.Load())
	}
	own.Store(false)
	write(t, file, "another's")
	_ = hear(t, n.woken)
	settle(t, h)
	before := asked.Load()
	write(t, file, "more")
	settle(t, h)
	if asked.Load() != before {
		t.Error("it was asked although a wake-up waits")
	}
	s.Cause()
	write(t, file, "more")
	settle(t, h)
	if asked.Load() == before {
		t.Error("it was not asked any more")
	}
	s.Close()
	empty(t, h)
}

// TestNotifyEnds: bad paths and a closed host are errors, and what waits when the host ends is told.
func TestNotifyEnds(t *testing.T) {
	h := newHost(t, Options{})
	n := newTold()
	if _, err := h.Notify([]string{"relative"}, plain, n); err == nil {
		t.Error("a relative path was taken")
	}
	h.hub.in.mu.Lock() // the hub's goroutine can't take the request
	h.hub.in.started = true
	h.hub.in.mu.Unlock()
	s := notify(t, h, n, plain, filepath.Join(t.TempDir(), "f"))
	h.hub.settleAll()
	if err := hear(t, n.armed); !errors.Is(err, ErrClosed) {
		t.Errorf("told of %v", err)
	}
	h.hub.in.mu.Lock()
	h.hub.in.started = false
	h.hub.in.mu.Unlock()
	s.Close()
	must(t, h.Close())
	if _, err := h.Notify([]string{"/"}, plain, n); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed host says %v", err)
	}
	if len(n.armed) > 0 {
		t.Error("it was told twice")
	}
}
