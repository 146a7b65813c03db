package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// New is a file to be written.
type New struct {
	Dir  Dir
	Name string
	Old  *Stat // of the plain file that it replaces; nil when there is none
	From *File // that file, open; nil to have it opened when needed

	Mode     int   // permissions; -1 for what Kept says of Old, or else 0666 less the umask
	UID, GID int   // -1 for those of Old, or else what the system gives
	Label    Label // none for that of Old, or else what the system gives
	Size     int64 // of what Fill writes; -1 when not known

	// Fill writes the content. It may be called a second time, after a first
	// attempt was given up.
	Fill func(io.Writer) error

	// Check is asked about a copy of the new file, by its path: a file of the same name in a folder
	// that no other user can alter. With an error nothing is altered; nil for no check.
	Check func(path string) error

	// NoneLeft says that no killed process has left a temporary file for Name. The search for one
	// after a new file is made is then left out.
	NoneLeft bool

	gifted    bool              // it is new in the folder of a stranger
	reached   func(step string) // told of each step, for tests; else nil
	nameFirst bool              // as where no file can be without a name, for tests
}

func (n *New) reach(step string) {
	if n.reached != nil {
		n.reached(step)
	}
}

// ErrChanged says that a name does not lead to the known file any more: another file is there, or
// one where there was none, or none. Nothing was altered; it is to be looked at again.
var ErrChanged = errors.New("it was replaced by something else meanwhile")

// tries is how often a file is looked at: one that changes each time is never at rest.
const tries = 5

// Retry calls do again while it returns ErrChanged, five times at most.
func Retry(do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if !errors.Is(err, ErrChanged) || n == tries {
			return err
		}
	}
}

// Result is what Write has done.
type Result struct {
	Stat    Stat // of the file, after all
	Sure    bool // Stat is of exactly what was written
	InPlace bool // the file could not be replaced, and was written in place
}

// Write makes the file, replacing Old. Where the name leads to another file, it
// returns ErrChanged.
func (n *New) Write() (Result, error) {
	dir, release, err := n.Dir.holdFor(n.Name)
	if err != nil {
		return Result{}, err
	}
	defer release()
	held := *n
	held.Dir = dir
	if err := held.refuseGifts(); err != nil {
		return Result{}, err
	}
	if n.Check != nil {
		if err := errors.Join(held.stillOld(), held.inherits()); err != nil {
			return Result{}, err
		}
		done, err := held.check()
		if err != nil {
			return Result{}, err
		}
		defer done()
	}
	if n.Old == nil {
		if res, err := held.create(); !errors.Is(err, errNamed) {
			return res, err
		}
	}
	n.reach("held")
	return held.writeHeld()
}

// writeHeld writes in a folder that is held.
func (n *New) writeHeld() (Result, error) {
	if err := errors.Join(n.stillOld(), n.inherits()); err != nil {
		return Result{}, err
	}
	res, err := n.replace()
	why, ok := errors.AsType[*keepError](err)
	if !ok {
		return res, err
	}
	if n.Old == nil {
		return res, why.err
	}
	return n.inPlace(why.err)
}

// stillOld returns an error if the name does not lead to Old.
func (n *New) stillOld() error {
	if n.Old == nil {
		return nil
	}
	st, err := n.Dir.Lstat(n.Name)
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && !st.Same(*n.Old):
		return n.failed("write", ErrChanged)
	}
	return err
}

// keepError says that the file can't be replaced as it should, but perhaps can
// be written in place.
type keepError struct{ err error }

func (e *keepError) Error() string { return e.err.Error() }
func (e *keepError) Unwrap() error { return e.err }

// keep marks an error of one of the given numbers as a keepError.
func keep(err error, numbers ...unix.Errno) error {
	for _, e := range numbers {
		if errors.Is(err, e) {
			return &keepError{err}
		}
	}
	return err
}

