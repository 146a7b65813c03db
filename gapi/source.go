package gapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// Source opens the files that decide mgmt's work: graphs, and the files that they include.
// The zero value opens any file. It may be used by many goroutines.
type Source struct {
	// Guard, when not nil, refuses what another user could have written; see
	// safepath.Walker.OpenGuarded. A file that the caller has opened already, with a
	// path such as /dev/fd/63 or /dev/stdin, is the caller's business.
	Guard *safepath.Walker
	// Caller, when not nil, may have written the file, too. It is the user who has root run the
	// program, as by sudo.
	Caller *safepath.User
	// Asker asks the file systems, where a frontend reads by one; nil for one of its own.
	Asker *Asker
	// Hint ends the message of a refusal with another way out; empty for none.
	Hint string
}

// Asking returns the Asker of the Source, or a new one.
func (s Source) Asking() *Asker {
	if s.Asker != nil {
		return s.Asker
	}
	return &Asker{}
}

// Open opens a file or a folder for reading, without waiting for a writer, should it be a
// pipe. A file of the kernel is refused, see Kernel. The file is the caller's.
func (s Source) Open(path string) (*os.File, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	if err := Kernel(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ErrKernel says that a file shows something of the kernel, such as /proc/kmsg.
var ErrKernel = errors.New("it is a file of the kernel, and reading it may never end: copy what it says to a file, and name that")

// Kernel returns ErrKernel for a regular file of procfs, sysfs and their kin: a look says that it is a plain file, and
// a read of it can wait for ever, take something away, or have no end.
func Kernel(f *os.File) error {
	var fs unix.Statfs_t
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // what is wrong is told by the read
	}
	if raw, err := f.SyscallConn(); err == nil { // Fd would make the file block
		_ = raw.Control(func(fd uintptr) { _ = unix.Fstatfs(int(fd), &fs) })
	}
	switch int64(fs.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return ErrKernel
	}
	return nil
}

func (s Source) open(path string) (*os.File, error) {
	if s.Guard == nil || OwnDescriptor(path) {
		return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	whole := path
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		whole = dir + "/" + path // as it is: what ".." means depends on links
	}
	f, err := s.Guard.OpenGuarded(whole, s.Caller)
	if _, refused := err.(*safepath.RefusedError); refused && s.Hint != "" {
		return nil, fmt.Errorf("%w; %s", err, s.Hint)
	}
	return f, err
}

// The reasons why OpenRegular refuses a path.
var (
	ErrFolder    = errors.New("it is a folder: name one file")
	ErrIrregular = errors.New("it is neither a file nor a folder")
)

// OpenRegular opens a regular file for reading, and returns its size. What the path leads to is asked of
// the open file, so another file in its place makes no difference. The error is ErrFolder, ErrIrregular, or that
// of Open. The file is the caller's.
func (s Source) OpenRegular(path string) (f *os.File, size int64, err error) {
	if f, err = s.Open(path); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = ErrFolder
	case !info.Mode().IsRegular():
		err = ErrIrregular
	case !unix.Portable:
		err = atOnce(f)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// answerWithin is how long a regular file may take until it can be read, in milliseconds: a file on a disk can be at once.
const answerWithin = 5000

// atOnce returns an error for a file that gives nothing to read for so long.
func atOnce(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	silent := false
	err = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, answerWithin)
		silent = n == 0 && err == nil
	})
	if silent {
		err = errors.New("it has given nothing to read for 5s: it is no plain file")
	}
	return err
}

// ReadRegular reads a regular file that may have so many bytes, see OpenRegular and ReadBounded. A file system that does not answer
// is an error, see Asker.
func (s Source) ReadRegular(ctx context.Context, path string, most int64, tooBig string) ([]byte, error) {
	return s.Asking().ReadFile(ctx, s, path, func(f *os.File, _ int64) ([]byte, error) { return ReadBounded(f, most, tooBig) })
}

// ReadBounded reads all of a file that may have so many bytes. The error of a larger one begins with a text of
// the caller, as in: too big: a catalog.
func ReadBounded(r io.Reader, most int64, tooBig string) ([]byte, error) {
	src, err := ReadMost(r, most)
	if errors.Is(err, ErrTooLong) {
		err = fmt.Errorf("%s may have %d bytes", tooBig, most)
	}
	return src, err
}

// ReadDir lists a folder, by name.
func (s Source) ReadDir(path string) ([]os.DirEntry, error) {
	if s.Guard == nil {
		return os.ReadDir(path)
	}
	f, err := s.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// OwnDescriptor reports whether a path names an open file of this process, such as /dev/fd/63 or /dev/stdin: the process that
// started this one has chosen that file.
func OwnDescriptor(path string) bool {
	path = filepath.Clean(path)
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr"
}
