package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// state says where the program keeps its lasting files.
type state struct {
	// prefix is the folder that a flag or a setting names; empty for the default.
	prefix string
	// temp asks for a temporary folder, which the engine makes, and removes at its end.
	temp bool
}

// flags adds the flags of the state folder.
func (s *state) flags(cmd *cobra.Command) {
	s.prefixFlag(cmd)
	bind(cmd, "tmp_prefix", &s.temp)
	exclude(cmd, "prefix", "tmp-prefix")
}

// prefixFlag adds --prefix alone, for verbs that only look for a daemon.
func (s *state) prefixFlag(cmd *cobra.Command) {
	bind(cmd, "prefix", place{&s.prefix})
}

// stateFolder is the state folder as a run has it.
// The lock is an open file with a lock of the kernel on it, so it ends with the process,
// also with a crash.
type stateFolder struct {
	dir   string // empty for a temporary one
	lost  error  // why it is a temporary one although another was wanted
	owner int    // the user to whom it belongs, when that is neither this one nor root; else -1
	lock  *os.File
}

// open decides where state is kept. The folder is made where it is missing, and
// taken for this process alone until close, or until the process ends, however it
// does. Where a folder can't be had because the machine does not let us, a
// temporary one has to do, and lost says why: a full disk must not stop the repair
// of its machine. The error is about a folder that is named wrongly, in use, or
// open to everybody.
func (s *state) open(from gapi.Source) (*stateFolder, error) {
	f := &stateFolder{owner: -1}
	if s.temp {
		return f, nil
	}
	dir, err := s.path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil { // others must not choose where it is made
		if err := refuses(from, dir); err != nil {
			return nil, fmt.Errorf("the state folder: %w", err)
		}
	}
	switch err := os.MkdirAll(dir, 0o700); {
	case err != nil && (denied(err) || errors.Is(err, fs.ErrNotExist)): // where all above is there, as in /proc, it takes no folders
		f.lost = err
		return f, nil
	case errors.Is(err, fs.ErrExist): // something is there that is no folder when followed
		return nil, fmt.Errorf("the state folder %s is a link that leads nowhere, make what it leads to, or name another one with --prefix", dir)
	case err != nil:
		return nil, fmt.Errorf("the state folder cannot be made, name another one with --prefix: %w", err)
	}
	// The folder is judged before it is locked: a lock in a folder of another user proves
	// nothing.
	f.dir = dir
	if err := cmp.Or(f.inspect(), f.inspectVars(), refuses(from, dir)); err != nil {
		return nil, err
	}
	f.lock, err = lockState(dir)
	return f, err
}

// denied reports whether an error tells of the machine, and not of a path that is
// wrong.
// These errors come from a full, broken or read-only machine. A daemon that repairs it
// must still run.
func denied(err error) bool {
	return slices.ContainsFunc([]error{
		fs.ErrPermission, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EMFILE, unix.ENFILE,
		unix.ESTALE, unix.ENOTCONN, unix.ENODEV, unix.ETIMEDOUT, // of a mount whose other end has gone
	}, func(e error) bool { return errors.Is(err, e) })
}

// inspect refuses a folder in which everybody can put what mgmt then believes.
// Mode 0002 is the write permission of all other users. A folder of another user is a
// warning and not an error.
// Owner and mode are those of the folder that a link leads to.
func (f *stateFolder) inspect() error {
	info, err := os.Stat(f.dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("everybody can write to the state folder %s (mode %04o), and so decide what mgmt believes to have done; "+
			"fix it with: chmod o-w %s; or name another one with --prefix", f.dir, info.Mode().Perm(), f.dir)
	}
	if st, ok := info.Sys().(*unix.FileStat); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		f.owner = int(st.Uid)
	}
	return nil
}

// inspectVars refuses a link in the place of the folder that resources keep their state in. mgmt
// makes none; its files below would land where the link leads.
func (f *stateFolder) inspectVars() error {
	path := filepath.Join(f.dir, "vars")
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, and is not followed: replace it by a folder, or name another state folder with --prefix", path)
	}
	return nil
}

// tell logs the faults, once and as warnings.
func (f *stateFolder) tell(log *slog.Logger) {
	if f.lost != nil {
		log.Warn("THERE IS NO STATE FOLDER: it cannot be made, and what would be kept there (passwords, refreshes that are pending, pauses, the history) is lost when the program ends; "+
			"fix that, or name another one with --prefix", "error", f.lost)
	}
	if f.owner >= 0 {
		log.Warn("the state folder belongs to another user, who can decide what mgmt believes to have done", "path", f.dir, "uid", f.owner)
	}
}

// close lets go of the folder.
// It comes after the engine has ended, since its journal is in the folder. The file of the lock
// stays.
func (f *stateFolder) close() {
	if f.lock != nil {
		_ = f.lock.Close() // nothing was written to it that matters
	}
}

// path returns the folder, there or not.
// The order is: the flag or setting, MGMT_PREFIX, systemd's STATE_DIRECTORY, and the
// default.
// The result is absolute, so that a later change of the working folder does not move it.
func (s *state) path() (string, error) {
	dir := cmp.Or(s.prefix, os.Getenv("MGMT_PREFIX"), os.Getenv("STATE_DIRECTORY"))
	if dir == "" {
		var err error
		if dir, err = defaultDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// defaultDir is the state folder without a flag: that of the system for root, else one in
// the home of the user.
// The folder of a user follows the XDG base directory specification. A relative XDG_STATE_HOME is
// left out, as that wants it.
func defaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/mgmt", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mgmt"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder to keep state in, use --prefix or --tmp-prefix")
	}
	return filepath.Join(home, ".local", "state", "mgmt"), nil
}
