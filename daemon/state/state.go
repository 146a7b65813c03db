package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Place says where a program keeps its lasting files. It is plain data.
type Place struct {
	Prefix    string // the folder; empty for the default, see Path
	Temporary bool   // in a folder that the engine makes, and removes at its end
}

// Folder is a state folder that this process has locked. The kernel drops the lock with the process, also at a crash.
type Folder struct {
	Dir   string // empty for a temporary one
	lost  error  // why it is a temporary one although another was wanted
	owner int    // the user to whom it belongs, when that is neither this one nor root; else -1
	lock  *os.File
}

// Open decides where state is kept. The folder is made where it is missing, and
// taken for this process alone until Close, or until the process ends, however it
// does. Where a folder can't be had because the machine does not let us, a
// temporary one has to do, and lost says why: a full disk must not stop the repair
// of its machine. The error is about a folder that is named wrongly, in use, or
// open to everybody.
func (s Place) Open(from gapi.Source) (*Folder, error) {
	f := &Folder{owner: -1}
	if s.Temporary {
		return f, nil
	}
	dir, err := s.Path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil { // others must not choose where it is made
		if err := refuses(from, dir); err != nil {
			return nil, fmt.Errorf("the state folder: %w", err)
		}
	}
	switch err := os.MkdirAll(dir, 0o700); {
	case err != nil && (Denied(err) || errors.Is(err, fs.ErrNotExist)): // where all above is there, as in /proc, it takes no folders
		f.lost = err
		return f, nil
	case errors.Is(err, fs.ErrExist): // something is there that is no folder when followed
		return nil, setting.Errorf("the state folder %s is a link that leads nowhere, make what it leads to, or name another one with %v", dir, setting.StatePrefix)
	case err != nil:
		return nil, setting.Errorf("the state folder cannot be made, name another one with %v: %w", setting.StatePrefix, err)
	}
	// The folder is judged before it is locked: a lock in a folder of another user proves
	// nothing.
	f.Dir = dir
	if err := cmp.Or(f.inspect(), f.inspectVars(), refuses(from, dir)); err != nil {
		return nil, err
	}
	f.lock, err = lockState(dir)
	return f, err
}

// Denied reports whether an error is that of a full, broken or read-only machine, and not of a wrong path. A daemon that may repair the
// machine has to run all the same.
func Denied(err error) bool {
	return slices.ContainsFunc([]error{
		fs.ErrPermission, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EMFILE, unix.ENFILE,
		unix.ESTALE, unix.ENOTCONN, unix.ENODEV, unix.ETIMEDOUT, // of a mount whose other end has gone
	}, func(e error) bool { return errors.Is(err, e) })
}

// inspect refuses a folder that everybody can write to. One that belongs to another user is a warning; see Tell.
func (f *Folder) inspect() error {
	info, err := os.Stat(f.Dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return setting.Errorf("everybody can write to the state folder %s (mode %04o), and so decide what mgmt believes to have done; "+
			"fix it with: chmod o-w %s; or name another one with %v", f.Dir, info.Mode().Perm(), f.Dir, setting.StatePrefix)
	}
	if st, ok := info.Sys().(*unix.FileStat); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		f.owner = int(st.Uid)
	}
	return nil
}

// inspectVars refuses a link in the place of the folder that resources keep their state in. mgmt
// makes none; its files below would land where the link leads.
func (f *Folder) inspectVars() error {
	path := filepath.Join(f.Dir, "vars")
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return setting.Errorf("%s is a link, and is not followed: replace it by a folder, or name another state folder with %v", path, setting.StatePrefix)
	}
	return nil
}

// Tell warns of a folder that could not be made, or belongs to another user.
func (f *Folder) Tell(log *slog.Logger) {
	if f.lost != nil {
		log.Warn("THERE IS NO STATE FOLDER: it cannot be made, and what would be kept there (passwords, refreshes that are pending, pauses, the history) is lost when the program ends; "+
			"fix that, or name another folder", "error", f.lost)
	}
	if f.owner >= 0 {
		log.Warn("the state folder belongs to another user, who can decide what mgmt believes to have done", "path", f.Dir, "uid", f.owner)
	}
}

// Close drops the lock. Call it after the engine has ended, whose journal is in the folder.
func (f *Folder) Close() {
	if f.lock != nil {
		_ = f.lock.Close() // nothing was written to it that matters
	}
}

// Path returns the absolute path of the folder, whether it exists or not: Prefix, MGMT_PREFIX, systemd's STATE_DIRECTORY, or the default.
func (s Place) Path() (string, error) {
	dir := cmp.Or(s.Prefix, os.Getenv("MGMT_PREFIX"), os.Getenv("STATE_DIRECTORY"))
	if dir == "" {
		var err error
		if dir, err = defaultDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// defaultDir is that of the system for root, or that of the XDG base directory specification, which wants a relative XDG_STATE_HOME ignored.
func defaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/mgmt", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mgmt"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", setting.Errorf("there is no home folder to keep state in, use %v or %v", setting.StatePrefix, setting.StateTemporary)
	}
	return filepath.Join(home, ".local", "state", "mgmt"), nil
}

// refuses returns why a state folder is not trusted; nil also where there is none yet. The folder outlives the call, so the caller of sudo
// is not trusted with it.
func refuses(s gapi.Source, dir string) error {
	if s.Guard == nil {
		return nil
	}
	// s is a copy, so the caller stays trusted for graphs.
	s.Caller = nil
	f, err := s.Open(dir)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, safepath.ErrRefused) {
		return err
	}
	return nil
}
