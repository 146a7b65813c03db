package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Mode is the mode of the socket.
const Mode = 0o660

// BusyError says that somebody else listens on the socket.
type BusyError struct {
	Path   string
	Daemon *Version // nil where it does not answer as mgmt does
}

func (e *BusyError) Error() string {
	if e.Daemon == nil {
		return fmt.Sprintf("another program listens on %s, name another socket with --socket", e.Path)
	}
	where := "a temporary state folder"
	if e.Daemon.StateDir != "" {
		where = "the state folder " + e.Daemon.StateDir
	}
	return fmt.Sprintf("another mgmt (pid %d, with %s) answers on %s, end that one or name another socket with --socket", e.Daemon.PID, where, e.Path)
}

// Listener is a socket made by Listen.
type Listener struct {
	net.Listener
	path string
	ino  uint64 // of the socket
	once sync.Once
	err  error
}

// Listen makes the socket and listens on it. The folder must be there. Two that
// want the same socket at the same time come one after the other. A socket on
// which nobody listens any more is replaced; one on which somebody does is a
// *BusyError, and anything else there an error.
func Listen(ctx context.Context, path string) (*Listener, error) {
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	defer dir.Close()
	if err := lock(ctx, dir); err != nil {
		return nil, fmt.Errorf("the socket %s: its folder is locked: %w", path, err)
	}
	if err := clear(ctx, path); err != nil {
		return nil, err
	}
	l, err := bind(short(dir, path), path)
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	return l, nil
}

// openDir opens a folder to lock it and to reach what is in it.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|os.O_RDONLY, 0)
}

// maxPath is the longest path that fits into the address of a socket.
const maxPath = 107

// short returns a path of the socket that fits: a long one by way of the
// descriptor of its folder.
func short(dir *os.File, path string) string {
	if len(path) <= maxPath {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
}

const lockEvery = 10 * time.Millisecond

// lock keeps other starters out until the folder is closed.
func lock(ctx context.Context, dir *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// probeTimeout is how long a daemon may take to say who it is.
const probeTimeout = 2 * time.Second

// clear removes a socket on which nobody listens.
func clear(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is in the way: it is no socket, remove it or name another one with --socket", path)
	}
	conn, err := dial(ctx, path)
	switch {
	case err == nil:
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		v, err := NewClient(path).Version(ctx)
		if err != nil {
			return &BusyError{Path: path}
		}
		return &BusyError{path, v}
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(path)
	default:
		return fmt.Errorf("the socket %s: %w", path, err)
	}
}

// bind makes the socket. Nobody can connect before it listens, and by then it
// has its mode.
func bind(short, path string) (*Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: short}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	l, err := listen(f, path)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return l, nil
}

func listen(f *os.File, path string) (*Listener, error) {
	if err := os.Chmod(path, Mode); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	if err := unix.Listen(int(f.Fd()), unix.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return &Listener{Listener: l, path: path, ino: st.Ino}, nil
}

// Path returns where the socket is.
func (l *Listener) Path() string { return l.path }

// Close implements net.Listener, and removes the socket, unless there is another
// one in its place. It may be called more than once.
func (l *Listener) Close() error {
	l.once.Do(func() {
		var st unix.Stat_t
		if err := unix.Lstat(l.path, &st); err == nil && st.Ino == l.ino {
			l.err = os.Remove(l.path)
		}
		l.err = errors.Join(l.err, l.Listener.Close())
	})
	return l.err
}

// dial connects to a socket.
func dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= maxPath {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return d.DialContext(ctx, "unix", short(dir, path))
}
