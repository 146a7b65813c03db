package files

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Shared is the shared state of all files of an engine: which paths are managed, which file
// systems were written to, and all that does not change from file to file. It is safe for
// concurrent use. It flushes each file system that was written to once when the files have come to
// rest, and at Close; the timer's function is the only thing that runs by itself, and Close waits
// for it. It lives longer than any file, and keeps none of them alive.
type Shared struct {
	ids
	locks

	mu      sync.Mutex
	managed map[string]int              // how many resources have this path
	secret  map[string]bool             // paths whose content is not to be shown
	modes   map[string]int              // how many resources say the mode of this path
	purges  map[string]int              // how many resources purge this folder
	purging map[*string]func()          // by the folder that is purged: wakes its resource
	dirty   map[uint64]dirtyPlace       // by device
	clocks  map[uint64]atomicfile.Clock // by device
	busy    bool                        // between Begin and End
	made    map[string]*made            // by folder, between Begin and End
	untold  error                       // of the last flush that failed with no caller left to tell
	clock   clock.Clock
	paths   safepath.Walker
	away    bool        // the paths are not those of this machine
	above   *Shared     // knows more managed paths; nil for none
	stop    func() bool // keeps the next flush from coming; nil where none is to come
	flushes sync.WaitGroup
}

// New returns what the files of a graph have in common on a host; nil stands for this machine.
func New(h engine.Host) *Shared {
	paths := safepath.Of(h)
	return &Shared{
		clock:   engine.ClockOf(h),
		paths:   paths,
		away:    !paths.System(),
		managed: map[string]int{},
		secret:  map[string]bool{},
		modes:   map[string]int{},
		purges:  map[string]int{},
		purging: map[*string]func(){},
		dirty:   map[uint64]dirtyPlace{},
		clocks:  map[uint64]atomicfile.Clock{},
	}
}

// Layered returns one for the paths of another host, on which all that s manages is managed, too. It is for a layer above the
// machine, in which a resource makes the effect that it would have.
func (s *Shared) Layered(h engine.Host) engine.Shared {
	n := New(h)
	n.above = s
	return n
}

// Lock waits until no other resource edits the file at a path, and keeps it until unlock is called.
// It may be called on nil.
func (s *Shared) Lock(path string) (unlock func()) {
	if s == nil {
		return func() {}
	}
	s.lockMu.Lock()
	l := s.held[path]
	if l == nil {
		l = &lock{}
		if s.held == nil {
			s.held = map[string]*lock{}
		}
		s.held[path] = l
	}
	l.users++
	s.lockMu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.lockMu.Lock()
		defer s.lockMu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.held, path)
		}
	}
}

// WroteAt notes that the file at a path was written.
func (s *Shared) WroteAt(p string, by *engine.Init) {
	if s == nil {
		return
	}
	if st, err := atomicfile.FollowBy(s.paths, path.Dir(p)); err == nil {
		s.Wrote(st.Dev, path.Dir(p), by)
	}
}

// Locked returns how many files are edited now, or waited for.
func (s *Shared) Locked() int {
	s.lockMu.Lock()
	defer s.lockMu.Unlock()
	return len(s.held)
}

const (
	// ManyMade is the number of new files from which a folder is read once for leftovers of
	// killed processes, instead of a look for each file.
	ManyMade = 32
	// ManyNames is from how many names in it a folder is not read for that.
	ManyNames = 8192
)

// made is what is known of a folder in which files are made.
type made struct {
	files int // made since Begin
	known bool
	left  atomicfile.Temps
}

// NoneLeft reports whether it is known that no killed process has left a temporary file
// for a file that is about to be made. It may be called on nil.
func (s *Shared) NoneLeft(dir atomicfile.Dir, name string) bool {
	if s == nil {
		return false
	}
	at := dir.Path("")
	s.mu.Lock()
	m := s.made[at]
	if m == nil {
		if s.made == nil {
			s.made = map[string]*made{}
		}
		m = &made{}
		s.made[at] = m
	}
	m.files++
	first, known := m.files == ManyMade, m.known
	s.mu.Unlock()
	if first {
		return s.readLeft(m, dir) && !m.left.Of(name)
	}
	return known && !m.left.Of(name)
}

// readLeft reads the folder; meanwhile, and where that fails, each file is looked for.
func (s *Shared) readLeft(m *made, dir atomicfile.Dir) bool {
	left, err := dir.Temps(ManyNames)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.left, m.known = left, true
	return true
}

// UID returns the number of a user by name or number; -1 for the empty name.
func (s *Shared) UID(name string) (int, error) {
	if id, ok := number(name); ok {
		return id, nil
	}
	if s == nil {
		return lookupUser(name)
	}
	s.idMu.Lock()
	defer s.idMu.Unlock()
	return s.users.find("/etc/passwd", name, lookupUser)
}

// GID returns the number of a group by name or number; -1 for the empty name.
func (s *Shared) GID(name string) (int, error) {
	if id, ok := number(name); ok {
		return id, nil
	}
	if s == nil {
		return lookupGroup(name)
	}
	s.idMu.Lock()
	defer s.idMu.Unlock()
	return s.groups.find("/etc/group", name, lookupGroup)
}

// flushDelay is how long the files must be at rest before their writes are flushed to the
// disks. The system does it by itself after some seconds; this keeps a single repair from waiting
// behind the flush of the one before.
const flushDelay = time.Second

// dirtyPlace is a place on a file system that was written to, and who wrote.
type dirtyPlace struct {
	dir string
	by  weak.Pointer[engine.Init]
}

