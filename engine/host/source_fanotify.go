package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"sync"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// What the two groups of fanotify are told of. The masks have the numbers of inotify.
const (
	fanotifyMain = unix.FAN_CREATE | unix.FAN_CLOSE_WRITE | unix.FAN_DELETE | unix.FAN_MOVED_FROM | unix.FAN_MOVED_TO | unix.FAN_ATTRIB |
		unix.FAN_DELETE_SELF | unix.FAN_MOVE_SELF | unix.FAN_EVENT_ON_CHILD | unix.FAN_ONDIR
	fanotifyWrites = unix.FAN_MODIFY | unix.FAN_EVENT_ON_CHILD
)

// Flags of a group, from the best to the least that serves. The kernel refuses those that it does
// not know.
var fanotifyFlags = []uint{
	unix.FAN_REPORT_DFID_NAME | unix.FAN_REPORT_FID | unix.FAN_REPORT_TARGET_FID | unix.FAN_REPORT_PIDFD,
	unix.FAN_REPORT_DFID_NAME | unix.FAN_REPORT_FID | unix.FAN_REPORT_PIDFD,
	unix.FAN_REPORT_DFID_NAME | unix.FAN_REPORT_FID,
}

// fanotify is the source that the kernel gives to root. It also knows which process has made an
// event, and which file it is about. The queue has its bound, so that a flood becomes a look at
// everything and not a use of memory.
type fanotify struct {
	main, writes fanotifyGroup
	actors       actors // of both
	ears         *ears  // for writes
	*feed
}

