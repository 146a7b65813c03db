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

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
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
	path string
	mode fs.FileMode // of its folder, should that have to be made again
	once sync.Once
	err  error // of Close

	mu     sync.Mutex
	sock   *socket // another one where it had to be made again
	closed bool
}

// socket is what is at the path of a Listener.
type socket struct {
	net.Listener
	ino uint64
}

// Listen makes the socket and listens on it. The folder must be there. Two that
// want the same socket at the same time come one after the other. A socket on
// which nobody listens any more is replaced; one on which somebody does is a
// *BusyError, and anything else there an error.
func Listen(ctx context.Context, path string) (*Listener, error) {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	sock, err := create(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Listener{path: path, mode: info.Mode().Perm(), sock: sock}, nil
}

// create makes the socket for Listen, at the start and again.
func create(ctx context.Context, path string) (*socket, error) {
	if err := trusted(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
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
	name, err := short(dir, path)
	if err != nil {
		return nil, err
	}
	sock, err := bind(name, path)
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	return sock, nil
}

// trusted refuses a folder that is reached over a link of another user.
func trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	f, err := safepath.System().Folder(path)
	if errors.Is(err, safepath.ErrRefused) {
		return err
	}
	if err == nil {
		f.Close()
	}
	return nil // openDir says what else is wrong
}

// openDir opens a folder to lock it and to reach what is in it.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|os.O_RDONLY, 0)
}

// maxPath is the longest path that fits into the address of a socket.
const maxPath = 107

// short returns a path of the socket that fits: a long one by way of the
// descriptor of its folder. A name that is too long by itself is an error.
func short(dir *os.File, path string) (string, error) {
	if len(path) <= maxPath {
		return path, nil
	}
	folder, name := fmt.Sprintf("/proc/self/fd/%d/", dir.Fd()), filepath.Base(path)
	if most := maxPath - len(folder); len(name) > most {
		return "", fmt.Errorf("the name of the socket %s has %d bytes, and %d are the most, name another one with --socket", path, len(name), most)
	}
	return folder + name, nil
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
func bind(short, path string) (*socket, error) {
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

func listen(f *os.File, path string) (*socket, error) {
	if err := chmodSocket(path); err != nil {
		return nil, err
	}
	ino, err := inode(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Listen(int(f.Fd()), unix.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return &socket{l, ino}, nil
}

// chmodSocket gives a socket its mode, and nothing else that somebody has put in its place: a link
// least of all.
func chmodSocket(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.Join(err, fmt.Errorf("%s was replaced by something that is no socket", path))
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), Mode)
}

// Path returns where the socket is.
func (l *Listener) Path() string { return l.path }

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.current().Addr() }

// Accept implements net.Listener. It goes on with the next socket where the one it waits
// on was replaced.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		sock := l.current()
		c, err := sock.Accept()
		if err == nil || l.current() == sock {
			return c, err
		}
	}
}

func (l *Listener) current() *socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sock
}

// Close implements net.Listener, and removes the socket, unless there is another
// one in its place. It may be called more than once.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closed = true
		l.err = l.sock.remove(l.path)
	})
	return l.err
}

// remove closes the socket and takes it away, where it is still there.
func (s *socket) remove(path string) (err error) {
	if ino, e := inode(path); e == nil && ino == s.ino {
		err = os.Remove(path)
	}
	return errors.Join(err, s.Listener.Close())
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
	name, err := short(dir, path)
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, "unix", name)
}
