package safepath

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Walker opens paths. It is a value and safe for concurrent use; the zero Walker is of
// no use, see System. All its methods may block for as long as a file system does.
type Walker struct {
	root   int    // descriptor of the folder where paths begin; AT_FDCWD for "/"
	prefix string // path of root, for messages; empty for "/"
	self   User   // the user of the daemon
	owner  *User  // whom the resource names as owner; nil for none
	caller *User  // whom OpenGuarded trusts besides root and self; nil for none
	lookup bool   // the groups of owner are not known yet
	slow   bool   // goes element by element at once

	over       Overlay // nil for none
	all        bool    // of WithAll
	base       int     // what root is where over has no other
	basePrefix string
}

// System returns the Walker of this machine: paths begin at "/", and the daemon is the
// user that the process is.
func System() Walker {
	return Walker{root: unix.AT_FDCWD, self: User{UID: os.Geteuid(), GID: os.Getegid()}}
}

// Host is a machine whose paths begin in a folder of its own, such as a simulated one.
type Host interface {
	// Paths returns the Walker of all paths of the machine. It may be called at any time, and does not block.
	Paths() Walker
}

// Of returns the Walker of a machine: that of a Host, and System for any other value, nil too.
func Of(machine any) Walker {
	if h, ok := machine.(Host); ok {
		return h.Paths()
	}
	return System()
}

// In returns a Walker whose paths begin in another folder, as on a simulated machine.
// The descriptor stays the caller's, and has to be open for as long as the Walker is
// used. prefix is the path of that folder, for messages.
func In(root int, prefix string, self User) Walker {
	return Walker{root: root, prefix: strings.TrimRight(prefix, "/"), self: self}
}

// Overlay has a part of the paths of a machine, in another folder. It may be asked by many goroutines.
type Overlay interface {
	// Root returns the descriptor of the folder in which an absolute path is looked for, and whether it is that of the overlay.
	// An error is that of the look.
	Root(path string, r Reach) (root int, over bool, err error)
}

// Reach is what a look at a path sees of a folder that is there.
type Reach int

// The reaches.
const (
	Itself  Reach = iota // that it is there
	Content              // all that is in it, too
	Mostly               // the same, and itself alone where that is too much
)

// Under returns the Walker that looks for the paths of an overlay there, and for all others where w looks. A link leads from
// one to the other.
func (w Walker) Under(o Overlay) Walker {
	w.over, w.base, w.basePrefix = o, w.root, w.prefix
	return w
}

// WithAll returns a Walker for a look at a folder whose Place or Parent leads to all that is in it.
func (w Walker) WithAll() Walker {
	w.all = true
	return w
}

// at returns the Walker for a look at a path.
func (w Walker) at(p string, r Reach) (Walker, error) {
	if w.over == nil {
		return w, nil
	}
	if r == Itself && w.all {
		r = Mostly
	}
	root, over, err := w.over.Root(path.Clean("/"+p), r)
	if w.root, w.prefix = w.base, w.basePrefix; over {
		w.root, w.prefix = root, ""
	}
	return w, err
}

// System reports whether paths begin at "/" of this machine.
func (w Walker) System() bool { return w.root == unix.AT_FDCWD }

// Laid reports whether an Overlay has some of the paths.
func (w Walker) Laid() bool { return w.over != nil }

// Self returns the user that the daemon is.
func (w Walker) Self() User { return w.self }

// Trusts reports whether a user could do by itself all that the daemon could do for it:
// root, and the daemon's own user.
func (w Walker) Trusts(uid uint32) bool {
	return uid == 0 || int(uid) == w.self.UID || w.caller != nil && int(uid) == w.caller.UID
}

// For returns a Walker for a resource that names u as the owner of the opened thing.
func (w Walker) For(u User) Walker {
	w.owner = &u
	return w
}

// ForOwner is For by the number of the user alone: the system is asked for the groups
// if they are needed. Where root or the daemon's own user is the owner nothing differs.
func (w Walker) ForOwner(uid int) Walker {
	if uid <= 0 || uid == w.self.UID {
		return w
	}
	w.owner, w.lookup = &User{UID: uid, GID: uid}, true
	return w
}

// Folder opens a folder. The last element may be a link as any other.
func (w Walker) Folder(path string) (Folder, error) {
	w, err := w.at(path, Content)
	if err != nil {
		return Folder{}, pathError("open", w.shown(path), err)
	}
	return w.folder(path)
}

// folder is Folder for a path whose place is known.
func (w Walker) folder(path string) (Folder, error) {
	fd, err := w.fast(path, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		return Folder{fd: fd, path: w.shown(cmp.Or(strings.TrimRight(path, "/"), "/"))}, nil
	}
	if !toWalk(err) {
		return Folder{}, pathError("open", w.shown(path), err)
	}
	k := walk{w: w, path: path, whole: true, follow: true}
	f, _, err := k.to()
	return f, err
}

