package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// fileFlushDelay is how long the files must be at rest before what was written
// is flushed to the disks. The system does it by itself after some seconds; this
// keeps a single repair from waiting behind the flush of the one before.
const fileFlushDelay = time.Second

// fileShared is what all files of an engine have in common: which paths are
// managed, which file systems were written to, and what does not change from
// file to file. It is safe for concurrent use. It flushes each file system that
// was written to once when the files have come to rest, and at Close; the
// timer's function is the only thing that runs by itself, and Close waits for it.
// It lives longer than any file, and keeps none of them alive.
type fileShared struct {
	fileIDs
	fileLocks

	mu      sync.Mutex
	managed map[string]int              // how many resources have this path
	secret  map[string]bool             // paths whose content is not to be shown
	modes   map[string]int              // how many resources say the mode of this path
	purging map[chan struct{}]string    // wakes the folder that is purged
	dirty   map[uint64]fileDirty        // by device
	clocks  map[uint64]atomicfile.Clock // by device
	busy    bool                        // between Begin and End
	made    map[string]*fileMade        // by folder, between Begin and End
	untold  error                       // of the last flush that failed with nobody left to tell
	timer   *time.Timer
	flushes sync.WaitGroup
}

// fileDirty is a place on a file system that was written to, and who wrote.
type fileDirty struct {
	dir string
	by  weak.Pointer[engine.Init]
}

// Shared names what files have in common: one for the whole engine.
func (*FileRes) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "file", func(context.Context, engine.Host) (engine.Shared, error) { return newFileShared(), nil }
}

func newFileShared() *fileShared {
	return &fileShared{
		managed: map[string]int{},
		secret:  map[string]bool{},
		modes:   map[string]int{},
		purging: map[chan struct{}]string{},
		dirty:   map[uint64]fileDirty{},
		clocks:  map[uint64]atomicfile.Clock{},
	}
}

// Begin holds flushes back until End.
func (s *fileShared) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = true
}

// End has what was written flushed after a moment of rest. It does not block.
func (s *fileShared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.made = false, nil
	if len(s.dirty) == 0 {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(fileFlushDelay, s.flushAtRest)
		return
	}
	s.timer.Reset(fileFlushDelay)
}

func (s *fileShared) flushAtRest() {
	s.mu.Lock()
	if s.busy {
		s.mu.Unlock()
		return // End will come again
	}
	s.flushes.Add(1)
	todo := s.takeDirty()
	s.mu.Unlock()
	defer s.flushes.Done()
	flushAll(todo, s.tell)
}

// tell tells of a failure by the log of the file that was written, or keeps it
// for Close if that is gone.
func (s *fileShared) tell(d fileDirty, err error) {
	if init := d.by.Value(); init != nil {
		init.Logf("%v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untold = err
}

// Close flushes what is left. Its error has what failed in that, and the last
// failure before that nobody was told of.
func (s *fileShared) Close() error {
	s.mu.Lock()
	s.busy = true // a timer that fires now does nothing
	if s.timer != nil {
		s.timer.Stop()
	}
	todo := s.takeDirty()
	s.mu.Unlock()
	var errs []error
	flushAll(todo, func(_ fileDirty, err error) { errs = append(errs, err) })
	s.flushes.Wait()
	return errors.Join(append(errs, s.untold)...)
}

func (s *fileShared) takeDirty() map[uint64]fileDirty {
	todo := s.dirty
	s.dirty = map[uint64]fileDirty{}
	return todo
}

func flushAll(todo map[uint64]fileDirty, failed func(fileDirty, error)) {
	for _, d := range todo {
		if err := atomicfile.Flush(d.dir); err != nil {
			failed(d, fmt.Errorf("what was written may not be on the disk yet: %w", err))
		}
	}
}

// wrote notes that the file system of a file was written to. It may be called on
// nil, as all that follow.
func (s *fileShared) wrote(dev uint64, dir string, by *engine.Init) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.dirty[dev]; !ok {
		s.dirty[dev] = fileDirty{dir: dir, by: weak.Make(by)}
	}
}

// clock returns what the timestamps of a device are worth; path is on it.
func (s *fileShared) clock(dev uint64, path string) atomicfile.Clock {
	if s == nil {
		return atomicfile.ClockOf(path)
	}
	s.mu.Lock()
	c, ok := s.clocks[dev]
	s.mu.Unlock()
	if ok {
		return c
	}
	c = atomicfile.ClockOf(path) // which a file system that hangs holds up, and so nobody else
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clocks[dev] = c
	return c
}

func (s *fileShared) manage(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed[path]++
}

// manages reports whether a file of the graph is this folder, or a link in its
// place.
func (s *fileShared) manages(folder string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.managed[folder+"/"] > 0 || s.managed[folder] > 0
}

// keepSecret remembers that the content of a path came from a secret, so that
// what is copied from it is not shown either.
func (s *fileShared) keepSecret(path string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret[path] = true
}

// sayMode remembers, or with -1 forgets, that a resource says which mode a path has.
func (s *fileShared) sayMode(path string, by int) {
	if s == nil || path == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modes[path] += by; s.modes[path] <= 0 {
		delete(s.modes, path)
	}
}

// hasMode reports whether a resource says the mode of one of the paths.
func (s *fileShared) hasMode(paths ...string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(paths, func(p string) bool { return s.modes[p] > 0 })
}

// holdsSecret reports whether one of the paths, or one below a path that ends in
// a slash, has a content that came from a secret.
func (s *fileShared) holdsSecret(paths []string) bool {
	if s == nil || len(paths) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret := range s.secret {
		for _, p := range paths {
			if p == secret || strings.HasSuffix(p, "/") && strings.HasPrefix(secret, p) {
				return true
			}
		}
	}
	return false
}

// unmanage takes a path back, and wakes the folders that now may purge it.
func (s *fileShared) unmanage(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed[path]--
	if s.managed[path] > 0 {
		return
	}
	delete(s.managed, path)
	delete(s.secret, path)
	for wake, root := range s.purging {
		if strings.HasPrefix(path, root) {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}
}

// purge returns a channel that receives when a path below root is no longer
// managed, until stop is called.
func (s *fileShared) purge(root string) (wake <-chan struct{}, stop func()) {
	if s == nil {
		return nil, func() {}
	}
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purging[c] = root
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.purging, c)
	}
}

// managedBelow returns, relative to root, the paths below it that are managed
// (true) and the folders that lead to them (false).
func (s *fileShared) managedBelow(root string) map[string]bool {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	below := map[string]bool{}
	for p := range s.managed {
		rel, ok := strings.CutPrefix(p, root)
		rel = strings.TrimSuffix(rel, "/")
		if !ok || rel == "" {
			continue
		}
		below[rel] = true
		for i := strings.LastIndexByte(rel, '/'); i > 0; i = strings.LastIndexByte(rel[:i], '/') {
			if _, ok := below[rel[:i]]; !ok {
				below[rel[:i]] = false
			}
		}
	}
	return below
}
