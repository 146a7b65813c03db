package host

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// What the two groups of inotify are told of. A name that was removed from the folder, and is
// written on by one who has it open, counts no more (IN_EXCL_UNLINK).
const (
	inotifyMain = unix.IN_CREATE | unix.IN_CLOSE_WRITE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_EXCL_UNLINK | unix.IN_ONLYDIR
	inotifyWrites = unix.IN_MODIFY | unix.IN_EXCL_UNLINK | unix.IN_ONLYDIR
)

// inotify is the source that the kernel gives to everybody. Modifications have an instance of
// their own, so that a program that writes without end wakes nobody.
type inotify struct {
	main, writes inotifyGroup
	ears         *ears // for writes
	*feed
}

func openInotify(clock clock.Clock) (eventSource, error) {
	s, err := newInotify(newFeed(), clock)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newInotify(f *feed, clock clock.Clock) (*inotify, error) {
	s := &inotify{feed: f}
	if err := s.main.open(inotifyMain); err != nil {
		return nil, err
	}
	if err := s.writes.open(inotifyWrites); err != nil {
		return nil, errors.Join(err, s.main.file.Close())
	}
	var err error
	if s.ears, err = newEars(clock, s.writes.fd); err != nil {
		return nil, errors.Join(err, s.main.file.Close(), s.writes.file.Close())
	}
	s.reads.Go(func() { s.follow(s.main.file, s.main.parse) })
	s.reads.Go(func() { s.attend(s.ears) })
	return s, nil
}

func (s *inotify) Add(dir string) error {
	if err := s.main.add(dir); err != nil {
		return err
	}
	if err := s.writes.add(dir); err != nil {
		return errors.Join(err, s.main.remove(dir))
	}
	return nil
}

func (s *inotify) Remove(dir string) error {
	_ = s.writes.remove(dir)
	return s.main.remove(dir)
}

func (s *inotify) Close() error { return errors.Join(s.closeGroups(), s.end()) }

// closeGroups ends the reading of both.
func (s *inotify) closeGroups() error {
	s.halt()
	return errors.Join(s.ears.close(), s.main.file.Close(), s.writes.file.Close())
}

func (s *inotify) listen() { s.ears.listen() }

func (s *inotify) modified(give func(event)) { s.writesIn(s.writes.reader, give) }

func (s *inotify) catchUp(give func(event)) {
	s.unread(give, func() { s.read(give) })
}

func (s *inotify) now(give func(event)) bool { return s.next(func() { s.read(give) }) }

// read gives what there is but modifications.
func (s *inotify) read(give func(event)) { s.othersIn(s.main.reader, give) }

func (s *inotify) kind(string) string { return "inotify" }
func (s *inotify) current(event) bool { return true }

// An inotifyGroup is one instance of inotify, with the folders that it watches.
type inotifyGroup struct {
	file   *os.File
	reader *reader
	fd     int
	mask   uint32

	mu   sync.Mutex
	dirs map[int32]string
	wds  map[string]int32
}

func (g *inotifyGroup) open(mask uint32) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	g.file, g.fd, g.mask = os.NewFile(uintptr(fd), "inotify"), fd, mask
	g.dirs, g.wds = make(map[int32]string), make(map[string]int32)
	g.reader, err = newReader(g.file, g.parse)
	return err
}

// add watches a folder. The mutex is held meanwhile, so no event is read before its folder is
// known.
func (g *inotifyGroup) add(dir string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wd, err := unix.InotifyAddWatch(g.fd, dir, g.mask)
	if err != nil {
		return &os.PathError{Op: "watch", Path: dir, Err: err}
	}
	if old, ok := g.dirs[int32(wd)]; ok {
		delete(g.wds, old)
	}
	g.dirs[int32(wd)], g.wds[dir] = dir, int32(wd)
	return nil
}