// bent reports whether a path may lead over links.
func (w Walker) bent(path string) bool {
	fd, err := w.fast(path, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err != nil && toWalk(err)
}

// Parent opens the folder of the last element of a path, which is not looked at: it may
// be missing, or a link. The name of the root is ".".
func (w Walker) Parent(path string) (Folder, string, error) {
	w, err := w.at(path, Itself)
	if err != nil {
		return Folder{}, "", pathError("open", w.shown(path), err)
	}
	dir, name, plain := split(path)
	if plain && (w.over == nil || !w.bent(dir)) { // what is behind a link may be in the overlay, and its folder not
		f, err := w.folder(dir)
		return f, name, err
	}
	k := walk{w: w, path: path}
	return k.to()
}

// Place opens the folder of the target of a path, and follows a link in the last place too. The
// name may be missing. Found is of a moment: take the next steps by descriptor, and without
// following links.
func (w Walker) Place(path string) (Place, error) {
	w, err := w.at(path, Itself)
	if err != nil {
		return Place{}, pathError("open", w.shown(path), err)
	}
	dir, name, plain := split(path)
	if plain && !w.slow && (w.over == nil || !w.bent(dir)) {
		f, err := w.folder(dir)
		if err != nil {
			return Place{}, err
		}
		p, err := f.place(name)
		if err == nil && (p.Missing || p.Stat.Mode&unix.S_IFMT != unix.S_IFLNK) && f.as == nil {
			return p, nil
		}
		f.Close()
		if err != nil {
			return Place{}, err
		}
	}
	k := walk{w: w, path: path, follow: true}
	f, name, err := k.to()
	if err != nil {
		return Place{}, err
	}
	p, err := f.place(name)
	if err == nil && f.as != nil && !p.Missing && int(p.Stat.Uid) != f.as.UID {
		err = k.notBehind(f.Path(name), p.Stat.Uid)
	}
	if err == nil && !p.Missing && p.Stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = pathError("open", f.Path(name), errChanged) // a moment ago it was another thing
	}
	if err != nil {
		f.Close()
		return Place{}, err
	}
	return p, nil
}

// Real returns where a path leads: without the links on its way and in its last place. The name may be missing.
func (w Walker) Real(p string) (string, error) {
	at, err := w.at(p, Itself)
	if err != nil {
		return "", pathError("open", at.shown(p), err)
	}
	dir, _, _ := split(p)
	w.slow = at.bent(dir)
	place, err := w.Place(p)
	if err != nil {
		return "", err
	}
	defer place.Close()
	return path.Clean(place.Path(place.Name)), nil
}

// Open opens a plain file for reading, as os.Open does, and looks at it. Any other thing is
// ErrNotRegular.
func (w Walker) Open(path string) (*os.File, error) {
	fd, _, err := w.OpenFD(path)
	if err != nil {
		return nil, err
	}
	_ = unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), w.shown(path)), nil
}

// OpenFD is Open for a caller who wants the descriptor itself, and what fstat tells. The
// descriptor is the caller's to close.
func (w Walker) OpenFD(path string) (int, unix.Stat_t, error) {
	w, err := w.at(path, Itself)
	if err != nil {
		return -1, unix.Stat_t{}, pathError("open", w.shown(path), err)
	}
	fd, err := w.fast(path, reading)
	if err == nil {
		fd, st, err := regular(fd, w.shown(path))
		if err != nil || st.Nlink == 1 {
			return fd, st, err
		}
		_ = unix.Close(fd) // it is looked at in its folder
	} else if !toWalk(err) {
		return -1, unix.Stat_t{}, pathError("open", w.shown(path), err)
	}
	p, err := w.Place(path)
	if err != nil {
		return -1, unix.Stat_t{}, err
	}
	defer p.Close()
	fd, err = p.Openat(p.Name, reading|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, unix.Stat_t{}, pathError("open", p.Path(p.Name), err)
	}
	fd, st, err := regular(fd, p.Path(p.Name))
	if err == nil && st.Mode&unix.S_IROTH == 0 && p.as == nil {
		if err = w.Borrowed(p.fd, &st); err != nil {
			_ = unix.Close(fd)
			return -1, st, pathError("open", p.Path(p.Name), err)
		}
	}
	return fd, st, err
}

// Stat looks at the target of a path. It opens nothing but a name, so it has no effect on a device
// or a pipe.
func (w Walker) Stat(path string) (unix.Stat_t, error) {
	w, err := w.at(path, Itself)
	if err != nil {
		return unix.Stat_t{}, pathError("stat", w.shown(path), err)
	}
	fd, err := w.fast(path, unix.O_PATH)
	if err == nil {
		defer unix.Close(fd)
		st, err := fstat(fd)
		return st, pathError("stat", w.shown(path), err)
	}
	if !toWalk(err) {
		return unix.Stat_t{}, pathError("stat", w.shown(path), err)
	}
	p, err := w.Place(path)
	if err != nil {
		return unix.Stat_t{}, err
	}
	defer p.Close()
	if p.Missing {
		return unix.Stat_t{}, pathError("stat", p.Path(p.Name), unix.ENOENT)
	}
	return p.Stat, nil
}

