package pkglock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Lock is a file by which a package manager keeps others out while it alters packages. A row of
// Locks has all facts of it: a wait for package managers needs no code of any of them.
type Lock struct {
	Backend string // whose it is
	Path    string
	How     LockBy
	Advice  string // what to do if the holder hangs
}

// LockBy is how a Lock shows that a process holds it.
type LockBy int

// The ways.
const (
	ByRecord LockBy = iota // a process has locked the file by fcntl, so that no other process may write
	ByFlock                // a process has locked the file by flock
	ByPID                  // the number of a process that lives stands in the file
	ByOpen                 // a process has the file open; a killed process may leave the file alone
)

// Holder is a process that holds a Lock.
type Holder struct {
	Lock
	PID     int    // 0 for one that cannot be told, as in another namespace
	Command string // the name of its program; or empty
	Own     bool   // this process has started it
}

// String names the process, the lock, and a way out if that lasts.
func (h *Holder) String() string {
	who := "another process"
	if h.PID > 0 {
		who = fmt.Sprintf("process %d", h.PID)
	}
	if h.Command != "" {
		who += " (" + h.Command + ")"
	}
	if h.Own {
		return "a transaction of mgmt itself, " + who + ", which holds " + h.Path
	}
	return fmt.Sprintf("%s, which holds %s; if it hangs, %s", who, h.Path, h.Advice)
}

const (
	EndIt     = "end it" // the advice where nothing is left behind
	endDpkg   = "end it, and then run dpkg --configure -a"
	rpmLocked = ".rpm.lock"
)

// Locks returns the locks of all package managers that have a backend here.
func Locks() []Lock {
	return []Lock{
		{"apt", "/var/lib/dpkg/lock-frontend", ByRecord, endDpkg},
		{"apt", "/var/lib/dpkg/lock", ByRecord, endDpkg},
		{"dnf", "/var/lib/dnf/rpmdb_lock.pid", ByPID, EndIt},
		{"dnf", "/var/lib/rpm/" + rpmLocked, ByRecord, EndIt},
		{"dnf", "/usr/lib/sysimage/rpm/" + rpmLocked, ByRecord, EndIt},
		{"zypper", "/run/zypp.pid", ByPID, EndIt},
		{"pacman", "/var/lib/pacman/db.lck", ByOpen, EndIt},
		{"apk", "/lib/apk/db/lock", ByRecord, EndIt},
		{"apk", "/lib/apk/db/lock", ByFlock, EndIt},
	}
}

// Held returns the process that holds one of the locks now, nil for none. It takes no lock, waits
// for nothing and alters nothing. A lock that cannot be looked at, as without the rights of root,
// counts as free.
func Held(locks []Lock) *Holder {
	for _, l := range locks {
		if pid, held := l.holder(); held {
			h := &Holder{Lock: l, PID: max(pid, 0)}
			if pid > 0 {
				h.Command, h.Own = commandOf(pid), ownProcess(pid)
			}
			return h
		}
	}
	return nil
}

// holder returns the process that holds the lock, or 0 if that cannot be told.
func (l Lock) holder() (pid int, held bool) {
	f, err := os.OpenFile(l.Path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	switch l.How {
	case ByFlock:
		return flocked(f)
	case ByPID:
		return named(f)
	case ByOpen:
		return opened(f)
	}
	// A lock for reading is asked for: only who may write is in its way.
	lk := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lk); err != nil || lk.Type == unix.F_UNLCK {
		return 0, false
	}
	return int(lk.Pid), true
}

// named reads the number of a process that lives.
func named(f *os.File) (pid int, held bool) {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 0 {
		return 0, false
	}
	return pid, !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// flocked asks the kernel's list: to try such a lock would take it.
func flocked(f *os.File) (pid int, held bool) {
	var st unix.Stat_t
	list, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return 0, false
	}
	at := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
		if w := strings.Fields(line); len(w) >= 6 && w[1] == "FLOCK" && w[3] == "WRITE" && w[5] == at {
			pid, _ = strconv.Atoi(w[4])
			return pid, true
		}
	}
	return 0, false
}

// opened looks for a process that has the file open.
func opened(f *os.File) (pid int, held bool) {
	self, err := f.Stat()
	if err != nil {
		return 0, false
	}
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue // by holder
		}
		dir := fmt.Sprintf("/proc/%d/fd/", pid)
		fds, _ := os.ReadDir(dir) // it may have ended, or be another user's
		for _, fd := range fds {
			if st, err := os.Stat(dir + fd.Name()); err == nil && os.SameFile(st, self) {
				return pid, true
			}
		}
	}
	return 0, false
}

func processes() (pids []int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		if pid, err := strconv.Atoi(d.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// commandOf returns the name of a process's program; its arguments may be secret.
func commandOf(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.ToValidUTF8(strings.TrimSpace(string(name)), "?")
}

// maxParents bounds how far up ownProcess looks.
const maxParents = 32

// ownProcess reports whether this process has started another one, near or far.
func ownProcess(pid int) bool {
	for range maxParents {
		if pid == os.Getpid() {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// 4711 (its name) S 1 ...; there may be anything in the name
		words := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if err != nil || len(words) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(words[1]); err != nil || pid <= 1 {
			return false
		}
	}
	return false
}
