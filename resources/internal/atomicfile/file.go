package atomicfile

import (
	"io"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// File is a file open for reading. It is not for concurrent use.
type File struct {
	fd   int
	path string
	at   int64 // what Read goes on from
}

// Open opens a plain file for reading and looks at it. Links, folders and special files are errors;
// a pipe does not block.
func (d Dir) Open(name string) (*File, Stat, error) {
	d, release, err := d.holdFor(name)
	if err != nil {
		return nil, Stat{}, err
	}
	defer release()
	fd, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, Stat{}, d.failed("open", name, err)
	}
	st, err := fstat(fd)
	if err == nil && !st.IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, Stat{}, d.failed("open", name, err)
	}
	return &File{fd: fd, path: d.Path(name)}, st, nil
}

// OpenSource is Open for a file whose content goes elsewhere: one with several names that
// not all may read is an error in a folder of a stranger, for it may be the file of any user.
func (d Dir) OpenSource(name string) (*File, Stat, error) {
	d, release, err := d.holdFor(name)
	if err != nil {
		return nil, Stat{}, err
	}
	defer release()
	f, st, err := d.Open(name)
	if err == nil && st.Links > 1 && st.Mode&unix.S_IROTH == 0 {
		if err = d.hisOwn(f.fd); err != nil {
			_ = f.Close()
			return nil, st, d.failed("open", name, err)
		}
	}
	return f, st, err
}

// Open opens a plain file for reading by its path, through the links that may be
// followed.
func Open(path string) (*File, Stat, error) { return OpenBy(safepath.System(), path) }

// OpenBy is Open by another Walker.
func OpenBy(w safepath.Walker, path string) (*File, Stat, error) {
	fd, st, err := w.OpenFD(path)
	if err != nil {
		return nil, Stat{}, err
	}
	return &File{fd: fd, path: path}, FromSys(&st), nil
}

// ErrNotRegular says that something is no plain file.
var ErrNotRegular = safepath.ErrNotRegular

// Stat looks at the open file.
func (f *File) Stat() (Stat, error) {
	st, err := fstat(f.fd)
	return st, pathError("stat", f.path, err)
}

// Rewind goes back to the start.
func (f *File) Rewind() { f.at = 0 }

// Settle waits for a cut or a write that is under way, after which the kernel tells of it. A file that is cut is empty before that: on ext4 for
// as long as its blocks take to be freed. Who cuts holds the lock of the file that a search for data takes, too.
func (f *File) Settle() { _, _ = unix.Seek(f.fd, 0, unix.SEEK_DATA) }

// Read reads as io.Reader does.
func (f *File) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	err = retry(func() (err error) { n, err = unix.Pread(f.fd, p, f.at); return err })
	f.at += int64(max(n, 0))
	switch {
	case err != nil:
		return 0, pathError("read", f.path, err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file. It may be called on nil.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	return pathError("close", f.path, unix.Close(f.fd))
}

// writer writes to a descriptor, all of it or an error.
type writer struct {
	fd int
	n  int64 // bytes written
}

func (w *writer) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(w.fd, p[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
		w.n += int64(n)
	}
	return done, nil
}