// Begin holds flushes back until End.
func (s *Shared) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = true
}

// End has the written files flushed after a moment of rest. It does not block.
func (s *Shared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.made = false, nil
	if len(s.dirty) == 0 {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	s.stop = s.clock.AfterFunc(flushDelay, s.FlushAtRest)
}

func (s *Shared) FlushAtRest() {
	s.mu.Lock()
	if s.busy {
		s.mu.Unlock()
		return // End will come again
	}
	s.flushes.Add(1)
	todo := s.takeDirty()
	s.mu.Unlock()
	defer s.flushes.Done()
	s.flushAll(todo, s.tell)
}

// tell tells of a failure by the log of the file that was written, or keeps it
// for Close if that is gone.
func (s *Shared) tell(d dirtyPlace, err error) {
	if init := d.by.Value(); init != nil {
		init.Logf("%v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untold = err
}

// Close flushes the rest. Its error has the failures of that, and the last earlier failure that was
// not reported.
func (s *Shared) Close() error {
	s.mu.Lock()
	s.busy = true // a timer that fires now does nothing
	if s.stop != nil {
		s.stop()
	}
	todo := s.takeDirty()
	s.mu.Unlock()
	var errs []error
	s.flushAll(todo, func(_ dirtyPlace, err error) { errs = append(errs, err) })
	s.flushes.Wait()
	return errors.Join(append(errs, s.untold)...)
}

// Forget has nothing flushed of what was written so far.
func (s *Shared) Forget() { s.takeDirty() }

// Unflushed returns how many file systems were written to, and not flushed since.
func (s *Shared) Unflushed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dirty)
}

func (s *Shared) takeDirty() map[uint64]dirtyPlace {
	todo := s.dirty
	s.dirty = map[uint64]dirtyPlace{}
	return todo
}

func (s *Shared) flushAll(todo map[uint64]dirtyPlace, failed func(dirtyPlace, error)) {
	for _, d := range todo {
		if err := atomicfile.Flush(s.paths, d.dir); err != nil {
			failed(d, fmt.Errorf("what was written may not be on the disk yet: %w", err))
		}
	}
}

// Wrote notes that the file system of a file was written to. It may be called on
// nil, as all that follow. A folder that stands for a machine is not worth a flush.
func (s *Shared) Wrote(dev uint64, dir string, by *engine.Init) {
	if s == nil || s.away {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.dirty[dev]; !ok {
		s.dirty[dev] = dirtyPlace{dir: dir, by: weak.Make(by)}
	}
}

// Clock returns the precision of a device's timestamps; path is on it. It is not told of a folder that stands for a machine.
func (s *Shared) Clock(dev uint64, path string) atomicfile.Clock {
	if s == nil {
		return atomicfile.ClockOf(path)
	}
	if s.away {
		return atomicfile.ClockUntold
	}
	s.mu.Lock()
	c, ok := s.clocks[dev]
	s.mu.Unlock()
	if ok {
		return c
	}
	c = atomicfile.ClockOf(path) // which a file system that hangs holds up, and so no other goroutine
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clocks[dev] = c
	return c
}

func (s *Shared) Manage(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed[path]++
}

// Manages reports whether a file of the graph is this folder, or a link in its
// place.
func (s *Shared) Manages(folder string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.managed[folder+"/"] > 0 || s.managed[folder] > 0 || s.above.Manages(folder)
}

// KeepSecret remembers that the content of a path came from a secret, so that copies of it are not
// shown either.
func (s *Shared) KeepSecret(path string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret[path] = true
}

// SayMode remembers, or with -1 forgets, that a resource says which mode a path has.
func (s *Shared) SayMode(path string, by int) { s.count(s.modes, path, by) }

// SayPurge remembers, or with -1 forgets, that a resource purges a folder.
func (s *Shared) SayPurge(folder string, by int) { s.count(s.purges, folder, by) }

// count adds to what resources say of a path.
func (s *Shared) count(of map[string]int, path string, by int) {
	if path == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if of[path] += by; of[path] <= 0 {
		delete(of, path)
	}
}

// IsPurged reports whether a resource purges a folder above a path, and no resource has the path.
func (s *Shared) IsPurged(path string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.managed[path] > 0 {
		return false
	}
	for root := range s.purges {
		if strings.HasPrefix(path, root) && path != root {
			return true
		}
	}
	return s.above.IsPurged(path)
}

// HasMode reports whether a resource says the mode of one of the paths.
func (s *Shared) HasMode(paths ...string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(paths, func(p string) bool { return s.modes[p] > 0 })
}

// HoldsSecret reports whether one of the paths, or one below a path that ends in
// a slash, has a content that came from a secret.
func (s *Shared) HoldsSecret(paths []string) bool {
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

// Unmanage takes a path back, and wakes the folders that now may purge it.
func (s *Shared) Unmanage(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed[path]--
	if s.managed[path] > 0 {
		return
	}
	delete(s.managed, path)
	delete(s.secret, path)
	for root, wake := range s.purging {
		if strings.HasPrefix(path, *root) {
			wake()
		}
	}
}

// Purge has wake called when a path below root is no longer managed, until stop is called. wake must not block, nor call s.
func (s *Shared) Purge(root string, wake func()) (stop func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purging[&root] = wake
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.purging, &root)
	}
}

// ManagedBelow returns, relative to root, the paths below it that are managed
// (true) and the folders that lead to them (false).
func (s *Shared) ManagedBelow(root string) map[string]bool {
	if s == nil {
		return nil
	}
	below := s.above.ManagedBelow(root)
	if below == nil {
		below = map[string]bool{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
