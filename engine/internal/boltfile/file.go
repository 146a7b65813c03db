package boltfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Why a file cannot be had or written to, for errors.Is. With ErrUnwritable and
// ErrFull a caller can go on without durability; with ErrLocked the folder belongs
// to another process.
var (
	ErrLocked     = errors.New("another process has it open")
	ErrUnwritable = errors.New("its place cannot be written to")
	ErrFull       = errors.New("there is no room for it")
)

const (
	// The same on every machine: with the 64 KiB of some, each commit would write
	// that much for each page it touches.
	pageSize = 4096
	// The map takes address space only. A file that outgrows it is mapped anew,
	// and that waits for those who read.
	initialMap = 64 << 20
	// By how much a file grows beyond initialMap.
	growth = 256 << 10
)

// Damage is the error of a file that holds what cannot be right.
type Damage struct {
	What any // a text, or the value of a panic
}

// Error implements error.
func (d *Damage) Error() string { return fmt.Sprint(d.What) }

// IsDamage reports whether err tells of damage.
func IsDamage(err error) bool { return errors.As(err, new(*Damage)) }

// Damaged returns a Damage with a text.
func Damaged(format string, args ...any) error { return &Damage{fmt.Sprintf(format, args...)} }

// File is an open and locked file. Update and View may be called by many
// goroutines; Close comes after the last of them.
type File struct {
	DB *bbolt.DB
	f  *os.File
	// stuck is not nil where bbolt has panicked with a lock in its hands. Whatever
	// asks it then, also to close, would wait for ever: so nothing asks it any more,
	// and its map is left to the end of the process.
	stuck atomic.Pointer[Damage]
	// The mutexes keep callers from waiting within bbolt while it panics: one
	// transaction begins at a time, and one Update runs.
	writing, beginning sync.Mutex
}

// Stat tells of the file that is open, which need not be that of its path any more.
func (f *File) Stat() (os.FileInfo, error) { return f.f.Stat() }

// caught calls do. A panic, also one over a page that cannot be read, is damage.
func caught(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &Damage{p}
		}
	}()
	return do()
}

// Open hands a file that is open and locked to bbolt, which closes it if there
// is an error.
func Open(f *os.File, maxSize int64) (*File, error) {
	var db *bbolt.DB
	err := caught(func() (err error) {
		db, err = bbolt.Open(f.Name(), 0o600, boltOptions(f, maxSize))
		return err
	})
	if err != nil {
		return nil, Classify(err)
	}
	db.AllocSize = growth
	return &File{DB: db, f: f}, nil
}

func boltOptions(f *os.File, maxSize int64) *bbolt.Options {
	return &bbolt.Options{
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		// The list of free pages is kept in the file. Without it bbolt looks for
		// them in a goroutine of its own, where a damaged page ends the process.
		NoFreelistSync: false,
		// The list in order gives a commit the first free pages, which are near each other. The map gives it any pages, and
		// a disk writes scattered pages one by one.
		FreelistType:    bbolt.FreelistArrayType,
		InitialMmapSize: initialMap,
		MaxSize:         int(maxSize),
		PageSize:        pageSize,
		NoStatistics:    true,
	}
}

// Close lets go of the file. No transaction may be open.
func (f *File) Close() error {
	if f.stuck.Load() != nil {
		// The map keeps the file open, and so the lock.
		return errors.Join(unix.Flock(int(f.f.Fd()), unix.LOCK_UN), f.f.Close())
	}
	return f.DB.Close()
}

// Update runs do in a transaction and makes its work durable. Where do reports
// that there was nothing to do, nothing is written. A panic is damage.
func (f *File) Update(do func(*bbolt.Tx) (dirty bool, err error)) (err error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var tx *bbolt.Tx
	defer func() { err = f.end(tx, recover(), err) }()
	if tx, err = f.begin(true); err != nil {
		return err
	}
	if dirty, err := do(tx); err != nil || !dirty {
		return err
	}
	return Classify(tx.Commit())
}

// View runs do in a transaction that reads. A panic is damage.
func (f *File) View(do func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var tx *bbolt.Tx
	defer func() { err = f.end(tx, recover(), err) }()
	if tx, err = f.begin(false); err != nil {
		return err
	}
	return do(tx)
}

// begin begins a transaction. bbolt panics over bad meta pages with its locks
// held, so they are read before.
func (f *File) begin(writable bool) (tx *bbolt.Tx, err error) {
	f.beginning.Lock()
	defer f.beginning.Unlock()
	if d := f.stuck.Load(); d != nil {
		return nil, d
	}
	if _, err := ReadMeta(f.f); err != nil {
		if _, stat := f.f.Stat(); !errors.Is(stat, os.ErrClosed) { // that is no damage, and bbolt says it
			return nil, err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			d := f.damage(p)
			f.stuck.Store(d)
			err = d
		}
	}()
	return f.DB.Begin(writable)
}

