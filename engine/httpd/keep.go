package httpd

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// keep looks every so often whether the socket is still there, until ctx ends, and makes it again
// where it or its folder was removed, with one warning. Open connections stay. A socket of another
// process in its place is left alone, with a warning too.
func (s *Socket) keep(ctx context.Context, every time.Duration, log *slog.Logger) {
	told := false
	if s.exposed() {
		log.Warn("all users can write to the folder of the socket, and so put another socket in its place that lies to its callers; fix it with chmod o-w or +t, or name another place", slog.String("path", s.path))
	}
	for {
		wake, stop := clock.After(s.opt.Clock, every)
		select {
		case <-wake:
		case <-ctx.Done():
			stop()
			return
		}
		switch missing, err := s.mend(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil && !told:
			log.Warn("the socket was removed, and cannot be made again yet: no program can reach this daemon", slog.String("path", s.path), slog.Any("error", err))
			told = true
		case err == nil && missing:
			log.Warn("the socket was removed while the daemon runs; it is made again", slog.String("path", s.path))
			told = false
		case err == nil:
			told = false
		}
	}
}

// exposed reports whether everybody can put something else in the place of the socket.
func (s *Socket) exposed() bool {
	info, err := os.Stat(filepath.Dir(s.path))
	return err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}

// errReplaced says that another process has put something where the socket was.
var errReplaced = errors.New("something else is in its place")

// mend makes the socket again where it is missing.
func (s *Socket) mend(ctx context.Context) (missing bool, err error) {
	ino, err := inode(s.path)
	switch {
	case err == nil && ino == s.current().ino:
		return false, nil
	case err == nil:
		return false, errReplaced
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), s.mode); err != nil {
		return true, err
	}
	next, err := create(ctx, s.path, s.opt)
	if err != nil {
		return true, err
	}
	return true, s.change(next)
}

// change goes on with another socket.
func (s *Socket) change(next *bound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return next.remove(s.path)
	}
	old := s.sock
	s.sock = next
	return old.Close()
}

// inode returns the inode number of the file at a path.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Ino, nil
}
