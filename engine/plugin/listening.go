package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// The variables of the environment of a provider that listens on a socket.
const (
	envSocket    = "MGMT_PLUGIN_SOCKET"
	envToken     = "MGMT_PLUGIN_TOKEN"
	envProtocols = "MGMT_PLUGIN_PROTOCOLS"
)

// tryWait is the time between two tries to reach a provider that does not listen yet.
const tryWait = 2 * time.Millisecond

// A path of a socket has at most 107 bytes, so it lies in the folder for temporary files and not in that of the state. The
// connection goes on without the name of the socket. So the folder goes as soon as there is a connection. A daemon that is
// killed before leaves one behind, which the next start of a provider removes.
//
// listening starts the process, and connects to the socket on which it listens.
func (s *session) listening(ctx context.Context) (*running, error) {
	sweep(os.TempDir())
	dir, done, err := s.plugin.socketFolder()
	if err != nil {
		return nil, err
	}
	defer done()
	env, at, token := maps.Clone(s.plugin.Env), filepath.Join(dir, socketName), rand.Text()
	if env == nil {
		env = map[string]string{}
	}
	env[envSocket], env[envToken] = at, token
	env[envProtocols] = fmt.Sprintf("%d-%d", max(s.plugin.Protocol.Min, protocol.MinVersion), min(s.plugin.Protocol.Max, protocol.MaxVersion))
	proc, err := s.start(ctx, env)
	if err != nil {
		return nil, err
	}
	conn, err := s.reach(ctx, at, proc)
	if err == nil {
		var r *running
		if r, err = s.overGRPC(conn, proc, token); err == nil {
			return r, nil
		}
	}
	proc.Stop(ctx)
	return nil, err
}

// The names of the folders for sockets begin with folderPrefix, and the socket in one is socketName.
const (
	folderPrefix = "mgmt-provider-"
	socketName   = "s"
)

// folderTries bounds how often socketFolder begins again. Each try but the last has met the sweep of another daemon.
const folderTries = 100

// socketFolder makes a folder that only the provider and root can enter. A lock on it tells sweep that it is in use. The sweep of
// another daemon may take the folder for one that was left until it is locked. Then socketFolder makes another one. The function
// removes the folder.
func (p *Plugin) socketFolder() (dir string, done func(), err error) {
	var lock *os.File
	for range folderTries {
		dir, err = os.MkdirTemp("", folderPrefix)
		if err != nil {
			return "", nil, fmt.Errorf("no folder for the socket of the provider %s: %w", p.Name, err)
		}
		lock, err = lockFolder(dir)
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
	}
	done = func() {
		os.RemoveAll(dir)
		lock.Close()
	}
	if err == nil && p.User != "" {
		err = chown(dir, p.User)
	}
	if err != nil {
		done()
		return "", nil, fmt.Errorf("the folder for the socket of the provider %s: %w", p.Name, err)
	}
	return dir, done, nil
}

// chown gives a folder to a user.
func chown(dir, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	id, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return os.Chown(dir, id, -1)
}

// lockFolder opens a folder and locks it. It fails at once where the folder is locked (EWOULDBLOCK), and where it is no longer what
// the path names (ENOENT): it may have been removed between the two steps. The lock ends with the process, however that ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	own, ownErr := f.Stat()
	named, namedErr := os.Lstat(dir)
	err = errors.Join(err, ownErr, namedErr)
	if err == nil && !os.SameFile(own, named) {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A folder is removed only while it is locked, so what sweep has locked stays what the path names. Another user may have made a
// folder of this name, and may put something else in its place at any time. So sweep removes only a socket, by the open folder,
// and only an empty folder.
//
// sweep removes the folders for sockets that killed daemons have left.
func sweep(tmp string) {
	found, _ := filepath.Glob(filepath.Join(tmp, folderPrefix+"*"))
	for _, dir := range found {
		lock, err := lockFolder(dir)
		if err != nil { // it is in use, gone, or that of another program
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(lock.Fd()), socketName, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			_ = unix.Unlinkat(int(lock.Fd()), socketName, 0)
		}
		_ = unix.Unlinkat(unix.AT_FDCWD, dir, unix.AT_REMOVEDIR)
		lock.Close()
	}
}

// reach waits until the provider listens, and connects. It fails when the process has ended before, or has not listened in time.
func (s *session) reach(ctx context.Context, at string, proc hosting.Process) (net.Conn, error) {
	timed, end := within(ctx, s.clock, greetWait)
	defer end()
	for {
		conn, err := (&net.Dialer{}).DialContext(timed, "unix", at)
		if err == nil {
			if err := s.plugin.peer(conn); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return conn, nil
		}
		t := clock.NewTimer(s.clock, tryWait)
		select {
		case <-t.C:
		case <-timed.Done():
			t.Stop()
			return nil, fmt.Errorf("the provider %s does not listen on %s: %w", s.plugin.Name, envSocket, context.Cause(timed))
		case <-proc.Done():
			t.Stop()
			return nil, fmt.Errorf("the provider %s has ended before it has listened on %s", s.plugin.Name, envSocket)
		}
	}
}

// overGRPC speaks gRPC on a connection. The process is nil where mgmt was attached.
func (s *session) overGRPC(conn net.Conn, proc hosting.Process, token string) (*running, error) {
	c, err := newRemote(conn, token, s.hear)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the provider %s: %w", s.plugin.Name, err), conn.Close())
	}
	return &running{conn: c, proc: proc, token: token}, nil
}