func openFanotify(clock clock.Clock) (eventSource, error) {
	s, err := newFanotify(newFeed(), clock)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newFanotify(f *feed, clock clock.Clock) (*fanotify, error) {
	s := &fanotify{feed: f, actors: actors{self: os.Getpid()}}
	if err := s.open(clock); err != nil {
		return nil, err
	}
	s.reads.Go(func() { s.follow(s.main.file, s.main.parse) })
	s.reads.Go(func() { s.attend(s.ears) })
	return s, nil
}

func (s *fanotify) open(clock clock.Clock) (err error) {
	for _, flags := range fanotifyFlags {
		if err = s.main.open(fanotifyMain, flags); !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := s.writes.open(fanotifyWrites, s.main.flags); err != nil {
		return errors.Join(err, s.main.file.Close())
	}
	if s.ears, err = newEars(clock, s.writes.fd); err != nil {
		return errors.Join(err, s.main.file.Close(), s.writes.file.Close())
	}
	s.main.actors, s.writes.actors = &s.actors, &s.actors
	return nil
}

func (s *fanotify) Add(dir string) error {
	if err := s.main.add(dir); err != nil {
		return err
	}
	if err := s.writes.add(dir); err != nil {
		return errors.Join(err, s.main.remove(dir))
	}
	return nil
}

func (s *fanotify) Remove(dir string) error {
	_ = s.writes.remove(dir)
	return s.main.remove(dir)
}

func (s *fanotify) Close() error {
	defer s.actors.shut()
	return errors.Join(s.closeGroups(), s.end())
}

// closeGroups ends the reading of both.
func (s *fanotify) closeGroups() error {
	s.halt()
	return errors.Join(s.ears.close(), s.main.file.Close(), s.writes.file.Close())
}

func (s *fanotify) listen() { s.ears.listen() }

func (s *fanotify) modified(give func(event)) { s.writesIn(s.writes.reader, give) }

func (s *fanotify) catchUp(give func(event)) {
	s.unread(give, func() { s.read(give) })
}

func (s *fanotify) now(give func(event)) bool { return s.next(func() { s.read(give) }) }

// read gives what there is but modifications.
func (s *fanotify) read(give func(event)) { s.othersIn(s.main.reader, give) }

func (s *fanotify) kind(string) string { return "fanotify" }

// current compares the file that an event is about with the one that has the name now. A file that
// has been replaced counts no more, whoever writes to it.
func (s *fanotify) current(ev event) bool {
	if ev.file == "" || ev.op&opAltered != 0 {
		return true
	}
	now, err := handleOf(join(ev.dir, ev.name))
	return err != nil || now == ev.file
}

// A fanotifyGroup is one instance of fanotify, with the folders that it watches. An event names its
// folder by a handle.
type fanotifyGroup struct {
	file   *os.File
	reader *reader
	fd     int
	flags  uint
	mask   uint64
	actors *actors

	mu   sync.Mutex
	dirs map[string]string // by handle
	ids  map[string]string // the handles, by folder
}

func (g *fanotifyGroup) open(mask uint64, flags uint) error {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_MARKS|flags, 0)
	if err != nil {
		return err
	}
	g.file, g.fd, g.mask, g.flags = os.NewFile(uintptr(fd), "fanotify"), fd, mask, flags
	g.dirs, g.ids = make(map[string]string), make(map[string]string)
	g.reader, err = newReader(g.file, g.parse)
	return err
}

// add watches a folder. The handle is that of the folder which is marked, however its path changes
// meanwhile, since both are taken by one descriptor.
func (g *fanotifyGroup) add(dir string) error {
	err := g.mark(dir)
	if err != nil {
		return &os.PathError{Op: "watch", Path: dir, Err: err}
	}
	return nil
}

func (g *fanotifyGroup) mark(dir string) error {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	id, err := folderID(fd)
	if err != nil {
		return err
	}
	again, err := openID(fd, id) // where this fails, a folder that was moved could not be found again
	if err != nil {
		return err
	}
	defer unix.Close(again)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := unix.FanotifyMark(g.fd, unix.FAN_MARK_ADD, g.mask, fd, ""); err != nil {
		return err
	}
	if old, ok := g.dirs[id]; ok {
		delete(g.ids, old)
	}
	g.dirs[id], g.ids[dir] = dir, id
	return nil
}

// remove ends the watch of a folder, wherever it is by now.
func (g *fanotifyGroup) remove(dir string) error {
	g.mu.Lock()
	id, ok := g.ids[dir]
	delete(g.ids, dir)
	delete(g.dirs, id)
	g.mu.Unlock()
	if !ok {
		return errNotWatched
	}
	fd, err := g.find(id, dir)
	if err != nil {
		return nil // it is gone, and its mark with it
	}
	defer unix.Close(fd)
	if err := unix.FanotifyMark(g.fd, unix.FAN_MARK_REMOVE, g.mask, fd, ""); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// find opens a folder by its id, on the file system of one that is watched or of the path at.
func (g *fanotifyGroup) find(id, at string) (fd int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fd, err = findFrom(at, id); err == nil {
		return fd, nil
	}
	for known, dir := range g.dirs {
		if known[:fsidSize] == id[:fsidSize] {
			return findFrom(dir, id)
		}
	}
	return -1, err
}

// findFrom opens a folder by its id, on the file system of another one, if that is where it is.
func findFrom(dir, id string) (int, error) {
	on, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(on)
	now, err := folderID(on)
	if err != nil {
		return -1, err
	}
	if now[:fsidSize] != id[:fsidSize] {
		return -1, unix.EXDEV
	}
	return openID(on, id)
}

// openID opens a folder by its id; on is open on its file system.
func openID(on int, id string) (int, error) {
	h := id[fsidSize:]
	kind := binary.NativeEndian.Uint32([]byte(h[4:]))
	return unix.OpenByHandleAt(on, unix.NewFileHandle(int32(kind), []byte(h[handleHead:])), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK)
}

// attributed returns where a folder is that is not watched itself: the kernel tells of its
// attributes by its own handle, and not by the folder that it is in.
func (g *fanotifyGroup) attributed(id string) (dir, name string, ok bool) {
	for known, at := range g.dirs {
		if known[:fsidSize] != id[:fsidSize] {
			continue
		}
		fd, err := findFrom(at, id)
		if err != nil {
			return "", "", false
		}
		defer unix.Close(fd)
		path, err := readLink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return "", "", false
		}
		dir, name = split(path)
		return dir, name, true
	}
	return "", "", false
}

// folderID returns the file system and the handle of an open folder, as events have them.
func folderID(fd int) (string, error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return "", err
	}
	h, err := handleAt(fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return "", err
	}
	var b [fsidSize]byte
	binary.NativeEndian.PutUint32(b[:], uint32(st.Fsid.Val[0]))
	binary.NativeEndian.PutUint32(b[4:], uint32(st.Fsid.Val[1]))
	return string(b[:]) + h, nil
}

