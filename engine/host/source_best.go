package host

import (
	"errors"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// A bestSource watches each folder with fanotify, or with inotify where the file system refuses
// that: fuse, older overlayfs, subvolumes of btrfs. Both write to one feed.
type bestSource struct {
	*feed
	clock   clock.Clock
	fan     *fanotify
	in      *inotify        // nil before it is needed
	refused map[string]bool // folders that it has
}

// openBest opens the best sources that there are. Without root that is inotify alone, and on another
// system fsnotify.
func openBest(clock clock.Clock) (eventSource, error) {
	f := newFeed()
	fan, err := newFanotify(f, clock)
	switch {
	case errors.Is(err, unix.ErrNeedsLinux):
		return openNotify(clock)
	case err != nil: // no root, a container, or too many groups
		return openInotify(clock)
	}
	return &bestSource{feed: f, clock: clock, fan: fan, refused: make(map[string]bool)}, nil
}

func (s *bestSource) Add(dir string) error {
	err := s.fan.Add(dir)
	if err == nil || isGone(err) {
		return err
	}
	if s.in == nil {
		in, ierr := newInotify(s.feed, s.clock)
		if ierr != nil {
			return ierr
		}
		s.in = in
	}
	if err := s.in.Add(dir); err != nil {
		return err
	}
	s.refused[dir] = true
	return nil
}

func (s *bestSource) Remove(dir string) error {
	if s.refused[dir] {
		delete(s.refused, dir)
		return s.in.Remove(dir)
	}
	return s.fan.Remove(dir)
}

func (s *bestSource) Close() error {
	err := s.fan.closeGroups()
	if s.in != nil {
		err = errors.Join(err, s.in.closeGroups())
	}
	err = errors.Join(err, s.end())
	s.fan.actors.shut()
	return err
}

func (s *bestSource) modified(give func(event)) {
	s.fan.modified(give)
	if s.in != nil {
		s.in.modified(give)
	}
}

func (s *bestSource) listen() { s.fan.listen() }

func (s *bestSource) catchUp(give func(event)) {
	s.fan.catchUp(give)
	if s.in != nil {
		s.in.catchUp(give)
	}
}

func (s *bestSource) now(give func(event)) bool {
	return s.next(func() {
		s.fan.read(give)
		if s.in != nil {
			s.in.read(give)
		}
	})
}

func (s *bestSource) kind(dir string) string {
	if s.refused[dir] {
		return s.in.kind(dir)
	}
	return s.fan.kind(dir)
}

func (s *bestSource) current(ev event) bool { return s.fan.current(ev) }
