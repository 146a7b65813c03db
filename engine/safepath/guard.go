package safepath

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// OpenGuarded opens for reading a file or a folder that decides about the daemon: a graph, a
// folder of graphs, a description of a type. It refuses, with a RefusedError, a path that
// another user could write, replace or lead elsewhere. The file and each folder on the way have
// to belong to root or to the daemon's own user, and neither mode nor access list may let
// others write. A folder with the sticky bit, such as /tmp, may be on the way, because
// things of root can't be replaced in it; but it is not opened. Links are followed by the rules
// of the package. A pipe is opened without waiting for its writer. A device is refused if
// others can write to it. The open file is for the calling function to close.
//
// If caller is not nil, that user counts as the daemon's own user does: the user has started
// the daemon as root, as by sudo. The rules for links do not know that user.
func (w Walker) OpenGuarded(path string, caller *User) (*os.File, error) {
	if unix.Portable {
		return os.Open(path)
	}
	w.owner = nil
	k := walk{w: w, path: path, follow: true}
	w.caller = caller
	k.guard = &w
	f, name, err := k.to()
	if err != nil {
		if k.writable != "" && !errors.Is(err, ErrRefused) { // another user could make the missing thing
			return nil, k.unguarded()
		}
		return nil, err
	}
	defer f.Close()
	if k.writable != "" {
		return nil, k.unguarded()
	}
	fd, err := f.Openat(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, pathError("open", f.Path(name), err)
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err != nil {
		return nil, pathError("stat", f.Path(name), err)
	}
	if who := w.othersWrite(fd, &st); who != "" {
		k.writable, k.mend, k.owner = written(who, f.Path(name), &st), w.mend(f.Path(name), &st), int(st.Uid)
		return nil, k.unguarded()
	}
	// The descriptor leads to the checked file, whatever the name leads to by now.
	again, err := openat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), reading)
	if err != nil {
		return nil, pathError("open", f.Path(name), err)
	}
	return os.NewFile(uintptr(again), w.shown(path)), nil
}

// unguarded names the user who could write the deciding file, and how to fix that.
func (k *walk) unguarded() error {
	return &RefusedError{Element: short(k.w.shown(k.path)), UID: k.owner, text: fmt.Sprintf(
		"%s, and could so have mgmt do anything with the rights of %s; %s", k.writable, userName(k.w.self.UID), k.mend)}
}

// written says who can write to something.
func written(who, path string, st *unix.Stat_t) string {
	return fmt.Sprintf("%s can write to %s (mode %04o, owner %s)", who, short(path), st.Mode&0o7777, userWord(int(st.Uid)))
}

// mend says how to go on: with a command after which others can't write to something any more. A device, and a folder that
// is made for all users, has to stay as it is.
func (w Walker) mend(path string, st *unix.Stat_t) string {
	kind, forAll := st.Mode&unix.S_IFMT, uint32(unix.S_ISVTX|unix.S_IWOTH)
	if kind != unix.S_IFREG && kind != unix.S_IFDIR && kind != unix.S_IFIFO || kind == unix.S_IFDIR && st.Mode&forAll == forAll {
		return "name another path: this one is for all users"
	}
	return "fix it with: " + w.command(path, st)
}

// command takes the right to write from others.
func (w Walker) command(path string, st *unix.Stat_t) string {
	group := st.Mode&unix.S_IWGRP != 0 && !w.privateGroup(st.Gid)
	var cmds string
	if !w.Trusts(st.Uid) {
		cmds = "chown " + userWord(w.self.UID) + " " + short(path)
		if !group && st.Mode&unix.S_IWOTH == 0 {
			return cmds
		}
		cmds += " && "
	}
	switch {
	case group && st.Mode&unix.S_IWOTH != 0:
		return cmds + "chmod go-w " + short(path)
	case group:
		return cmds + "chmod g-w " + short(path)
	case st.Mode&unix.S_IWOTH != 0:
		return cmds + "chmod o-w " + short(path)
	}
	return "setfacl -b " + short(path)
}