func (g *inotifyGroup) remove(dir string) error {
	g.mu.Lock()
	wd, ok := g.wds[dir]
	delete(g.wds, dir)
	delete(g.dirs, wd)
	g.mu.Unlock()
	if !ok {
		return errNotWatched
	}
	if err := unix.InotifyRmWatch(g.fd, int(wd)); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// parse implements parser.
func (g *inotifyGroup) parse(buf []byte, to []event) (_ []event, lost bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(buf) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(buf)), binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			break
		}
		name := buf[unix.SizeofInotifyEvent:end]
		buf = buf[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			lost = true
			continue
		}
		dir, ok := g.dirs[wd]
		if !ok {
			continue // it was removed meanwhile
		}
		if mask&unix.IN_IGNORED != 0 {
			delete(g.dirs, wd)
			delete(g.wds, dir)
		}
		if o := inotifyOp(mask); o&^opFolder != 0 {
			to = append(to, event{dir: dir, name: unix.ByteSliceToString(name), op: o})
		}
	}
	return to, lost
}

// inotifyOp translates the mask of inotify. That of fanotify has the same numbers.
func inotifyOp(mask uint32) (o op) {
	for _, pair := range [...]struct {
		theirs uint32
		ours   op
	}{
		{unix.IN_CREATE, opCreated},
		{unix.IN_MODIFY, opModified},
		{unix.IN_CLOSE_WRITE, opClosed},
		{unix.IN_DELETE, opRemoved},
		{unix.IN_DELETE_SELF, opRemoved | opFolder},
		{unix.IN_MOVED_FROM, opMovedOut},
		{unix.IN_MOVE_SELF, opMovedOut | opFolder},
		{unix.IN_MOVED_TO, opMovedIn},
		{unix.IN_ATTRIB, opAttributes},
		{unix.IN_ISDIR, opFolder},
	} {
		if mask&pair.theirs != 0 {
			o |= pair.ours
		}
	}
	return o
}

// A feed is what the sources of Linux have in common: the goroutines that read from the kernel,
// and what they read.
type feed struct {
	out    chan event
	errs   chan error
	stop   chan struct{}
	halted sync.Once
	reads  sync.WaitGroup
	direct atomic.Pointer[serve]
	open   atomic.Int64 // events that were given to out and not served yet
	order  sync.Mutex   // held from a read of what is no modification until out has all of it
}

func newFeed() *feed {
	return &feed{out: make(chan event, eventBuffer), errs: make(chan error), stop: make(chan struct{})}
}

func (s *feed) events() <-chan event { return s.out }
func (s *feed) errors() <-chan error { return s.errs }

// halt has the goroutines end; what they read from is closed next.
func (s *feed) halt() { s.halted.Do(func() { close(s.stop) }) }

// end waits for the goroutines. The channels are closed then, and what was not read is let go of.
func (s *feed) end() error {
	s.reads.Wait()
	close(s.errs)
	close(s.out)
	for ev := range s.out {
		ev.by.release()
	}
	return nil
}

// A parser reads events as the kernel writes them, and appends them. It reports whether some were lost.
type parser func(buf []byte, to []event) (evs []event, lost bool)

// eventBytes is how many bytes are read at once: some hundred events.
const eventBytes = 16 << 10

// eventMost is more than any event has, with the longest name and handles. Where so much of a buffer is left, no event was left out.
const eventMost = 1 << 10

// follow reads a group for as long as it is open.
func (s *feed) follow(f *os.File, parse parser) {
	buf := make([]byte, eventBytes)
	var batch []event
	conn, err := f.SyscallConn()
	if err != nil {
		return // closed already
	}
	for {
		var n int
		var failed error
		closed := conn.Read(func(fd uintptr) bool {
			s.order.Lock()
			if n, failed = unix.Read(int(fd), buf); failed == nil || !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR) {
				return true
			}
			s.order.Unlock()
			return false
		})
		if closed != nil {
			return
		}
		if failed != nil {
			s.order.Unlock()
			s.fail(failed)
			return
		}
		var lost bool
		batch, lost = parse(buf[:n], batch[:0])
		if s.open.Load() > 0 || !s.serve(batch...) {
			s.open.Add(int64(len(batch)))
			for _, ev := range batch {
				ev.open = &s.open
				select {
				case s.out <- ev:
				case <-s.stop:
					ev.served()
				}
			}
		}
		s.order.Unlock()
		runtime.Gosched() // who was woken goes on here at once; else another thread would take him over
		if lost {
			s.fail(fsnotify.ErrEventOverflow)
		}
	}
}

