package host

import (
	"errors"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// An actor is a process that made events. Its pidfd stays with it when its number is given to another
// one.
type actor struct {
	pid  int
	fd   int          // -1 where it had ended before it could be had
	bare bool         // the kernel gives no fd, or could not: nothing is known but the number
	refs atomic.Int32 // the last one closes fd

	// The hub's, who reads it.
	proc int                 // its folder in /proc, which is of no other process; 0 before it was read, and where it had ended
	read *provenance.Culprit // nil before it was read
	uid  uint32              // of read

	looked time.Time // when heldUp was found out
	heldUp bool
}

func newActor(pid, fd int) *actor {
	p := &actor{pid: pid, fd: fd}
	p.refs.Store(1)
	return p
}

func (p *actor) retain() *actor {
	p.refs.Add(1)
	return p
}

// release lets go of a process; nil is none.
func (p *actor) release() {
	if p == nil || p.refs.Add(-1) > 0 {
		return
	}
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
	if p.proc > 0 {
		_ = unix.Close(p.proc)
	}
}

// ended reports whether it has ended. It may not be buried yet.
func (p *actor) ended() bool { return !p.bare && (p.fd < 0 || readable(uintptr(p.fd))) }

// actors are the processes that made the last events, so that one that makes many costs one descriptor and is read
// once. The groups of a source share them.
type actors struct {
	self  int // our own process, which has not ended
	mu    sync.Mutex
	known []*actor // the last one first
}

// maxActors is how many are kept.
const maxActors = 16

// noPidfd stands for the descriptor of a process that had ended. A lower number is an error of the kernel, as where descriptors are short.
const noPidfd = -1

// of returns the process of an event, which is retained. It takes over the pidfd. A known process that has not ended
// has the number still.
func (c *actors) of(pid, pidfd int) *actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.known, func(a *actor) bool { return a.pid == pid })
	switch {
	case at < 0 && len(c.known) == maxActors:
		at = maxActors - 1
	case at < 0:
		at, c.known = len(c.known), append(c.known, nil)
	}
	a := c.known[at]
	if a != nil && a.pid == pid && (pid == c.self || pidfd != noPidfd && !a.bare && !a.ended()) {
		if pidfd >= 0 {
			_ = unix.Close(pidfd)
		}
	} else {
		a.release()
		a = newActor(pid, pidfd)
		a.bare = pidfd < noPidfd
	}
	copy(c.known[1:], c.known[:at])
	c.known[0] = a
	return a.retain()
}

// shut lets go of all of them.
func (c *actors) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.known {
		a.release()
	}
	c.known = nil
}

// isHeldUp reports whether it waits for a processor or a disk: on a busy machine that takes long, and then it goes on with what it does.
func (p *actor) isHeldUp() bool {
	if ok, _ := p.opened(); !ok {
		return false
	}
	stat := readSmall(p.proc, "stat")
	state := stat[strings.LastIndexByte(stat, ')')+1:]
	return strings.HasPrefix(state, " R") || strings.HasPrefix(state, " D")
}

// buried reports whether its number may be that of another process by now.
func (p *actor) buried() bool {
	return p.fd < 0 || errors.Is(unix.PidfdSendSignal(p.fd, 0, nil, 0), unix.ESRCH)
}

// culprits reads which processes have made events. The hub's goroutine owns it.
type culprits struct {
	names map[uint32]string // of users, as long as the table is as it was
	table sig
	buf   [unix.PathMax]byte
}

// of returns what is known of a process: nil where the kernel proves nothing, or descriptors are short. It is read anew where the process runs another
// program since, or for another user. Arguments are not read, since they hold secrets. One that is ending has no program any
// more, but the name of it, which it can alter itself.
func (c *culprits) of(a *actor) *provenance.Culprit {
	if a.bare {
		return nil
	}
	a.read = c.look(a)
	return a.read
}

