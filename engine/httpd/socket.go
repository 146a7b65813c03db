package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// InUseError says that another program listens on the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string { return "another program listens on " + e.Path }

// SocketOptions say how to make a socket.
type SocketOptions struct {
	Mode  fs.FileMode // of the socket, whatever the umask; 0 for 0660
	Flag  string      // by which a user names another socket, for errors; may be empty
	Clock clock.Clock // nil for that of the machine
}

func (o SocketOptions) another() string {
	if o.Flag == "" {
		return "another one"
	}
	return "another one with " + o.Flag
}

// Socket is a unix socket made by Listen. It is a net.Listener.
type Socket struct {
	path string
	opt  SocketOptions
	mode fs.FileMode // of its folder, should that have to be made again
	once sync.Once
	err  error // of Close

	mu     sync.Mutex
	sock   *bound // another one where it had to be made again
	closed bool
}

// bound is what is at the path of a Socket.
type bound struct {
	net.Listener
	ino uint64
}

// Listen makes the socket and listens on it. The folder must be there. Two processes that want the
// same socket at the same time come one after the other. A socket without a listener is replaced. A
// socket with a listener is a *InUseError, and another file there is an error. Close the socket, or
// serve on it.
func Listen(ctx context.Context, path string, o SocketOptions) (*Socket, error) {
	o.Mode, o.Clock = cmp.Or(o.Mode, 0o660), clock.Or(o.Clock)
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	sock, err := create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &Socket{path: path, opt: o, mode: info.Mode().Perm(), sock: sock}, nil
}

// create makes the socket for Listen, at the start and again.
func create(ctx context.Context, path string, o SocketOptions) (*bound, error) {
	if err := trusted(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	defer dir.Close()
	if err := lock(ctx, dir, o.Clock); err != nil {
		return nil, fmt.Errorf("the socket %s: its folder is locked: %w", path, err)
	}
	if err := clear(ctx, path, o); err != nil {
		return nil, err
	}
	name, err := short(dir, path, o)
	if err != nil {
		return nil, err
	}
	sock, err := bind(name, path, o.Mode)
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

// openDir opens a folder to lock it and to reach its entries.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|os.O_RDONLY, 0)
}

// maxPath is the longest path that fits into the address of a socket.
const maxPath = 107

// short returns a path of the socket that fits: a long one by way of the
// descriptor of its folder. A name that is too long by itself is an error.
func short(dir *os.File, path string, o SocketOptions) (string, error) {
	if len(path) <= maxPath {
		return path, nil
	}
	folder, name := fmt.Sprintf("/proc/self/fd/%d/", dir.Fd()), filepath.Base(path)
	if most := maxPath - len(folder); len(name) > most {
		return "", fmt.Errorf("the name of the socket %s has %d bytes, and %d are the most, name %s", path, len(name), most, o.another())
	}
	return folder + name, nil
}

const (
	lockEvery = 10 * time.Millisecond
	lockFor   = 10 * time.Second
)

// lock keeps other starters out until the folder is closed.
func lock(ctx context.Context, dir *os.File, c clock.Clock) error {
	until := c.Now().Add(lockFor)
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || !c.Now().Before(until) {
			return err
		}
		wake, stop := clock.After(c, lockEvery)
		select {
		case <-wake:
		case <-ctx.Done():
			stop()
			return err
		}
	}
}

// clear removes a socket without a listener.
func clear(ctx context.Context, path string, o SocketOptions) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is in the way: it is no socket, remove it or name %s", path, o.another())
	}
	conn, err := Dial(ctx, path)
	switch {
	case err == nil:
		_ = conn.Close()
		return &InUseError{path}
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(path)
	default:
		return fmt.Errorf("the socket %s: %w", path, err)
	}
}

// bind makes the socket. No client can connect before it listens, and by then it has its mode.
func bind(short, path string, mode fs.FileMode) (*bound, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: short}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	l, err := listen(f, path, mode)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return l, nil
}

// listen gives the bound socket its mode before it takes connections, so that no other user gets in meanwhile. It notes the inode, by
// which a replaced socket is noticed later.
func listen(f *os.File, path string, mode fs.FileMode) (*bound, error) {
	if err := chmodSocket(path, mode); err != nil {
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
	return &bound{l, ino}, nil
}

// chmodSocket gives a socket its mode, and never a file that was put in its place: a link least of
// all.
func chmodSocket(path string, mode fs.FileMode) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.Join(err, fmt.Errorf("%s was replaced by something that is no socket", path))
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}

// Path returns where the socket is.
func (s *Socket) Path() string { return s.path }

// Addr implements net.Listener.
func (s *Socket) Addr() net.Addr { return s.current().Addr() }

// Accept implements net.Listener. It goes on with the next socket where the one it waits
// on was replaced.
func (s *Socket) Accept() (net.Conn, error) {
	for {
		sock := s.current()
		c, err := sock.Accept()
		if err == nil || s.current() == sock {
			return c, err
		}
	}
}

func (s *Socket) current() *bound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sock
}

// Close implements net.Listener, and removes the socket, unless there is another
// one in its place. It may be called more than once.
func (s *Socket) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.err = s.sock.remove(s.path)
	})
	return s.err
}

// remove closes the socket and takes it away, where it is still there.
func (b *bound) remove(path string) (err error) {
	if ino, e := inode(path); e == nil && ino == b.ino {
		err = os.Remove(path)
	}
	return errors.Join(err, b.Listener.Close())
}

// Dial connects to a unix socket, also by a path that is too long for an address.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= maxPath {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name, err := short(dir, path, SocketOptions{})
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, "unix", name)
}