func (s *feed) fail(err error) {
	select {
	case s.errs <- err:
	case <-s.stop:
	}
}

// serve has events served on the caller's goroutine, if nobody serves others.
func (s *feed) serve(evs ...event) bool {
	f := s.direct.Load()
	return f != nil && (*f)(evs)
}

func (s *feed) serveBy(f serve) { s.direct.Store(&f) }

// attend says that there are modifications to be read.
func (s *feed) attend(e *ears) {
	for ; e.hear(); e.rest() {
		s.open.Add(1)
		ev := event{op: opPending, open: &s.open}
		if s.serve(ev) {
			continue
		}
		select {
		case s.out <- ev:
		case <-s.stop:
			return
		}
	}
}

// next calls read, if that reads what follows all that was served.
func (s *feed) next(read func()) bool {
	if !s.order.TryLock() {
		return false
	}
	defer s.order.Unlock()
	if s.open.Load() > 0 {
		return false
	}
	read()
	return true
}

// unread gives what out has, and then what read reads. While follow has events that it can't put there, it is helped.
func (s *feed) unread(give func(event), read func()) {
	for !s.order.TryLock() {
		taken(s.out, give)
		runtime.Gosched()
	}
	defer s.order.Unlock()
	taken(s.out, give)
	read()
}

// taken gives what is in a channel.
func taken(from <-chan event, give func(event)) {
	for {
		select {
		case ev, ok := <-from:
			if !ok {
				return
			}
			give(ev)
		default:
			return
		}
	}
}

// readable reports whether there is something to read.
func readable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// writesIn drains the group of modifications. A loss is told of later than one of other events: what has been written is closed one day, and the
// other group tells of that.
func (s *feed) writesIn(r *reader, give func(event)) {
	if r.drain(give) {
		give(event{op: opModified | opPending})
	}
}

// othersIn drains the group of what is no modification, and tells of a loss as follow does.
func (s *feed) othersIn(r *reader, give func(event)) {
	if r.drain(give) {
		s.fail(fsnotify.ErrEventOverflow)
	}
}

// A reader reads a group until it is empty. It is made once, with all that a read needs: there is a read for each file that is written.
type reader struct {
	conn  syscall.RawConn
	parse parser
	once  func(fd uintptr) // read
	buf   []byte
	batch []event
	n     int // of the last read
}

func newReader(f *os.File, parse parser) (*reader, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn, parse: parse, buf: make([]byte, eventBytes)}
	r.once = r.read
	return r, nil
}

// read reads what there is, and nothing where that fails.
func (r *reader) read(fd uintptr) {
	if n, err := unix.Read(int(fd), r.buf); err == nil {
		r.n = n
	}
}

// drain gives what it reads at once. It reports whether some was lost.
func (r *reader) drain(give func(event)) (lost bool) {
	for range drainsAtOnce {
		r.n = 0
		if r.conn.Control(r.once) != nil || r.n <= 0 {
			break // closed, or empty
		}
		n, missed := r.n, false
		r.batch, missed = r.parse(r.buf[:n], r.batch[:0])
		lost = lost || missed
		for _, ev := range r.batch {
			give(ev)
		}
		if n <= len(r.buf)-eventMost {
			break // there was no more
		}
	}
	return lost
}

// drainsAtOnce bounds how much is read of writers who are faster than we are.
const drainsAtOnce = 256

// control calls f with the descriptor, which stays open meanwhile.
func control(conn syscall.RawConn, f func(fd int)) error {
	return conn.Control(func(fd uintptr) { f(int(fd)) })
}