// reading are the flags with which opening a file never blocks or has an effect.
const reading = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// ErrNotRegular tells that a thing of another type has the path of a plain file.
var ErrNotRegular = errors.New("not a plain file: remove it, or name another path")

func regular(fd int, path string) (int, unix.Stat_t, error) {
	st, err := fstat(fd)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, st, pathError("open", path, err)
	}
	return fd, st, nil
}

// Behind looks at the target of a path, by whatever links are in it. It is for a caller who asks whether a thing is there or
// has changed. Links of a machine in a folder are followed by the rules of the package, so that none leads out of it.
func (w Walker) Behind(path string) (st unix.Stat_t, err error) {
	if w, err = w.at(path, Itself); err != nil {
		return st, pathError("stat", w.shown(path), err)
	}
	if w.root != unix.AT_FDCWD {
		return w.Stat(path)
	}
	err = retry(func() error { return unix.Stat(path, &st) })
	return st, pathError("stat", path, err)
}

// RawLstat looks at a path by whatever links are in it, and not behind a link in the last place. It is for a caller who compares
// with an earlier look, and for nothing else: another user may have made the path lead anywhere. As with Behind, no link of a
// machine in a folder leads out of it.
func (w Walker) RawLstat(path string) (st unix.Stat_t, err error) {
	if w, err = w.at(path, Itself); err != nil {
		return st, pathError("lstat", w.shown(path), err)
	}
	if w.root != unix.AT_FDCWD {
		f, name, err := w.Parent(path)
		if err != nil {
			return st, err
		}
		defer f.Close()
		return f.Stat(name)
	}
	err = retry(func() error { return unix.Fstatat(w.root, path, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, pathError("lstat", w.shown(path), err)
}

// fast opens a path that has no link in it, by one call.
func (w Walker) fast(path string, flags int) (int, error) {
	if w.slow || hasUp(path) {
		return -1, unix.ELOOP
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if w.root != unix.AT_FDCWD {
		path = strings.TrimLeft(path, "/")
		how.Resolve |= unix.RESOLVE_BENEATH
	} else if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if path == "" {
		path = "."
	}
	var fd int
	err := retry(func() (err error) { fd, err = unix.Openat2(w.root, path, &how); return err })
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// toWalk reports whether fast failed for a reason that the walk may answer: a link, a
// kernel without openat2, a filter that refuses it, or a race.
func toWalk(err error) bool {
	switch err {
	case unix.ELOOP, unix.ENOSYS, unix.EPERM, unix.EAGAIN, unix.EXDEV, unix.EINVAL, unix.E2BIG:
		return true
	}
	return false
}

// shown returns the path for messages.
func (w Walker) shown(path string) string {
	if w.prefix == "" {
		return path
	}
	return strings.TrimRight(w.prefix+"/"+strings.TrimLeft(path, "/"), "/")
}

// split parts a path before its last element. It is plain where that is a name, and not
// ".", ".." or nothing.
func split(path string) (dir, name string, plain bool) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		dir, name = "/", path
	} else {
		dir, name = path[:i], path[i+1:]
	}
	if dir == "" {
		dir = "/"
	}
	return dir, name, name != "" && name != "." && name != ".."
}

func hasUp(path string) bool {
	for i := 0; ; {
		j := strings.Index(path[i:], "..")
		if j < 0 {
			return false
		}
		i += j
		if (i == 0 || path[i-1] == '/') && (i+2 == len(path) || path[i+2] == '/') {
			return true
		}
		i += 2
	}
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func fstat(fd int) (st unix.Stat_t, err error) {
	err = retry(func() error { return unix.Fstat(fd, &st) })
	return st, err
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if err == error(unix.ENOTDIR) {
		err = fmt.Errorf("%w: put a folder there, or name another path", err)
	}
	return &fs.PathError{Op: op, Path: short(path), Err: Hint(path, err)}
}

// Hint adds to the error of a system call how to go on, where the words of the system do not tell the cause. Any other error
// it returns as it is.
func Hint(path string, err error) error {
	switch err {
	case error(unix.EAGAIN):
		return fmt.Errorf("%w, since a process has a lease on it: end that process, which fuser %s names, or name another file", err, short(path))
	case error(unix.EBUSY):
		return fmt.Errorf("%w, since something is mounted there: umount it, or leave it out of what the graph replaces and removes", err)
	}
	return err
}

// shownPath is how much of a path a message has room for.
const shownPath = 512

// Short leaves out the middle of a path that is too long for a message.
func Short(path string) string { return short(path) }

// short leaves out the middle of a path that is too long for a message.
func short(path string) string {
	if len(path) <= shownPath {
		return path
	}
	const half = (shownPath - len("/.../")) / 2
	return strings.ToValidUTF8(path[:half], "") + "/.../" + strings.ToValidUTF8(path[len(path)-half:], "")
}