func (c *culprits) look(a *actor) *provenance.Culprit {
	gone := &provenance.Culprit{PID: a.pid, Gone: true}
	switch ok, err := a.opened(); {
	case err != nil:
		return nil
	case !ok:
		return gone
	}
	before := a.read
	program, err := c.link(a.proc, "exe")
	if err != nil && before != nil && !before.Gone {
		return before
	}
	if err != nil {
		program = strings.TrimSuffix(readSmall(a.proc, "comm"), "\n")
	}
	program = strings.TrimSuffix(program, " (deleted)")
	var st unix.Stat_t
	if unix.Fstat(a.proc, &st) != nil || a.buried() { // the folder of one that is buried is root's
		return gone
	}
	if program == "" {
		return nil
	}
	if before != nil && before.Program == program && a.uid == st.Uid {
		return before
	}
	a.uid = st.Uid
	by := &provenance.Culprit{PID: a.pid, Program: program, User: c.user(st.Uid), Unit: unitOf(readSmall(a.proc, "cgroup"))}
	if uid, err := strconv.ParseUint(readSmall(a.proc, "loginuid"), 10, 32); err == nil && uint32(uid) != st.Uid && uint32(uid) != noLogin {
		by.Login = c.user(uint32(uid))
	}
	return by
}

// opened opens the folder of a process in /proc, and reports false where it has ended. That was its own where it was not buried after
// that: then no other one could have its number. The error says that it can't be told.
func (p *actor) opened() (bool, error) {
	if p.proc > 0 || p.fd < 0 {
		return p.proc > 0, nil
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(p.pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		return false, nil
	case err != nil:
		return false, err
	case p.buried():
		_ = unix.Close(fd)
		return false, nil
	}
	p.proc = fd
	return true, nil
}

// noLogin is the login of what nobody has logged in for.
const noLogin = 1<<32 - 1

// passwd is where users have their names.
const passwd = "/etc/passwd"

// user returns the name of a user, or the number of one without a name.
func (c *culprits) user(uid uint32) string {
	if now := sigOf(passwd); c.names == nil || now != c.table {
		c.names, c.table = make(map[uint32]string), now
	}
	name, ok := c.names[uid]
	if !ok {
		name = strconv.FormatUint(uint64(uid), 10)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		c.names[uid] = name
	}
	return name
}

// unitOf returns the unit of the service manager that a table of control groups tells of: the
// innermost service or scope.
func unitOf(groups string) string {
	for line := range strings.Lines(groups) {
		_, path, ok := strings.Cut(strings.TrimSpace(line), "::")
		if !ok {
			if _, path, ok = strings.Cut(strings.TrimSpace(line), ":name=systemd:"); !ok {
				continue
			}
		}
		for path != "" {
			var name string
			path, name = path[:max(0, strings.LastIndexByte(path, '/'))], base(path)
			if strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope") {
				return name
			}
		}
	}
	return ""
}

// link returns the target of a link in a folder of /proc.
func (c *culprits) link(dir int, name string) (string, error) {
	n, err := unix.Readlinkat(dir, name, c.buf[:])
	return string(c.buf[:max(n, 0)]), err
}

// readLink returns the target of a link in /proc.
func readLink(path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, buf)
	return string(buf[:max(n, 0)]), err
}

// readSmall returns the first page of a file in a folder of /proc, nothing where it can not be read.
func readSmall(dir int, name string) string {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, _ := unix.Read(fd, buf)
	return string(buf[:max(n, 0)])
}

// accessMode are the bits of the flags of a descriptor that say whether it is for writing.
const accessMode = 3

// holdsOpen reports whether a process has a file open for writing. It reads names only, so no file system
// can hold it up.
func holdsOpen(pid int, path string) bool {
	at := "/proc/" + strconv.Itoa(pid)
	fds, err := os.ReadDir(at + "/fd")
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if to, err := readLink(at + "/fd/" + fd.Name()); err != nil || to != path {
			continue
		}
		for line := range strings.Lines(readSmall(unix.AT_FDCWD, at+"/fdinfo/"+fd.Name())) {
			if octal, ok := strings.CutPrefix(line, "flags:"); ok {
				flags, err := strconv.ParseUint(strings.TrimSpace(octal), 8, 32)
				if err == nil && flags&accessMode != unix.O_RDONLY {
					return true
				}
			}
		}
	}
	return false
}
