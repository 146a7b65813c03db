package host

import (
	"errors"
	"sync"

	"github.com/fsnotify/fsnotify"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// A notifySource is the source of systems other than Linux. It knows neither the end of a write nor who
// wrote.
type notifySource struct {
	w     *fsnotify.Watcher
	out   chan event
	stop  chan struct{}
	reads sync.WaitGroup
}

// eventBuffer lets a source read on while the hub is busy: events in the buffer do not fill the
// kernel's queue.
const eventBuffer = 4096

func openNotify(clock.Clock) (eventSource, error) {
	w, err := fsnotify.NewBufferedWatcher(eventBuffer)
	if err != nil {
		return nil, err
	}
	s := &notifySource{w: w, out: make(chan event), stop: make(chan struct{})}
	s.reads.Go(s.translate)
	return s, nil
}

// translate hands on the events until the watcher is closed.
func (s *notifySource) translate() {
	for ev := range s.w.Events {
		at, name := split(ev.Name)
		select {
		case s.out <- event{dir: at, name: name, op: opOf(ev.Op)}:
		case <-s.stop:
		}
	}
}

// opOf translates what fsnotify tells.
func opOf(o fsnotify.Op) (ours op) {
	for _, pair := range []struct {
		theirs fsnotify.Op
		ours   op
	}{
		{fsnotify.Create, opCreated | opUnsure},
		{fsnotify.Write, opModified | opUnsure},
		{fsnotify.Remove, opRemoved},
		{fsnotify.Rename, opMovedOut},
		{fsnotify.Chmod, opAttributes},
	} {
		if o.Has(pair.theirs) {
			ours |= pair.ours
		}
	}
	return ours
}

func (s *notifySource) Add(dir string) error { return s.w.Add(dir) }

func (s *notifySource) Remove(dir string) error {
	if err := s.w.Remove(dir); !errors.Is(err, fsnotify.ErrNonExistentWatch) {
		return err
	}
	return errNotWatched
}

func (s *notifySource) Close() error {
	close(s.stop)
	err := s.w.Close()
	s.reads.Wait()
	close(s.out)
	return err
}

func (s *notifySource) events() <-chan event { return s.out }
func (s *notifySource) errors() <-chan error { return s.w.Errors }
func (s *notifySource) modified(func(event)) {}
func (s *notifySource) listen()              {}

// catchUp knows of nothing but what the watcher has read.
func (s *notifySource) catchUp(give func(event)) { taken(s.out, give) }

// now can't tell what the hub has taken from out.
func (s *notifySource) now(func(event)) bool { return false }
func (s *notifySource) kind(string) string   { return "fsnotify" }
func (s *notifySource) current(event) bool   { return true }