// end rolls back an open transaction and turns a panic into an error.
func (f *File) end(tx *bbolt.Tx, panicked any, err error) error {
	if panicked != nil {
		err = f.damage(panicked)
	}
	if tx != nil && tx.DB() != nil && !rollback(tx) {
		f.stuck.CompareAndSwap(nil, &Damage{cmp.Or(err, errRollback)})
	}
	return err
}

// damage is what a panic tells of the file. A read beyond the end of a file that was cut is a fault of the memory
// for the runtime, which knows nothing of files.
func (f *File) damage(panicked any) *Damage {
	err, ok := panicked.(runtime.Error)
	if !ok {
		return &Damage{panicked}
	}
	info, no := f.f.Stat()
	m, bad := ReadMeta(f.f)
	switch {
	case no == nil && bad == nil && uint64(info.Size()) < m.Pages*uint64(m.Size):
		return &Damage{fmt.Sprintf("it has %d bytes and should have at least %d pages of %d: another program has cut it while it is in use", info.Size(), m.Pages, m.Size)}
	case no == nil && bad != nil:
		return &Damage{fmt.Sprintf("it has %d bytes, and %v: another program has changed it while it is in use", info.Size(), bad)}
	}
	return &Damage{fmt.Sprintf("a page of it leads nowhere, or the disk does not give it (%v)", err)}
}

// errRollback tells that bbolt could not give its locks back.
var errRollback = errors.New("a transaction cannot be taken back")

func rollback(tx *bbolt.Tx) (ok bool) {
	defer func() { ok = recover() == nil }()
	_ = tx.Rollback()
	return true
}

// OpenLocked opens a file and takes the lock that bbolt will ask for, so that no
// other process writes to it during the look.
func OpenLocked(path string, flag int) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
		if err != nil {
			return nil, Classify(err)
		}
		current, err := lock(f, path)
		if err == nil && current {
			return f, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %s is replaced again and again", ErrLocked, path)
}

// lock locks f and says whether it is still the file of that path.
func lock(f *os.File, path string) (current bool, err error) {
	mine, err := f.Stat()
	if err != nil {
		return false, Classify(err)
	}
	if !mine.Mode().IsRegular() {
		return false, fmt.Errorf("%w: %s is not a regular file", ErrUnwritable, path)
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, &lockedError{path, openHere(f)}
	case err != nil:
		return false, fmt.Errorf("lock %s: %w", path, err)
	}
	if mine.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return false, Classify(err)
		}
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(mine, theirs), nil
}

// lockedError is ErrLocked with the path.
type lockedError struct {
	path string
	here bool // by this process
}

// Error implements error.
func (e *lockedError) Error() string {
	if e.here {
		return "this process has it open already: " + e.path + "; close that use of it first, or take another file or folder"
	}
	return ErrLocked.Error() + ": " + e.path
}

// Is makes it an ErrLocked.
func (e *lockedError) Is(target error) bool { return target == ErrLocked }

// openHere reports whether this process has the file of f open a second time. Where there is no /proc it does not know.
func openHere(f *os.File) bool {
	const dir = "/proc/self/fd"
	own := strconv.Itoa(int(f.Fd()))
	name, err := os.Readlink(filepath.Join(dir, own))
	if err != nil {
		return false
	}
	list, _ := os.ReadDir(dir)
	return slices.ContainsFunc(list, func(fd os.DirEntry) bool {
		link, err := os.Readlink(filepath.Join(dir, fd.Name()))
		return err == nil && link == name && fd.Name() != own
	})
}

var fullErrors = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

var unwritableErrors = []syscall.Errno{
	syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR,
	syscall.ELOOP, syscall.ENAMETOOLONG,
}

// Classify adds a kind that a caller can act on to an error of the file system.
func Classify(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrFull), errors.Is(err, ErrUnwritable):
		return err
	case errors.Is(err, berrors.ErrMaxSizeReached), isOneOf(err, fullErrors):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case isOneOf(err, unwritableErrors):
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return err
}

// isOneOf looks at the text too: bbolt does not wrap all that it passes on.
func isOneOf(err error, list []syscall.Errno) bool {
	for _, e := range list {
		if errors.Is(err, e) || strings.HasSuffix(err.Error(), e.Error()) {
			return true
		}
	}
	return false
}

// SyncDir makes a rename in the folder of path durable.
func SyncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return Classify(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return Classify(err)
	}
	return nil
}

// CopyTo copies all that is in use into another file, and syncs that one.
func (f *File) CopyTo(to *File) error {
	to.DB.NoSync = true
	if err := caught(func() error { return bbolt.Compact(to.DB, f.DB, 4<<20) }); err != nil {
		return Classify(err)
	}
	return Classify(to.f.Sync())
}