// replace writes a temporary file and renames it.
func (n *New) replace() (res Result, err error) {
	attrs, err := n.oldAttrs()
	if err != nil {
		return res, err
	}
	t := &temp{dir: n.Dir, fd: -1}
	defer t.drop()
	before, err := n.unnamed(t, attrs)
	if errors.Is(err, errNamed) {
		t.drop()
		before, err = n.named(t, attrs)
	}
	if err != nil {
		return res, err
	}
	if err := t.close(); err != nil {
		return res, n.failed("close", err)
	}
	n.reach("complete")
	put := n.Dir.swap
	if n.Old == nil {
		put = n.Dir.give
	}
	if err := put(t, n); err != nil {
		return res, keep(err, unix.EBUSY, unix.EXDEV, unix.EPERM, unix.EACCES)
	}
	n.reach("named")
	return n.look(before), nil
}

// unnamed makes the temporary file without a name, and gives it its own when it
// is complete. It returns the Stat that it has then, or errNamed.
func (n *New) unnamed(t *temp, attrs []attr) (st Stat, err error) {
	if t.fd, err = n.openUnnamed(); err != nil {
		return st, err
	}
	if st, err = n.filled(t, attrs); err != nil {
		return st, err
	}
	name, err := n.Dir.makeTemp(n.Name, func(at string) error { return n.Dir.linkFile(t.fd, at) })
	if err != nil {
		return st, errNamed
	}
	t.name = name
	n.reach("beside")
	return st, nil
}

// named makes the temporary file under its name.
func (n *New) named(t *temp, attrs []attr) (Stat, error) {
	perm := n.firstPerm(len(attrs) > 0)
	name, err := n.Dir.makeTemp(n.Name, func(at string) (err error) {
		t.fd, err = n.Dir.open(at, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, perm)
		return err
	})
	if err != nil {
		return Stat{}, keep(err, unix.EACCES, unix.EPERM, unix.EROFS)
	}
	t.name = name
	n.reach("beside")
	return n.filled(t, attrs)
}

func (n *New) filled(t *temp, attrs []attr) (Stat, error) {
	n.reach("temp")
	st, err := n.fillTemp(t.fd, attrs)
	n.reach("filled")
	return st, err
}

// fillTemp gives the temporary file its content and attributes, and returns the
// Stat that it has then.
func (n *New) fillTemp(fd int, attrs []attr) (Stat, error) {
	if err := n.fill(fd); err != nil {
		return Stat{}, err
	}
	st, err := fstat(fd)
	if err != nil {
		return st, n.failed("stat", err)
	}
	altered, err := n.setOwner(fd, st)
	if err != nil {
		return st, err
	}
	kept, err := n.setLists(fd, attrs)
	if err != nil {
		return st, err
	}
	altered = altered || kept
	labelled, err := n.label(fd)
	if err != nil {
		return st, err
	}
	altered = altered || labelled
	if m := n.wantMode(); m >= 0 && (altered || uint32(m) != st.Perm()) {
		if err := n.chmod(fd, m); err != nil {
			return st, err
		}
		st.Mode = st.Mode&^PermBits | uint32(m)
	}
	if altered {
		st, err = fstat(fd)
	}
	return st, n.failed("stat", err)
}

// setLists gives the file the attributes that it takes over, and no access list besides
// them that is a stranger's.
func (n *New) setLists(fd int, attrs []attr) (altered bool, err error) {
	if n.Old != nil {
		altered, err = n.Dir.alter(func() (bool, error) { return copyAttrs(fd, attrs) })
		if err != nil {
			err = &keepError{n.failed("keep the attributes of", err)}
		}
		return altered, err
	}
	if n.gifted {
		altered, err = n.Dir.alter(func() (bool, error) { return dropList(fd) })
	}
	return altered, n.failed("remove the access list of", err)
}

func (n *New) fill(fd int) error {
	w := &writer{fd: fd}
	if n.Fill == nil {
		return nil
	}
	err := n.Fill(w)
	if _, ok := errors.AsType[unix.Errno](err); ok {
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			return n.failed("write", err)
		}
	}
	return err
}

// setOwner makes the owner right, if it is not yet.
func (n *New) setOwner(fd int, st Stat) (bool, error) {
	uid, gid := n.wantOwner()
	if uid < 0 || uint32(uid) == st.UID {
		uid = -1
	}
	if gid < 0 || uint32(gid) == st.GID {
		gid = -1
	}
	if uid < 0 && gid < 0 {
		return false, nil
	}
	err := n.failed("chown", n.Dir.do(func() error { return unix.Fchown(fd, uid, gid) }))
	if n.UID < 0 && n.GID < 0 { // it was only to be kept
		err = keep(err, unix.EPERM)
	}
	return true, err
}