// handleOf returns the handle of a file; links are not followed.
func handleOf(path string) (string, error) { return handleAt(unix.AT_FDCWD, path, 0) }

// handleAt returns a handle with its type, as events have it. A file system that can not be exported
// gives one to compare only.
func handleAt(fd int, path string, flags int) (string, error) {
	h, _, err := unix.NameToHandleAt(fd, path, flags|unix.AT_HANDLE_FID)
	if errors.Is(err, unix.EINVAL) {
		h, _, err = unix.NameToHandleAt(fd, path, flags)
	}
	if err != nil {
		return "", err
	}
	var b [handleHead]byte
	binary.NativeEndian.PutUint32(b[:], uint32(len(h.Bytes())))
	binary.NativeEndian.PutUint32(b[4:], uint32(h.Type()))
	return string(b[:]) + string(h.Bytes()), nil
}

// Sizes of what the kernel writes.
const (
	eventHead  = 24 // of an event
	infoHead   = 4  // of each part of it
	fsidSize   = 8
	handleHead = 8
)

// parse implements parser.
func (g *fanotifyGroup) parse(buf []byte, to []event) (_ []event, lost bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(buf) >= eventHead {
		size := int(binary.NativeEndian.Uint32(buf))
		if size < eventHead || size > len(buf) {
			break
		}
		head, infos := buf[:eventHead], buf[binary.NativeEndian.Uint16(buf[6:]):size]
		buf = buf[size:]
		mask, pid := binary.NativeEndian.Uint64(head[8:]), int(int32(binary.NativeEndian.Uint32(head[20:])))
		if mask&unix.FAN_Q_OVERFLOW != 0 {
			lost = true
			continue
		}
		ev := event{op: inotifyOp(uint32(mask))}
		pidfd, known := g.infos(infos, &ev)
		ev.by = g.actor(pid, pidfd)
		if !known || ev.op&^opFolder == 0 {
			ev.by.release()
			continue
		}
		to = append(to, ev)
	}
	return to, lost
}

// infos reads the parts of an event. It reports false for an event of a folder that is not watched.
func (g *fanotifyGroup) infos(buf []byte, ev *event) (pidfd int, known bool) {
	pidfd = -1
	for len(buf) >= infoHead {
		kind, size := buf[0], int(binary.NativeEndian.Uint16(buf[2:]))
		if size < infoHead || size > len(buf) {
			break
		}
		part := buf[infoHead:size]
		buf = buf[size:]
		switch kind {
		case unix.FAN_EVENT_INFO_TYPE_PIDFD:
			pidfd = int(int32(binary.NativeEndian.Uint32(part)))
		case unix.FAN_EVENT_INFO_TYPE_DFID_NAME, unix.FAN_EVENT_INFO_TYPE_DFID:
			id, name := splitID(part)
			self := bytes.Equal(name, []byte("."))
			if ev.dir, known = g.dirs[string(id)]; known && !self {
				ev.name = string(name)
			}
			if !known && self && len(id) > fsidSize && ev.op == opAttributes|opFolder {
				ev.dir, ev.name, known = g.attributed(string(id))
			}
		case unix.FAN_EVENT_INFO_TYPE_FID:
			id, _ := splitID(part)
			ev.file = string(id[min(fsidSize, len(id)):])
		}
	}
	return pidfd, known
}

// splitID takes the file system with the handle, and the name behind them, apart.
func splitID(part []byte) (id, name []byte) {
	if len(part) < fsidSize+handleHead {
		return nil, nil
	}
	end := fsidSize + handleHead + int(binary.NativeEndian.Uint32(part[fsidSize:]))
	if end > len(part) {
		return nil, nil
	}
	name, _, _ = bytes.Cut(part[end:], []byte{0})
	return part[:end], name
}

// actor returns the process of an event.
func (g *fanotifyGroup) actor(pid, pidfd int) *actor {
	switch {
	case pid <= 0: // of another namespace
		if pidfd >= 0 {
			_ = unix.Close(pidfd)
		}
		return nil
	case g.flags&unix.FAN_REPORT_PIDFD == 0:
		return &actor{pid: pid, fd: -1, bare: true}
	}
	return g.actors.of(pid, pidfd)
}