func (n *New) wantOwner() (uid, gid int) {
	uid, gid = n.UID, n.GID
	if n.Old != nil && uid < 0 {
		uid = int(n.Old.UID)
	}
	if n.Old != nil && gid < 0 {
		gid = int(n.Old.GID)
		if n.Old.Strange(n.UID) { // nor does it lend its group
			gid = os.Getegid()
		}
	}
	return uid, gid
}

func (n *New) wantMode() int {
	if n.Mode < 0 && n.Old != nil {
		return int(n.Old.Perm())
	}
	return n.Mode
}

// firstPerm returns the permissions to make a temporary file with that has a name: the final ones
// if they give the right to read only to users who may read the file. A file without wanted ones
// gets those of any new file, and its owner makes no difference.
func (n *New) firstPerm(attrs bool) uint32 {
	m := n.wantMode()
	uid, gid := n.wantOwner()
	switch {
	case m < 0:
		return 0o666
	case attrs, uid >= 0 && uid != os.Geteuid():
		return 0o600
	case gid >= 0: // the folder may give it another group first
		return uint32(m) & 0o700
	default:
		return uint32(m) & 0o777
	}
}

func (n *New) path() string { return n.Dir.Path(n.Name) }

// inPlace writes into the file that is there, because of why.
func (n *New) inPlace(why error) (res Result, err error) {
	fd, err := n.Dir.open(n.Name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return res, fmt.Errorf("%w (and writing in place: %w)", why, err)
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err == nil && !st.Same(*n.Old) {
		err = ErrChanged
	}
	if err == nil {
		err = n.Dir.hisOwn(fd)
	}
	if err != nil {
		return res, n.failed("write", err)
	}
	if err := n.ownInPlace(fd, st); err != nil {
		return res, err
	}
	if _, err := n.label(fd); err != nil {
		return res, err
	}
	if err := n.reserve(fd, st); err != nil {
		return res, err
	}
	w := &writer{fd: fd}
	if n.Fill != nil {
		if err := n.Fill(w); err != nil {
			return res, fmt.Errorf("%s may now be incomplete: %w", n.path(), err)
		}
	}
	if err := unix.Ftruncate(fd, w.n); err != nil {
		return res, n.failed("truncate", err)
	}
	return n.finish(fd)
}

// ownInPlace makes owner and mode right before the content comes.
func (n *New) ownInPlace(fd int, st Stat) error {
	moves := st.moves(n.UID, n.GID)
	if _, err := n.setOwner(fd, st); err != nil {
		return err
	}
	if moves {
		err := n.Dir.do(func() error {
			_, err := dropLists(fd, "/proc/self/fd/"+strconv.Itoa(fd), st)
			return err
		})
		if err != nil {
			return n.failed("remove the access list of", err)
		}
	}
	if n.Mode >= 0 && uint32(n.Mode) != st.Perm() {
		return n.chmod(fd, n.Mode)
	}
	return nil
}

func (n *New) chmod(fd, mode int) error {
	return n.failed("chmod", n.Dir.do(func() error { return unix.Fchmod(fd, uint32(mode)) }))
}

// finish sets the mode, which writing and a change of owner may have altered,
// and looks at the result.
func (n *New) finish(fd int) (Result, error) {
	st, err := fstat(fd)
	if m := n.wantMode(); err == nil && m >= 0 && uint32(m) != st.Perm() {
		if err := n.chmod(fd, m); err != nil {
			return Result{}, err
		}
		st, err = fstat(fd)
	}
	// Others may have written at the same time: this is not sure.
	return Result{Stat: st, InPlace: true}, n.failed("stat", err)
}

// reserve takes the space first, so that a full disk does not destroy the old content.
func (n *New) reserve(fd int, st Stat) error {
	if n.Size <= st.Size {
		return nil
	}
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	err := retry(func() error { return unix.Fallocate(fd, keepSize, 0, n.Size) })
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return n.failed("write", err)
	}
	return nil
}
